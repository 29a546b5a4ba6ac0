/* SPDX-License-Identifier: Apache-2.0 */
/*
 * panalock-bench-c: the C measurements as an ordinary program sees them. The loops are compiled into this executable
 * with the compiler's defaults and call the shared libraries (libc, libpanalock) as any program does; in a library that
 * a JVM has loaded the same loops can be faster or slower.
 *
 *   panalock-bench-c pairs [ROUNDS]                                  uncontended, all locks interleaved
 *   panalock-bench-c contended [SECONDS [THREADS [INSIDE OUTSIDE [LOCK...]]]]   throughput, then latency in its own run
 *   panalock-bench-c tokens VIA PLAYERS PASSES [thread|process]      the token test; VIA: pipe, exclusive, wake_all, greedy, or
 *                                                                    make, in a recipe of make -j2 that begins with +
 *   panalock-bench-c floors                                          cache line, atomic, clock, machine
 *   panalock-bench-c serve                                           measures on request, so that somebody else can
 *                                                                    interleave these points with points of theirs
 *
 * serve: says "panalock-bench-c VERSION", then reads lines until the end of its input and answers each with one line:
 *   pairs LOCK COUNT    "ns TIME": nanoseconds for COUNT uncontended pairs
 *   tokens VIA PLAYERS PASSES KIND   "tokens NAME=NUMBER...", as plb_tokens_result has them; KIND: thread, process
 * or "error TEXT".
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tokens.h"

static int usage(void)
{
	fprintf(stderr, "usage: panalock-bench-c pairs [ROUNDS]\n"
			"       panalock-bench-c tokens VIA PLAYERS PASSES [thread|process]\n"
			"       panalock-bench-c contended [SECONDS [THREADS [INSIDE_NS OUTSIDE_NS [LOCK...]]]]\n"
			"       panalock-bench-c floors\n"
			"       panalock-bench-c serve\n"
			"locks:");
	for (uint32_t i = 0; plb_lock_name(i); i++)
		fprintf(stderr, " %s", plb_lock_name(i));
	fprintf(stderr, "\n");
	return 2;
}

static int failed(const char *what, int error)
{
	fprintf(stderr, "panalock-bench-c: %s: %s\n", what, strerror(-error));
	return 1;
}

/* glibc's mutexes leave out their atomics in a process that has one thread only; nobody locks there. */
static void *idle(void *open)
{
	pthread_mutex_lock(open);
	return NULL;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static int run_pairs(long rounds)
{
	enum { pairs = 50000, most = 64 };
	uint32_t locks = 0;
	while (plb_lock_name(locks))
		locks++;
	double *all = malloc(sizeof(double) * (size_t)rounds * locks);
	if (!all || locks > most)
		return 1;
	for (long r = 0; r < rounds; r++)
		for (uint32_t i = 0; i < locks; i++) {
			uint64_t ns;
			if (plb_lock_flags(i) & PLB_ABSENT)
				continue;
			int error = plb_pairs(i, pairs, &ns);
			if (error)
				return failed(plb_lock_name(i), error);
			all[(size_t)i * (size_t)rounds + (size_t)r] = (double)ns / pairs;
		}
	printf("%-16s %8s %8s\n", "ns/pair", "median", "min");
	for (uint32_t i = 0; i < locks; i++) {
		if (plb_lock_flags(i) & PLB_ABSENT) {
			printf("%-16s not built\n", plb_lock_name(i));
			continue;
		}
		double *own = all + (size_t)i * (size_t)rounds;
		qsort(own, (size_t)rounds, sizeof *own, compare);
		printf("%-16s %8.2f %8.2f\n", plb_lock_name(i), own[rounds / 2], own[0]);
	}
	free(all);
	return 0;
}

static int run_contended(int argc, char **argv)
{
	static uint64_t counts[PLB_MAX_THREADS], buckets[PLB_BUCKETS];
	double seconds = argc > 0 ? atof(argv[0]) : 0.5;
	plb_point p = { .threads = argc > 1 ? (uint32_t)atoi(argv[1]) : 2,
			.inside_ns = argc > 3 ? (uint64_t)atoll(argv[2]) : 0,
			.outside_ns = argc > 3 ? (uint64_t)atoll(argv[3]) : 0,
			.warm_ns = 20000000 };
	if (!(seconds > 0) || !p.threads || p.threads > PLB_MAX_THREADS)
		return usage();
	p.window_ns = (uint64_t)(seconds * 1e9);
	plb_calibrate();
	printf("%-16s %8s %6s %8s %10s %10s %10s\n", "lock", "Mops/s", "Jain", "in a row", "p50 us", "p99 us", "max us");
	for (p.lock = 0; plb_lock_name(p.lock); p.lock++) {
		int wanted = argc <= 4 && plb_lock_flags(p.lock) & PLB_CONTENDED_OK;
		for (int i = 4; i < argc; i++)
			wanted |= !strcmp(argv[i], plb_lock_name(p.lock));
		if (!wanted)
			continue;
		plb_result r;
		p.mode = PLB_THROUGHPUT;
		int error = plb_contended(&p, &r, counts, NULL);
		if (error)
			return failed(plb_lock_name(p.lock), error);
		double square = 0, total = (double)r.total;
		for (uint32_t i = 0; i < p.threads; i++)
			square += (double)counts[i] * (double)counts[i];
		printf("%-16s %8.2f %6.3f %8.1f", plb_lock_name(p.lock), total * 1e3 / (double)r.window_ns,
		       square > 0 ? total * total / (p.threads * square) : 0,
		       r.handovers ? (double)r.all / (double)r.handovers : 0);
		p.mode = PLB_LATENCY;
		error = plb_contended(&p, &r, counts, buckets);
		if (error)
			return failed(plb_lock_name(p.lock), error);
		double at[2] = { 0.5, 0.99 };
		for (int q = 0; q < 2; q++) {
			uint64_t seen = 0;
			uint32_t b = 0;
			while (b < PLB_BUCKETS - 1 && (double)(seen += buckets[b]) < at[q] * (double)r.timed)
				b++;
			printf(" %10.2f", (double)plb_bucket_floor(b) / 1e3);
		}
		printf(" %10.1f\n", (double)r.longest_ns / 1e3);
		fflush(stdout);
	}
	return 0;
}

static int run_floors(void)
{
	double line, atomic, clock;
	int error = plb_ping_pong(0, 1, 200000000, &line);
	if (error)
		printf("cache line between CPU 0 and 1: %s\n", strerror(-error));
	else
		printf("cache line between CPU 0 and 1, one way: %.1f ns\n", line);
	plb_floors(&atomic, &clock);
	printf("atomic add: %.2f ns\nlook at the clock: %.1f ns\n", atomic, clock);
	printf("step of work: %.3f ns\nrelax: %s\nmembarrier: %d\n", plb_calibrate(), plb_relax_name(), plb_membarrier());
	return 0;
}

static uint32_t lock_named(const char *name)
{
	uint32_t i = 0;
	while (plb_lock_name(i) && strcmp(plb_lock_name(i), name))
		i++;
	return i;
}

/* A twentieth first, untimed: caches and branch predictors were somebody else's since the last request. */
static int answer_pairs(const char *name, uint64_t pairs)
{
	uint64_t ns;
	uint32_t lock = lock_named(name);
	if (!plb_lock_name(lock))
		return printf("error no lock %s\n", name);
	int error = plb_pairs(lock, pairs / 20 + 1, &ns);
	if (!error)
		error = plb_pairs(lock, pairs, &ns);
	return error ? printf("error %s\n", strerror(-error)) : printf("ns %" PRIu64 "\n", ns);
}

static int answer_tokens(const char *via, uint32_t players, uint32_t passes, const char *kind)
{
	plb_tokens game = {via, players, !strcmp(kind, "process"), passes};
	plb_tokens_result r;
	fflush(stdout); /* or children would write what is left in it */
	int error = !strcmp(kind, "process") || !strcmp(kind, "thread") ? plb_tokens_play(&game, &r) : -EINVAL;
	if (error)
		return printf("error tokens %s %" PRIu32 ": %s\n", via, players, strerror(-error));
	return printf("tokens elapsed_ns=%" PRIu64 " cpu_ns=%" PRIu64 " switches=%" PRIu64 " migrations=%" PRId64 " self=%" PRIu64
		      " least=%" PRIu64 " most=%" PRIu64 " jain=%.4f\n",
		      r.elapsed_ns, r.cpu_ns, r.switches, r.migrations, r.self, r.least, r.most, r.jain);
}

static int run_serve(void)
{
	char line[256], name[64], kind[16];
	uint64_t count;
	uint32_t players, passes;
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("panalock-bench-c %d\n", PLB_VERSION);
	while (fgets(line, sizeof line, stdin)) {
		if (sscanf(line, "pairs %63s %" SCNu64, name, &count) == 2 && count)
			answer_pairs(name, count);
		else if (sscanf(line, "tokens %63s %" SCNu32 " %" SCNu32 " %15s", name, &players, &passes, kind) == 4)
			answer_tokens(name, players, passes, kind);
		else
			printf("error not a request: %.*s\n", (int)strcspn(line, "\n"), line);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static pthread_mutex_t over = PTHREAD_MUTEX_INITIALIZER;
	pthread_t bystander;
	pthread_mutex_lock(&over);
	if (argc < 2 || pthread_create(&bystander, NULL, idle, &over))
		return usage();
	if (!strcmp(argv[1], "pairs")) {
		long rounds = argc > 2 ? atol(argv[2]) : 1000;
		return rounds > 0 ? run_pairs(rounds) : usage();
	}
	if (!strcmp(argv[1], "contended"))
		return run_contended(argc - 2, argv + 2);
	if (!strcmp(argv[1], "floors"))
		return run_floors();
	if (!strcmp(argv[1], "tokens") && argc >= 5)
		return answer_tokens(argv[2], (uint32_t)atol(argv[3]), (uint32_t)atol(argv[4]), argc > 5 ? argv[5] : "process") < 0;
	if (!strcmp(argv[1], "serve"))
		return run_serve();
	return usage();
}
