/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "support.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- watchdog ---- */

static unsigned limit_s = 300; /* for one test; PANALOCK_TEST_LIMIT */

static const char *volatile current = "?";

static int watched_layout;
static const any_lock *watched_lock;
static pl_domain *watched_domain;

void watch_lock(int layout, const void *lock, pl_domain *domain)
{
	watched_layout = layout;
	watched_lock = lock;
	watched_domain = domain;
}

/* The program ends here: no need to be careful in a signal handler any more. */
static void tell_about_the_lock(void)
{
	const pl_domain *d = watched_domain;
	fprintf(stderr, "             lock %s: bits %#x\n", layout_names[watched_layout], any_bits(watched_layout, watched_lock));
	for (uint32_t i = 1; i < d->slots; i++) {
		const pl_thread *slot = (const pl_thread *)(const void *)((const char *)d + d->slots_offset) + i;
		for (uint32_t level = 0; level < slot->depth && level < PL_NESTING; level++) {
			const pl_node *n = &slot->nodes[level];
			fprintf(stderr, "             slot %u level %u tid %u: state %u kind %u locked %u next %u prev %u key %#llx\n", i,
				level, slot->tid, n->state, n->kind, n->locked, n->next, n->prev, (unsigned long long)n->key);
		}
	}
	const pl_bucket *buckets = (const pl_bucket *)(const void *)((const char *)d + d->buckets_offset);
	for (int i = 0; i < PL_BUCKETS; i++)
		if (buckets[i].line.lock || buckets[i].line.head)
			fprintf(stderr, "             bucket %d: lock %#x head %u tail %u\n", i, buckets[i].line.lock, buckets[i].line.head,
				buckets[i].line.tail);
}

static void hung(int signal)
{
	(void)signal;
	static const char before[] = "\n[   HUNG   ] ", after[] = ": no end, the watchdog ends the program\n";
	const char *name = current;
	ssize_t ignored = write(STDERR_FILENO, before, sizeof before - 1);
	ignored += write(STDERR_FILENO, name, strlen(name));
	ignored += write(STDERR_FILENO, after, sizeof after - 1);
	(void)ignored;
	if (watched_domain)
		tell_about_the_lock();
	if (getenv("PANALOCK_TEST_STAY")) /* for a debugger */
		for (;;)
			pause();
	_exit(98);
}

void watchdog(const char *what, unsigned seconds)
{
	current = what;
	watched_domain = NULL;
	struct sigaction action = {.sa_handler = hung};
	sigaction(SIGALRM, &action, NULL);
	alarm(seconds);
}

int test_begin(void **state)
{
	watchdog(*state, limit_s);
	return 0;
}

int test_end(void **state)
{
	(void)state;
	alarm(0);
	return 0;
}

/* ---- scaling ---- */

static uint64_t percent = 100;

__attribute__((constructor)) static void read_environment(void)
{
	cmocka_set_test_filter(getenv("PANALOCK_TEST_FILTER")); /* a name with * in it */
	const char *given = getenv("PANALOCK_TEST_PERCENT");
	if (given)
		percent = strtoull(given, NULL, 10);
	given = getenv("PANALOCK_TEST_LIMIT");
	if (given)
		limit_s = (unsigned)strtoul(given, NULL, 10);
}

uint64_t scaled(uint64_t count)
{
	uint64_t n = count * percent / 100 / (UNDER_TSAN ? 8 : UNDER_ASAN ? 2 : 1);
	return n ? n : 1;
}

/* ---- checks ---- */

void test_failed(const char *file, int line, const char *what, int64_t value)
{
	fprintf(stderr, "[  FAILED  ] %s: %s:%d: %s (%lld)\n", current, file, line, what, (long long)value);
	fflush(NULL);
	_exit(97);
}

void test_require_equal(const char *file, int line, const char *what, int64_t a, int64_t b)
{
	if (a == b)
		return;
	fprintf(stderr, "[  FAILED  ] %s: %s:%d: %s: %lld is not %lld\n", current, file, line, what, (long long)a, (long long)b);
	fflush(NULL);
	_exit(97);
}

