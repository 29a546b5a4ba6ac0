/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A campaign of SIGSTOP, SIGCONT and kill -9 against processes that share a domain and contend for three locks. Stopping
 * may hit them anywhere; killed are those that hold no lock at the moment, because a lock whose holder dies stays held.
 * Throughout, the survivors in this process go on acquiring all locks. Argument: per cent of ten minutes.
 */
#define _GNU_SOURCE
#include "campaign.h"
#include "domain.h"
#include "support.h"

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { whole_s = 600, victims = 3, survivors = 3, victim_threads = 3, page_bytes = 4096, stuck_s = 60, scene_ms = 3000 };

typedef struct {
	any_lock locks[layouts];
	int64_t counters[layouts]; /* each protected by its lock */
	uint32_t stop;
} page;

typedef struct {
	pl_domain *domain;
	page *p;
	uint64_t acquired[survivors], longest[survivors];
} scene;

/* ---- victims ---- */

static void come_and_go(int index, void *shared)
{
	scene *s = shared;
	pl_thread *self = pl_self_in(s->domain);
	REQUIRE(self);
	uint32_t random = (uint32_t)getpid() + (uint32_t)index;
	while (!pl_load_acq(&s->p->stop)) {
		uint32_t r = random_next(&random);
		int layout = (int)(r % layouts);
		uint32_t flags = r & 0x100 ? PL_WAIT_SPIN : 0;
		int err = any_lock_wait(layout, self, &s->p->locks[layout], flags, (int64_t)(r % 4096) * us);
		if (err == 0) {
			s->p->counters[layout]++;
			REQUIRE_EQUAL(any_unlock(layout, self, &s->p->locks[layout]), 0);
		} else {
			REQUIRE_EQUAL(err, -ETIMEDOUT);
		}
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
	crew_run(victim_threads, come_and_go, &s);
	REQUIRE_EQUAL(pl_domain_close(s.domain), 0);
	return 0;
}

/* ---- survivors ---- */

static void go_on(int index, void *shared)
{
	scene *s = shared;
	pl_thread *self = pl_self_in(s->domain);
	uint32_t random = 99 + (uint32_t)index;
	while (!pl_load_acq(&s->p->stop)) {
		uint32_t r = random_next(&random);
		int layout = (int)(r % layouts);
		uint64_t start = now_ns();
		/* A limit here is what finds a lock that a killed victim held, or a line whose lock it held. */
		int err = any_lock_wait(layout, self, &s->p->locks[layout], 0, 20000ll * ms);
		if (err)
			return;
		uint64_t took = now_ns() - start;
		s->longest[index] = took > s->longest[index] ? took : s->longest[index];
		int64_t seen = s->p->counters[layout];
		if (r % 8 == 0)
			sleep_us(r % 1024);
		s->p->counters[layout] = seen + 1;
		REQUIRE_EQUAL(any_unlock(layout, self, &s->p->locks[layout]), 0);
		s->acquired[index]++;
	}
}

static bool belongs_to(scene *s, const pl_thread *slot, int pid)
{
	return s->domain->processes[slot->process % PL_PROCESSES].pid == (uint32_t)pid;
}

/*
 * The process is stopped, so what it holds does not change. True unless it can be told that it holds no lock and no line's
 * own lock: each lock is seen free, or held by somebody else according to the debug checks.
 */
static bool may_hold_something(scene *s, int pid)
{
	enum { looks = 200 };
	for (int layout = 0; layout < layouts; layout++) {
		bool innocent = false;
		for (int i = 0; i < looks && !innocent; i++) {
			pl_thread *holder = pl_domain_holder(s->domain, &s->p->locks[layout]);
			innocent = !any_is_locked(layout, &s->p->locks[layout]) || (holder && !belongs_to(s, holder, pid));
			if (!innocent)
				sleep_us(20);
		}
		if (!innocent)
			return true;
	}
	return false;
}

static void run_scene(uint64_t duration, uint32_t *random, tally *t)
{
	pl_domain_options o = {.slots = 1024, .flags = PL_DOMAIN_CHECKS};
	int fd = shared_file(0), page_fd = shared_file(page_bytes), pids[victims];
	scene s = {.p = map_file(page_fd, page_bytes)};
	REQUIRE_EQUAL(pl_domain_create_fd(fd, &o, &s.domain), 0);
	REQUIRE_EQUAL(pl_domain_attach(s.domain, s.p, page_bytes, 1), 0);
	watchdog("kill soak", stuck_s);
	for (int i = 0; i < victims; i++)
		pids[i] = CHILD_START("victim", fd, page_fd);
	crew *c = crew_start(survivors, go_on, &s);
	uint64_t end = now_ns() + duration;
	while (now_ns() < end) {
		int v = (int)(random_next(random) % victims);
		sleep_us(random_next(random) % 4000);
		REQUIRE_EQUAL(kill(pids[v], SIGSTOP), 0);
		t->stops++;
		sleep_us(500 + random_next(random) % 20000); /* stopped with all it has, locks too: the others wait */
		if (random_next(random) % 2 && !may_hold_something(&s, pids[v])) {
			REQUIRE_EQUAL(kill(pids[v], SIGKILL), 0);
			REQUIRE_EQUAL(child_wait(pids[v]), -SIGKILL);
			t->kills++;
			sleep_us(15000); /* the survivors must go on without a newcomer's help */
			pids[v] = CHILD_START("victim", fd, page_fd);
		} else {
			t->spared++;
			REQUIRE_EQUAL(kill(pids[v], SIGCONT), 0);
		}
	}
	pl_store_rel(&s.p->stop, 1);
	crew_join(c);
	for (int i = 0; i < victims; i++)
		REQUIRE_EQUAL(child_wait(pids[i]), 0);
	uint64_t longest = 0, acquired = 0;
	for (int i = 0; i < survivors; i++) {
		REQUIRE(s.acquired[i] > 0);
		acquired += s.acquired[i];
		longest = s.longest[i] > longest ? s.longest[i] : longest;
	}
	REQUIRE(longest < 20000ull * ms);
	for (int layout = 0; layout < layouts; layout++)
		REQUIRE_EQUAL(any_is_locked(layout, &s.p->locks[layout]), 0);
	REQUIRE((uint64_t)(s.p->counters[0] + s.p->counters[1] + s.p->counters[2]) >= acquired);
	printf("kill soak: %llu stops, %llu kills; survivors acquired %llu times, longest wait %.1f ms\n",
	       (unsigned long long)t->stops, (unsigned long long)t->kills, (unsigned long long)acquired, (double)longest / ms);
	fflush(stdout);
	REQUIRE_EQUAL(pl_domain_close(s.domain), 0);
	munmap(s.p, page_bytes);
	close(fd);
	close(page_fd);
}

int main(int argc, char **argv)
{
	static const campaign c = {
		.name = "kill soak", .whole_s = whole_s, .scene_ms = scene_ms, .victim = child_victim, .scene = run_scene};
	return campaign_main(&c, argc, argv);
}
