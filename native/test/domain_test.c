/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "domain.h"
#include "os/os.h"
#include "support.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static pl_domain *new_domain(uint32_t slots, uint32_t pool, uint32_t flags)
{
	pl_domain_options o = {.slots = slots, .pool_locks = pool, .flags = flags};
	pl_domain *d = NULL;
	assert_int_equal(QUIETLY(pl_domain_create(&o, &d)), 0);
	return d;
}

/* A path of its own for each test program. */
static const char *a_path(void)
{
	static char path[64];
	snprintf(path, sizeof path, "/tmp/panalock-domain-test-%d", (int)getpid());
	unlink(path);
	return path;
}

/* ---- options ---- */

static void options_out_of_range_are_refused(void **state)
{
	(void)state;
	const pl_domain_options bad[] = {
		{.slots = 1},
		{.slots = PL_MAX_SLOTS + 1},
		{.slots = UINT32_MAX},
		{.pool_locks = PL_MAX_POOL + 1},
		{.pool_locks = UINT32_MAX},
		{.flags = PL_DOMAIN_SHARED},
		{.flags = 4},
		{.flags = 0x80000000u},
	};
	const char *path = a_path();
	int fd = shared_file(0);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		pl_domain *d = NULL;
		assert_int_equal(QUIETLY(pl_domain_size(&bad[i])), 0);
		assert_int_equal(QUIETLY(pl_domain_create(&bad[i], &d)), -EINVAL);
		assert_int_equal(QUIETLY(pl_domain_create_fd(fd, &bad[i], &d)), -EINVAL);
		assert_int_equal(QUIETLY(pl_domain_create_path(path, &bad[i], &d)), -EINVAL);
		assert_null(d);
		assert_int_equal(access(path, F_OK), -1);
	}
	assert_int_equal(lseek(fd, 0, SEEK_END), 0);
	close(fd);
}

static void zero_options_take_their_defaults(void **state)
{
	(void)state;
	pl_domain *d = new_domain(0, 0, 0);
	assert_int_equal(d->slots, PL_DEFAULT_SLOTS);
	assert_int_equal(d->pool_locks, PL_DEFAULT_POOL);
	assert_int_equal(d->flags, 0);
	assert_int_equal(pl_domain_close(d), 0);
}

static void smallest_and_largest_domains_work(void **state)
{
	(void)state;
	pl_domain *d = new_domain(PL_MIN_SLOTS, 1, PL_DOMAIN_CHECKS);
	assert_int_equal(d->flags, PL_DOMAIN_CHECKS);
	assert_int_equal(pl_domain_close(d), 0);
	d = new_domain(PL_MAX_SLOTS, PL_MAX_POOL, 0);
	assert_int_equal(pl_domain_close(d), 0);
}

static void null_arguments_are_refused(void **state)
{
	(void)state;
	pl_domain *d = new_domain(2, 1, 0);
	void *word;
	assert_int_equal(QUIETLY(pl_domain_create(NULL, NULL)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_create_fd(0, NULL, NULL)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_open_fd(0, NULL)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_create_path(NULL, NULL, &d)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_create_path("/tmp/x", NULL, NULL)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_open_path(NULL, &d)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_open_path("/tmp/x", NULL)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_create_at(NULL, 1 << 20, NULL, 0, &d)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_open_at(NULL, 1 << 20, &d)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_poison(NULL)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_close(NULL)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_pool_take(NULL, &word)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_pool_take(d, NULL)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_pool_give(NULL, &word)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_pool_give(d, NULL)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_pool_index(NULL, &word)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_pool_index(d, NULL)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_pool_index(d, &word)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_pool_index(d, d)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_pool_at(NULL, 0, &word)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_pool_at(d, 0, NULL)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_pool_at(d, d->pool_locks, &word)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_pool_at(d, UINT32_MAX, &word)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_attach(NULL, &word, 8, 1)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_detach(NULL, &word)), -EINVAL);
	assert_null(QUIETLY(pl_domain_service(NULL)));
	assert_int_equal(pl_domain_close(d), 0);
}

/* ---- opening ---- */

static void bad_descriptors_and_paths_say_why(void **state)
{
	(void)state;
	pl_domain *d = NULL;
	const char *path = a_path();
	assert_int_equal(QUIETLY(pl_domain_create_fd(-1, NULL, &d)), -EBADF);
	assert_int_equal(QUIETLY(pl_domain_open_fd(-1, &d)), -EBADF);
	assert_int_equal(QUIETLY(pl_domain_open_path(path, &d)), -ENOENT);
	assert_int_equal(QUIETLY(pl_domain_create_path("/nowhere/at/all", NULL, &d)), -ENOENT);
	assert_int_equal(QUIETLY(pl_domain_create_path(path, NULL, &d)), 0);
	assert_int_equal(QUIETLY(pl_domain_create_path(path, NULL, &d)), -EEXIST);
	assert_int_equal(pl_domain_close(d), 0);
	d = NULL;

	int readable = open(path, O_RDONLY);
	assert_int_equal(QUIETLY(pl_domain_open_fd(readable, &d)), -EACCES);
	close(readable);
	assert_null(d);

	int pipes[2];
	assert_int_equal(pipe(pipes), 0);
	assert_true(QUIETLY(pl_domain_open_fd(pipes[0], &d)) < 0);
	assert_true(QUIETLY(pl_domain_create_fd(pipes[1], NULL, &d)) < 0);
	close(pipes[0]);
	close(pipes[1]);
	unlink(path);
}

