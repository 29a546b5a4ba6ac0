/* SPDX-License-Identifier: Apache-2.0 */
/* For C libraries that have no cmocka: the library loads, threads exclude each other, a sleeper wakes, a limit is kept. */
#define PL_NO_INLINE
#include <panalock.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

enum { threads = 4, rounds = 20000, limit_ns = 20000000 };

static pl_qspinlock lock = PL_QSPINLOCK_INIT;
static unsigned counter;

static void *count(void *unused)
{
	(void)unused;
	for (int i = 0; i < rounds; i++) {
		if (pl_qspin_lock(pl_self(), &lock) != 0)
			return &lock;
		counter++;
		pl_qspin_unlock(pl_self(), &lock);
	}
	return NULL;
}

static void *try_in_vain(void *unused)
{
	(void)unused;
	return pl_qspin_lock_wait(pl_self(), &lock, 0, limit_ns) == -ETIMEDOUT ? NULL : &lock;
}

int main(void)
{
	pthread_t crew[threads];
	int failed = 0;
	for (int i = 0; i < threads; i++)
		failed |= pthread_create(&crew[i], NULL, count, NULL) != 0;
	for (int i = 0; i < threads; i++) {
		void *problem;
		pthread_join(crew[i], &problem);
		failed |= problem != NULL;
	}
	failed |= counter != threads * rounds;

	void *problem;
	failed |= pl_qspin_lock(pl_self(), &lock) != 0;
	failed |= pthread_create(&crew[0], NULL, try_in_vain, NULL) != 0;
	pthread_join(crew[0], &problem);
	failed |= problem != NULL;
	failed |= pl_qspin_unlock(pl_self(), &lock) != 0;
	printf("panalock %s, waits by %s: %s\n", pl_version(), pl_wait_method(), failed ? "FAILED" : "passed");
	return failed;
}
