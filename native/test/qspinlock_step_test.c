/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One instruction at a time: a child process is traced, and at every instruction of its lock and unlock paths something
 * happens: a signal handler that locks (bug row 8), or other threads that have all the time in the world (row 12).
 */
#define _GNU_SOURCE
#include "domain.h"
#include "support.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <elf.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef PTRACE_GETSIGMASK
#define PTRACE_GETSIGMASK 0x420a
#endif

/* What the tracer reads of its child. */
typedef struct {
	uint32_t armed;    /* the traced thread is in a path that is to be stepped */
	uint32_t handlers; /* how many have run */
	uint32_t steps;
	uint64_t vdso; /* where the kernel's clock code lies in the child */
} board;

enum { board_bytes = 4096 };

static board *shared_board;

/* ---- the child's side ---- */

static void be_traced(int board_fd)
{
	shared_board = map_file(board_fd, board_bytes);
	shared_board->vdso = getauxval(AT_SYSINFO_EHDR);
	REQUIRE_EQUAL(ptrace(PTRACE_TRACEME, 0, NULL, NULL), 0);
	raise(SIGSTOP);
}

/* Gives the tracer control, at a handler's end and before a path to be stepped: it suppresses this signal. */
static void hand_back(void) { syscall(SYS_tgkill, getpid(), (int)syscall(SYS_gettid), SIGUSR2); }

static void arm(void)
{
	pl_store_rel(&shared_board->armed, 1);
	hand_back();
}

static void disarm(void) { pl_store_rel(&shared_board->armed, 0); }

typedef struct {
	int layout;
	pl_domain *domain;
	pl_thread *self;
	any_lock lock, other;
	int64_t counters[2];
	uint32_t timed_out, stop;
	int64_t by_partner;
} stepped;

static stepped *stepping;

/* On top of any instruction: waits for a lock that the thread below may wait for or hold, and for another one. */
static void lock_in_handler(int signal)
{
	(void)signal;
	int before = errno;
	stepped *s = stepping;
	uint32_t n = pl_add_ar(&shared_board->handlers, 1), flags = n & 1 ? PL_WAIT_SPIN : 0;
	REQUIRE_EQUAL(any_lock_wait(s->layout, s->self, &s->other, flags, PL_FOREVER), 0);
	s->counters[1]++;
	REQUIRE_EQUAL(any_unlock(s->layout, s->self, &s->other), 0);
	int err = any_lock_wait(s->layout, s->self, &s->lock, n & 2 ? PL_WAIT_SPIN : 0, 20 * us);
	if (err == 0) {
		s->counters[0]++;
		REQUIRE_EQUAL(any_unlock(s->layout, s->self, &s->lock), 0);
	} else {
		REQUIRE_EQUAL(err, -ETIMEDOUT);
		s->timed_out++;
	}
	hand_back();
	errno = before;
}

/* The partner runs freely: it contends for both locks. */
static void contend(int index, void *shared)
{
	(void)index;
	stepped *s = shared;
	pl_thread *self = pl_self_in(s->domain);
	while (!pl_load_acq(&s->stop)) {
		uint32_t flags = s->by_partner % 2 ? PL_WAIT_SPIN : 0;
		REQUIRE_EQUAL(any_lock_wait(s->layout, self, &s->lock, flags, PL_FOREVER), 0);
		s->counters[0]++;
		s->by_partner++;
		sleep_us(150);
		REQUIRE_EQUAL(any_unlock(s->layout, self, &s->lock), 0);
		REQUIRE_EQUAL(any_lock_wait(s->layout, self, &s->other, flags, PL_FOREVER), 0);
		s->counters[1]++;
		REQUIRE_EQUAL(any_unlock(s->layout, self, &s->other), 0);
		sleep_us(20);
	}
}

