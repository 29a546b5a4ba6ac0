/* SPDX-License-Identifier: Apache-2.0 */
/* The ring buffer: against a simple queue, under many producers, in overwrite mode, with positions that lie. */
#define _GNU_SOURCE
#include "ring_traffic.h"
#include "support.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void *reserve(pl_ring *r, uint32_t bytes)
{
	void *record = NULL;
	REQUIRE_EQUAL(pl_ring_reserve(pl_self_in(r->domain), r, bytes, &record), 0);
	return record;
}

/* ---- bad input ---- */

static void options_out_of_range_are_refused(void **state)
{
	(void)state;
	pl_ring *r = NULL;
	const pl_ring_options bad[] = {
		{.bytes = 0}, {.bytes = 4095}, {.bytes = 5000}, {.bytes = 12288}, {.bytes = 2ull * PL_RING_MAX_BYTES},
		{.bytes = 4096, .flags = 4}, {.bytes = 4096, .lock = 99}, {.bytes = 4096, .pad = 1}, {.bytes = 4096, .slots = 7},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(QUIETLY(pl_ring_create(&bad[i], &r)), -EINVAL);
	assert_int_equal(pl_ring_create(NULL, &r), -EINVAL);
	pl_ring_options good = {.bytes = 4096};
	assert_int_equal(pl_ring_create(&good, NULL), -EINVAL);
	good.lock = PL_RING_LOCK_JAVA;
	int fd = shared_file(0);
	assert_int_equal(pl_ring_create_fd(fd, &good, &r), -EINVAL); /* a run-time's lock is no use to other processes */
	good.lock = 0;
	assert_int_equal(pl_ring_create_fd(-1, &good, &r), -EBADF);
	close(fd);
	assert_null(r);
}

static int reject(void *context, void *record, uint32_t bytes)
{
	(void)context, (void)record, (void)bytes;
	return -EILSEQ;
}

static void calls_with_bad_arguments_change_nothing(void **state)
{
	(void)state;
	pl_thread *self = pl_self();
	pl_ring *r = ring_new(4096, 0, 0);
	void *record = NULL;
	uint32_t bytes;
	assert_int_equal(pl_ring_reserve(self, NULL, 8, &record), -EINVAL);
	assert_int_equal(pl_ring_reserve(self, r, 8, NULL), -EINVAL);
	assert_int_equal(pl_ring_reserve(self, r, r->max_record + 1, &record), -E2BIG);
	assert_int_equal(pl_ring_reserve(self, r, UINT32_MAX, &record), -E2BIG);
	assert_int_equal(pl_ring_output(self, r, NULL, 8, 0), -EINVAL);
	assert_int_equal(pl_ring_output(self, r, "x", 1, 8), -EINVAL);
	assert_int_equal(pl_ring_commit(self, r, r->data, 0), -EINVAL); /* no header in front of it */
	assert_int_equal(pl_ring_commit(self, r, NULL, 0), -EINVAL);
	assert_int_equal(pl_ring_commit(self, r, &record, 0), -EINVAL);
	assert_int_equal(pl_ring_drain(r, NULL, NULL, 0), -EINVAL);
	assert_int_equal(pl_ring_next(r, NULL, &bytes), -EINVAL);
	assert_int_equal(pl_ring_done(r), -EINVAL);
	assert_int_equal(pl_ring_advance(r, 8), -EINVAL);
	assert_int_equal(pl_ring_wait(NULL, r, 0, 0), -ETIMEDOUT);
	assert_int_equal(pl_ring_wait(pl_domain_service(r->domain), r, 0, 0), -EINVAL);
	assert_int_equal(pl_ring_wait(self, r, 0, 0xff), -EINVAL);
	assert_int_equal(pl_ring_query(r, PL_RING_PRODUCER), 0);
	assert_int_equal(pl_ring_query(r, 99), 0);
	assert_int_equal(pl_ring_query(NULL, PL_RING_SIZE), 0);

	record = reserve(r, 5);
	assert_int_equal(pl_ring_commit(self, r, (char *)record + 4, 0), -EINVAL);
	assert_int_equal(pl_ring_commit(self, r, record, 4), -EINVAL);
	assert_int_equal(pl_ring_commit(self, r, record, 0), 0);
	assert_int_equal(pl_ring_commit(self, r, record, 0), -EINVAL); /* committed already */
	assert_int_equal(pl_ring_discard(self, r, record, 0), -EINVAL);
	assert_int_equal(pl_ring_drain(r, reject, NULL, 0), -EILSEQ);
	assert_int_equal(pl_ring_query(r, PL_RING_AVAILABLE), 0); /* what the handler saw counts as consumed */
	assert_int_equal(pl_ring_close(r), 0);
	assert_int_equal(pl_ring_close(NULL), -EINVAL);
}

/* ---- against a simple queue ---- */

enum { queue_max = 4096 };

typedef struct {
	uint32_t bytes;
	uint32_t seed; /* what it is filled with */
	int what;      /* 0 open, 1 committed, 2 discarded */
	void *record;
} expected;

typedef struct {
	pl_ring *r;
	expected q[queue_max];
	uint32_t head, tail; /* queue of what was reserved and not consumed */
	uint64_t room_bytes; /* what all records from head to tail take in the ring, padding included */
	uint32_t random;
	uint64_t consumed;
} model;

static int compare(void *context, void *record, uint32_t bytes)
{
	model *m = context;
	while (m->q[m->head % queue_max].what == 2)
		m->head++;
	assert_true(m->head != m->tail);
	const expected *e = &m->q[m->head++ % queue_max];
	assert_int_equal(e->what, 1);
	assert_int_equal(bytes, e->bytes);
	assert_true(ring_filled(record, bytes, e->seed));
	m->consumed++;
	return 0;
}

/* How many records a drain must give: up to the first open one. */
static uint32_t consumable(const model *m)
{
	uint32_t n = 0;
	for (uint32_t i = m->head; i != m->tail && m->q[i % queue_max].what; i++)
		n += m->q[i % queue_max].what == 1;
	return n;
}

static void random_operations_agree_with_a_queue(uint32_t flags, uint32_t lock, uint64_t bytes)
{
	pl_thread *self = pl_self();
	model *m = calloc(1, sizeof *m);
	m->r = ring_new(bytes, flags, lock);
	m->random = 4711 + flags;
	uint64_t full = 0, steps = scaled(200000);
	for (uint64_t n = 0; n < steps; n++) {
		uint32_t dice = random_next(&m->random) % 16;
		if (dice < 7 && m->tail - m->head < queue_max) {
			uint32_t size = random_next(&m->random) % (dice == 0 ? m->r->max_record + 1 : 64);
			void *record = NULL;
			int err = pl_ring_reserve(self, m->r, size, &record);
			if (err == 0) {
				expected *e = &m->q[m->tail++ % queue_max];
				*e = (expected){.bytes = size, .seed = random_next(&m->random), .record = record};
				assert_int_equal((uintptr_t)record % 8, 0);
				ring_fill(record, size, e->seed);
			} else {
				assert_int_equal(err, -EAGAIN);
				full++;
				/* Refused only when it really does not fit; padding can take as much again at most. */
				uint64_t used = pl_ring_query(m->r, PL_RING_AVAILABLE), step = (size + 15) & ~7ull;
				assert_true(used + step * (flags & PL_RING_PADDED ? 2 : 1) > bytes - 1);
			}
		} else if (dice < 13 && m->tail != m->head) { /* any open record, in any order */
			uint32_t i = m->head + random_next(&m->random) % (m->tail - m->head);
			expected *e = &m->q[i % queue_max];
			if (e->what == 0 && random_next(&m->random) % 8) {
				assert_int_equal(pl_ring_commit(self, m->r, e->record, random_next(&m->random) % 3), 0);
				e->what = 1;
			} else if (e->what == 0) {
				assert_int_equal(pl_ring_discard(self, m->r, e->record, 0), 0);
				e->what = 2;
			}
		} else {
			uint32_t max = random_next(&m->random) % 4 ? 0 : 3, want = consumable(m);
			if (max && want > max)
				want = max;
			if (random_next(&m->random) % 4) {
				assert_int_equal(pl_ring_drain(m->r, compare, m, max), want);
			} else { /* the same one by one */
				void *record;
				uint32_t size;
				for (uint32_t i = 0; i < want; i++) {
					assert_int_equal(pl_ring_next(m->r, &record, &size), 1);
					compare(m, record, size);
					assert_int_equal(pl_ring_done(m->r), 0);
				}
			}
			while (m->head != m->tail && m->q[m->head % queue_max].what == 2)
				m->head++;
		}
	}
	for (uint32_t i = m->head; i != m->tail; i++) {
		expected *e = &m->q[i % queue_max];
		if (e->what == 0) {
			assert_int_equal(pl_ring_commit(self, m->r, e->record, 0), 0);
			e->what = 1;
		}
	}
	uint32_t want = consumable(m);
	assert_int_equal(pl_ring_drain(m->r, compare, m, 0), want);
	assert_int_equal(pl_ring_query(m->r, PL_RING_AVAILABLE), 0);
	assert_true(full > 0 && m->consumed > 0);
	assert_int_equal(pl_ring_close(m->r), 0);
	free(m);
}

static void a_ring_mapped_twice_agrees_with_a_queue(void **state)
{
	(void)state;
	random_operations_agree_with_a_queue(0, PL_RING_LOCK_QSPIN, 4096);
	random_operations_agree_with_a_queue(0, PL_RING_LOCK_MUTEX, 16384);
	random_operations_agree_with_a_queue(0, PL_RING_LOCK_RQSPIN, 8192);
	random_operations_agree_with_a_queue(0, PL_RING_LOCK_OSQ, 8192);
}

static void a_padded_ring_agrees_with_a_queue(void **state)
{
	(void)state;
	random_operations_agree_with_a_queue(PL_RING_PADDED, PL_RING_LOCK_QSPIN, 4096);
	random_operations_agree_with_a_queue(PL_RING_PADDED, PL_RING_LOCK_MUTEX, 65536);
	random_operations_agree_with_a_queue(PL_RING_PADDED, PL_RING_LOCK_RQSPIN, 4096);
	random_operations_agree_with_a_queue(PL_RING_PADDED, PL_RING_LOCK_OSQ, 4096);
}

/* ---- many producers: support/ring_traffic.c ---- */

static void every_record_arrives_once_intact_and_in_order_at_every_number_of_producers(void **state)
{
	(void)state;
	static const int counts[] = {1, 2, 3, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52};
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		ring_traffic(counts[i], 0, i % 2 ? PL_RING_LOCK_QSPIN : PL_RING_LOCK_RQSPIN, 65536, scaled(60000));
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		ring_traffic(counts[i], 0, i % 2 ? PL_RING_LOCK_RQSPIN : PL_RING_LOCK_QSPIN, 65536, scaled(60000));
}

static void other_locks_padding_and_small_rings_do_the_same(void **state)
{
	(void)state;
	static const int counts[] = {1, 3, 16};
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		ring_traffic(counts[i], 0, PL_RING_LOCK_MUTEX, 65536, scaled(60000));
		ring_traffic(counts[i], PL_RING_PADDED, PL_RING_LOCK_QSPIN, 8192, scaled(60000));
		ring_traffic(counts[i], PL_RING_PADDED, PL_RING_LOCK_RQSPIN, 8192, scaled(60000));
		ring_traffic(counts[i], 0, PL_RING_LOCK_OSQ, 8192, scaled(60000));
		ring_traffic(counts[i], 0, PL_RING_LOCK_QSPIN, 4096, scaled(60000));
	}
}

