/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A campaign of SIGSTOP, SIGCONT and kill -9 against processes inside the calls of a token pipe. Victims and survivors write
 * and read records through a pipe that is too small for all, so both sides wait; a victim is hit wherever it is, with the
 * pipe's mutex or a turn in its hands too. Throughout, every survivor must go on, no record may be torn, and none of the
 * survivors' may be read twice. Argument: per cent of five minutes.
 */
#define _GNU_SOURCE
#include "campaign.h"
#include "domain.h"
#include "support.h"

#include <panalock/pipe.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	whole_s = 300,
	scene_ms = 3000,
	victims = 3,
	survivors = 4, /* half of them write */
	page_bytes = 4096,
	capacity = 128,
	most_words = 6,
	stuck_s = 60,
	slots = 64, /* few, so that those of the killed are used again */
};

typedef struct {
	_Alignas(64) char pipe[1024];
	uint32_t stop, started;
} page;

typedef struct {
	pl_domain *domain;
	page *p;
	pl_pipe *pipe;
	bool survives;
	uint64_t calls[survivors], longest[survivors];
	uint64_t written, read; /* records of survivors */
} scene;

/* words[0]: who, how many words follow, and a mix of both; the others are made of it. */
static uint32_t fill(uint32_t *words, uint32_t random, bool survives)
{
	uint32_t count = 1 + random % most_words;
	words[0] = (random & 0xfffffff0) | (uint32_t)survives << 3 | count;
	for (uint32_t i = 1; i < count; i++)
		words[i] = words[i - 1] * 0x9e3779b1 + i;
	return count * 4;
}

static void check(const uint32_t *words, int64_t bytes)
{
	REQUIRE_EQUAL(bytes, 4 * (words[0] & 7));
	for (uint32_t i = 1; i < (words[0] & 7); i++)
		REQUIRE_EQUAL(words[i], words[i - 1] * 0x9e3779b1 + i);
}

static void come_and_go(int index, void *shared)
{
	scene *s = shared;
	pl_thread *self;
	AWAIT((self = pl_self_in(s->domain)));
	uint32_t random = (uint32_t)getpid() + (uint32_t)index;
	uint64_t last = now_ns();
	while (!pl_load_acq(&s->p->stop)) {
		uint32_t r = random_next(&random), words[most_words + 1];
		bool writes = index % 2;
		int64_t limit = (int64_t)(r % 4096) * us;
		int64_t n = writes ? pl_pipe_write(self, s->pipe, words, fill(words, r, s->survives), 0, limit)
				   : pl_pipe_read(self, s->pipe, words, sizeof words, 0, limit);
		if (n != -ETIMEDOUT) {
			REQUIRE(n > 0);
			if (!writes)
				check(words, n);
			if (s->survives && words[0] & 8)
				__atomic_fetch_add(writes ? &s->written : &s->read, 1, __ATOMIC_RELAXED);
		}
		if (!s->survives)
			continue;
		uint64_t now = now_ns();
		if (n > 0) {
			s->calls[index]++;
			s->longest[index] = now - last > s->longest[index] ? now - last : s->longest[index];
			last = now;
		}
		REQUIRE(now - last < (uint64_t)stuck_s / 2 * 1000 * ms); /* a mutex or a turn that nobody inherits */
	}
}

/* fd of the domain, fd of the page */
static int child_victim(int argc, char **argv)
{
	(void)argc;
	scene s = {.p = map_file((int)number_argument(argv, 1), page_bytes)};
	watchdog("victim", 2 * stuck_s);
	REQUIRE_EQUAL(pl_domain_open_fd((int)number_argument(argv, 0), &s.domain), 0);
	REQUIRE_EQUAL(pl_domain_attach(s.domain, s.p, page_bytes, 1), 0);
	REQUIRE_EQUAL(pl_pipe_at(s.p->pipe, sizeof s.p->pipe, &s.pipe), 0);
	pl_add_ar(&s.p->started, 1);
	crew_run(2, come_and_go, &s);
	REQUIRE_EQUAL(pl_domain_close(s.domain), 0);
	return 0;
}

static void run_scene(uint64_t duration, uint32_t *random, tally *t)
{
	pl_domain_options o = {.slots = slots, .pool_locks = 1};
	int fd = shared_file(0), page_fd = shared_file(page_bytes), pids[victims];
	scene s = {.p = map_file(page_fd, page_bytes), .survives = true};
	REQUIRE_EQUAL(pl_domain_create_fd(fd, &o, &s.domain), 0);
	REQUIRE_EQUAL(pl_domain_attach(s.domain, s.p, page_bytes, 1), 0);
	REQUIRE_EQUAL(pl_pipe_init(s.p->pipe, sizeof s.p->pipe, capacity, PL_PIPE_RECORDS, &s.pipe), 0);
	REQUIRE_EQUAL(pl_pipe_open(pl_self_in(s.domain), s.pipe, PL_PIPE_READ | PL_PIPE_WRITE), 0);
	watchdog("pipe kill soak", stuck_s);
	for (int i = 0; i < victims; i++)
		pids[i] = CHILD_START("victim", fd, page_fd);
	AWAIT(pl_load_acq(&s.p->started) == victims);
	crew *c = crew_start(survivors, come_and_go, &s);
	uint64_t end = now_ns() + duration;
	while (now_ns() < end) {
		int v = (int)(random_next(random) % victims);
		sleep_us(random_next(random) % 4000);
		REQUIRE_EQUAL(kill(pids[v], SIGSTOP), 0);
		t->stops++;
		if (random_next(random) % 2)
			sleep_us(random_next(random) % 20000);
		if (random_next(random) % 2) {
			REQUIRE_EQUAL(kill(pids[v], SIGKILL), 0);
			REQUIRE_EQUAL(child_wait(pids[v]), -SIGKILL);
			t->kills++;
			pids[v] = CHILD_START("victim", fd, page_fd);
		} else {
			REQUIRE_EQUAL(kill(pids[v], SIGCONT), 0);
		}
	}
	pl_store_rel(&s.p->stop, 1);
	crew_join(c);
	for (int i = 0; i < victims; i++)
		REQUIRE_EQUAL(child_wait(pids[i]), 0);
	uint64_t calls = 0, longest = 0;
	for (int i = 0; i < survivors; i++) {
		REQUIRE(s.calls[i] > 0);
		calls += s.calls[i];
		longest = s.longest[i] > longest ? s.longest[i] : longest;
	}
	REQUIRE(s.read <= s.written);
	uint32_t words[most_words + 1]; /* what is left is whole too */
	for (int64_t n; (n = pl_pipe_read(pl_self_in(s.domain), s.pipe, words, sizeof words, PL_PIPE_NONBLOCK, 0)) != -EAGAIN;) {
		REQUIRE(n > 0);
		check(words, n);
	}
	printf("pipe kill soak: %llu stops, %llu kills; survivors moved %llu records, longest wait %.1f ms\n",
	       (unsigned long long)t->stops, (unsigned long long)t->kills, (unsigned long long)calls, (double)longest / ms);
	fflush(stdout);
	REQUIRE_EQUAL(pl_domain_close(s.domain), 0);
	munmap(s.p, page_bytes);
	close(fd);
	close(page_fd);
}

int main(int argc, char **argv)
{
	static const campaign c = {
		.name = "pipe kill soak", .whole_s = whole_s, .scene_ms = scene_ms, .victim = child_victim, .scene = run_scene};
	return campaign_main(&c, argc, argv);
}