/* fd of the board, layout, flags, with a partner?, rounds, a ghost's bits that lead into the queue */
static int child_is_interrupted_everywhere(int argc, char **argv)
{
	(void)argc;
	stepped s = {.layout = (int)number_argument(argv, 1)};
	uint32_t flags = (uint32_t)number_argument(argv, 2), ghost = (uint32_t)number_argument(argv, 5);
	int64_t rounds = number_argument(argv, 4);
	REQUIRE_EQUAL(pl_domain_create(NULL, &s.domain), 0);
	s.self = pl_self_in(s.domain);
	stepping = &s;
	struct sigaction action = {.sa_handler = lock_in_handler, .sa_flags = SA_RESTART};
	sigaction(SIGUSR1, &action, NULL);
	crew *partner = number_argument(argv, 3) ? crew_start(1, contend, &s) : NULL;
	be_traced((int)number_argument(argv, 0));
	for (int64_t i = 0; i < rounds; i++) {
		if (ghost)
			pl_or_ar(&s.lock.words[s.layout == PL_LAYOUT_WIDE], ghost);
		arm();
		int err = any_lock_wait(s.layout, s.self, &s.lock, flags, PL_FOREVER);
		disarm();
		REQUIRE_EQUAL(err, 0);
		s.counters[0]++;
		arm();
		err = any_unlock(s.layout, s.self, &s.lock);
		disarm();
		REQUIRE_EQUAL(err, 0);
		REQUIRE_EQUAL(s.self->depth, 0);
	}
	pl_store_rel(&s.stop, 1);
	if (partner)
		crew_join(partner);
	int64_t handlers = shared_board->handlers;
	REQUIRE_EQUAL(s.counters[0], rounds + s.by_partner + handlers - s.timed_out);
	REQUIRE_EQUAL(s.counters[1], s.by_partner + handlers);
	REQUIRE_EQUAL(any_bits(s.layout, &s.lock) | any_bits(s.layout, &s.other), 0);
	_exit(0);
}

typedef struct {
	int layout;
	pl_domain *domain;
	any_lock *lock;
	pl_thread *slot;
	uint32_t go, gone, stop;
} lifetime;

/* Acquires, releases, frees; awake at any moment, because it is disturbed all the time. */
static void acquire_and_free(int index, void *shared)
{
	(void)index;
	lifetime *l = shared;
	pl_thread *self = pl_self_in(l->domain);
	__atomic_store_n(&l->slot, self, __ATOMIC_RELEASE);
	for (uint32_t round = 1;; round++) {
		while (pl_load_acq(&l->go) != round)
			if (pl_load_acq(&l->stop))
				return;
		any_lock *lock = l->lock;
		REQUIRE_EQUAL(any_lock_it(l->layout, self, lock), 0);
		REQUIRE_EQUAL(any_unlock(l->layout, self, lock), 0);
		munmap(lock, 4096);
		pl_store_rel(&l->gone, round);
	}
}

static void disturb(int index, void *shared)
{
	(void)index;
	lifetime *l = shared;
	while (!pl_load_acq(&l->stop)) {
		pl_thread *slot = __atomic_load_n(&l->slot, __ATOMIC_ACQUIRE);
		if (slot)
			pl_thread_interrupt(slot);
	}
}

/* fd of the board, layout, rounds */
static int child_releases_slowly(int argc, char **argv)
{
	(void)argc;
	lifetime l = {.layout = (int)number_argument(argv, 1)};
	REQUIRE_EQUAL(pl_domain_create(NULL, &l.domain), 0);
	pl_thread *self = pl_self_in(l.domain);
	crew *other = crew_start(1, acquire_and_free, &l), *third = crew_start(1, disturb, &l);
	be_traced((int)number_argument(argv, 0));
	for (uint32_t round = 1; round <= number_argument(argv, 2); round++) {
		l.lock = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		REQUIRE_EQUAL(any_lock_it(l.layout, self, l.lock), 0);
		pl_store_rel(&l.go, round);
		AWAIT(any_bits(l.layout, l.lock) & parked_bit(l.layout));
		arm();
		int err = any_unlock(l.layout, self, l.lock);
		disarm();
		REQUIRE_EQUAL(err, 0);
		AWAIT(pl_load_acq(&l.gone) == round);
	}
	pl_store_rel(&l.stop, 1);
	crew_join(other);
	crew_join(third);
	_exit(0);
}

/* Roles in a queue: one stands at the pending bit, one heads the queue, one comes behind it. */
enum { at_pending, head, behind, roles };

typedef struct {
	int layout;
	pl_domain *domain;
	pl_thread *self, *holder, *slot[roles];
	any_lock lock;
	uint32_t go[roles], back, stop;
} queue;

static void play_a_role(int index, void *shared)
{
	queue *q = shared;
	for (uint32_t turn = 1;; turn++) {
		while (pl_load_acq(&q->go[index]) < turn) {
			if (pl_load_acq(&q->stop))
				return;
			sleep_us(20);
		}
		REQUIRE_EQUAL(any_lock_wait(q->layout, q->slot[index], &q->lock, PL_WAIT_SPIN, PL_FOREVER), 0);
		REQUIRE_EQUAL(any_unlock(q->layout, q->slot[index], &q->lock), 0);
		pl_add_ar(&q->back, 1);
	}
}