static void a_consumer_of_an_overwriting_ring_sees_whole_records_and_who_is_missing(void **state)
{
	(void)state;
	static const int counts[] = {1, 2, 8};
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		ring_traffic(counts[i], PL_RING_OVERWRITE, PL_RING_LOCK_QSPIN, 4096, scaled(100000));
		ring_traffic(counts[i], PL_RING_OVERWRITE | PL_RING_PADDED, PL_RING_LOCK_MUTEX, 8192, scaled(100000));
		ring_traffic(counts[i], PL_RING_OVERWRITE, PL_RING_LOCK_RQSPIN, 4096, scaled(100000));
		ring_traffic(counts[i], PL_RING_OVERWRITE, PL_RING_LOCK_OSQ, 4096, scaled(100000));
	}
}

/* ---- overwrite mode, step by step ---- */

static int collect(void *context, void *record, uint32_t bytes)
{
	uint64_t **to = context;
	REQUIRE_EQUAL(bytes, 8);
	memcpy((*to)++, record, 8);
	return 0;
}

static void overwriting_keeps_the_newest_and_never_touches_an_open_record(void **state)
{
	(void)state;
	pl_thread *self = pl_self();
	pl_ring *r = ring_new(4096, PL_RING_OVERWRITE, 0);
	uint64_t n, got[512], *to = got;
	for (n = 1; n <= 1000; n++)
		assert_int_equal(pl_ring_output(self, r, &n, 8, 0), 0);
	assert_int_equal(pl_ring_drain(r, collect, &to, 0), 255); /* 4096 / 16, less the byte that tells full from empty */
	for (int i = 0; i < 255; i++)
		assert_int_equal(got[i], 1000 - 254 + i);
	assert_int_equal(pl_ring_query(r, PL_RING_LOST), 745);

	uint64_t *open = reserve(r, 8);
	*open = 4711;
	int made = 0;
	for (int err = 0; err == 0 && made < 1000; made += err == 0)
		err = pl_ring_output(self, r, &n, 8, 0);
	assert_int_equal(made, 254); /* full: the open one is in the way */
	assert_int_equal(*open, 4711);
	to = got;
	assert_int_equal(pl_ring_drain(r, collect, &to, 0), 0);
	assert_int_equal(pl_ring_commit(self, r, open, 0), 0);
	assert_int_equal(pl_ring_output(self, r, &n, 8, 0), 0);
	assert_int_equal(pl_ring_drain(r, collect, &to, 0), 255);
	assert_int_equal(pl_ring_close(r), 0);
}

