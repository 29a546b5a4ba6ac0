/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "line.h"
#include "support.h"

#include <panalock/pipe.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { page_bytes = 1 << 16, both = PL_PIPE_READ | PL_PIPE_WRITE };

/* A domain and a pipe with both ends open, which other processes can map. */
typedef struct {
	int fd, page_fd;
	pl_domain *domain;
	void *page;
	pl_pipe *pipe;
} scene;

static scene new_scene(uint32_t capacity, uint32_t flags)
{
	scene s = {.fd = shared_file(0), .page_fd = shared_file(page_bytes)};
	pl_domain_options o = {.slots = 300, .pool_locks = 1};
	REQUIRE_EQUAL(pl_domain_create_fd(s.fd, &o, &s.domain), 0);
	s.page = map_file(s.page_fd, page_bytes);
	REQUIRE_EQUAL(pl_domain_attach(s.domain, s.page, page_bytes, 1), 0);
	REQUIRE_EQUAL(pl_pipe_init(s.page, page_bytes / 2, capacity, flags, &s.pipe), 0);
	REQUIRE_EQUAL(pl_pipe_open(pl_self_in(s.domain), s.pipe, both), 0);
	return s;
}

static void end_scene(scene *s)
{
	const pl_pipe *p = s->pipe;
	REQUIRE_EQUAL(p->mutex.lock | p->reader.line.head | p->reader.line.tail | p->writer.line.head | p->writer.line.tail, 0);
	REQUIRE_EQUAL(pl_domain_close(s->domain), 0);
	munmap(s->page, page_bytes);
	close(s->fd);
	close(s->page_fd);
}

static pl_thread *self_of(const scene *s) { return pl_self_in(s->domain); }

static int64_t get_now(const scene *s, void *to, uint32_t bytes)
{
	return QUIETLY(pl_pipe_read(self_of(s), s->pipe, to, bytes, PL_PIPE_NONBLOCK, PL_FOREVER));
}

static int64_t put_now(const scene *s, const void *from, uint32_t bytes)
{
	return QUIETLY(pl_pipe_write(self_of(s), s->pipe, from, bytes, PL_PIPE_NONBLOCK, PL_FOREVER));
}

static int asleep(const scene *s)
{
	int n = 0;
	for (uint32_t i = 1; i < s->domain->slots; i++)
		n += is_parked(pl_slot(s->domain, i));
	return n;
}

/* ---- one thread ---- */

