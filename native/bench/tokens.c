/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tokens.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <panalock.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { capacity = 4096, pipe_bytes = 8192, most_players = PLB_MAX_THREADS, ns_per_s = 1000000000 };

/* In memory that all players share; `pipe_memory` holds the pipe. */
typedef struct {
	_Alignas(64) char pipe_memory[pipe_bytes];
	_Alignas(64) uint32_t last; /* who wrote the token, plus 1; written by who holds it */
	int32_t value; /* make's token is a byte that goes back as it came: what the others carry stands here, */
	char byte;     /* and that byte here */
	_Alignas(64) uint64_t passes[most_players], self[most_players];
	uint32_t failed;
} board;

typedef struct {
	const plb_tokens *game;
	board *board;
	pl_domain *domain;
	pl_pipe *pipe; /* null: the kernel's, or make's */
	bool make;
	int fd[2];
	uint32_t index;
} player;

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * ns_per_s + (uint64_t)t.tv_nsec;
}

static int64_t take(const player *p, pl_thread *self, void *to)
{
	if (p->make) {
		if (read(p->fd[0], &p->board->byte, 1) != 1)
			return -1;
		memcpy(to, &p->board->value, 4);
		return 4;
	}
	return p->pipe ? pl_pipe_read(self, p->pipe, to, 4, 0, PL_FOREVER) : (int64_t)read(p->fd[0], to, 4);
}

static int64_t put(const player *p, pl_thread *self, const void *from, uint32_t bytes)
{
	if (p->make) { /* there is no second one to be ignored */
		memcpy(&p->board->value, from, 4);
		return write(p->fd[1], &p->board->byte, 1) == 1 ? (int64_t)bytes : -1;
	}
	return p->pipe ? pl_pipe_write(self, p->pipe, from, bytes, 0, PL_FOREVER) : (int64_t)write(p->fd[1], from, bytes);
}

static void *play(void *argument)
{
	const player *p = argument;
	board *b = p->board;
	pl_thread *self = p->pipe ? pl_self_in(p->domain) : NULL;
	uint64_t passes = 0, own = 0;
	for (;;) {
		int32_t token[2];
		if ((p->pipe && !self) || take(p, self, token) != 4) {
			__atomic_store_n(&b->failed, 1, __ATOMIC_RELAXED);
			break;
		}
		if (token[0] < 0)
			continue;
		bool over = (uint32_t)token[0] >= p->game->passes;
		if (!over) {
			passes++;
			own += b->last == p->index + 1;
			b->last = p->index + 1;
		}
		uint32_t bytes = token[0] % 2 && !over ? 8 : 4;
		token[0] += !over;
		token[1] = -1;
		if (put(p, self, token, bytes) != bytes)
			__atomic_store_n(&b->failed, 1, __ATOMIC_RELAXED);
		if (over)
			break;
	}
	b->passes[p->index] = passes;
	b->self[p->index] = own;
	return NULL;
}