/* ---- bug row 32: positions that lie ---- */

static void row_32_a_consumer_position_that_lies_never_gives_an_open_record_away(void **state)
{
	(void)state;
	pl_thread *self = pl_self();
	for (uint32_t flags = 0; flags <= PL_RING_PADDED; flags += PL_RING_PADDED) {
		pl_ring *r = ring_new(4096, flags, 0);
		uint32_t random = 7;
		/* Hold one record open at several places in the ring, and let the consumer claim anything. */
		for (int round = 0; round < 50; round++) {
			uint64_t *open = reserve(r, 64), made = 0;
			uint64_t at = pl_ring_query(r, PL_RING_PRODUCER) - 72, first = at;
			memset(open, 0xab, 64);
			for (int i = 0; i < 2000; i++) {
				static const int64_t lies[] = {0, 8, 72, 4088, 4096, 8192, -8, -4096, 1, INT64_MAX};
				uint64_t producer = pl_ring_query(r, PL_RING_PRODUCER);
				uint64_t lie = producer + (uint64_t)lies[random_next(&random) % 10];
				__atomic_store_n(&r->consumer->position, random_next(&random) % 8 ? lie : random_next(&random), __ATOMIC_RELEASE);
				void *record;
				uint32_t size = random_next(&random) % 100;
				int err = pl_ring_reserve(self, r, size, &record);
				if (err) {
					assert_int_equal(err, -EAGAIN);
					continue;
				}
				/* Not over the open one: neither in place nor through the second mapping. */
				uint64_t end = pl_ring_query(r, PL_RING_PRODUCER);
				assert_true(end - first <= r->bytes - 1);
				memset(record, 0xcd, size);
				assert_int_equal(pl_ring_commit(self, r, record, 0), 0);
				made++;
				for (int b = 0; b < 8; b++)
					assert_true(open[b] == 0xababababababababull);
			}
			assert_true(made > 0);
			assert_int_equal(pl_ring_commit(self, r, open, 0), 0);
			uint64_t now = pl_ring_query(r, PL_RING_PRODUCER); /* an honest position again: it all goes on */
			__atomic_store_n(&r->consumer->position, now, __ATOMIC_RELEASE);
			assert_int_equal(pl_ring_output(self, r, "again", 6, 0), 0);
			__atomic_store_n(&r->consumer->position, pl_ring_query(r, PL_RING_PRODUCER), __ATOMIC_RELEASE);
		}
		assert_int_equal(pl_ring_close(r), 0);
	}
}