/* Releases as soon as the traced thread is the tail, long before it has linked itself to the one before it. */
static void release_at_once(int index, void *shared)
{
	(void)index;
	queue *q = shared;
	while (any_tail(q->layout, &q->lock) != pl_node_number(q->self, 0))
		;
	REQUIRE_EQUAL(any_unlock(q->layout, q->holder, &q->lock), 0);
}

static void take_position(queue *q, int role)
{
	pl_add_ar(&q->go[role], 1);
	if (role == at_pending)
		AWAIT(any_bits(q->layout, &q->lock) & PL_Q_PENDING);
	else
		AWAIT(any_tail(q->layout, &q->lock) == pl_node_number(q->slot[role], 0));
}

/* fd of the board, layout, rounds */
static int child_joins_the_queue_slowly(int argc, char **argv)
{
	(void)argc;
	queue q = {.layout = (int)number_argument(argv, 1)};
	REQUIRE_EQUAL(pl_domain_create(NULL, &q.domain), 0);
	q.self = pl_self_in(q.domain);
	REQUIRE_EQUAL(pl_thread_register(q.domain, 0, &q.holder), 0);
	for (int i = 0; i < roles; i++)
		REQUIRE_EQUAL(pl_thread_register(q.domain, 0, &q.slot[i]), 0);
	crew *others = crew_start(roles, play_a_role, &q);
	be_traced((int)number_argument(argv, 0));
	watchdog("joins_the_queue_slowly", 20);
	for (int64_t round = number_argument(argv, 2); round; round--) {
		/* First somebody else stands behind the head, whose node remembers it. */
		pl_store_rel(&q.back, 0);
		REQUIRE_EQUAL(any_lock_it(q.layout, q.holder, &q.lock), 0);
		for (int role = 0; role < roles; role++)
			take_position(&q, role);
		REQUIRE_EQUAL(any_unlock(q.layout, q.holder, &q.lock), 0);
		AWAIT(pl_load_acq(&q.back) == roles);
		/* Then we do. */
		REQUIRE_EQUAL(any_lock_it(q.layout, q.holder, &q.lock), 0);
		take_position(&q, at_pending);
		take_position(&q, head);
		crew *releaser = crew_start(1, release_at_once, &q);
		arm();
		int err = any_lock_wait(q.layout, q.self, &q.lock, PL_WAIT_SPIN, PL_FOREVER);
		disarm();
		REQUIRE_EQUAL(err, 0);
		crew_join(releaser);
		REQUIRE_EQUAL(any_unlock(q.layout, q.self, &q.lock), 0);
		AWAIT(pl_load_acq(&q.back) == roles + 2);
		REQUIRE_EQUAL(any_bits(q.layout, &q.lock), 0);
	}
	pl_store_rel(&q.stop, 1);
	crew_join(others);
	_exit(0);
}

/* ---- the tracer's side ---- */

static bool signal_is_blocked(int pid, int signal)
{
	uint64_t mask = 0;
	REQUIRE_EQUAL(ptrace(PTRACE_GETSIGMASK, pid, (void *)sizeof mask, &mask), 0);
	return mask >> (signal - 1) & 1;
}

/* The kernel's clock code starts again whenever a timer tick comes in between: never slow it down. */
static bool reads_the_clock(int pid, const board *b)
{
	enum { vdso_bytes = 16384 };
#if defined(__x86_64__)
#define PROGRAM_COUNTER rip
#else
#define PROGRAM_COUNTER pc
#endif
	struct user_regs_struct registers;
	struct iovec all = {&registers, sizeof registers};
	REQUIRE_EQUAL(ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &all), 0);
	return registers.PROGRAM_COUNTER - b->vdso < vdso_bytes;
}

enum { everywhere = -1 };

/*
 * Steps the child's paths: with @pause everywhere SIGUSR1 comes on top of every instruction where it is not blocked, else
 * each step takes that many microseconds. Returns the exit code or -signal.
 */
