/* SPDX-License-Identifier: Apache-2.0 */
/* Inside a domain: from numbers to addresses and back. */
#ifndef PL_SRC_DOMAIN_H
#define PL_SRC_DOMAIN_H

#include <panalock/atomic.h>
#include <panalock/domain.h>
#include <panalock/futex.h>
#include <panalock/thread.h>

static inline pl_thread *pl_slot(pl_domain *domain, uint32_t index)
{
	return (pl_thread *)(void *)((char *)domain + domain->slots_offset) + index;
}

/* Slots that were ever registered lie below this. */
static inline uint32_t pl_slots_used(const pl_domain *domain)
{
	uint32_t used = pl_load_acq(&domain->slots_used); /* T5: acquire, pairs with T4 */
	return used < domain->slots ? used : domain->slots;
}

static inline uint32_t pl_node_number(const pl_thread *slot, uint32_t level)
{
	return slot->index * PL_NESTING + level;
}

/* The bitmap of slots that writers must look at: one bit a slot, set before the slot's first hazard. */
static inline uint32_t *pl_listed(pl_domain *domain) { return (uint32_t *)(void *)((char *)domain + domain->listed_offset); }

/* Null for a number that no waiting slot of the domain has: 0, slot 0's, or out of range (damaged memory). */
static inline pl_node *pl_node_at(pl_domain *domain, uint32_t number)
{
	uint32_t index = number / PL_NESTING;
	return index && index < domain->slots ? &pl_slot(domain, index)->nodes[number % PL_NESTING] : NULL;
}

static inline pl_thread *pl_node_slot(pl_domain *domain, uint32_t number)
{
	return pl_slot(domain, number / PL_NESTING);
}

static inline uint32_t pl_futex_flags(const pl_domain *domain)
{
	return domain->flags & PL_DOMAIN_SHARED ? PL_FUTEX_SHARED : 0;
}

/* True for memory that begins with a domain header of this layout. */
bool pl_is_domain(const pl_domain *domain);

/* True while this process has it open; a domain's memory may only be touched then. */
bool pl_domain_is_open(const pl_domain *domain);

/*
 * A thread's end touches its slots when its domains' users may be thought to have finished. Between these two no domain that
 * pl_domain_is_open() says is open is unmapped. They take no lock: a sanitizer has seen to the thread's end by then.
 */
void pl_domains_hold(void);
void pl_domains_let_go(void);

/* The key of a word that belongs to @domain's locks; see layout.h. */
uint64_t pl_key(pl_domain *domain, const void *word);

/* The other way round: where this process finds the word that a key names (whatever its low two bits); null: nowhere. */
void *pl_key_word(pl_domain *domain, uint64_t key);

/* This process's index in domain->processes. */
uint32_t pl_domain_process(pl_domain *domain);

/* What this process puts into a line's lock while it holds it: PL_WAITQ_HELD and the rest. */
uint32_t pl_line_holder(pl_domain *domain);

/* True if the process that a line's lock names has ended, or never was. */
bool pl_line_holder_gone(pl_domain *domain, uint32_t lock);

/* True if the process with this index has ended: what it left behind may be taken. */
bool pl_process_gone(pl_domain *domain, uint32_t index);

/* Wakes whoever sleeps on a node taken from a list with state CHOSEN or REARM; @was is the state it had before. */
void pl_node_wake(pl_domain *domain, uint32_t number, uint32_t was);

/* Set once a domain with PL_DOMAIN_CHECKS is in use by this process. */
extern bool pl_checks_wanted;

/* True if a thread of another checked domain that this process has open holds the lock @word. */
bool pl_held_elsewhere(pl_domain *domain, const void *word);

/* True if the slot's thread or process has ended. System calls. */
bool pl_slot_orphaned(pl_domain *domain, const pl_thread *slot);

/* Before the first domain is opened: from then on thread exit and fork are noticed. */
void pl_threads_prepare(void);

/* The forked child: mappings keep their place, slots of threads that no longer exist are freed. */
void pl_domain_after_fork(pl_domain *domain, pl_thread *keep);
void pl_domains_each_after_fork(pl_thread *(*kept)(pl_domain *));

#endif