static void a_consumer_refuses_records_that_lie_about_their_length(void **state)
{
	(void)state;
	pl_thread *self = pl_self();
	static const uint32_t lies[] = {9, 4000, 4080, 0x3fffffff, PL_RING_DISCARD | 0x3fffffff, PL_RING_DISCARD | 100};
	for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
		pl_ring *r = ring_new(4096, 0, 0);
		void *record = reserve(r, 8);
		uint32_t bytes;
		assert_int_equal(pl_ring_commit(self, r, record, 0), 0);
		((pl_ring_record *)record - 1)->length = lies[i];
		assert_int_equal(pl_ring_next(r, &record, &bytes), -EBADMSG);
		assert_int_equal(pl_ring_drain(r, reject, NULL, 0), -EBADMSG);
		assert_int_equal(pl_ring_query(r, PL_RING_CONSUMER), 0);
		assert_int_equal(pl_ring_scan(r, 4096), 0);
		assert_int_equal(pl_ring_reap(r), -EBADMSG);
		assert_int_equal(pl_ring_close(r), 0);
	}
}

/* ---- waking ---- */

typedef struct {
	pl_ring *r;
	int64_t timeout;
	uint32_t flags;
	pl_thread *slot; /* of the consumer, once it is known */
	int result;
	uint32_t done;
} sleeper;