static void only_the_owner_may_open_a_created_file(void **state)
{
	(void)state;
	pl_domain *d;
	struct stat st;
	const char *path = a_path();
	assert_int_equal(pl_domain_create_path(path, NULL, &d), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(st.st_size, d->size);
	assert_int_equal(pl_domain_close(d), 0);
	unlink(path);
}

static void file_that_holds_a_domain_is_not_overwritten(void **state)
{
	(void)state;
	pl_domain *d, *e = NULL;
	int fd = shared_file(0);
	assert_int_equal(pl_domain_create_fd(fd, NULL, &d), 0);
	assert_int_equal(QUIETLY(pl_domain_create_fd(fd, NULL, &e)), -EEXIST);
	/* Nor one of a later version, which this library cannot read. */
	d->layout_version = PL_LAYOUT_VERSION + 1;
	assert_int_equal(QUIETLY(pl_domain_create_fd(fd, NULL, &e)), -EEXIST);
	assert_null(e);
	d->layout_version = PL_LAYOUT_VERSION;
	assert_int_equal(pl_domain_close(d), 0);
	assert_int_equal(pl_domain_open_fd(fd, &d), 0);
	assert_int_equal(pl_domain_close(d), 0);
	close(fd);
}

static void descriptor_may_be_closed_and_other_contents_are_overwritten(void **state)
{
	(void)state;
	pl_domain *d;
	int fd = shared_file(100);
	assert_int_equal(pwrite(fd, "something else, that is not a domain", 36, 0), 36);
	assert_int_equal(QUIETLY(pl_domain_create_fd(fd, NULL, &d)), 0);
	assert_int_equal(lseek(fd, 0, SEEK_END), (int64_t)pl_domain_size(NULL));
	close(fd);
	assert_int_equal(d->flags, PL_DOMAIN_SHARED);
	assert_non_null(pl_self_in(d));
	assert_int_equal(pl_domain_close(d), 0);
}

static void truncated_and_empty_files_are_refused(void **state)
{
	(void)state;
	pl_domain *d, *e = NULL;
	int fd = shared_file(0);
	assert_int_equal(QUIETLY(pl_domain_open_fd(fd, &e)), -EBADMSG);
	assert_int_equal(pl_domain_create_fd(fd, NULL, &d), 0);
	off_t size = (off_t)d->size;
	assert_int_equal(pl_domain_close(d), 0);
	const off_t cuts[] = {size - 1, size - 4096, size / 2, sizeof(pl_domain), sizeof(pl_domain) - 1, 64, 1, 0};
	for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
		assert_int_equal(ftruncate(fd, cuts[i]), 0);
		assert_int_equal(QUIETLY(pl_domain_open_fd(fd, &e)), -EBADMSG);
	}
	close(fd);
}

static void longer_file_is_accepted_and_only_the_domain_is_mapped(void **state)
{
	(void)state;
	pl_domain *d;
	int fd = shared_file(0);
	assert_int_equal(pl_domain_create_fd(fd, NULL, &d), 0);
	off_t size = (off_t)d->size;
	assert_int_equal(pl_domain_close(d), 0);
	assert_int_equal(ftruncate(fd, size + 12345), 0);
	assert_int_equal(QUIETLY(pl_domain_open_fd(fd, &d)), 0);
	assert_int_equal(d->size, size);
	assert_int_equal(pl_domain_close(d), 0);
	close(fd);
}

static void every_tampered_header_field_is_refused(void **state)
{
	(void)state;
	pl_domain *d, *e = NULL;
	pl_domain_options o = {.slots = 16, .pool_locks = 16};
	int fd = shared_file(0);
	assert_int_equal(pl_domain_create_fd(fd, &o, &d), 0);
	/* Offset of each field with its size; what opening says. */
	static const struct {
		size_t offset, bytes;
		int error;
	} fields[] = {
#define FIELD(name, error) {offsetof(pl_domain, name), sizeof(((pl_domain *)NULL)->name), error}
		FIELD(magic_lo, -EBADMSG),     FIELD(magic_hi, -EBADMSG),       FIELD(layout_version, -EPROTO),
		FIELD(flags, -EBADMSG),        FIELD(size, -EBADMSG),           FIELD(slots, -EBADMSG),
		FIELD(slot_size, -EBADMSG),    FIELD(slots_offset, -EBADMSG),   FIELD(buckets_offset, -EBADMSG),
		FIELD(bitmap_offset, -EBADMSG), FIELD(pool_offset, -EBADMSG),   FIELD(pool_locks, -EBADMSG),
#undef FIELD
	};
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		uint8_t *field = (uint8_t *)d + fields[i].offset;
		uint8_t before[8];
		memcpy(before, field, fields[i].bytes);
		for (size_t bit = 0; bit < 8 * fields[i].bytes; bit++) { /* each bit alone */
			field[bit / 8] ^= (uint8_t)(1 << bit % 8);
			/* Some changes lead to another domain that makes sense and fits: checks on, a word more in the pool. */
			pl_domain_options claimed = {d->slots, d->pool_locks, d->flags & PL_DOMAIN_CHECKS};
			bool sensible = fields[i].offset == offsetof(pl_domain, flags) ? bit == 1
											: fields[i].offset == offsetof(pl_domain, pool_locks) &&
												  pl_domain_size(&claimed) == d->size;
			if (!sensible && QUIETLY(pl_domain_open_fd(fd, &e)) != fields[i].error)
				fail_msg("field at %zu, bit %zu: not refused", fields[i].offset, bit);
			memcpy(field, before, fields[i].bytes);
		}
		memset(field, 0, fields[i].bytes); /* zero, and all ones */
		assert_int_equal(QUIETLY(pl_domain_open_fd(fd, &e)), fields[i].error);
		memset(field, 0xff, fields[i].bytes);
		assert_int_equal(QUIETLY(pl_domain_open_fd(fd, &e)), fields[i].error);
		memcpy(field, before, fields[i].bytes);
	}
	assert_null(e);
	assert_int_equal(pl_domain_open_fd(fd, &e), 0);
	assert_int_equal(pl_domain_close(e), 0);
	assert_int_equal(pl_domain_close(d), 0);
	close(fd);
}

