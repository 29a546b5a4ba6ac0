/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * libpanalock_bench: what the benchmarks measure in C. One call measures one point and returns, so that a caller can
 * interleave points of C and of Java. Not part of the product.
 *
 * Rules that every measurement here follows: fixed time, never fixed iterations; only the window in which all threads
 * run counts; each lock has a loop of its own (made by macro, see locks.h); work inside and outside a lock is a chain of
 * dependent steps, calibrated to nanoseconds, the same chain as in the Java loops.
 *
 * Functions return 0 or a negative errno value.
 */
#ifndef PANALOCK_BENCH_H
#define PANALOCK_BENCH_H

#include <stdint.h>

#define PLB_API __attribute__((visibility("default")))

/** Raised when a struct below or the meaning of a function changes. */
#define PLB_VERSION 3

#define PLB_MAX_THREADS 1024

/** What plb_contended() measures. */
#define PLB_THROUGHPUT 0
#define PLB_LATENCY 1 /**< Times every acquisition, those that still wait at the stop included. */

/** plb_point.flags */
#define PLB_PIN 1 /**< Thread i runs on the i-th CPU that the process may use, modulo their number. */

/** plb_lock_flags() */
#define PLB_CONTENDED_OK 1 /**< Usable with several threads. */
#define PLB_PANALOCK 2     /**< One of ours. */
#define PLB_ABSENT 4       /**< Its library was not there when this one was built; measuring it gives -ENOSYS. */

/**
 * Latency buckets: values below 2 * PLB_SUB ns exactly, then PLB_SUB buckets for each power of two (0.4 per cent wide);
 * the last bucket takes everything from 2^PLB_TOP ns on.
 */
#define PLB_SUB_BITS 8
#define PLB_SUB (1 << PLB_SUB_BITS)
#define PLB_TOP 40
#define PLB_BUCKETS ((PLB_TOP - PLB_SUB_BITS + 1) * PLB_SUB)

/** One point of a contended experiment. */
typedef struct plb_point {
	uint32_t lock; /**< Index, see plb_lock_name(). */
	uint32_t threads;
	uint32_t mode; /**< PLB_THROUGHPUT or PLB_LATENCY. */
	uint32_t flags;
	uint64_t inside_ns;  /**< Work while the lock is held. */
	uint64_t outside_ns; /**< Work between two acquisitions. */
	uint64_t warm_ns;    /**< All threads run this long before the window opens. */
	uint64_t window_ns;
	uint64_t inside_pauses; /**< Pauses of the CPU (x86: pause, arm64: yield) while the lock is held, after the work. */
} plb_point;

/** What came out. */
typedef struct plb_result {
	uint64_t window_ns;  /**< As measured. */
	uint64_t total;      /**< Acquisitions in the window, all threads. */
	uint64_t all;        /**< Acquisitions since the start, window or not. */
	uint64_t handovers;  /**< How many of `all` were by another thread than the one before. */
	uint64_t longest_ns; /**< PLB_LATENCY: longest acquisition that overlapped the window. */
	uint64_t timed;      /**< PLB_LATENCY: acquisitions timed. */
	uint64_t voluntary;   /**< Context switches of the process from the window's opening to its end. */
	uint64_t involuntary;
} plb_result;

PLB_API uint32_t plb_version(void);

/** Locks known, by index: a short name, null from the first index beyond the last; flags PLB_CONTENDED_OK etc. */
PLB_API const char *plb_lock_name(uint32_t lock);
PLB_API uint32_t plb_lock_flags(uint32_t lock);

/**
 * Nanoseconds of one step of work on this CPU now: the best of many short windows. All later points use it. About 7 ms.
 */
PLB_API double plb_calibrate(void);

/** The work itself: @p steps dependent steps from @p seed; the Java loops compute the same value. */
PLB_API uint64_t plb_work(uint64_t seed, uint64_t steps);