static void bad_arguments_are_refused(void **state)
{
	(void)state;
	scene s = new_scene(64, 0);
	pl_thread *self = self_of(&s);
	pl_pipe *out;
	char byte = 1;
	_Alignas(8) char memory[512] = {0};
	assert_int_equal(pl_pipe_size(0), 0);
	assert_int_equal(pl_pipe_size(4), 0);
	assert_int_equal(pl_pipe_size(24), 0);
	assert_int_equal(pl_pipe_size(0x80000000), 0);
	assert_int_equal(pl_pipe_size(64), sizeof(pl_pipe) + 64);
	assert_int_equal(QUIETLY(pl_pipe_init(NULL, 512, 64, 0, &out)), -EINVAL);
	assert_int_equal(QUIETLY(pl_pipe_init(memory + 4, 500, 64, 0, &out)), -EINVAL);
	assert_int_equal(QUIETLY(pl_pipe_init(memory, sizeof(pl_pipe) + 63, 64, 0, &out)), -EINVAL);
	assert_int_equal(QUIETLY(pl_pipe_init(memory, 512, 63, 0, &out)), -EINVAL);
	assert_int_equal(QUIETLY(pl_pipe_init(memory, 512, 64, 8, &out)), -EINVAL);
	assert_int_equal(QUIETLY(pl_pipe_init(memory, 512, 64, 0, NULL)), -EINVAL);
	assert_int_equal(QUIETLY(pl_pipe_at(memory, 512, &out)), -EBADMSG);
	assert_int_equal(QUIETLY(pl_pipe_at(NULL, 512, &out)), -EINVAL);
	assert_int_equal(QUIETLY(pl_pipe_at(s.page, sizeof(pl_pipe) + 63, &out)), -EBADMSG);
	assert_int_equal(QUIETLY(pl_pipe_at(s.page, page_bytes, &out)), 0);
	assert_ptr_equal(out, s.pipe);
	assert_int_equal(QUIETLY(pl_pipe_open(NULL, s.pipe, both)), -EINVAL);
	assert_int_equal(QUIETLY(pl_pipe_open(self, NULL, both)), -EINVAL);
	assert_int_equal(QUIETLY(pl_pipe_open(self, s.pipe, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_pipe_open(self, s.pipe, 4)), -EINVAL);
	assert_int_equal(QUIETLY(pl_pipe_read(NULL, s.pipe, &byte, 1, 0, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_pipe_read(pl_domain_service(s.domain), s.pipe, &byte, 1, 0, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_pipe_read(self, NULL, &byte, 1, 0, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_pipe_read(self, (pl_pipe *)(void *)memory, &byte, 1, 0, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_pipe_read(self, s.pipe, NULL, 1, 0, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_pipe_read(self, s.pipe, &byte, 0, 0, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_pipe_read(self, s.pipe, &byte, 1, 64, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_pipe_write(self, s.pipe, NULL, 1, 0, 0)), -EINVAL);
	assert_int_equal(QUIETLY(pl_pipe_write(self, s.pipe, memory, 65, 0, 0)), -EMSGSIZE);
	assert_int_equal(QUIETLY(pl_pipe_available(NULL)), -EINVAL);
	s.pipe->head = 1000; /* what a stranger might have written */
	assert_int_equal(QUIETLY(pl_pipe_read(self, s.pipe, &byte, 1, 0, 0)), -EBADMSG);
	assert_int_equal(QUIETLY(pl_pipe_at(s.page, page_bytes, &out)), -EBADMSG);
	s.pipe->head = 0;
	assert_int_equal(self->depth, 0);
	end_scene(&s);
}

static void bytes_come_out_in_order_whatever_the_sizes(void **state)
{
	(void)state;
	scene s = new_scene(64, 0);
	s.pipe->head = s.pipe->tail = UINT32_MAX - 100; /* positions wrap on the way */
	uint32_t random = 7;
	unsigned char written = 0, expected = 0, buffer[64];
	for (uint64_t i = 0; i < scaled(20000); i++) {
		uint32_t n = 1 + random_next(&random) % 64, room = 64 - (uint32_t)pl_pipe_available(s.pipe);
		if (random_next(&random) % 2) {
			for (uint32_t k = 0; k < n; k++)
				buffer[k] = (unsigned char)(written + k);
			int64_t r = put_now(&s, buffer, n);
			assert_int_equal(r, n <= room ? (int64_t)n : -EAGAIN);
			written = (unsigned char)(written + (r > 0 ? r : 0));
		} else {
			uint32_t there = 64 - room;
			int64_t r = get_now(&s, buffer, n);
			assert_int_equal(r, there == 0 ? -EAGAIN : (int64_t)(n < there ? n : there));
			for (int64_t k = 0; k < r; k++)
				assert_int_equal(buffer[k], expected++);
		}
	}
	end_scene(&s);
}

static void records_stay_whole(void **state)
{
	(void)state;
	scene s = new_scene(64, PL_PIPE_RECORDS);
	char buffer[64] = "";
	assert_int_equal(put_now(&s, "first", 5), 5);
	assert_int_equal(put_now(&s, "no. 2", 6), 6);
	assert_int_equal(get_now(&s, buffer, 4), -EMSGSIZE); /* it stays */
	assert_int_equal(get_now(&s, buffer, 64), 5);
	assert_memory_equal(buffer, "first", 5);
	assert_int_equal(get_now(&s, buffer, 6), 6);
	assert_string_equal(buffer, "no. 2");
	assert_int_equal(get_now(&s, buffer, 64), -EAGAIN);
	assert_int_equal(QUIETLY(pl_pipe_write(self_of(&s), s.pipe, buffer, 61, 0, 0)), -EMSGSIZE);
	assert_int_equal(put_now(&s, buffer, 60), 60);
	assert_int_equal(put_now(&s, buffer, 1), -EAGAIN);
	uint32_t lie = 1000;
	memcpy((char *)(s.pipe + 1) + (s.pipe->head & 63), &lie, sizeof lie);
	assert_int_equal(get_now(&s, buffer, 64), -EBADMSG);
	end_scene(&s);
}

static void waits_end_in_time(void **state)
{
	(void)state;
	scene s = new_scene(8, 0);
	pl_thread *self = self_of(&s);
	char bytes[8] = {0};
	const int64_t limits[] = {0, 1, 100 * us, 12 * ms};
	for (int i = 0; i < 4; i++) {
		uint64_t start = now_ns();
		assert_int_equal(QUIETLY(pl_pipe_read(self, s.pipe, bytes, 1, 0, limits[i])), -ETIMEDOUT);
		assert_true((int64_t)(now_ns() - start) >= limits[i]);
	}
	assert_int_equal(put_now(&s, bytes, 8), 8);
	assert_int_equal(QUIETLY(pl_pipe_write(self, s.pipe, bytes, 1, 0, 12 * ms)), -ETIMEDOUT);
	assert_int_equal(pl_thread_interrupt(self), 0);
	assert_int_equal(QUIETLY(pl_pipe_write(self, s.pipe, bytes, 1, PL_WAIT_INTERRUPTIBLE, PL_FOREVER)), -EINTR);
	assert_int_equal(s.pipe->reader.next | s.pipe->reader.after | s.pipe->writer.next | s.pipe->writer.after, 0);
	assert_int_equal(self->depth, 0);
	end_scene(&s);
}

/* ---- ends ---- */

typedef struct {
	scene *s;
	uint32_t returned;
	bool writes;
} blocked;

static void wait_for_the_end(int index, void *shared)
{
	(void)index;
	blocked *b = shared;
	char bytes[8] = {0};
	if (b->writes)
		REQUIRE_EQUAL(QUIETLY(pl_pipe_write(self_of(b->s), b->s->pipe, bytes, 8, 0, PL_FOREVER)), -EPIPE);
	else
		REQUIRE_EQUAL(QUIETLY(pl_pipe_read(self_of(b->s), b->s->pipe, bytes, 8, 0, PL_FOREVER)), 0);
	pl_add_ar(&b->returned, 1);
}

static void closing_the_last_end_wakes_everybody_on_the_other_side(void **state)
{
	(void)state;
	enum { crew_size = 6 };
	for (int writes = 0; writes < 2; writes++) {
		for (uint32_t flags = 0; flags <= PL_PIPE_GREEDY; flags += 2) {
			scene s = new_scene(8, flags);
			uint32_t end = writes ? PL_PIPE_READ : PL_PIPE_WRITE;
			assert_int_equal(pl_pipe_open(self_of(&s), s.pipe, end), 0);
			if (writes)
				assert_int_equal(put_now(&s, "12345678", 8), 8);
			blocked b = {&s, 0, writes};
			crew *c = crew_start(crew_size, wait_for_the_end, &b);
			AWAIT(asleep(&s) == crew_size);
			assert_int_equal(QUIETLY(pl_pipe_close(self_of(&s), s.pipe, end)), 0); /* not the last one */
			sleep_us(10000);
			assert_int_equal(pl_load_acq(&b.returned), 0);
			assert_int_equal(QUIETLY(pl_pipe_close(self_of(&s), s.pipe, end)), 0);
			crew_join(c);
			assert_int_equal(b.returned, crew_size);
			assert_int_equal(QUIETLY(pl_pipe_close(self_of(&s), s.pipe, end)), -EBADF);
			assert_int_equal(QUIETLY(pl_pipe_close(self_of(&s), s.pipe, both)), -EBADF);
			end_scene(&s);
		}
	}
}

static void what_was_written_before_the_end_can_be_read(void **state)
{
	(void)state;
	scene s = new_scene(8, 0);
	char buffer[8] = "";
	assert_int_equal(put_now(&s, "last", 4), 4);
	assert_int_equal(pl_pipe_close(self_of(&s), s.pipe, PL_PIPE_WRITE), 0);
	assert_int_equal(get_now(&s, buffer, 3), 3);
	assert_int_equal(get_now(&s, buffer, 3), 1);
	assert_int_equal(get_now(&s, buffer, 3), 0);
	end_scene(&s);
}

/* ---- wake-ups ---- */

static void read_one(int index, void *shared)
{
	(void)index;
	blocked *b = shared;
	char byte;
	REQUIRE_EQUAL(QUIETLY(pl_pipe_read(self_of(b->s), b->s->pipe, &byte, 1, 0, PL_FOREVER)), 1);
	pl_add_ar(&b->returned, 1);
}

/* ---- bug row 34: who comes second to a token is not stuck ---- */

typedef struct {
	scene *s;
	uint32_t got, away;
} pair;

static void read_or_be_called_away(int index, void *shared)
{
	pair *p = shared;
	if (index == 2) { /* what a program does whose child ends while it waits */
		AWAIT(pl_load_acq(&p->got) == 1);
		while (pl_load_acq(&p->away) == 0) {
			for (uint32_t i = 1; i < p->s->domain->slots; i++)
				pl_thread_interrupt(pl_slot(p->s->domain, i));
			sleep_us(100);
		}
		return;
	}
	char byte;
	int64_t n = pl_pipe_read(self_of(p->s), p->s->pipe, &byte, 1, PL_WAIT_INTERRUPTIBLE, PL_FOREVER);
	REQUIRE(n == 1 || n == -EINTR);
	pl_add_ar(n == 1 ? &p->got : &p->away, 1);
}

static void who_comes_second_to_a_token_can_be_called_away(void **state)
{
	(void)state;
	for (uint32_t flags = 0; flags <= PL_PIPE_GREEDY; flags += 2) {
		scene s = new_scene(8, flags);
		for (uint64_t round = 0; round < scaled(200); round++) {
			pair p = {&s, 0, 0};
			assert_int_equal(put_now(&s, "x", 1), 1);
			crew_run(3, read_or_be_called_away, &p);
			assert_int_equal(p.got, 1);
			assert_int_equal(p.away, 1);
			assert_int_equal(pl_pipe_available(s.pipe), 0);
		}
		end_scene(&s);
	}
}

/* When the last of the sleepers arrived. */
static uint64_t last_arrival(const scene *s)
{
	pl_line_guard guard;
	uint64_t last = 0;
	pl_line_lock(&guard, self_of(s), &s->pipe->reader.line);
	for (uint32_t n = s->pipe->reader.line.head; n; n = pl_node_at(s->domain, n)->next)
		last = pl_node_at(s->domain, n)->arrival;
	pl_line_unlock(&guard);
	return last;
}

/* Threads that a write wakes, the writer's passing on included: one, or in the old way all of them. */
static void one_byte_wakes_one_sleeper_or_in_the_old_way_all(void **state)
{
	(void)state;
	enum { crew_size = 8 };
	for (uint32_t flags = 0; flags <= PL_PIPE_GREEDY; flags += 2) {
		scene s = new_scene(64, flags);
		blocked b = {&s, 0, false};
		crew *c = crew_start(crew_size, read_one, &b);
		AWAIT(asleep(&s) == crew_size);
		uint64_t before = last_arrival(&s);
		assert_int_equal(put_now(&s, "x", 1), 1);
		AWAIT(pl_load_acq(&b.returned) == 1 && asleep(&s) == crew_size - 1);
		/* Who was woken in vain has joined the line anew. */
		if (flags == PL_PIPE_WAKE_ALL)
			assert_true(last_arrival(&s) > before);
		else
			assert_true(last_arrival(&s) == before);
		assert_int_equal(put_now(&s, "1234567", 7), 7); /* passed on from one to the next */
		crew_join(c);
		end_scene(&s);
	}
}

/* ---- the token test, threads: who reads a token writes the next; every other time with a second one to be ignored ---- */

typedef struct {
	scene *s;
	int32_t passes;
	uint32_t sum; /* of all passes */
	bool interrupts;
} game;

static void play(int index, void *shared)
{
	game *g = shared;
	pl_thread *self = self_of(g->s);
	uint32_t random = (uint32_t)index + 1;
	for (;;) {
		int32_t token[2] = {0, -1};
		uint32_t r = random_next(&random);
		int64_t limit = g->interrupts && r % 4 == 0 ? (int64_t)(r >> 8) % (200 * us) : PL_FOREVER;
		int64_t n = pl_pipe_read(self, g->s->pipe, token, 4, g->interrupts ? PL_WAIT_INTERRUPTIBLE : 0, limit);
		if (g->interrupts && (n == -EINTR || n == -ETIMEDOUT))
			continue;
		REQUIRE_EQUAL(n, 4);
		if (token[0] < 0)
			continue;
		bool last = token[0] >= g->passes;
		if (!last)
			pl_add_ar(&g->sum, 1);
		token[1] = -1;
		uint32_t bytes = token[0] % 2 && !last ? 8 : 4;
		token[0] += !last;
		REQUIRE_EQUAL(pl_pipe_write(self, g->s->pipe, token, bytes, 0, PL_FOREVER), bytes);
		if (last)
			return;
		if (g->interrupts && r % 16 == 1) {
			pl_thread *other = pl_slot(g->s->domain, 1 + random_next(&random) % (g->s->domain->slots - 1));
			pl_thread_interrupt(other);
		}
	}
}

/* Who looks from outside at a busy pipe sees positions of one moment. */
static void look_from_outside(int index, void *shared)
{
	if (index) {
		play(index, shared);
		return;
	}
	game *g = shared;
	while (pl_load_rlx(&g->sum) < (uint32_t)g->passes) {
		pl_pipe *found;
		REQUIRE_EQUAL(pl_pipe_at(g->s->page, page_bytes / 2, &found), 0);
		int64_t there = pl_pipe_available(g->s->pipe);
		REQUIRE(there >= 0 && there <= 4096);
	}
}

static void token_passes(uint32_t flags, int players, bool interrupts, int32_t passes)
{
	scene s = new_scene(4096, flags);
	game g = {&s, passes, 0, interrupts};
	static const int32_t start[] = {0, -1};
	assert_int_equal(put_now(&s, start, sizeof start), sizeof start);
	crew_run(players, play, &g);
	assert_int_equal(g.sum, passes);
	end_scene(&s);
}

static void token_is_passed_on_and_the_second_one_never_stalls(void **state)
{
	(void)state;
	for (uint32_t flags = 0; flags <= PL_PIPE_GREEDY; flags += 2)
		for (int players = 1; players <= 64; players *= 8)
			token_passes(flags, players, false, (int32_t)scaled(flags == PL_PIPE_WAKE_ALL ? 1000 : 10000));
}

static void a_busy_pipe_looks_sound_from_outside(void **state)
{
	(void)state;
	scene s = new_scene(4096, 0);
	game g = {&s, (int32_t)scaled(50000), 0, false};
	static const int32_t start[] = {0, -1};
	assert_int_equal(put_now(&s, start, sizeof start), sizeof start);
	crew_run(3, look_from_outside, &g);
	assert_int_equal(g.sum, g.passes);
	end_scene(&s);
}

static void interruptions_and_time_outs_lose_no_wake_up(void **state)
{
	(void)state;
	for (int players = 2; players <= 32; players *= 4)
		token_passes(0, players, true, (int32_t)scaled(10000));
}

/* ---- both sides wait: a small pipe, many writers and readers ---- */

typedef struct {
	scene *s;
	int writers;
	uint64_t each, read, sum;
} flow;

static void write_or_read(int index, void *shared)
{
	flow *f = shared;
	pl_thread *self = self_of(f->s);
	if (index < f->writers) {
		for (uint64_t i = 1; i <= f->each; i++) {
			uint64_t block[3] = {i, i, i};
			uint32_t bytes = 8 * (1 + (uint32_t)(i % 3));
			REQUIRE_EQUAL(pl_pipe_write(self, f->s->pipe, block, bytes, 0, PL_FOREVER), bytes);
		}
		REQUIRE_EQUAL(pl_pipe_close(self, f->s->pipe, PL_PIPE_WRITE), 0);
		return;
	}
	for (;;) {
		uint64_t block[4] = {0};
		int64_t n = pl_pipe_read(self, f->s->pipe, block, sizeof block, 0, PL_FOREVER);
		REQUIRE(n >= 0 && n <= (int64_t)sizeof block);
		if (n == 0)
			return;
		if (f->s->pipe->flags & PL_PIPE_RECORDS)
			REQUIRE_EQUAL(n, 8 * (1 + block[0] % 3));
		for (int64_t i = 0; i < n / 8; i++)
			__atomic_fetch_add(&f->sum, block[i], __ATOMIC_RELAXED);
	}
}

static void writers_that_wait_for_room_and_readers_that_wait_for_data(void **state)
{
	(void)state;
	for (uint32_t flags = 0; flags <= PL_PIPE_WAKE_ALL; flags++) {
		enum { writers = 5, readers = 4 };
		scene s = new_scene(64, flags);
		flow f = {.s = &s, .writers = writers, .each = scaled(3000)};
		for (int i = 0; i < writers; i++)
			assert_int_equal(pl_pipe_open(self_of(&s), s.pipe, PL_PIPE_WRITE), 0);
		assert_int_equal(pl_pipe_close(self_of(&s), s.pipe, PL_PIPE_WRITE), 0); /* the scene's own */
		crew_run(writers + readers, write_or_read, &f);
		uint64_t expected = 0;
		for (uint64_t i = 1; i <= f.each; i++)
			expected += i * (1 + i % 3);
		assert_int_equal(f.sum, writers * expected);
		end_scene(&s);
	}
}

/* ---- processes ---- */

typedef struct {
	uint32_t started;
	int32_t passed;
} board; /* behind the pipe, in the other half of the page */

static scene open_scene(int fd, int page_fd)
{
	scene s = {.fd = fd, .page_fd = page_fd, .page = map_file(page_fd, page_bytes)};
	REQUIRE_EQUAL(pl_domain_open_fd(fd, &s.domain), 0);
	REQUIRE_EQUAL(pl_domain_attach(s.domain, s.page, page_bytes, 1), 0);
	REQUIRE_EQUAL(pl_pipe_at(s.page, page_bytes / 2, &s.pipe), 0);
	return s;
}

static board *board_of(const scene *s) { return (board *)(void *)((char *)s->page + page_bytes / 2); }

/* domain's fd, page's fd, passes */
static int child_plays(int argc, char **argv)
{
	(void)argc;
	scene s = open_scene((int)number_argument(argv, 0), (int)number_argument(argv, 1));
	game g = {&s, (int32_t)number_argument(argv, 2), 0, false};
	pl_add_ar(&board_of(&s)->started, 1);
	play(0, &g);
	__atomic_fetch_add(&board_of(&s)->passed, (int32_t)g.sum, __ATOMIC_RELAXED);
	return 0;
}

static void processes_pass_the_token(void **state)
{
	(void)state;
	enum { children = 8 };
	scene s = new_scene(4096, 0);
	int pids[children];
	int32_t passes = (int32_t)scaled(20000);
	for (int i = 0; i < children; i++)
		pids[i] = CHILD_START("plays", s.fd, s.page_fd, passes);
	AWAIT(pl_load_acq(&board_of(&s)->started) == children);
	static const int32_t start[] = {0, -1};
	assert_int_equal(put_now(&s, start, sizeof start), sizeof start);
	for (int i = 0; i < children; i++)
		assert_int_equal(child_wait(pids[i]), 0);
	assert_int_equal(board_of(&s)->passed, passes);
	end_scene(&s);
}

/* The token may be in a victim's hands when it is stopped; then all wait until it goes on, and nothing else stops them. */
static void stopped_process_holds_up_nobody_for_good(void **state)
{
	(void)state;
	enum { children = 4 };
	scene s = new_scene(4096, 0);
	int pids[children];
	int32_t passes = (int32_t)scaled(200000);
	for (int i = 0; i < children; i++)
		pids[i] = CHILD_START("plays", s.fd, s.page_fd, passes);
	AWAIT(pl_load_acq(&board_of(&s)->started) == children);
	static const int32_t start[] = {0, -1};
	assert_int_equal(put_now(&s, start, sizeof start), sizeof start);
	for (int round = 0; round < 20; round++) {
		kill(pids[round % children], SIGSTOP);
		sleep_us(3000);
		kill(pids[round % children], SIGCONT);
		sleep_us(1000);
	}
	for (int i = 0; i < children; i++)
		assert_int_equal(child_wait(pids[i]), 0);
	assert_int_equal(board_of(&s)->passed, passes);
	end_scene(&s);
}

/* domain's fd, page's fd: reads until killed, and keeps nothing */
static int child_reads_and_writes_back(int argc, char **argv)
{
	(void)argc;
	scene s = open_scene((int)number_argument(argv, 0), (int)number_argument(argv, 1));
	pl_add_ar(&board_of(&s)->started, 1);
	char byte;
	while (!s.pipe->pad) {
		REQUIRE_EQUAL(pl_pipe_read(self_of(&s), s.pipe, &byte, 1, 0, PL_FOREVER), 1);
		REQUIRE_EQUAL(pl_pipe_write(self_of(&s), s.pipe, &byte, 1, 0, PL_FOREVER), 1);
	}
	return 0;
}

static void killed_processes_leave_the_pipe_usable(void **state)
{
	(void)state;
	enum { rounds = 12, children = 3 };
	scene s = new_scene(64, 0);
	uint32_t random = 5;
	for (int round = 0; round < rounds; round++) {
		int pids[children];
		pl_store_rel(&board_of(&s)->started, 0);
		for (int i = 0; i < children; i++)
			pids[i] = CHILD_START("reads", s.fd, s.page_fd);
		AWAIT(pl_load_acq(&board_of(&s)->started) == children);
		REQUIRE(put_now(&s, "ab", 2) == 2);
		sleep_us(200 + random_next(&random) % 3000);
		for (int i = 0; i < children; i++)
			kill(pids[i], SIGKILL);
		for (int i = 0; i < children; i++)
			assert_int_equal(child_wait(pids[i]), -SIGKILL);
		/* Two bytes at most are lost with those who held them; what is left and what is new comes through. */
		char byte;
		while (pl_pipe_available(s.pipe) > 0)
			REQUIRE_EQUAL(pl_pipe_read(self_of(&s), s.pipe, &byte, 1, 0, PL_FOREVER), 1);
		REQUIRE_EQUAL(pl_pipe_write(self_of(&s), s.pipe, "c", 1, 0, PL_FOREVER), 1);
		REQUIRE_EQUAL(pl_pipe_read(self_of(&s), s.pipe, &byte, 1, 0, PL_FOREVER), 1);
		assert_int_equal(byte, 'c');
	}
	REQUIRE_EQUAL(pl_domain_close(s.domain), 0); /* sleepers that were killed stand in the lines still */
	munmap(s.page, page_bytes);
	close(s.fd);
	close(s.page_fd);
}

/* domain's fd, page's fd: reads one byte and says which */
static int child_reads_one(int argc, char **argv)
{
	(void)argc;
	scene s = open_scene((int)number_argument(argv, 0), (int)number_argument(argv, 1));
	pl_add_ar(&board_of(&s)->started, 1);
	char byte;
	REQUIRE_EQUAL(pl_pipe_read(self_of(&s), s.pipe, &byte, 1, 0, PL_FOREVER), 1);
	board_of(&s)->passed = byte;
	return 0;
}

/*
 * Stops a reader in its sleep. It looks up every few milliseconds, and then holds the line's lock, which nobody takes from
 * a process that lives.
 */
static void stop_in_line(scene *s, int pid)
{
	for (;;) {
		kill(pid, SIGSTOP);
		AWAIT(waitpid(pid, NULL, WUNTRACED | WNOHANG) == pid);
		if (!pl_load_acq(&s->pipe->reader.line.lock) && pl_load_acq(&s->pipe->reader.line.head))
			return;
		kill(pid, SIGCONT);
		AWAIT(pl_load_acq(&s->pipe->reader.line.head) != 0 && asleep(s) == 1);
	}
}

/* A sleeper that is stopped, is chosen, and then is killed or goes on: the data was not promised to it for good. */
static void reader_that_is_chosen_and_does_not_come_keeps_nothing(void **state)
{
	(void)state;
	for (int killed = 0; killed < 2; killed++) {
		scene s = new_scene(64, 0);
		int pid = CHILD_START("reads-one", s.fd, s.page_fd);
		AWAIT(pl_load_acq(&s.pipe->reader.line.head) != 0 && asleep(&s) == 1);
		uint32_t number = s.pipe->reader.line.head;
		stop_in_line(&s, pid);
		assert_int_equal(put_now(&s, "a", 1), 1);
		assert_int_equal(s.pipe->reader.next, number);
		if (killed) {
			kill(pid, SIGKILL);
			assert_int_equal(child_wait(pid), -SIGKILL);
		}
		char byte = 0;
		for (int i = 0; i < 3; i++) {
			assert_int_equal(QUIETLY(pl_pipe_read(self_of(&s), s.pipe, &byte, 1, 0, PL_FOREVER)), 1);
			assert_int_equal(byte, 'a' + i);
			byte++;
			assert_int_equal(put_now(&s, &byte, 1), 1);
		}
		if (!killed) {
			kill(pid, SIGCONT);
			assert_int_equal(child_wait(pid), 0);
			assert_int_equal(board_of(&s)->passed, 'd');
		}
		end_scene(&s);
	}
}

int main(int argc, char **argv)
{
	static const child_program children[] = {
		{"plays", child_plays},
		{"reads", child_reads_and_writes_back},
		{"reads-one", child_reads_one},
	};
	int code = CHILD_MAIN(argc, argv, children);
	if (code >= 0)
		return code;
	const struct CMUnitTest tests[] = {
		TEST(bad_arguments_are_refused),
		TEST(bytes_come_out_in_order_whatever_the_sizes),
		TEST(records_stay_whole),
		TEST(waits_end_in_time),
		TEST(closing_the_last_end_wakes_everybody_on_the_other_side),
		TEST(what_was_written_before_the_end_can_be_read),
		TEST(who_comes_second_to_a_token_can_be_called_away),
		TEST(one_byte_wakes_one_sleeper_or_in_the_old_way_all),
		TEST(token_is_passed_on_and_the_second_one_never_stalls),
		TEST(a_busy_pipe_looks_sound_from_outside),
		TEST(interruptions_and_time_outs_lose_no_wake_up),
		TEST(writers_that_wait_for_room_and_readers_that_wait_for_data),
		TEST(processes_pass_the_token),
		TEST(stopped_process_holds_up_nobody_for_good),
		TEST(reader_that_is_chosen_and_does_not_come_keeps_nothing),
		TEST(killed_processes_leave_the_pipe_usable),
	};
	return cmocka_run_group_tests_name("pipe", tests, NULL, NULL);
}
