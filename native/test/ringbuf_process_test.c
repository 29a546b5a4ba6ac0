/* SPDX-License-Identifier: Apache-2.0 */
/* One ring, several processes: opening with checks, producers that are killed between reserve and commit. */
#define _GNU_SOURCE
#include "support.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static pl_ring *create(int fd, uint64_t bytes, uint32_t flags, uint32_t lock)
{
	pl_ring_options o = {.bytes = bytes, .flags = flags, .lock = lock, .slots = 64};
	pl_ring *r = NULL;
	REQUIRE_EQUAL(QUIETLY(pl_ring_create_fd(fd, &o, &r)), 0);
	return r;
}

static pl_ring *open_fd(int fd)
{
	pl_ring *r = NULL;
	REQUIRE_EQUAL(QUIETLY(pl_ring_open_fd(fd, &r)), 0);
	return r;
}

/* ---- two processes ---- */

/* fd, first number, how many: sends them in order. */
static int child_produces(int argc, char **argv)
{
	(void)argc;
	pl_ring *r = open_fd((int)number_argument(argv, 0));
	pl_thread *self = pl_self_in(r->domain);
	REQUIRE(self);
	int64_t from = number_argument(argv, 1), count = number_argument(argv, 2);
	for (int64_t i = from; i < from + count;) {
		int err = pl_ring_output(self, r, &i, sizeof i, 0);
		REQUIRE(err == 0 || err == -EAGAIN || err == -ETIMEDOUT); /* rqspinlock on a machine that has no time for us */
		i += err == 0;
		if (err)
			sleep_us(50);
	}
	REQUIRE_EQUAL(pl_ring_close(r), 0);
	return 0;
}

enum { children = 3, distance = 1000000 };

static int in_order(void *context, void *record, uint32_t bytes)
{
	int64_t *next = context, number;
	REQUIRE_EQUAL(bytes, 8);
	memcpy(&number, record, 8);
	REQUIRE(number >= 0 && number / distance < children);
	REQUIRE_EQUAL(next[number / distance], number % distance);
	next[number / distance]++;
	return 0;
}

static void processes_produce_into_one_ring(void **state)
{
	(void)state;
	static const uint32_t locks[] = {PL_RING_LOCK_QSPIN, PL_RING_LOCK_MUTEX, PL_RING_LOCK_RQSPIN, PL_RING_LOCK_OSQ};
	for (int l = 0; l < 4; l++) {
		int fd = shared_file(0);
		pl_ring *r = create(fd, 8192, l % 2 ? PL_RING_PADDED : 0, locks[l]);
		pl_thread *self = pl_self_in(r->domain);
		int64_t next[children] = {0}, each = (int64_t)scaled(20000);
		int pids[children];
		for (int i = 0; i < children; i++)
			pids[i] = CHILD_START("produces", fd, i * distance, each);
		for (int64_t seen = 0; seen < children * each;) {
			REQUIRE_EQUAL(pl_ring_wait(self, r, PL_FOREVER, 0), 0);
			int64_t n = pl_ring_drain(r, in_order, next, 0);
			REQUIRE(n >= 0);
			seen += n;
		}
		for (int i = 0; i < children; i++)
			assert_int_equal(child_wait(pids[i]), 0);
		assert_int_equal(pl_ring_close(r), 0);
		close(fd);
	}
}

/* ---- killed between reserve and commit ---- */

/* fd: reserves some records, commits some of them, says so, and waits for its end. */
static int child_leaves_records_open(int argc, char **argv)
{
	(void)argc;
	pl_ring *r = open_fd((int)number_argument(argv, 0));
	pl_thread *self = pl_self_in(r->domain);
	void *record[4];
	for (int i = 0; i < 4; i++) {
		REQUIRE_EQUAL(pl_ring_reserve(self, r, 8, &record[i]), 0);
		memcpy(record[i], "childs  ", 8);
	}
	REQUIRE_EQUAL(pl_ring_commit(self, r, record[1], 0), 0);
	REQUIRE_EQUAL(pl_ring_commit(self, r, record[3], 0), 0);
	for (;;)
		pause();
	return 0;
}

static int count_childs(void *context, void *record, uint32_t bytes)
{
	REQUIRE(bytes == 8 && !memcmp(record, "childs  ", 8));
	++*(int *)context;
	return 0;
}

