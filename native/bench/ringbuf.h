/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The ring buffer under many producers, as the kernel's selftest measures its BPF ring buffer: each producer emits records
 * in batches, with a cheap system call between them; one consumer; both sides counted once per sample.
 */
#ifndef PANALOCK_BENCH_RINGBUF_H
#define PANALOCK_BENCH_RINGBUF_H

#include "bench.h"

#define PLB_RING_MAX_PRODUCERS 1024

typedef struct plb_ring_point {
	uint32_t lock; /**< PL_RING_LOCK_*. */
	uint32_t producers;
	uint32_t batch;   /**< Records between two system calls. */
	uint32_t samples;
	uint64_t ring_bytes;
	uint64_t warm_ns;
	uint64_t sample_ns;
} plb_ring_point;

/**
 * Measures one point. @p hits, @p drops, @p ns: room for point->samples values: records consumed, reservations refused,
 * length of the sample. Every record is checked: once, intact, in the order of its producer.
 * @return 0; -EINVAL; -EAGAIN (threads could not be created); -ENOSPC (no thread slot); -EILSEQ (a record was lost, came
 *         twice, or was damaged); what pl_ring_create() says.
 */
PLB_API int plb_ringbuf(const plb_ring_point *point, uint64_t *hits, uint64_t *drops, uint64_t *ns);

/**
 * The calling thread runs where the consumer, or the n-th producer, does: the consumer has the first CPU that the process
 * may use for itself, producers share the others. 0 or a negative errno.
 */
PLB_API int plb_ring_pin_consumer(void);
PLB_API int plb_ring_pin_producer(uint32_t n);

/** What producers do between two batches, for those in Java. */
PLB_API void plb_cheap_syscall(void);

#endif