/**
 * Uncontended: @p pairs times lock and unlock on the calling thread, in the lock's own loop.
 * @return 0 and the time in @p elapsed_ns; -EINVAL; -ENOSYS (PLB_ABSENT); -ENOSPC (no thread slot).
 */
PLB_API int plb_pairs(uint32_t lock, uint64_t pairs, uint64_t *elapsed_ns);

/**
 * Contended: measures one point. @p counts has room for point->threads values; @p buckets for PLB_BUCKETS or is null.
 * @return 0; -EINVAL; -ENOSYS (PLB_ABSENT); -EAGAIN (threads could not be created); -ENOSPC (no thread
 * slot); -EILSEQ (the lock did not exclude).
 */
PLB_API int plb_contended(const plb_point *point, plb_result *result, uint64_t *counts, uint64_t *buckets);

/** Latency buckets: which one takes a value, and the smallest value of a bucket. */
PLB_API uint32_t plb_bucket_of(uint64_t ns);
PLB_API uint64_t plb_bucket_floor(uint32_t bucket);

/* ---- What the Java loops need from here. ---- */

/** Context switches of this process so far. */
PLB_API void plb_switches(uint64_t *voluntary, uint64_t *involuntary);

/** The calling thread runs on the n-th CPU that it may use, modulo their number, from now on. 0 or a negative errno. */
PLB_API int plb_pin_self(uint64_t n);

/** All threads of this process, and those that they create, run on these CPUs only. 0, -EINVAL or another errno. */
PLB_API int plb_use_cpus(const uint32_t *cpus, uint32_t count);

/** Makes zeroed memory a pthread_mutex_t of the adaptive kind; -ENOSYS where there is none. */
PLB_API int plb_init_adaptive(void *mutex);

/* ---- Floors: what no lock can beat on this machine. ---- */

/**
 * A cache line going to and fro between two CPUs: nanoseconds for one way.
 * @return 0; -EINVAL (one CPU twice); -ENODEV (a CPU that this process may not use); -ETIMEDOUT (the machine was too busy).
 */
PLB_API int plb_ping_pong(uint32_t cpu_a, uint32_t cpu_b, uint64_t window_ns, double *one_way_ns);

/** One atomic add on memory nobody else touches, and one look at the clock: nanoseconds each. */
PLB_API int plb_floors(double *atomic_ns, double *clock_ns);

/* ---- Facts that Java cannot see. ---- */

/** The set of membarrier(2) commands the kernel offers (bits as in linux/membarrier.h), or a negative errno. */
PLB_API int plb_membarrier(void);

/** What a spinning thread executes: "pause", "isb", ... */
PLB_API const char *plb_relax_name(void);

/** How it waits for a word to change: the same, or "wfe", "wfet". */
PLB_API const char *plb_wait_name(void);

/** Bytes of a lock: layout as in panalock/qspinlock.h. 0 for an unknown layout. */
PLB_API uint32_t plb_lock_bytes(uint32_t layout);

/** Bytes of a domain for so many slots, with the default pool; 0 when out of range. */
PLB_API uint64_t plb_domain_bytes(uint32_t slots);

/* ---- Targets for measuring a call itself. ---- */

PLB_API void plb_blank(void);
PLB_API int plb_int1(int a);
PLB_API int plb_int4(int a, int b, int c, int d);
PLB_API int plb_int10(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j);
PLB_API int plb_pointer(const int *p);
PLB_API double plb_mix(int64_t a, double b, int64_t c, double d);

typedef struct plb_pair {
	int64_t a, b;
} plb_pair;
PLB_API int64_t plb_struct(plb_pair pair);

/** Its length. */
PLB_API int64_t plb_string(const char *text);

/** Sets errno to @p value and returns -1, as a system call that fails. */
PLB_API int plb_errno(int value);

/** Calls back. */
PLB_API int plb_upcall(int (*call)(int), int value);

/** First plus last: what is measured is how the array gets here. */
PLB_API int plb_array(const int *array, int length);

/** Waits in the kernel. */
PLB_API void plb_sleep(uint64_t ns);

#endif
