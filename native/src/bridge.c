/* SPDX-License-Identifier: Apache-2.0 */
#define PL_NO_INLINE
#include "checks.h"
#include "domain.h"
#include "line.h"
#include "os/os.h"

#include <errno.h>
#include <panalock/bridge.h>

static bool bad(const void *lock, size_t align) { return !lock || (uintptr_t)lock % align; }

int pl_qspin_release(pl_qspinlock *lock)
{
	return bad(lock, _Alignof(pl_qspinlock)) ? -EINVAL : pl_qspin_release_inline(lock);
}

int pl_qspin_byte_release(pl_qspinlock_byte *lock)
{
	return bad(lock, _Alignof(pl_qspinlock_byte)) ? -EINVAL : pl_qspin_byte_release_inline(lock);
}

int pl_qspin_wide_release(pl_qspinlock_wide *lock)
{
	return bad(lock, _Alignof(pl_qspinlock_wide)) ? -EINVAL : pl_qspin_wide_release_inline(lock);
}

uint32_t *pl_domain_doorbell(pl_domain *domain)
{
	if (!pl_is_domain(domain) || !pl_domain_is_open(domain))
		return NULL;
	return &domain->processes[pl_domain_process(domain)].doorbell;
}

int pl_waitq_recover(pl_domain *domain, pl_waitq *queue)
{
	if (!pl_is_domain(domain) || !queue || (uintptr_t)queue % _Alignof(pl_waitq))
		return -EINVAL;
	return pl_line_recover(domain, queue);
}

uint64_t pl_lock_key(pl_domain *domain, const void *word)
{
	return pl_is_domain(domain) && word ? pl_key(domain, word) : 0;
}

int pl_note_locking(pl_thread *self, const void *word) { return pl_checked(self) ? pl_check_lock(self, word) : 0; }

int pl_note_locked(pl_thread *self, const void *word)
{
	if (pl_checked(self))
		pl_check_locked(self, word);
	return 0;
}

int pl_note_unlocked(pl_thread *self, const void *word) { return pl_checked(self) ? pl_check_unlock(self, word) : 0; }

void pl_heavy_fence(int shared) { pl_os_heavy_fence(shared != 0); /* P1 */ }

int pl_call_with(const void *memory, int (*call)(int64_t a, int64_t b, int64_t c, int64_t d), int64_t a, int64_t b, int64_t c,
		 int64_t d)
{
	(void)memory;
	return call(a, b, c, d);
}