static void a_producer_that_is_killed_between_reserve_and_commit_is_skipped(void **state)
{
	(void)state;
	for (uint32_t flags = 0; flags <= PL_RING_OVERWRITE; flags += PL_RING_OVERWRITE) {
		int fd = shared_file(0);
		pl_ring *r = create(fd, 4096, flags, 0);
		pl_thread *self = pl_self_in(r->domain);
		int pid = CHILD_START("leaves records open", fd);
		AWAIT(pl_ring_query(r, PL_RING_AVAILABLE) == 64 && !(((pl_ring_record *)(void *)(r->data + 48))->length & PL_RING_BUSY));
		/* As long as it lives it may still commit. */
		int seen = 0;
		assert_int_equal(pl_ring_reap(r), 0);
		assert_int_equal(pl_ring_wait(self, r, 60 * ms, 0), -ETIMEDOUT);
		assert_int_equal(pl_ring_drain(r, count_childs, &seen, 0), 0);
		kill(pid, SIGKILL);
		assert_int_equal(child_wait(pid), -SIGKILL);
		/* Nobody commits any more, and still the consumer goes on by itself. */
		assert_int_equal(pl_ring_wait(self, r, PL_FOREVER, 0), 0);
		assert_int_equal(pl_ring_drain(r, count_childs, &seen, 0), 2);
		assert_int_equal(pl_ring_query(r, PL_RING_AVAILABLE), 0);
		/* And a full ring has room again: `pending` passes what was skipped. */
		for (int i = 0; i < 1000; i++) {
			assert_int_equal(pl_ring_output(self, r, "childs  ", 8, 0), 0);
			assert_int_equal(pl_ring_drain(r, count_childs, &seen, 0), 1);
		}
		assert_int_equal(pl_ring_close(r), 0);
		close(fd);
	}
}

static void a_process_that_closes_the_ring_gives_up_its_open_records(void **state)
{
	(void)state;
	int fd = shared_file(0);
	pl_ring *r = create(fd, 4096, 0, 0), *other = open_fd(fd);
	void *record;
	assert_int_equal(pl_ring_reserve(pl_self_in(other->domain), other, 100, &record), 0);
	assert_int_equal(pl_ring_output(pl_self_in(r->domain), r, "childs  ", 8, 0), 0);
	assert_int_equal(pl_ring_reap(r), 0);
	assert_int_equal(pl_ring_close(other), 0);
	int seen = 0;
	assert_int_equal(pl_ring_reap(r), 1);
	assert_int_equal(pl_ring_drain(r, count_childs, &seen, 0), 1);
	assert_int_equal(pl_ring_close(r), 0);
	close(fd);
}

/* fd: reserves and commits for ever, until it is killed. */
static int child_produces_for_ever(int argc, char **argv)
{
	(void)argc;
	pl_ring *r = open_fd((int)number_argument(argv, 0));
	pl_thread *self = pl_self_in(r->domain);
	for (;;) {
		void *record;
		if (pl_ring_reserve(self, r, 8, &record)) {
			sleep_us(20);
			continue;
		}
		memcpy(record, "childs  ", 8);
		sleep_us(100); /* so that the kill finds a record open, and never the lock held */
		REQUIRE_EQUAL(pl_ring_commit(self, r, record, 0), 0);
	}
	return 0;
}

static void kills_at_any_moment_leave_a_ring_that_works(void **state)
{
	(void)state;
	int fd = shared_file(0);
	pl_ring *r = create(fd, 4096, 0, PL_RING_LOCK_MUTEX); /* robust: may be killed inside of it too */
	pl_thread *self = pl_self_in(r->domain);
	int seen = 0;
	for (uint64_t i = 0; i < scaled(40); i++) {
		int pid = CHILD_START("produces for ever", fd);
		int before = seen;
		while (seen < before + 3) {
			assert_int_equal(pl_ring_wait(self, r, PL_FOREVER, 0), 0);
			assert_true(pl_ring_drain(r, count_childs, &seen, 0) >= 0);
		}
		kill(pid, SIGKILL);
		assert_int_equal(child_wait(pid), -SIGKILL);
		assert_int_equal(pl_ring_output(self, r, "childs  ", 8, 0), 0);
		uint64_t end = pl_ring_query(r, PL_RING_PRODUCER);
		while (pl_ring_query(r, PL_RING_CONSUMER) != end) {
			assert_int_equal(pl_ring_wait(self, r, PL_FOREVER, 0), 0);
			assert_true(pl_ring_drain(r, count_childs, &seen, 0) >= 0);
		}
	}
	assert_int_equal(pl_ring_close(r), 0);
	close(fd);
}

/* ---- opening ---- */

static void refuse(int fd, int error)
{
	pl_ring *r = NULL;
	assert_int_equal(QUIETLY(pl_ring_open_fd(fd, &r)), error);
	assert_null(r);
}