static int trace(int pid, board *b, int pause, uint32_t most_steps)
{
	bool in_handler = false, below = false;
	for (;;) {
		int status, deliver = 0;
		REQUIRE_EQUAL(waitpid(pid, &status, 0), pid);
		if (WIFEXITED(status))
			return WEXITSTATUS(status);
		if (WIFSIGNALED(status))
			return -WTERMSIG(status);
		int signal = WSTOPSIG(status);
		if (signal == SIGUSR1) /* one that was blocked when it was sent */
			deliver = SIGUSR1;
		else if (signal == SIGUSR2)
			in_handler = false;
		else if (signal != SIGTRAP && signal != SIGSTOP)
			deliver = signal;
		bool step = pl_load_acq(&b->armed) && !in_handler && b->steps < most_steps;
		if (step && pause == everywhere && signal == SIGTRAP) {
			/* The handler's return is a step too: only the second stop below it has an instruction done. */
			bool was_below = below;
			below = !signal_is_blocked(pid, SIGUSR1);
			if (below && was_below && !reads_the_clock(pid, b)) {
				deliver = SIGUSR1;
				in_handler = true;
				below = step = false;
			}
		} else if (step && pause > 0) {
			sleep_us((unsigned)pause);
		}
		b->steps += step;
		REQUIRE_EQUAL(ptrace(step ? PTRACE_SINGLESTEP : PTRACE_CONT, pid, NULL, (void *)(intptr_t)deliver), 0);
	}
}

static void interrupt_everywhere(uint32_t flags, bool partner, uint32_t ghost)
{
	for (int layout = 0; layout < layouts; layout++) {
		int fd = shared_file(board_bytes);
		board *b = map_file(fd, board_bytes);
		int pid = CHILD_START("is_interrupted_everywhere", fd, layout, flags, partner, 2, ghost);
		assert_int_equal(trace(pid, b, everywhere, (uint32_t)scaled(30000)), 0);
		print_message("             %s: %u steps, %u handlers\n", layout_names[layout], b->steps, b->handlers);
		assert_true(b->handlers > 20);
		munmap(b, board_bytes);
		close(fd);
	}
}

static void row_08_handler_at_every_instruction_of_an_uncontended_pair(void **state)
{
	(void)state;
	interrupt_everywhere(0, false, 0);
}

static void row_08_handler_at_every_instruction_of_the_queue(void **state)
{
	(void)state;
	interrupt_everywhere(PL_WAIT_SPIN, false, PL_Q_PENDING); /* somebody's reservation: the way leads through the queue */
}

static void row_08_handler_at_every_instruction_of_contended_spinning(void **state)
{
	(void)state;
	interrupt_everywhere(PL_WAIT_SPIN, true, 0);
}

static void row_08_handler_at_every_instruction_of_contended_parking(void **state)
{
	(void)state;
	interrupt_everywhere(0, true, 0);
}

static void row_01_successor_that_links_itself_slowly_is_waited_for(void **state)
{
	(void)state;
	for (int layout = 0; layout < layouts; layout++) {
		int fd = shared_file(board_bytes);
		board *b = map_file(fd, board_bytes);
		int pid = CHILD_START("joins_the_queue_slowly", fd, layout, 3);
		assert_int_equal(trace(pid, b, 20, UINT32_MAX), 0);
		munmap(b, board_bytes);
		close(fd);
	}
}

static void row_12_waker_that_is_slow_does_not_touch_a_lock_that_is_freed_meanwhile(void **state)
{
	(void)state;
	for (int layout = PL_LAYOUT_WORD; layout <= PL_LAYOUT_BYTE; layout++) {
		int fd = shared_file(board_bytes);
		board *b = map_file(fd, board_bytes);
		int pid = CHILD_START("releases_slowly", fd, layout, 12);
		assert_int_equal(trace(pid, b, 20, UINT32_MAX), 0);
		print_message("             %s: %u steps\n", layout_names[layout], b->steps);
		munmap(b, board_bytes);
		close(fd);
	}
}

int main(int argc, char **argv)
{
	static const child_program children[] = {
		{"is_interrupted_everywhere", child_is_interrupted_everywhere},
		{"releases_slowly", child_releases_slowly},
		{"joins_the_queue_slowly", child_joins_the_queue_slowly},
	};
	int code = CHILD_MAIN(argc, argv, children);
	if (code >= 0)
		return code;
	const struct CMUnitTest tests[] = {
		TEST(row_08_handler_at_every_instruction_of_an_uncontended_pair),
		TEST(row_08_handler_at_every_instruction_of_the_queue),
		TEST(row_08_handler_at_every_instruction_of_contended_spinning),
		TEST(row_08_handler_at_every_instruction_of_contended_parking),
		TEST(row_01_successor_that_links_itself_slowly_is_waited_for),
		TEST(row_12_waker_that_is_slow_does_not_touch_a_lock_that_is_freed_meanwhile),
	};
	if (UNDER_TSAN || getenv("PANALOCK_TEST_NO_EXEC")) {
		puts("Single steps: not under ThreadSanitizer, which delays signals, nor in an emulator, which cannot trace.");
		return 0;
	}
	return cmocka_run_group_tests_name("qspinlock steps", tests, NULL, NULL);
}
