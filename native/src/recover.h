/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What killed processes leave behind in a shared domain: slots that nobody will release, nodes in lines, bits in lock words
 * that nobody will clear. (A lock that a killed process held stays held; a line whose lock it held is line.c's business.)
 *
 * Who may do this: anybody, at any time. A slot is taken over by its state (T1), as by a new thread, and only when its
 * process (or thread) has ended; its nodes are taken out of lines under the lines' locks.
 */
#ifndef PL_SRC_RECOVER_H
#define PL_SRC_RECOVER_H

#include "domain.h"

/* Frees the slots of processes and threads that have ended. Returns how many. System calls for each slot that is in use. */
uint32_t pl_recover_slots(pl_domain *domain);

/* The same, unless it was done in vain within the last @interval_ns, by whomever; of processes only unless @threads. */
uint32_t pl_recover_slots_sometimes(pl_domain *domain, bool threads, uint64_t interval_ns);

/*
 * A pool word that its owner wants to give back is not zero, but not locked either: true if nobody waits for it any more,
 * so that the bits are a killed waiter's; they are cleared then.
 */
bool pl_recover_word(pl_domain *domain, uint32_t word[2]);

#endif