static void a_ring_file_is_believed_only_if_everything_in_it_agrees(void **state)
{
	(void)state;
	int fd = shared_file(0);
	refuse(fd, -EBADMSG);
	assert_int_equal(ftruncate(fd, 8192), 0);
	refuse(fd, -EBADMSG);
	refuse(-1, -EBADF);
	assert_int_equal(pl_ring_open_fd(fd, NULL), -EINVAL);
	pl_ring *r = create(fd, 8192, 0, 0), *again = NULL;
	pl_ring_options o = {.bytes = 4096};
	assert_int_equal(pl_ring_create_fd(fd, &o, &again), -EEXIST);
	uint64_t page = r->header->page_bytes;
	pl_ring_header *h = r->header, good = *h;
#define LIE(field, value, error)              \
	do {                                  \
		h->field = value;             \
		refuse(fd, error);            \
		h->field = good.field;        \
	} while (0)
	LIE(magic_lo, 1, -EBADMSG);
	LIE(magic_hi, 1, -EBADMSG);
	LIE(version, PL_RING_VERSION + 1, -EPROTO);
	LIE(flags, 8, -EBADMSG);
	LIE(bytes, 12288, -EBADMSG);
	LIE(bytes, 4096, -EBADMSG);
	LIE(bytes, 1ull << 62, -EBADMSG);
	LIE(page_bytes, (uint32_t)page * 2, -EPROTO);
	LIE(page_bytes, 77, -EBADMSG);
	LIE(lock_kind, PL_RING_LOCK_JAVA, -EBADMSG);
	LIE(lock_kind, 77, -EBADMSG);
	LIE(domain_offset, 0, -EBADMSG);
	LIE(domain_offset, good.domain_offset + page, -EBADMSG);
	LIE(domain_bytes, 0, -EBADMSG);
	LIE(domain_bytes, page, -EBADMSG);
	LIE(domain_bytes, UINT64_MAX - page + 1, -EBADMSG);
	r->domain->slots++;
	refuse(fd, -EBADMSG);
	r->domain->slots--;
	static const struct {
		uint64_t producer, pending, consumer;
	} lies[] = {{8, 16, 0}, {16, 8, 24}, {12, 0, 0}, {8192 * 3, 8, 8192 * 3}, {8192 * 3, 8192 * 3, 8}, {8, 8, 3}};
	for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
		r->producer->position = lies[i].producer;
		r->producer->pending = lies[i].pending;
		r->consumer->position = lies[i].consumer;
		refuse(fd, -EBADMSG);
	}
	r->producer->position = r->producer->pending = r->consumer->position = 0;
	again = open_fd(fd);
	assert_int_equal(pl_ring_close(again), 0);
	uint64_t whole = good.domain_offset + good.domain_bytes;
	assert_int_equal(ftruncate(fd, (off_t)(whole - page)), 0);
	refuse(fd, -EBADMSG);
	assert_int_equal(ftruncate(fd, (off_t)whole), 0);
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	int read_only = open(path, O_RDONLY);
	refuse(read_only, -EACCES);
	close(read_only);
	assert_int_equal(pl_ring_close(r), 0);
	close(fd);
}

static void paths(void **state)
{
	(void)state;
	char path[64];
	snprintf(path, sizeof path, "/dev/shm/panalock-ring-test-%d", (int)getpid());
	pl_ring_options o = {.bytes = 65536};
	pl_ring *r = NULL, *other = NULL;
	unlink(path);
	assert_int_equal(QUIETLY(pl_ring_open_path(path, &r)), -ENOENT);
	assert_int_equal(QUIETLY(pl_ring_create_path(path, &o, &r)), 0);
	assert_int_equal(QUIETLY(pl_ring_create_path(path, &o, &other)), -EEXIST);
	assert_int_equal(QUIETLY(pl_ring_open_path(path, &other)), 0);
	int seen = 0;
	assert_int_equal(pl_ring_output(pl_self_in(other->domain), other, "childs  ", 8, 0), 0);
	assert_int_equal(pl_ring_drain(r, count_childs, &seen, 0), 1);
	assert_int_equal(pl_ring_close(other), 0);
	assert_int_equal(pl_ring_close(r), 0);
	assert_int_equal(pl_ring_create_path(NULL, &o, &r), -EINVAL);
	assert_int_equal(pl_ring_open_path(NULL, &r), -EINVAL);
	unlink(path);
	o.bytes = 5;
	assert_int_equal(pl_ring_create_path(path, &o, &r), -EINVAL);
	assert_int_equal(access(path, F_OK), -1); /* nothing is left behind */
}

int main(int argc, char **argv)
{
	static const child_program programs[] = {
		{"produces", child_produces},
		{"leaves records open", child_leaves_records_open},
		{"produces for ever", child_produces_for_ever},
	};
	int code = CHILD_MAIN(argc, argv, programs);
	if (code >= 0)
		return code;
	const struct CMUnitTest tests[] = {
		TEST(processes_produce_into_one_ring),
		TEST(a_producer_that_is_killed_between_reserve_and_commit_is_skipped),
		TEST(a_process_that_closes_the_ring_gives_up_its_open_records),
		TEST(kills_at_any_moment_leave_a_ring_that_works),
		TEST(a_ring_file_is_believed_only_if_everything_in_it_agrees),
		TEST(paths),
	};
	return cmocka_run_group_tests_name("ring buffer, processes", tests, NULL, NULL);
}
