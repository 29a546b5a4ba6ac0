/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every test program shares: the watchdog, scaling, checks that work in any thread, crews of threads, children, and
 * one view of the lock's three layouts.
 */
#ifndef TEST_SUPPORT_H
#define TEST_SUPPORT_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <panalock.h>
#include <panalock/atomic.h>

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#else
#define UNDER_TSAN 0
#endif
#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN 1
#else
#define UNDER_ASAN 0
#endif

/* ---- tests and their watchdog ---- */

/* A test with a name and a watchdog: one that hangs is named and ends the program. */
#define TEST(function) {#function, function, test_begin, test_end, (void *)(uintptr_t)#function}

int test_begin(void **state);
int test_end(void **state);

/* Starts the watchdog outside of a test (children, soak programs): @what is named when @seconds have passed. */
void watchdog(const char *what, unsigned seconds);

/* What the watchdog says about a lock before it ends the program: its bits, and who waits where. Null: nothing more. */
void watch_lock(int layout, const void *lock, pl_domain *domain);

/* ---- scaling: the one place that says how much a run does ---- */

/*
 * @count scaled for this build and machine, at least 1: sanitizers do a part of it, and PANALOCK_TEST_PERCENT another
 * (an emulator: 5; a long run: 1000).
 */
uint64_t scaled(uint64_t count);

/* ---- checks ---- */

/* Like assert_true(), but for any thread, child or signal handler: prints, and ends the program. */
#define REQUIRE(condition) ((condition) ? (void)0 : test_failed(__FILE__, __LINE__, #condition, 0))
/* The same for two numbers, which are printed. */
#define REQUIRE_EQUAL(a, b) test_require_equal(__FILE__, __LINE__, #a " == " #b, (int64_t)(a), (int64_t)(b))

_Noreturn void test_failed(const char *file, int line, const char *what, int64_t value);
void test_require_equal(const char *file, int line, const char *what, int64_t a, int64_t b);

/* The value of a call, which must not touch errno. */
#define QUIETLY(call)                                                                                                     \
	({                                                                                                                \
		int before_ = errno;                                                                                      \
		errno = 4711;                                                                                             \
		__typeof__(call) value_ = (call);                                                                         \
		REQUIRE_EQUAL(errno, 4711);                                                                               \
		errno = before_;                                                                                          \
		value_;                                                                                                   \
	})

/* Waits, a little at a time, until the condition holds; the watchdog limits it. */
#define AWAIT(condition)                                                                                                  \
	do {                                                                                                              \
		while (!(condition))                                                                                      \
			sleep_us(50);                                                                                     \
	} while (0)

/* ---- time ---- */

uint64_t now_ns(void);
void sleep_us(unsigned us);
enum { us = 1000, ms = 1000000 };

/* ---- crews: threads that start together ---- */

typedef void (*crew_fn)(int index, void *shared);
typedef struct crew crew;

crew *crew_start(int threads, crew_fn run, void *shared);
void crew_join(crew *c);
void crew_run(int threads, crew_fn run, void *shared);

/* A small random number generator; any state but 0 will do. */
uint32_t random_next(uint32_t *state);

/* ---- one view of the three layouts ---- */

enum { layouts = 3 };
extern const char *const layout_names[layouts];

typedef union {
	pl_qspinlock word;
	pl_qspinlock_byte byte;
	pl_qspinlock_wide wide;
	uint32_t words[2];
} any_lock;

/* The lock as its layout's type; null stays null. */
#define WORD(lock) ((pl_qspinlock *)(uintptr_t)(const void *)(lock))
#define BYTE(lock) ((pl_qspinlock_byte *)(uintptr_t)(const void *)(lock))
#define WIDE(lock) ((pl_qspinlock_wide *)(uintptr_t)(const void *)(lock))

/* The exported functions. */
int any_init(int layout, any_lock *lock);
int any_lock_it(int layout, pl_thread *self, any_lock *lock);
int any_lock_wait(int layout, pl_thread *self, any_lock *lock, uint32_t flags, int64_t timeout_ns);
int any_trylock(int layout, pl_thread *self, any_lock *lock);
int any_unlock(int layout, pl_thread *self, any_lock *lock);
int any_is_locked(int layout, const any_lock *lock);
int any_is_contended(int layout, const any_lock *lock);
/* The inline forms. */
int any_lock_inline(int layout, pl_thread *self, any_lock *lock);
int any_lock_wait_inline(int layout, pl_thread *self, any_lock *lock, uint32_t flags, int64_t timeout_ns);
int any_trylock_inline(int layout, pl_thread *self, any_lock *lock);
int any_release_inline(int layout, any_lock *lock);
int any_unlock_inline(int layout, pl_thread *self, any_lock *lock);

/* rqspinlock on the same words, the exported functions. */
int any_rq_lock(int layout, pl_thread *self, any_lock *lock);
int any_rq_lock_wait(int layout, pl_thread *self, any_lock *lock, uint32_t flags, int64_t timeout_ns, pl_deadlock *report);
int any_rq_trylock(int layout, pl_thread *self, any_lock *lock);
int any_rq_unlock(int layout, pl_thread *self, any_lock *lock);
/* The inline forms. */
int any_rq_lock_inline(int layout, pl_thread *self, any_lock *lock);
int any_rq_unlock_inline(int layout, pl_thread *self, any_lock *lock);

/* All bits, wherever the layout keeps them; relaxed. */
uint32_t any_bits(int layout, const any_lock *lock);
/* The node number at the tail of the spinners' queue. */
uint32_t any_tail(int layout, const any_lock *lock);
/* PL_Q_PARKED as the layout has it. */
uint32_t parked_bit(int layout);

/* pl_dec_rel() and pl_dec8_rel() as they are without the CPU's help. */
int portable_dec_rel(uint32_t *p, uint32_t mute);
int portable_dec8_rel(uint8_t *p, uint8_t mute);

/* True while a context of this slot stands in a line and sleeps, or is about to. */
bool is_parked(const pl_thread *slot);
/* True when its thread sleeps in the kernel, the lock says so, and nobody stands by: a release must wake one now. */
bool is_asleep_at(int layout, const any_lock *lock, const pl_thread *slot);

/* ---- children ---- */

typedef struct {
	const char *name;
	int (*run)(int argc, char **argv);
} child_program;

/* For main(): runs the child program that child_start() asked for, if this process is one; else returns -1. */
int child_main(int argc, char **argv, const child_program *programs, int count);
#define CHILD_MAIN(argc, argv, programs) child_main(argc, argv, programs, (int)(sizeof programs / sizeof *programs))

/*
 * Starts this test program anew with one of its child programs and up to eight numbers as arguments (argv[0] is the
 * first). With PANALOCK_TEST_NO_EXEC it forks only (emulators that cannot start a program of their own).
 */
#define CHILD_START(name, ...)                                                                                            \
	child_start(name, (const int64_t[]){__VA_ARGS__}, (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))
int child_start(const char *name, const int64_t *numbers, int count);
/* Waits for its end: the exit code, or -signal. */
int child_wait(int pid);
/* The same for a forked function: @run's result is the exit code. */
int forked(int (*run)(void *), void *argument);

/* A shared memory file of this size. */
int shared_file(uint64_t bytes);
void *map_file(int fd, uint64_t bytes);

/* The arguments of a child program. */
int64_t number_argument(char **argv, int index);

#endif
