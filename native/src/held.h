/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The held table: which locks a slot's thread holds or is about to take, for the deadlock search and the debug checks.
 *
 * A stack of entries, `key | nesting level`: what a context acquires while other contexts of its thread wait below it
 * depends on the waits above that level only. Invariants:
 *   - written by the slot's thread and its handlers only; read by anybody, relaxed, at any moment;
 *   - a handler that pushes pops again before it returns, and pops its own entries only: so whatever code it interrupts
 *     finds the part of the stack that it looks at unchanged, and an index found before a release is valid after it;
 *   - entries are popped in any order; those above the popped one move down, each being present at every moment;
 *   - held_top is 0 or above every entry in use, and raised before the entry is written, so that a handler in between
 *     does not take the same place. 0 says that only held[0] can be in use: the inline fast paths touch no more.
 *
 * Not recorded: more than PL_HELD locks, more than PL_HELD_INLINE when every table of the domain is taken, and locks taken
 * by handlers above PL_NESTING waiting contexts. Such a lock is held all the same; it is not found in searches, and while
 * a thread has one, its unlock of a lock that it does not hold goes unnoticed.
 */
#ifndef PL_SRC_HELD_H
#define PL_SRC_HELD_H

#include "domain.h"

/* What an entry says. The low two bits of a key are zero. */
static inline uint64_t pl_held_key(uint64_t entry) { return entry & ~3ull; }
static inline uint32_t pl_held_level(uint64_t entry) { return (uint32_t)(entry & 3); }

/* Adds an entry for @key at the current nesting level: its index; or counts it: PL_HELD_UNRECORDED. */
int pl_held_push(pl_thread *self, uint64_t key);

enum { PL_HELD_NONE = -1, PL_HELD_UNRECORDED = -2 };
/* The highest entry with this key: its index; or PL_HELD_UNRECORDED: perhaps one of those; or PL_HELD_NONE. */
int pl_held_find(const pl_thread *self, uint64_t key);
/* True if an entry other than number @but has this key; with @key 0, any other entry at all. */
bool pl_held_other(const pl_thread *self, uint64_t key, int but);
/* Takes away what pl_held_find() or pl_held_push() said. */
void pl_held_pop(pl_thread *self, int found);

/* True if there is any entry, or a lock that is not recorded. */
bool pl_held_any(const pl_thread *self);
/* Empties the table of a slot whose thread is gone or not yet there. */
void pl_held_reset(pl_thread *slot);

/* Anybody: copies the entries of a slot, without gaps, and returns their number. */
uint32_t pl_held_read(pl_domain *domain, const pl_thread *slot, uint64_t entries[PL_HELD]);

#endif