/* ---- time ---- */

uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void sleep_us(unsigned n)
{
	struct timespec t = {.tv_sec = n / 1000000, .tv_nsec = n % 1000000 * 1000};
	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

/* ---- crews ---- */

typedef struct {
	struct crew *crew;
	int index;
	pthread_t thread;
} member;

struct crew {
	crew_fn run;
	void *shared;
	int threads;
	pthread_barrier_t start;
	member members[];
};

static void *member_main(void *argument)
{
	member *m = argument;
	pthread_barrier_wait(&m->crew->start);
	m->crew->run(m->index, m->crew->shared);
	return NULL;
}

crew *crew_start(int threads, crew_fn run, void *shared)
{
	crew *c = calloc(1, sizeof *c + (size_t)threads * sizeof(member));
	REQUIRE(c);
	c->run = run;
	c->shared = shared;
	c->threads = threads;
	pthread_barrier_init(&c->start, NULL, (unsigned)threads);
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 256 * 1024);
	for (int i = 0; i < threads; i++) {
		c->members[i].crew = c;
		c->members[i].index = i;
		REQUIRE_EQUAL(pthread_create(&c->members[i].thread, &small, member_main, &c->members[i]), 0);
	}
	pthread_attr_destroy(&small);
	return c;
}

void crew_join(crew *c)
{
	for (int i = 0; i < c->threads; i++)
		pthread_join(c->members[i].thread, NULL);
	pthread_barrier_destroy(&c->start);
	free(c);
}

void crew_run(int threads, crew_fn run, void *shared) { crew_join(crew_start(threads, run, shared)); }

/* xorshift32 (Marsaglia 2003) */
uint32_t random_next(uint32_t *state)
{
	uint32_t x = *state;
	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return *state = x;
}

/* ---- children ---- */

extern char **environ;

int child_main(int argc, char **argv, const child_program *programs, int count)
{
	static const child_program *known;
	static int known_count;
	if (programs) {
		known = programs;
		known_count = count;
	}
	if (argc < 2)
		return -1;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	watchdog(argv[1], limit_s);
	for (int i = 0; i < known_count; i++)
		if (strcmp(known[i].name, argv[1]) == 0)
			return known[i].run(argc - 2, argv + 2);
	fprintf(stderr, "no child program %s\n", argv[1]);
	return 96;
}

int child_start(const char *name, const int64_t *numbers, int count)
{
	enum { most = 8, digits = 24 };
	char text[most][digits];
	char program[] = "/proc/self/exe", title[64];
	snprintf(title, sizeof title, "%s", name);
	char *arguments[most + 3] = {program, title};
	REQUIRE(count <= most);
	for (int i = 0; i < count; i++) {
		snprintf(text[i], digits, "%lld", (long long)numbers[i]);
		arguments[i + 2] = text[i];
	}
	fflush(NULL);
	bool exec = !getenv("PANALOCK_TEST_NO_EXEC");
	int pid = fork();
	REQUIRE(pid >= 0);
	if (pid)
		return pid;
	if (exec)
		execve(program, arguments, environ);
	_exit(exec ? 95 : child_main(count + 2, arguments, NULL, 0));
}

int child_wait(int pid)
{
	int status;
	while (waitpid(pid, &status, 0) < 0)
		REQUIRE_EQUAL(errno, EINTR);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int forked(int (*run)(void *), void *argument)
{
	fflush(NULL);
	int pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		watchdog(current, limit_s);
		_exit(run(argument));
	}
	return child_wait(pid);
}

int shared_file(uint64_t bytes)
{
	int fd = memfd_create("panalock-test", 0); /* stays open over exec */
	REQUIRE(fd >= 0);
	REQUIRE_EQUAL(ftruncate(fd, (off_t)bytes), 0);
	return fd;
}

void *map_file(int fd, uint64_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	REQUIRE(p != MAP_FAILED);
	return p;
}

int64_t number_argument(char **argv, int index) { return strtoll(argv[index], NULL, 10); }