/* Counts migrations of this process and of those that it starts from now on; -1 where that is not allowed. */
static int open_migrations(void)
{
	struct perf_event_attr what = {.type = PERF_TYPE_SOFTWARE, .size = sizeof what, .config = PERF_COUNT_SW_CPU_MIGRATIONS,
				       .inherit = 1};
	return (int)syscall(SYS_perf_event_open, &what, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static int64_t close_migrations(int fd)
{
	uint64_t count;
	bool known = fd >= 0 && read(fd, &count, sizeof count) == (ssize_t)sizeof count;
	if (fd >= 0)
		close(fd);
	return known ? (int64_t)count : -1;
}

static uint64_t cpu_of(const struct rusage *u)
{
	return (uint64_t)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * ns_per_s +
	       (uint64_t)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1000;
}

static int start_and_wait(player *players, const player *starter, pl_thread *self, plb_tokens_result *r)
{
	static const int32_t first[] = {0, -1};
	const plb_tokens *g = starter->game;
	int who = g->processes ? RUSAGE_CHILDREN : RUSAGE_SELF, error = 0;
	static pthread_t threads[most_players];
	struct rusage before, after;
	int migrations = open_migrations();
	getrusage(who, &before);
	uint32_t n = 0;
	for (; n < g->players && !error; n++) {
		if (g->processes) {
			pid_t pid = fork();
			if (pid == 0) {
				play(&players[n]);
				_exit(0);
			}
			error = pid < 0 ? -errno : 0;
		} else {
			error = -pthread_create(&threads[n], NULL, play, &players[n]);
		}
	}
	if (error)
		n--; /* those who were started end with the first token below: its passes are over at once */
	int32_t over[] = {(int32_t)g->passes};
	r->elapsed_ns = now();
	if (put(starter, self, error ? over : first, error ? 4 : 8) < 0)
		error = -EPROTO;
	for (uint32_t i = 0; i < n; i++) {
		if (g->processes)
			wait(NULL);
		else
			pthread_join(threads[i], NULL);
	}
	r->elapsed_ns = now() - r->elapsed_ns;
	getrusage(who, &after);
	r->migrations = close_migrations(migrations);
	r->cpu_ns = cpu_of(&after) - cpu_of(&before);
	r->switches = (uint64_t)(after.ru_nvcsw + after.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw);
	return error;
}

static void count(const plb_tokens *g, const board *b, plb_tokens_result *r)
{
	double sum = 0, squares = 0;
	r->self = r->most = 0;
	r->least = UINT64_MAX;
	for (uint32_t i = 0; i < g->players; i++) {
		uint64_t n = b->passes[i];
		r->self += b->self[i];
		r->least = n < r->least ? n : r->least;
		r->most = n > r->most ? n : r->most;
		sum += (double)n;
		squares += (double)n * (double)n;
	}
	r->jain = squares > 0 ? sum * sum / (g->players * squares) : 0;
}

/* The jobserver of the make that has started us, which must have one token left; takes it. */
static int join_make(player *p)
{
	static const char option[] = "--jobserver-auth=";
	const char *flags = getenv("MAKEFLAGS"), *at = NULL;
	char path[4096];
	for (const char *next = flags; next && (next = strstr(next, option)); at = next)
		next += sizeof option - 1; /* the last one counts */
	if (!at)
		return -ENOTCONN;
	if (sscanf(at, "fifo:%4095s", path) == 1) {
		p->fd[0] = p->fd[1] = open(path, O_RDWR | O_CLOEXEC);
	} else if (sscanf(at, "%d,%d", &p->fd[0], &p->fd[1]) == 2) {
		/* Anew, for make's own opening, which all share, may be non-blocking, and must stay as it is. */
		snprintf(path, sizeof path, "/proc/self/fd/%d", p->fd[0]);
		p->fd[0] = open(path, O_RDONLY | O_CLOEXEC);
		p->fd[1] = fcntl(p->fd[1], F_DUPFD_CLOEXEC, 0);
	} else {
		return -ENOTCONN;
	}
	if (p->fd[0] < 0 || p->fd[1] < 0)
		return -errno;
	p->make = true;
	struct pollfd readable = {.fd = p->fd[0], .events = POLLIN};
	if (poll(&readable, 1, 0) != 1 || read(p->fd[0], &p->board->byte, 1) != 1)
		return -EAGAIN;
	if (poll(&readable, 1, 0) == 0)
		return 0;
	put(p, NULL, &p->board->value, 4); /* more than one: not make -j2 */
	return -EPROTO;
}

static int make_pipe(const plb_tokens *g, player *p)
{
	static const char *const names[] = {"exclusive", "wake_all", "greedy"};
	static const uint32_t flags[] = {0, PL_PIPE_WAKE_ALL, PL_PIPE_GREEDY};
	if (!strcmp(g->via, "pipe"))
		return pipe(p->fd) ? -errno : 0;
	if (!strcmp(g->via, "make"))
		return join_make(p);
	for (int i = 0; i < 3; i++)
		if (!strcmp(g->via, names[i])) {
			pl_domain_options o = {.slots = most_players + 2, .pool_locks = 1};
			int fd = memfd_create("panalock-tokens", MFD_CLOEXEC);
			int error = fd < 0 ? -errno : pl_domain_create_fd(fd, &o, &p->domain);
			close(fd);
			if (!error)
				error = pl_domain_attach(p->domain, p->board, sizeof *p->board, 1);
			return error ? error : pl_pipe_init(p->board->pipe_memory, pipe_bytes, capacity, flags[i], &p->pipe);
		}
	return -EINVAL;
}

int plb_tokens_play(const plb_tokens *game, plb_tokens_result *result)
{
	if (!game || !result || !game->via || !game->players || game->players > most_players || game->passes > INT32_MAX - 1)
		return -EINVAL;
	player starter = {.game = game, .fd = {-1, -1}};
	starter.board = mmap(NULL, sizeof *starter.board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	player *players = calloc(game->players, sizeof *players);
	int error = starter.board == MAP_FAILED || !players ? -ENOMEM : make_pipe(game, &starter);
	if (!error) {
		pl_thread *self = starter.pipe ? pl_self_in(starter.domain) : NULL;
		if (starter.pipe)
			error = pl_pipe_open(self, starter.pipe, PL_PIPE_READ | PL_PIPE_WRITE);
		for (uint32_t i = 0; i < game->players; i++) {
			players[i] = starter;
			players[i].index = i;
		}
		if (!error)
			error = start_and_wait(players, &starter, self, result);
		if (!error && starter.board->failed)
			error = -EPROTO;
		count(game, starter.board, result);
	}
	if (starter.domain)
		pl_domain_close(starter.domain);
	if (starter.fd[0] >= 0) {
		close(starter.fd[0]);
		if (starter.fd[1] != starter.fd[0])
			close(starter.fd[1]);
	}
	free(players);
	if (starter.board != MAP_FAILED)
		munmap(starter.board, sizeof *starter.board);
	return error;
}