static void *sleep_for_a_record(void *shared)
{
	sleeper *s = shared;
	pl_thread *self = pl_self_in(s->r->domain);
	__atomic_store_n(&s->slot, self, __ATOMIC_RELEASE);
	s->result = QUIETLY(pl_ring_wait(self, s->r, s->timeout, s->flags));
	__atomic_store_n(&s->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static bool sleeps(sleeper *s)
{
	pl_thread *slot = __atomic_load_n(&s->slot, __ATOMIC_ACQUIRE);
	return slot && is_parked(slot);
}

static bool is_done(sleeper *s) { return __atomic_load_n(&s->done, __ATOMIC_ACQUIRE); }

static void a_consumer_is_woken_by_the_record_it_stands_at_and_as_the_flags_say(void **state)
{
	(void)state;
	pl_thread *self = pl_self();
	pl_ring *r = ring_new(4096, 0, 0);
	for (int how = 0; how < 5; how++) {
		sleeper s = {.r = r, .timeout = PL_FOREVER};
		void *first = reserve(r, 8), *second = reserve(r, 8);
		pthread_t thread;
		pthread_create(&thread, NULL, sleep_for_a_record, &s);
		AWAIT(sleeps(&s));
		sleep_us(2000);
		assert_int_equal(pl_ring_commit(self, r, second, 0), 0); /* not the one at which the consumer stands */
		sleep_us(2000);
		assert_true(sleeps(&s) && !is_done(&s));
		if (how == 0) {
			assert_int_equal(pl_ring_commit(self, r, first, 0), 0);
		} else if (how == 1) {
			assert_int_equal(pl_ring_discard(self, r, first, 0), 0);
		} else if (how == 2) { /* silently: then it takes a record with force */
			assert_int_equal(pl_ring_commit(self, r, first, PL_RING_NO_WAKEUP), 0);
			sleep_us(2000);
			assert_true(!is_done(&s));
			assert_int_equal(pl_ring_output(self, r, &how, sizeof how, 0), 0);
			sleep_us(2000);
			assert_true(!is_done(&s));
			assert_int_equal(pl_ring_output(self, r, &how, sizeof how, PL_RING_FORCE_WAKEUP), 0);
		} else if (how == 3) { /* force also while the first is open */
			assert_int_equal(pl_ring_output(self, r, &how, sizeof how, PL_RING_FORCE_WAKEUP), 0);
			AWAIT(is_done(&s));
			assert_int_equal(pl_ring_commit(self, r, first, 0), 0);
		} else {
			assert_int_equal(pl_ring_wake(self, r), 1);
			AWAIT(is_done(&s));
			assert_int_equal(pl_ring_commit(self, r, first, 0), 0);
		}
		pthread_join(thread, NULL);
		assert_int_equal(s.result, 0);
		assert_int_equal(pl_ring_advance(r, pl_ring_scan(r, 4096)), 0);
		assert_int_equal(pl_ring_query(r, PL_RING_AVAILABLE), 0);
	}
	assert_int_equal(pl_ring_close(r), 0);
}

static void produce_without_slot(int index, void *shared)
{
	pl_ring *r = shared;
	for (int i = 0; i < 500; i++) {
		int err = pl_ring_output(NULL, r, &index, sizeof index, 0);
		REQUIRE(err == 0 || err == -EAGAIN);
		i -= err != 0;
	}
}

static int count_one(void *context, void *record, uint32_t bytes);

static void threads_without_a_slot_produce_and_consume(void **state)
{
	(void)state;
	pl_ring *r = ring_new(4096, 0, 0);
	uint64_t seen = 0;
	assert_int_equal(QUIETLY(pl_ring_wait(NULL, r, 2 * ms, 0)), -ETIMEDOUT);
	crew *c = crew_start(4, produce_without_slot, r);
	while (seen < 4 * 500) {
		assert_int_equal(pl_ring_wait(NULL, r, PL_FOREVER, 0), 0);
		assert_true(pl_ring_drain(r, count_one, &seen, 0) >= 0);
	}
	crew_join(c);
	assert_int_equal(pl_ring_close(r), 0);
}

static void a_waiting_consumer_leaves_on_time_out_and_on_interruption(void **state)
{
	(void)state;
	pl_thread *self = pl_self();
	pl_ring *r = ring_new(4096, 0, 0);
	uint64_t start = now_ns();
	assert_int_equal(QUIETLY(pl_ring_wait(self, r, 0, 0)), -ETIMEDOUT);
	assert_int_equal(QUIETLY(pl_ring_wait(self, r, 3 * ms, 0)), -ETIMEDOUT);
	assert_true(now_ns() - start >= 3 * ms);
	void *open = reserve(r, 8); /* the same while it stands at an open record */
	assert_int_equal(QUIETLY(pl_ring_wait(self, r, 3 * ms, 0)), -ETIMEDOUT);
	sleeper s = {.r = r, .timeout = PL_FOREVER, .flags = PL_WAIT_INTERRUPTIBLE};
	pthread_t thread;
	pthread_create(&thread, NULL, sleep_for_a_record, &s);
	AWAIT(sleeps(&s));
	assert_int_equal(pl_thread_interrupt(s.slot), 0);
	pthread_join(thread, NULL);
	assert_int_equal(s.result, -EINTR);
	assert_int_equal(pl_ring_commit(self, r, open, 0), 0);
	assert_int_equal(QUIETLY(pl_ring_wait(self, r, PL_FOREVER, 0)), 0);
	assert_int_equal(r->header->line.head | r->header->line.tail, 0);
	assert_int_equal(pl_ring_close(r), 0);
}

typedef struct {
	pl_ring *r;
	uint64_t each, seen;
	uint32_t running;
} trickle;

/* A consumer that sleeps after nearly every record: no wake-up may get lost. */
static void produce_slowly(int index, void *shared)
{
	trickle *t = shared;
	pl_thread *self = pl_self_in(t->r->domain);
	uint32_t random = 99u + (uint32_t)index;
	for (uint64_t i = 1; i <= t->each; i++) {
		REQUIRE_EQUAL(pl_ring_output(self, t->r, &i, sizeof i, 0), 0);
		for (uint32_t n = random_next(&random) % 2000; n; n--)
			pl_compiler_fence();
		if (i % 8 == 0)
			AWAIT(pl_ring_query(t->r, PL_RING_AVAILABLE) == 0);
	}
	__atomic_fetch_sub(&t->running, 1, __ATOMIC_RELEASE);
}

static int count_one(void *context, void *record, uint32_t bytes)
{
	(void)record, (void)bytes;
	++*(uint64_t *)context;
	return 0;
}

static void no_wake_up_is_lost(void **state)
{
	(void)state;
	for (int fenced = 0; fenced < 2; fenced++) {
		uint32_t before = pl_release_needs_fence;
		if (fenced)
			pl_release_needs_fence = 1; /* as where membarrier is refused */
		trickle t = {.r = ring_new(4096, 0, 0), .running = 2, .each = scaled(8000)};
		crew *c = crew_start(2, produce_slowly, &t);
		while (t.seen < 2 * t.each) {
			REQUIRE_EQUAL(pl_ring_wait(pl_self(), t.r, PL_FOREVER, 0), 0); /* the watchdog ends a lost one */
			REQUIRE(pl_ring_drain(t.r, count_one, &t.seen, 0) >= 0);
		}
		crew_join(c);
		assert_int_equal(pl_ring_close(t.r), 0);
		pl_release_needs_fence = before;
	}
}

static void one_thread_at_a_time_drains(void **state)
{
	(void)state;
	pl_ring *r = ring_new(4096, 0, 0);
	r->consuming = 1; /* as while another one is in a handler */
	assert_int_equal(pl_ring_drain(r, reject, NULL, 0), -EBUSY);
	r->consuming = 0;
	assert_int_equal(pl_ring_drain(r, reject, NULL, 0), 0);
	assert_int_equal(pl_ring_close(r), 0);
}

/* ---- for run-times ---- */

static void a_runtime_brings_its_own_lock_and_consumes_in_batches(void **state)
{
	(void)state;
	pl_thread *self = pl_self();
	pl_ring *r = ring_new(4096, PL_RING_PADDED, PL_RING_LOCK_JAVA);
	void *record;
	assert_int_equal(pl_ring_reserve(self, r, 8, &record), -EINVAL);
	assert_int_equal(pl_ring_reserve_at(self, r, 8), -EINVAL);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(pl_ring_reserve_locked(r, 8), 16 * i + 8);
		assert_int_equal(pl_ring_finish(r, 16 * i + 8, i == 3, 0), 0);
		assert_int_equal(pl_ring_finish(r, 16 * i + 8, 0, 0), -EINVAL);
	}
	assert_int_equal(pl_ring_finish(r, 0, 0, 0), -EINVAL);
	assert_int_equal(pl_ring_finish(r, -EAGAIN, 0, 0), -EINVAL);
	assert_int_equal(pl_ring_finish(r, 4096 + 8, 0, 0), -EINVAL);
	assert_int_equal(pl_ring_reserve_locked(r, 5000), -E2BIG);
	assert_int_equal(pl_ring_reserve_locked(r, 8), 168);
	assert_int_equal(pl_ring_scan(r, 40), 48); /* whole records */
	assert_int_equal(pl_ring_scan(r, 4096), 160);
	assert_int_equal(pl_ring_advance(r, 160), 0);
	assert_int_equal(pl_ring_advance(r, 152), -EINVAL); /* never back */
	assert_int_equal(pl_ring_advance(r, 1600), -EINVAL);
	assert_int_equal(pl_ring_close(r), 0);
	/* Without a slot this form does not wait: the lock is free or it is not. */
	r = ring_new(4096, 0, PL_RING_LOCK_QSPIN);
	assert_int_equal(pl_ring_reserve(NULL, r, 8, &record), 0);
	assert_int_equal(pl_ring_commit(NULL, r, record, 0), 0);
	assert_int_equal(pl_qspin_lock(self, (pl_qspinlock *)(void *)r->header->lock), 0);
	assert_int_equal(pl_ring_reserve_at(NULL, r, 8), -EBUSY);
	assert_int_equal(pl_qspin_unlock(self, (pl_qspinlock *)(void *)r->header->lock), 0);
	assert_int_equal(pl_ring_close(r), 0);
}

/* ---- bug row 33: signal handlers ---- */

static pl_ring *signal_ring;
static __thread pl_thread *signal_self;
static uint64_t handled, refused;

static void reserve_in_handler(int signal)
{
	(void)signal;
	void *record;
	int err = pl_ring_reserve(signal_self, signal_ring, 8, &record);
	if (err == 0) {
		pl_ring_commit(signal_self, signal_ring, record, 0);
		__atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
	} else {
		REQUIRE(err == -EDEADLK || err == -EAGAIN || err == -ETIMEDOUT);
		__atomic_fetch_add(&refused, 1, __ATOMIC_RELAXED);
	}
}

static void *hold_the_lock_for_a_while(void *shared)
{
	uint32_t *held = shared;
	void *lock = signal_ring->header->lock;
	bool rq = signal_ring->lock_kind == PL_RING_LOCK_RQSPIN;
	pl_thread *self = pl_self();
	REQUIRE_EQUAL(rq ? pl_rqspin_lock(self, lock) : pl_qspin_lock(self, lock), 0);
	__atomic_store_n(held, 1, __ATOMIC_RELEASE);
	sleep_us(20000);
	REQUIRE_EQUAL(rq ? pl_rqspin_unlock(self, lock) : pl_qspin_unlock(self, lock), 0);
	return NULL;
}

static void row_33_a_signal_handler_waits_for_another_threads_reservation(void **state)
{
	(void)state;
	static const uint32_t locks[] = {PL_RING_LOCK_QSPIN, PL_RING_LOCK_RQSPIN};
	for (int l = 0; l < 2; l++) {
		signal_ring = ring_new(65536, 0, locks[l]);
		signal_self = pl_self();
		signal(SIGUSR1, reserve_in_handler);
		pthread_t thread;
		uint32_t held = 0;
		handled = refused = 0;
		pthread_create(&thread, NULL, hold_the_lock_for_a_while, &held);
		AWAIT(__atomic_load_n(&held, __ATOMIC_ACQUIRE));
		raise(SIGUSR1); /* space is free, the lock is not: no drop */
		assert_int_equal(handled, 1);
		assert_int_equal(refused, 0);
		pthread_join(thread, NULL);
		assert_int_equal(pl_ring_close(signal_ring), 0);
	}
}

/* What the rqspinlock says comes through; nothing was reserved. */
static void reserving_fails_as_the_lock_does(void **state)
{
	(void)state;
	pl_thread *self = pl_self();
	pl_ring *r = ring_new(4096, 0, PL_RING_LOCK_RQSPIN);
	void *record = NULL;
	assert_int_equal(pl_ring_reserve(NULL, r, 8, &record), -EINVAL);
	assert_int_equal(pl_ring_reserve_at(NULL, r, 8), -EINVAL);
	assert_int_equal(pl_rqspin_lock(self, (pl_rqspinlock *)(void *)r->header->lock), 0);
	assert_int_equal(pl_ring_reserve(self, r, 8, &record), -EDEADLK); /* we hold it */
	assert_null(record);
	assert_int_equal(pl_rqspin_unlock(self, (pl_rqspinlock *)(void *)r->header->lock), 0);
	assert_int_equal(pl_ring_reserve(self, r, 8, &record), 0);
	assert_int_equal(pl_ring_query(r, PL_RING_PRODUCER), 16);
	assert_int_equal(pl_ring_commit(self, r, record, 0), 0);
	assert_int_equal(pl_ring_close(r), 0);
}

typedef struct {
	uint32_t stop, running;
	uint64_t made;
} storm;

static void reserve_under_fire(int index, void *shared)
{
	(void)index;
	storm *s = shared;
	signal_self = pl_self();
	__atomic_fetch_add(&s->running, 1, __ATOMIC_RELEASE);
	while (!pl_load_rlx(&s->stop)) {
		void *record;
		int err = pl_ring_reserve(signal_self, signal_ring, 8, &record);
		if (err) {
			REQUIRE(err == -EAGAIN || err == -ETIMEDOUT); /* full, or starved for long; its handlers disturb it in no way */
			continue;
		}
		REQUIRE_EQUAL(pl_ring_commit(signal_self, signal_ring, record, 0), 0);
		__atomic_fetch_add(&s->made, 1, __ATOMIC_RELAXED);
	}
	__atomic_fetch_sub(&s->running, 1, __ATOMIC_RELEASE);
}

static pthread_t stormed[2];
static void remember_and_reserve(int index, void *shared)
{
	__atomic_store_n(&stormed[index], pthread_self(), __ATOMIC_RELEASE);
	reserve_under_fire(index, shared);
}

__attribute__((unused)) static void handlers_that_interrupt(uint32_t lock)
{
	signal_ring = ring_new(1 << 20, 0, lock);
	signal(SIGUSR1, reserve_in_handler);
	storm s = {0};
	handled = refused = 0;
	uint64_t seen = 0, signals = scaled(3000);
	crew *c = crew_start(2, remember_and_reserve, &s);
	AWAIT(__atomic_load_n(&s.running, __ATOMIC_ACQUIRE) == 2);
	for (uint64_t i = 0; i < signals || __atomic_load_n(&handled, __ATOMIC_RELAXED) < 10; i++) { /* a loaded machine: mostly full */
		for (int t = 0; t < 2; t++)
			pthread_kill(stormed[t], SIGUSR1);
		for (int n = 0; n < 20; n++)
			REQUIRE(pl_ring_drain(signal_ring, count_one, &seen, 0) >= 0);
	}
	__atomic_store_n(&s.stop, 1, __ATOMIC_RELAXED);
	while (__atomic_load_n(&s.running, __ATOMIC_ACQUIRE))
		pl_ring_drain(signal_ring, count_one, &seen, 0);
	crew_join(c);
	pl_ring_drain(signal_ring, count_one, &seen, 0);
	assert_true(handled > 0);
	assert_int_equal(seen, handled + s.made);
	assert_int_equal(pl_ring_close(signal_ring), 0);
}

__attribute__((unused)) static void handlers_that_interrupt_reservations_never_hang_and_lose_nothing(void **state)
{
	(void)state;
	handlers_that_interrupt(PL_RING_LOCK_QSPIN);
	handlers_that_interrupt(PL_RING_LOCK_RQSPIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(options_out_of_range_are_refused),
		TEST(calls_with_bad_arguments_change_nothing),
		TEST(a_ring_mapped_twice_agrees_with_a_queue),
		TEST(a_padded_ring_agrees_with_a_queue),
		TEST(every_record_arrives_once_intact_and_in_order_at_every_number_of_producers),
		TEST(other_locks_padding_and_small_rings_do_the_same),
		TEST(overwriting_keeps_the_newest_and_never_touches_an_open_record),
		TEST(a_consumer_of_an_overwriting_ring_sees_whole_records_and_who_is_missing),
		TEST(row_32_a_consumer_position_that_lies_never_gives_an_open_record_away),
		TEST(a_consumer_refuses_records_that_lie_about_their_length),
		TEST(a_consumer_is_woken_by_the_record_it_stands_at_and_as_the_flags_say),
		TEST(a_waiting_consumer_leaves_on_time_out_and_on_interruption),
		TEST(threads_without_a_slot_produce_and_consume),
		TEST(no_wake_up_is_lost),
		TEST(one_thread_at_a_time_drains),
		TEST(a_runtime_brings_its_own_lock_and_consumes_in_batches),
		TEST(reserving_fails_as_the_lock_does),
		TEST(row_33_a_signal_handler_waits_for_another_threads_reservation),
#if !UNDER_TSAN /* which holds signals back while a thread spins */
		TEST(handlers_that_interrupt_reservations_never_hang_and_lose_nothing),
#endif
	};
	return cmocka_run_group_tests_name("ring buffer", tests, NULL, NULL);
}