static void private_domain_in_a_file_is_refused(void **state)
{
	(void)state;
	pl_domain *d, *e = NULL;
	uint64_t bytes = pl_domain_size(NULL);
	int fd = shared_file(bytes);
	void *memory = map_file(fd, bytes);
	assert_int_equal(pl_domain_create_at(memory, bytes, NULL, 0, &d), 0);
	assert_int_equal(QUIETLY(pl_domain_open_fd(fd, &e)), -EBADMSG);
	assert_int_equal(pl_domain_close(d), 0);
	munmap(memory, bytes);
	close(fd);
}

static int do_nothing(void *unused)
{
	(void)unused;
	return 0;
}

static void memory_brought_by_the_caller(void **state)
{
	(void)state;
	uint64_t bytes = pl_domain_size(NULL);
	char *memory = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pl_domain *d = NULL, *e = NULL;
	assert_int_equal(QUIETLY(pl_domain_open_at(memory, bytes, &d)), -EBADMSG);
	assert_int_equal(QUIETLY(pl_domain_create_at(memory + 64, bytes, NULL, 0, &d)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_create_at(memory, bytes - 1, NULL, 0, &d)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_create_at(memory, bytes, NULL, 2, &d)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_create_at(memory, bytes, NULL, 0, NULL)), -EINVAL);
	assert_null(d);
	memset(memory, 0xa5, bytes);
	assert_int_equal(QUIETLY(pl_domain_create_at(memory, bytes, NULL, 0, &d)), 0);
	assert_ptr_equal(d, memory);
	assert_int_equal(QUIETLY(pl_domain_create_at(memory, bytes, NULL, 0, &e)), -EEXIST);
	assert_int_equal(QUIETLY(pl_domain_open_at(memory, bytes - 1, &e)), -EBADMSG);
	assert_int_equal(QUIETLY(pl_domain_open_at(memory + 64, bytes, &e)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_open_at(memory, bytes, &e)), 0);
	assert_ptr_equal(e, memory);
	assert_non_null(pl_self_in(d));
	assert_int_equal(forked(do_nothing, NULL), 0); /* nothing that is gone is touched then */
	assert_int_equal(QUIETLY(pl_domain_close(d)), 0);
	assert_int_equal(QUIETLY(pl_domain_close(d)), -EINVAL);
	assert_int_equal(d->closed, 1); /* ours to unmap, not the library's */
	munmap(memory, bytes + 4096);
	assert_int_equal(forked(do_nothing, NULL), 0);

	/* The same addresses may hold another domain later, whoever maps it. */
	pl_domain_options o = {.slots = PL_DEFAULT_SLOTS};
	void *again = mmap(memory, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	assert_ptr_equal(again, memory);
	assert_int_equal(QUIETLY(pl_domain_create_at(again, bytes, &o, 0, &d)), 0);
	assert_int_equal(d->processes[pl_domain_process(d)].pid, getpid());
	munmap(again, bytes); /* against the rules, without a close */
	assert_int_equal(QUIETLY(pl_domain_create(&o, &d)), 0);
	if ((void *)d != again) { /* make up for it */
		assert_int_equal(pl_domain_close(d), 0);
		again = mmap(again, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		assert_int_equal(pl_domain_create_at(again, bytes, &o, 0, &d), 0);
	}
	assert_int_equal(d->processes[pl_domain_process(d)].pid, getpid());
	assert_int_equal(QUIETLY(pl_domain_close(d)), 0);
}

static void closing_twice_is_refused(void **state)
{
	(void)state;
	pl_domain *d = new_domain(2, 1, 0);
	assert_int_equal(QUIETLY(pl_domain_close(d)), 0);
	assert_int_equal(QUIETLY(pl_domain_close(d)), -EINVAL);
	static uint64_t no_domain[64];
	assert_int_equal(QUIETLY(pl_domain_close((pl_domain *)(void *)no_domain)), -EINVAL);
}

static void default_domain_is_one_and_cannot_be_closed(void **state)
{
	(void)state;
	pl_domain *d = QUIETLY(pl_domain_default());
	assert_non_null(d);
	assert_ptr_equal(d, pl_domain_default());
	assert_int_equal(QUIETLY(pl_domain_close(d)), -EINVAL);
	assert_ptr_equal(pl_thread_domain(pl_self()), d);
}

/* ---- processes ---- */

static void every_opening_has_a_process_entry_of_its_own(void **state)
{
	(void)state;
	pl_domain *a, *b;
	pl_domain_options o = {.slots = 4, .pool_locks = 1};
	int fd = shared_file(0);
	assert_int_equal(pl_domain_create_fd(fd, &o, &a), 0);
	assert_int_equal(pl_domain_open_fd(fd, &b), 0);
	assert_true(a != b);
	pl_thread *slots[3], *one_more;
	for (int i = 0; i < 3; i++)
		assert_int_equal(pl_thread_register(a, 0, &slots[i]), 0);
	/* Closing one mapping must not make the slots of the other look orphaned. */
	assert_int_equal(pl_domain_close(b), 0);
	assert_int_equal(a->processes[pl_domain_process(a)].pid, getpid());
	assert_int_equal(QUIETLY(pl_thread_register(a, 0, &one_more)), -ENOSPC);
	assert_int_equal(pl_domain_close(a), 0);
	close(fd);
}

static void one_process_too_many_is_told_so(void **state)
{
	(void)state;
	pl_domain *d, *e = NULL;
	pl_domain_options o = {.slots = 4, .pool_locks = 1};
	int fd = shared_file(0);
	assert_int_equal(pl_domain_create_fd(fd, &o, &d), 0);
	/* As if 63 others, alive like init, had it open. */
	for (uint32_t i = 0; i < PL_PROCESSES; i++)
		if (i != pl_domain_process(d)) {
			d->processes[i].pid = 1;
			d->processes[i].incarnation = pl_os_incarnation(1);
		}
	assert_int_equal(QUIETLY(pl_domain_open_fd(fd, &e)), -EUSERS);
	d->processes[17].incarnation++; /* not that process: it has ended */
	assert_int_equal(QUIETLY(pl_domain_open_fd(fd, &e)), 0);
	assert_int_equal(pl_domain_process(e), 17);
	assert_int_equal(pl_domain_close(e), 0);
	assert_int_equal(pl_domain_close(d), 0);
	close(fd);
}

typedef struct {
	uint32_t go, opened, done, released;
	uint32_t process[PL_PROCESSES];
	int64_t counter; /* not atomic: the lock protects it */
	any_lock locks[layouts];
} shared_page;

enum { page_bytes = 8192, openers = 16 };

/* fd of the domain, fd of the page, index */
static int child_opens_at_once(int argc, char **argv)
{
	(void)argc;
	shared_page *page = map_file((int)number_argument(argv, 1), page_bytes);
	pl_domain *d;
	while (!pl_load_acq(&page->go))
		;
	REQUIRE_EQUAL(pl_domain_open_fd((int)number_argument(argv, 0), &d), 0);
	page->process[number_argument(argv, 2)] = pl_domain_process(d);
	pl_add_ar(&page->opened, 1);
	AWAIT(pl_load_acq(&page->released));
	REQUIRE_EQUAL(d->processes[pl_domain_process(d)].pid, getpid());
	REQUIRE(d->processes[pl_domain_process(d)].incarnation == pl_os_incarnation((uint32_t)getpid()));
	return 0;
}

static void processes_that_open_at_once_get_different_entries(void **state)
{
	(void)state;
	pl_domain *d;
	int fd = shared_file(0), page_fd = shared_file(page_bytes), pids[openers];
	assert_int_equal(pl_domain_create_fd(fd, NULL, &d), 0);
	for (int round = 0; round < 4; round++) {
		shared_page *page = map_file(page_fd, page_bytes);
		memset(page, 0, sizeof *page);
		for (int i = 0; i < openers; i++)
			pids[i] = CHILD_START("opens_at_once", fd, page_fd, i);
		sleep_us(2000);
		pl_store_rel(&page->go, 1);
		AWAIT(pl_load_acq(&page->opened) == openers);
		uint64_t used = 0;
		for (int i = 0; i < openers; i++) {
			assert_false(used >> page->process[i] & 1);
			used |= 1ull << page->process[i];
		}
		pl_store_rel(&page->released, 1);
		for (int i = 0; i < openers; i++)
			assert_int_equal(child_wait(pids[i]), 0);
		munmap(page, page_bytes);
	}
	assert_int_equal(pl_domain_close(d), 0);
	close(fd);
	close(page_fd);
}

/* layout, fd of the page (region 3), rounds, fd of the domain or -1 (then a_path() of the parent), offset of the lock in
 * the domain or 0 for the one in the region, pid of the parent */
static int child_excludes(int argc, char **argv)
{
	(void)argc;
	int layout = (int)number_argument(argv, 0), fd = (int)number_argument(argv, 3);
	uint64_t offset = (uint64_t)number_argument(argv, 4);
	/* Something in between, so that the mappings lie elsewhere than in the parent. */
	void *gap = mmap(NULL, 1 << 22, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(gap != MAP_FAILED);
	shared_page *page = map_file((int)number_argument(argv, 1), page_bytes);
	pl_domain *d;
	if (fd >= 0) {
		REQUIRE_EQUAL(pl_domain_open_fd(fd, &d), 0);
	} else {
		char path[64];
		snprintf(path, sizeof path, "/tmp/panalock-domain-test-%d", (int)number_argument(argv, 5));
		REQUIRE_EQUAL(pl_domain_open_path(path, &d), 0);
	}
	REQUIRE_EQUAL(pl_domain_attach(d, page, page_bytes, 3), 0);
	any_lock *lock = offset ? (any_lock *)(void *)((char *)d + offset) : &page->locks[layout];
	pl_thread *self = pl_self_in(d);
	REQUIRE(self);
	pl_add_ar(&page->opened, 1);
	AWAIT(pl_load_acq(&page->go));
	for (int64_t i = number_argument(argv, 2); i; i--) {
		REQUIRE_EQUAL(any_lock_it(layout, self, lock), 0);
		int64_t seen = page->counter;
		if (i % 64 == 0)
			sleep_us(20); /* so that the other process sleeps at times */
		page->counter = seen + 1;
		REQUIRE_EQUAL(any_unlock(layout, self, lock), 0);
	}
	REQUIRE_EQUAL(pl_domain_close(d), 0);
	return 0;
}

static void exclude_between_processes(bool by_path, bool pool)
{
	enum { children = 2 };
	int64_t rounds = (int64_t)scaled(4000);
	for (int layout = 0; layout < layouts; layout++) {
		pl_domain *d;
		void *word = NULL;
		const char *path = a_path();
		int fd = by_path ? -1 : shared_file(0), page_fd = shared_file(page_bytes), pids[children];
		assert_int_equal(by_path ? pl_domain_create_path(path, NULL, &d) : pl_domain_create_fd(fd, NULL, &d), 0);
		shared_page *page = map_file(page_fd, page_bytes);
		assert_int_equal(pl_domain_attach(d, page, page_bytes, 3), 0);
		if (pool)
			assert_int_equal(pl_domain_pool_take(d, &word), 0);
		int64_t offset = pool ? (char *)word - (char *)d : 0;
		any_lock *lock = pool ? word : &page->locks[layout];
		for (int i = 0; i < children; i++)
			pids[i] = CHILD_START("excludes", layout, page_fd, rounds, fd, offset, getpid());
		AWAIT(pl_load_acq(&page->opened) == children);
		pl_store_rel(&page->go, 1);
		pl_thread *self = pl_self_in(d);
		for (int64_t i = rounds; i; i--) {
			assert_int_equal(any_lock_it(layout, self, lock), 0);
			page->counter++;
			assert_int_equal(any_unlock(layout, self, lock), 0);
		}
		for (int i = 0; i < children; i++)
			assert_int_equal(child_wait(pids[i]), 0);
		assert_int_equal(page->counter, (children + 1) * rounds);
		assert_int_equal(any_is_locked(layout, lock), 0);
		if (pool)
			assert_int_equal(pl_domain_pool_give(d, word), 0);
		assert_int_equal(pl_domain_close(d), 0);
		munmap(page, page_bytes);
		close(page_fd);
		if (fd >= 0)
			close(fd);
		unlink(path);
	}
}

static void processes_exclude_each_other_with_a_pool_lock_by_descriptor(void **state)
{
	(void)state;
	exclude_between_processes(false, true);
}

static void processes_exclude_each_other_with_a_pool_lock_by_path(void **state)
{
	(void)state;
	exclude_between_processes(true, true);
}

static void processes_exclude_each_other_with_a_lock_in_an_attached_region(void **state)
{
	(void)state;
	exclude_between_processes(false, false);
}

/* ---- pool ---- */

static void pool_words_are_zero_and_alone_on_their_cache_lines(void **state)
{
	(void)state;
	enum { words = 70 };
	pl_domain *d = new_domain(2, words, 0);
	void *taken[words], *one_more = NULL;
	for (int i = 0; i < words; i++) {
		assert_int_equal(QUIETLY(pl_domain_pool_take(d, &taken[i])), 0);
		assert_int_equal((uintptr_t)taken[i] % PL_CACHE_LINE, 0);
		assert_int_equal(*(uint64_t *)taken[i], 0);
		assert_true((char *)taken[i] >= (char *)d && (char *)taken[i] + 8 <= (char *)d + d->size);
		for (int j = 0; j < i; j++)
			assert_true(taken[i] != taken[j]);
	}
	assert_int_equal(QUIETLY(pl_domain_pool_take(d, &one_more)), -ENOSPC);
	assert_null(one_more);
	bool seen[words] = {false};
	for (int i = 0; i < words; i++) {
		int index = pl_domain_pool_index(d, taken[i]);
		assert_in_range(index, 0, words - 1);
		assert_false(seen[index]);
		seen[index] = true;
		void *again = NULL;
		assert_int_equal(QUIETLY(pl_domain_pool_at(d, (uint32_t)index, &again)), 0);
		assert_ptr_equal(again, taken[i]);
	}
	uint32_t given = (uint32_t)pl_domain_pool_index(d, taken[33]);
	assert_int_equal(QUIETLY(pl_domain_pool_give(d, taken[33])), 0);
	assert_int_equal(QUIETLY(pl_domain_pool_at(d, given, &one_more)), -ENOENT);
	assert_null(one_more);
	assert_int_equal(QUIETLY(pl_domain_pool_give(d, taken[33])), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_pool_take(d, &one_more)), 0);
	assert_ptr_equal(one_more, taken[33]);
	assert_int_equal(pl_domain_close(d), 0);
}

static void what_is_no_pool_word_cannot_be_given(void **state)
{
	(void)state;
	pl_domain *d = new_domain(2, 4, 0);
	void *word;
	assert_int_equal(pl_domain_pool_take(d, &word), 0);
	uint32_t mine = 0;
	assert_int_equal(QUIETLY(pl_domain_pool_give(d, &mine)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_pool_give(d, d)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_pool_give(d, (char *)word + 4)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_pool_give(d, (char *)d + d->pool_offset + 4 * PL_CACHE_LINE)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_pool_give(d, (char *)d + d->pool_offset - PL_CACHE_LINE)), -EINVAL);
	assert_int_equal(pl_domain_pool_give(d, word), 0);
	assert_int_equal(pl_domain_close(d), 0);
}

static void pool_word_in_use_cannot_be_given(void **state)
{
	(void)state;
	pl_domain *d = new_domain(4, 4, 0);
	pl_thread *self = pl_self_in(d);
	for (int layout = 0; layout < layouts; layout++) {
		void *word;
		assert_int_equal(pl_domain_pool_take(d, &word), 0);
		assert_int_equal(any_lock_it(layout, self, word), 0);
		assert_int_equal(QUIETLY(pl_domain_pool_give(d, word)), -EBUSY);
		assert_int_equal(any_unlock(layout, self, word), 0);
		assert_int_equal(QUIETLY(pl_domain_pool_give(d, word)), 0);
	}
	assert_int_equal(pl_domain_close(d), 0);
}

static void who_uses_a_word_that_was_given_back_is_refused(void **state)
{
	(void)state;
	pl_domain *d = new_domain(4, 2, 0);
	pl_thread *self = pl_self_in(d);
	for (int layout = 0; layout < layouts; layout++) {
		void *word, *other, *again;
		assert_int_equal(pl_domain_pool_take(d, &word), 0);
		assert_int_equal(any_lock_it(layout, self, word), 0);
		assert_int_equal(any_unlock(layout, self, word), 0);
		assert_int_equal(QUIETLY(pl_domain_pool_give(d, word)), 0);
		assert_int_equal(QUIETLY(any_lock_it(layout, self, word)), -ESHUTDOWN);
		assert_int_equal(any_lock_inline(layout, self, word), -ESHUTDOWN);
		assert_int_equal(QUIETLY(any_trylock(layout, self, word)), -ESHUTDOWN);
		assert_int_equal(any_trylock_inline(layout, self, word), -ESHUTDOWN);
		assert_int_equal(any_lock_wait(layout, self, word, 0, ms), -ESHUTDOWN);
		assert_int_equal(any_lock_wait(layout, self, word, PL_WAIT_SPIN, PL_FOREVER), -ESHUTDOWN);
		assert_int_equal(any_lock_wait(layout, NULL, word, 0, PL_FOREVER), -ESHUTDOWN);
		assert_int_equal(any_rq_lock(layout, self, word), -ESHUTDOWN);
		assert_int_equal(any_rq_trylock(layout, self, word), -ESHUTDOWN);
		assert_int_equal(pl_mutex_lock(self, word), -ESHUTDOWN);
		assert_int_equal(pl_mutex_trylock(self, word), -ESHUTDOWN);
		assert_int_equal(any_is_locked(layout, word), 0);
		assert_int_equal(any_is_contended(layout, word), 0);
		any_unlock(layout, self, word); /* a stray one opens it for nobody, and does the next owner no harm */
		int err = any_lock_it(layout, self, word);
		assert_true(err == -ESHUTDOWN || (layout == PL_LAYOUT_WORD && err == -EBADFD));
		assert_int_equal(pl_domain_pool_take(d, &other), 0);
		assert_true(other != word);
		assert_int_equal(pl_domain_pool_take(d, &again), 0);
		assert_ptr_equal(again, word);
		assert_int_equal(*(uint64_t *)again, 0);
		assert_int_equal(any_lock_it(layout, self, word), 0);
		assert_int_equal(any_unlock(layout, self, word), 0);
		assert_int_equal(pl_domain_pool_give(d, other), 0);
		assert_int_equal(pl_domain_pool_give(d, again), 0);
	}
	assert_int_equal(pl_domain_close(d), 0);
}

static void mutex_in_use_cannot_be_given_and_can_be_afterwards(void **state)
{
	(void)state;
	pl_domain *d = new_domain(4, 1, 0);
	pl_thread *self = pl_self_in(d);
	void *word;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(pl_domain_pool_take(d, &word), 0);
		assert_int_equal(pl_mutex_lock(self, word), 0);
		assert_int_equal(QUIETLY(pl_domain_pool_give(d, word)), -EBUSY);
		assert_int_equal(pl_mutex_unlock(self, word), 0);
		assert_int_equal(QUIETLY(pl_domain_pool_give(d, word)), 0);
	}
	assert_int_equal(pl_domain_close(d), 0);
}

typedef struct {
	pl_domain *domain;
	uint32_t rounds, refused;
} closing_game;

static void take_and_give_until_closed(int index, void *shared)
{
	closing_game *game = shared;
	if (!index) {
		AWAIT(pl_load_rlx(&game->rounds) >= 2);
		REQUIRE_EQUAL(pl_domain_poison(game->domain), 0);
		return;
	}
	for (;;) {
		void *word;
		int err = pl_domain_pool_take(game->domain, &word);
		pl_add_ar(&game->rounds, 1);
		if (err == -ESHUTDOWN)
			break;
		if (!err)
			REQUIRE_EQUAL(pl_domain_pool_give(game->domain, word), 0);
		else
			REQUIRE_EQUAL(err, -ENOSPC);
	}
	pl_add_ar(&game->refused, 1);
}

/* Who takes the poison of a free word away must not take away that of a closing. */
static void closing_poisons_words_that_are_taken_and_given_meanwhile(void **state)
{
	(void)state;
	enum { crew_size = 4, words = 2 };
	for (uint64_t i = scaled(300); i; i--) {
		closing_game game = {.domain = new_domain(2, words, 0)};
		crew_run(crew_size, take_and_give_until_closed, &game);
		assert_int_equal(game.refused, crew_size - 1);
		uint32_t *word = (uint32_t *)(void *)((char *)game.domain + game.domain->pool_offset);
		for (int n = 0; n < words; n++, word += PL_CACHE_LINE / sizeof *word) {
			assert_int_equal(word[0], PL_Q_POISON);
			assert_int_equal(word[1], PL_Q_POISON);
		}
		assert_int_equal(pl_domain_close(game.domain), 0);
	}
}

typedef struct {
	pl_domain *domain;
	uint32_t owners[PL_CACHE_LINE];
} pool_game;

static void take_and_give(int index, void *shared)
{
	pool_game *game = shared;
	for (uint64_t i = scaled(200000); i; i--) {
		void *word;
		int err = pl_domain_pool_take(game->domain, &word);
		if (err == -ENOSPC)
			continue;
		REQUIRE_EQUAL(err, 0);
		REQUIRE_EQUAL(*(uint64_t *)word, 0);
		uint64_t n = (uint64_t)((char *)word - (char *)game->domain - (ptrdiff_t)game->domain->pool_offset) / PL_CACHE_LINE;
		REQUIRE_EQUAL(pl_swap_ar(&game->owners[n], (uint32_t)index + 1), 0);
		REQUIRE_EQUAL(pl_swap_ar(&game->owners[n], 0), index + 1);
		REQUIRE_EQUAL(pl_domain_pool_give(game->domain, word), 0);
	}
}

static void threads_that_take_and_give_never_share_a_word(void **state)
{
	(void)state;
	pool_game game = {.domain = new_domain(2, 3, 0)};
	crew_run(4, take_and_give, &game);
	assert_int_equal(pl_domain_close(game.domain), 0);
}

/* ---- poison ---- */

typedef struct {
	pl_domain *domain;
	int layout;
	uint32_t flags;
	int64_t timeout;
	any_lock *lock;
	uint32_t arrived, ended;
} poison_game;

static void wait_for_poison(int index, void *shared)
{
	(void)index;
	poison_game *game = shared;
	pl_thread *self = pl_self_in(game->domain);
	pl_add_ar(&game->arrived, 1);
	REQUIRE_EQUAL(any_lock_wait(game->layout, self, game->lock, game->flags, game->timeout), -ESHUTDOWN);
	REQUIRE_EQUAL(self->depth, 0);
	pl_add_ar(&game->ended, 1);
}

static void poison_sends_waiters_of_every_kind_away(void **state)
{
	(void)state;
	enum { crew_size = 3 };
	const uint32_t flags[] = {0, PL_WAIT_SPIN, PL_WAIT_INTERRUPTIBLE, PL_WAIT_SPIN | PL_WAIT_INTERRUPTIBLE};
	for (int layout = 0; layout < layouts; layout++)
		for (int kind = 0; kind < 8; kind++) {
			pl_domain *d = new_domain(crew_size + 2, 2, 0);
			poison_game game = {d, layout, flags[kind / 2], kind % 2 ? 60ll * 1000 * ms : PL_FOREVER, NULL, 0, 0};
			void *word;
			assert_int_equal(pl_domain_pool_take(d, &word), 0);
			game.lock = word;
			pl_thread *self = pl_self_in(d);
			assert_int_equal(any_lock_it(layout, self, word), 0);
			crew *waiters = crew_start(crew_size, wait_for_poison, &game);
			AWAIT(pl_load_acq(&game.arrived) == crew_size);
			sleep_us(1500); /* one sleeps by then, or stands in the queue */
			assert_int_equal(QUIETLY(pl_domain_poison(d)), 0);
			crew_join(waiters); /* while the lock is held still */
			assert_int_equal(game.ended, crew_size);

			assert_int_equal(any_is_locked(layout, word), 1);
			assert_int_equal(any_unlock(layout, self, word), 0);
			assert_int_equal(any_is_locked(layout, word), 0);
			assert_int_equal(QUIETLY(any_trylock(layout, self, word)), -ESHUTDOWN);
			assert_int_equal(any_trylock_inline(layout, self, word), -ESHUTDOWN);
			assert_int_equal(QUIETLY(any_lock_it(layout, self, word)), -ESHUTDOWN);
			assert_int_equal(any_lock_inline(layout, self, word), -ESHUTDOWN);
			for (int i = 0; i < 4; i++)
				assert_int_equal(QUIETLY(any_lock_wait(layout, self, word, flags[i], ms)), -ESHUTDOWN);
			assert_int_equal(QUIETLY(pl_domain_pool_take(d, &word)), -ESHUTDOWN);
			pl_thread *slot = NULL;
			assert_int_equal(QUIETLY(pl_thread_register(d, 0, &slot)), -ESHUTDOWN);
			assert_int_equal(QUIETLY(pl_domain_poison(d)), 0);
			assert_int_equal(QUIETLY(pl_domain_pool_give(d, game.lock)), 0);
			assert_int_equal(pl_domain_close(d), 0);
		}
}

static void words_never_taken_are_poisoned_too(void **state)
{
	(void)state;
	pl_domain *d = new_domain(2, 8, 0);
	assert_int_equal(pl_domain_poison(d), 0);
	for (uint32_t i = 0; i < 8; i++)
		for (int layout = 0; layout < layouts; layout++) {
			any_lock *word = (any_lock *)(void *)((char *)d + d->pool_offset + i * PL_CACHE_LINE);
			assert_int_equal(any_trylock(layout, pl_domain_service(d), word), -ESHUTDOWN);
		}
	assert_int_equal(pl_domain_close(d), 0);
}

/* ---- regions ---- */

static void attachments_that_make_no_sense_are_refused(void **state)
{
	(void)state;
	enum { bytes = 4096 };
	static char memory[3 * bytes], others[PL_REGIONS + 1][8];
	pl_domain *shared, *private = new_domain(2, 1, 0);
	int fd = shared_file(0);
	assert_int_equal(pl_domain_create_fd(fd, NULL, &shared), 0);
	assert_int_equal(QUIETLY(pl_domain_attach(private, memory, bytes, 1)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_attach(shared, NULL, bytes, 1)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_attach(shared, memory, 0, 1)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_attach(shared, memory, bytes, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_attach(shared, memory, bytes, PL_MAX_REGION + 1)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_attach(shared, memory, 1ull << 48, 1)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_attach(shared, (void *)(UINTPTR_MAX - 4095), 8192, 1)), -EINVAL);
	assert_int_equal(QUIETLY(pl_domain_detach(shared, memory)), -ENOENT);

	assert_int_equal(QUIETLY(pl_domain_attach(shared, memory + bytes, bytes, PL_MAX_REGION)), 0);
	assert_int_equal(QUIETLY(pl_domain_attach(shared, memory + bytes, bytes, 2)), -EEXIST);
	assert_int_equal(QUIETLY(pl_domain_attach(shared, memory, bytes + 1, 2)), -EEXIST);
	assert_int_equal(QUIETLY(pl_domain_attach(shared, memory + 2 * bytes - 1, 1, 2)), -EEXIST);
	assert_int_equal(QUIETLY(pl_domain_attach(shared, memory, 3 * bytes, 2)), -EEXIST);
	assert_int_equal(QUIETLY(pl_domain_attach(shared, memory, bytes, PL_MAX_REGION)), -EEXIST); /* number in use */
	assert_int_equal(QUIETLY(pl_domain_attach(shared, memory, bytes, 2)), 0);
	assert_int_equal(QUIETLY(pl_domain_attach(shared, memory + 2 * bytes, bytes, 3)), 0);
	for (uint32_t i = 3; i < PL_REGIONS; i++)
		assert_int_equal(QUIETLY(pl_domain_attach(shared, others[i], 8, i + 1)), 0);
	assert_int_equal(QUIETLY(pl_domain_attach(shared, others[PL_REGIONS], 8, 1000)), -ENOSPC);
	assert_int_equal(QUIETLY(pl_domain_detach(shared, memory)), 0);
	assert_int_equal(QUIETLY(pl_domain_detach(shared, memory)), -ENOENT);
	assert_int_equal(QUIETLY(pl_domain_attach(shared, others[PL_REGIONS], 8, 1000)), 0);
	assert_int_equal(pl_domain_close(shared), 0); /* takes its attachments along */

	assert_int_equal(pl_domain_open_fd(fd, &shared), 0);
	assert_int_equal(QUIETLY(pl_domain_attach(shared, memory + bytes, bytes, 2)), 0);
	assert_int_equal(pl_domain_close(shared), 0);
	assert_int_equal(pl_domain_close(private), 0);
	close(fd);
}

int main(int argc, char **argv)
{
	static const child_program children[] = {
		{"opens_at_once", child_opens_at_once},
		{"excludes", child_excludes},
	};
	int code = CHILD_MAIN(argc, argv, children);
	if (code >= 0)
		return code;
	const struct CMUnitTest tests[] = {
		TEST(options_out_of_range_are_refused),
		TEST(zero_options_take_their_defaults),
		TEST(smallest_and_largest_domains_work),
		TEST(null_arguments_are_refused),
		TEST(bad_descriptors_and_paths_say_why),
		TEST(only_the_owner_may_open_a_created_file),
		TEST(file_that_holds_a_domain_is_not_overwritten),
		TEST(descriptor_may_be_closed_and_other_contents_are_overwritten),
		TEST(truncated_and_empty_files_are_refused),
		TEST(longer_file_is_accepted_and_only_the_domain_is_mapped),
		TEST(every_tampered_header_field_is_refused),
		TEST(private_domain_in_a_file_is_refused),
		TEST(memory_brought_by_the_caller),
		TEST(closing_twice_is_refused),
		TEST(default_domain_is_one_and_cannot_be_closed),
		TEST(every_opening_has_a_process_entry_of_its_own),
		TEST(one_process_too_many_is_told_so),
		TEST(processes_that_open_at_once_get_different_entries),
		TEST(processes_exclude_each_other_with_a_pool_lock_by_descriptor),
		TEST(processes_exclude_each_other_with_a_pool_lock_by_path),
		TEST(processes_exclude_each_other_with_a_lock_in_an_attached_region),
		TEST(pool_words_are_zero_and_alone_on_their_cache_lines),
		TEST(what_is_no_pool_word_cannot_be_given),
		TEST(pool_word_in_use_cannot_be_given),
		TEST(who_uses_a_word_that_was_given_back_is_refused),
		TEST(mutex_in_use_cannot_be_given_and_can_be_afterwards),
		TEST(closing_poisons_words_that_are_taken_and_given_meanwhile),
		TEST(threads_that_take_and_give_never_share_a_word),
		TEST(poison_sends_waiters_of_every_kind_away),
		TEST(words_never_taken_are_poisoned_too),
		TEST(attachments_that_make_no_sense_are_refused),
	};
	return cmocka_run_group_tests_name("domain", tests, NULL, NULL);
}
