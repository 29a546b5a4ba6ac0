/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "domain.h"
#include "os/os.h"
#include "support.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static pl_domain *new_domain(uint32_t slots, uint32_t flags)
{
	pl_domain_options o = {.slots = slots, .pool_locks = 4, .flags = flags};
	pl_domain *d = NULL;
	REQUIRE_EQUAL(pl_domain_create(&o, &d), 0);
	return d;
}

static pl_domain *new_shared_domain(uint32_t slots, int *fd)
{
	pl_domain_options o = {.slots = slots, .pool_locks = 4};
	pl_domain *d = NULL;
	*fd = shared_file(0);
	REQUIRE_EQUAL(pl_domain_create_fd(*fd, &o, &d), 0);
	return d;
}

static uint32_t used_slots(pl_domain *d)
{
	uint32_t used = 0;
	for (uint32_t i = 1; i < d->slots; i++)
		used += pl_load_acq(&pl_slot(d, i)->state) != PL_SLOT_FREE;
	return used;
}

/* Runs @run in a thread of its own. */
static void in_a_thread(void (*run)(int, void *), void *argument) { crew_run(1, run, argument); }

/* ---- registering ---- */

static void slot_is_registered_on_first_use_only(void **state)
{
	(void)state;
	pl_domain *d = new_domain(4, 0);
	assert_int_equal(used_slots(d), 0);
	pl_thread *self = QUIETLY(pl_self_in(d));
	assert_non_null(self);
	assert_int_equal(used_slots(d), 1);
	assert_ptr_equal(pl_self_in(d), self);
	assert_int_equal(used_slots(d), 1);
	assert_int_equal(self->tid, gettid());
	assert_int_equal(self->process, pl_domain_process(d));
	assert_true(self->index >= 1);
	assert_null(QUIETLY(pl_self_in(NULL)));
	assert_int_equal(pl_domain_close(d), 0);
}

static void get_own_slot(int index, void *shared)
{
	(void)index;
	pl_thread *self = pl_self_in(shared);
	REQUIRE(self);
	REQUIRE_EQUAL(self->tid, gettid());
}

static void slots_of_ended_threads_are_free_again(void **state)
{
	(void)state;
	pl_domain *d = new_domain(2, 0);
	for (int i = 0; i < 100; i++) {
		in_a_thread(get_own_slot, d);
		assert_int_equal(used_slots(d), 0);
	}
	assert_int_equal(pl_domain_close(d), 0);
}

static void one_slot_too_many_is_refused_and_loses_nothing(void **state)
{
	(void)state;
	enum { usable = 5 };
	pl_domain *d = new_domain(usable + 1, 0);
	pl_thread *slots[usable], *none = NULL;
	for (int i = 0; i < usable; i++) {
		assert_int_equal(QUIETLY(pl_thread_register(d, 0, &slots[i])), 0);
		for (int j = 0; j < i; j++)
			assert_true(slots[i] != slots[j]);
	}
	for (int i = 0; i < 3; i++) {
		assert_int_equal(QUIETLY(pl_thread_register(d, 0, &none)), -ENOSPC);
		assert_null(none);
		assert_null(QUIETLY(pl_self_in(d)));
	}
	assert_int_equal(used_slots(d), usable);
	assert_int_equal(QUIETLY(pl_thread_release(slots[2])), 0);
	pl_thread *self = pl_self_in(d);
	assert_ptr_equal(self, slots[2]);
	assert_int_equal(pl_domain_close(d), 0);
}

static void smallest_domain_has_one_usable_slot(void **state)
{
	(void)state;
	pl_domain *d = new_domain(2, 0);
	pl_thread *first, *second;
	assert_int_equal(pl_thread_register(d, 0, &first), 0);
	assert_int_equal(first->index, 1);
	assert_int_equal(pl_thread_register(d, 0, &second), -ENOSPC);
	pl_qspinlock lock = PL_QSPINLOCK_INIT;
	assert_int_equal(pl_qspin_lock(first, &lock), 0);
	assert_int_equal(pl_qspin_lock_wait(first, &lock, 0, ms), -ETIMEDOUT);
	assert_int_equal(pl_qspin_unlock(first, &lock), 0);
	assert_int_equal(pl_thread_release(first), 0);
	assert_int_equal(pl_domain_close(d), 0);
}

static void all_16382_slots_can_be_registered_and_used(void **state)
{
	(void)state;
	static pl_thread *slots[PL_MAX_SLOTS];
	pl_domain *d = new_domain(PL_MAX_SLOTS, 0);
	for (uint32_t i = 0; i < PL_MAX_SLOTS - 1; i++)
		assert_int_equal(pl_thread_register(d, 0, &slots[i]), 0);
	assert_int_equal(pl_thread_register(d, 0, &slots[PL_MAX_SLOTS - 1]), -ENOSPC);
	assert_int_equal(used_slots(d), PL_MAX_SLOTS - 1);
	for (int layout = 0; layout < layouts; layout++) {
		/* The last slot's nodes have the largest numbers that the tail can hold. */
		any_lock lock = {.words = {0, 0}};
		pl_thread *last = pl_slot(d, PL_MAX_SLOTS - 1);
		assert_int_equal(any_lock_it(layout, slots[0], &lock), 0);
		assert_int_equal(any_lock_wait(layout, last, &lock, 0, ms), -ETIMEDOUT);
		assert_int_equal(any_lock_wait(layout, last, &lock, PL_WAIT_SPIN, ms), -ETIMEDOUT);
		assert_int_equal(any_unlock(layout, slots[0], &lock), 0);
		assert_int_equal(lock.words[0] | lock.words[1], 0);
	}
	for (uint32_t i = 0; i < PL_MAX_SLOTS - 1; i++)
		assert_int_equal(pl_thread_release(slots[i]), 0);
	assert_int_equal(used_slots(d), 0);
	assert_int_equal(pl_domain_close(d), 0);
}

typedef struct {
	pl_domain *domain;
	uint32_t owners[16];
	uint32_t won, tried;
} slot_game;

enum { claimers = 6 };

static void register_and_release(int index, void *shared)
{
	slot_game *game = shared;
	for (uint64_t i = scaled(20000); i; i--) {
		pl_thread *slot = NULL;
		int err = pl_thread_register(game->domain, 0, &slot);
		if (err) {
			REQUIRE_EQUAL(err, -ENOSPC);
			continue;
		}
		REQUIRE_EQUAL(pl_swap_ar(&game->owners[slot->index], (uint32_t)index + 1), 0);
		REQUIRE_EQUAL(pl_swap_ar(&game->owners[slot->index], 0), index + 1);
		REQUIRE_EQUAL(pl_thread_release(slot), 0);
	}
}

static void slot_never_has_two_owners(void **state)
{
	(void)state;
	slot_game game = {.domain = new_domain(4, 0)};
	crew_run(5, register_and_release, &game);
	assert_int_equal(used_slots(game.domain), 0);
	assert_int_equal(pl_domain_close(game.domain), 0);
}

static void register_and_end(int index, void *shared)
{
	(void)index;
	pl_thread *slot;
	REQUIRE_EQUAL(pl_thread_register(shared, (uint32_t)gettid(), &slot), 0);
}

static void slots_that_ended_threads_never_released_are_reused_when_no_other_is_left(void **state)
{
	(void)state;
	pl_domain *d = new_domain(4, 0);
	pl_thread *borrowed, *slot;
	assert_int_equal(pl_thread_register(d, 0, &borrowed), 0); /* no thread to ask about: never reused */
	in_a_thread(register_and_end, d);
	in_a_thread(register_and_end, d);
	assert_int_equal(used_slots(d), 3);
	for (int i = 0; i < 2; i++) {
		AWAIT(QUIETLY(pl_thread_register(d, 0, &slot)) == 0); /* the kernel may still be busy ending the thread */
		assert_true(slot != borrowed);
	}
	assert_int_equal(QUIETLY(pl_thread_register(d, 0, &slot)), -ENOSPC);
	assert_int_equal(pl_domain_close(d), 0);
}

static void claim_what_is_orphaned(int index, void *shared)
{
	(void)index;
	slot_game *game = shared;
	pl_thread *slot;
	int err = pl_thread_register(game->domain, (uint32_t)gettid(), &slot);
	if (err) {
		REQUIRE_EQUAL(err, -ENOSPC);
	} else {
		REQUIRE_EQUAL(pl_swap_ar(&game->owners[slot->index], 1), 0);
		pl_add_ar(&game->won, 1);
	}
	pl_add_ar(&game->tried, 1);
	AWAIT(pl_load_acq(&game->tried) == claimers); /* stay alive until then */
}

static void orphaned_slot_is_claimed_once(void **state)
{
	(void)state;
	for (uint64_t round = scaled(200); round; round--) {
		slot_game game = {.domain = new_domain(3, 0)};
		in_a_thread(register_and_end, game.domain);
		in_a_thread(register_and_end, game.domain);
		pl_thread *slots[2] = {pl_slot(game.domain, 1), pl_slot(game.domain, 2)};
		AWAIT(!pl_os_thread_alive((uint32_t)getpid(), slots[0]->tid));
		AWAIT(!pl_os_thread_alive((uint32_t)getpid(), slots[1]->tid));
		crew_run(claimers, claim_what_is_orphaned, &game);
		assert_int_equal(game.won, 2);
		assert_int_equal(pl_domain_close(game.domain), 0);
	}
}

/* The functions, which tell the checks; not their inline forms. */
#undef pl_qspin_lock_wait
#undef pl_qspin_unlock

static void bad_releases_are_refused(void **state)
{
	(void)state;
	pl_domain *d = new_domain(4, PL_DOMAIN_CHECKS);
	pl_thread *slot;
	static pl_waitq queue;
	pl_qspinlock lock = PL_QSPINLOCK_INIT;
	assert_int_equal(QUIETLY(pl_thread_release(NULL)), -EINVAL);
	assert_int_equal(QUIETLY(pl_thread_release(pl_domain_service(d))), -EINVAL);
	assert_int_equal(QUIETLY(pl_thread_register(d, 0, NULL)), -EINVAL);
	assert_int_equal(QUIETLY(pl_thread_register(NULL, 0, &slot)), -EINVAL);
	assert_int_equal(pl_thread_register(d, 0, &slot), 0);
	int place = pl_waitq_enter(slot, &queue, 0);
	assert_int_equal(place, 0);
	assert_int_equal(QUIETLY(pl_thread_release(slot)), -EBUSY); /* it waits */
	assert_int_equal(pl_waitq_leave(slot, &queue, place, 0), 0);
#undef pl_qspin_lock_wait
	assert_int_equal(pl_qspin_lock_wait(slot, &lock, 0, PL_FOREVER), 0);
	assert_int_equal(QUIETLY(pl_thread_release(slot)), -EBUSY); /* it holds, say the checks */
	assert_int_equal(pl_domain_holder(d, &lock), slot);
	assert_int_equal(pl_qspin_unlock(slot, &lock), 0);
	assert_int_equal(QUIETLY(pl_thread_release(slot)), 0);
	assert_int_equal(QUIETLY(pl_thread_release(slot)), -EINVAL);
	assert_int_equal(pl_domain_close(d), 0);
}

typedef struct {
	pl_domain *domain;
	any_lock lock;
	pl_thread *slot;
} leaver;

static void lock_and_end(int index, void *shared)
{
	(void)index;
	leaver *l = shared;
	l->slot = pl_self_in(l->domain);
	REQUIRE_EQUAL(any_lock_it(PL_LAYOUT_WORD, l->slot, &l->lock), 0);
	REQUIRE(pl_domain_holder(l->domain, &l->lock) == l->slot);
}

static void record_of_held_locks_ends_with_the_thread(void **state)
{
	(void)state;
	leaver l = {.domain = new_domain(2, PL_DOMAIN_CHECKS)};
	in_a_thread(lock_and_end, &l);
	assert_int_equal(any_is_locked(PL_LAYOUT_WORD, &l.lock), 1);
	assert_null(pl_domain_holder(l.domain, &l.lock));
	pl_thread *self = pl_self_in(l.domain);
	assert_ptr_equal(self, l.slot);
	/* The next thread with that slot is not taken for the holder. */
	assert_null(pl_domain_holder(l.domain, &l.lock));
	assert_int_equal(any_lock_wait(PL_LAYOUT_WORD, self, &l.lock, 0, ms), -ETIMEDOUT);
	assert_int_equal(pl_domain_close(l.domain), 0);
}

/* ---- several domains ---- */

enum { many = 8 };

static void use_many_domains(int index, void *shared)
{
	(void)index;
	pl_domain **domains = shared;
	pl_thread *slots[many];
	for (int i = 0; i < many; i++) {
		slots[i] = pl_self_in(domains[i]);
		REQUIRE(slots[i] && pl_thread_domain(slots[i]) == domains[i]);
	}
	for (int i = many - 1; i >= 0; i--)
		REQUIRE(pl_self_in(domains[i]) == slots[i]);
}

static void thread_has_a_slot_in_each_of_eight_domains(void **state)
{
	(void)state;
	pl_domain *domains[many];
	for (int i = 0; i < many; i++)
		domains[i] = new_domain(2, 0);
	for (int round = 0; round < 10; round++)
		in_a_thread(use_many_domains, domains);
	for (int i = 0; i < many; i++) {
		assert_int_equal(used_slots(domains[i]), 0);
		assert_int_equal(pl_domain_close(domains[i]), 0);
	}
}

static void use_domains_one_after_another(int index, void *shared)
{
	(void)index;
	(void)shared;
	for (int i = 0; i < 4 * many; i++) {
		pl_domain *d = new_domain(2 + (uint32_t)i, 0);
		pl_thread *self = pl_self_in(d);
		REQUIRE(self);
		REQUIRE_EQUAL(self->tid, gettid());
		REQUIRE_EQUAL(pl_load_rlx(&self->state), PL_SLOT_USED);
		REQUIRE_EQUAL(pl_domain_close(d), 0);
	}
}

static void closed_domains_take_no_place(void **state)
{
	(void)state;
	in_a_thread(use_domains_one_after_another, NULL);
}

static void take_the_other_slot(int index, void *shared)
{
	(void)index;
	pl_thread **slot = shared;
	*slot = pl_self_in(pl_thread_domain(*slot));
}

static void domain_at_a_closed_ones_place_is_another_domain(void **state)
{
	(void)state;
	pl_domain_options large = {.slots = 1024}, small = {.slots = 3};
	uint64_t bytes = pl_domain_size(&large);
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int round = 0; round < 3; round++) {
		/* Slots near the end of the large domain lie outside of the small one. */
		pl_domain *d;
		pl_thread *slots[1000];
		assert_int_equal(pl_domain_create_at(memory, bytes, &large, 0, &d), 0);
		for (int i = 0; i < 1000; i++)
			assert_int_equal(pl_thread_register(d, 0, &slots[i]), 0);
		assert_non_null(pl_self_in(d));
		assert_int_equal(pl_domain_close(d), 0);
		assert_true(munmap(memory, bytes) == 0);
		uint64_t fewer = pl_domain_size(&small);
		assert_ptr_equal(mmap(memory, fewer, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
				 memory);
		assert_int_equal(pl_domain_create_at(memory, fewer, &small, 0, &d), 0);
		pl_thread *self = pl_self_in(d), *other = self;
		assert_non_null(self);
		assert_in_range(self->index, 1, 2);
		assert_int_equal(self->state, PL_SLOT_USED);
		in_a_thread(take_the_other_slot, &other);
		assert_non_null(other);
		assert_true(other != self);
		assert_int_equal(pl_domain_close(d), 0);
		assert_true(munmap(memory, fewer) == 0);
		assert_ptr_equal(mmap(memory, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
				 memory);
	}
	munmap(memory, bytes);
}

/* ---- thread exit ---- */

/* Destructors run in the order of their keys: this one is made by main() before the library makes its own. */
static pthread_key_t early_key, late_key;
static pl_domain *exit_domain;
static any_lock exit_lock;
static uint32_t exit_rounds;

/* The C library runs four rounds of destructors. ThreadSanitizer ends the thread for itself in the last one, which must not
 * find a slot to release then: so the lock is not taken in the one before either. */
enum { last_round = UNDER_TSAN ? 1 : 3 };

typedef struct {
	int rounds;
	pthread_key_t key;
} destructor_state;

static void lock_in_destructor(void *argument)
{
	destructor_state *s = argument;
	pl_thread *self = pl_self_in(exit_domain);
	REQUIRE(self);
	REQUIRE_EQUAL(self->tid, gettid());
	REQUIRE_EQUAL(any_lock_it(PL_LAYOUT_WORD, self, &exit_lock), 0);
	exit_rounds++;
	sleep_us(100); /* so that the others wait in theirs */
	REQUIRE_EQUAL(any_unlock(PL_LAYOUT_WORD, self, &exit_lock), 0);
	if (s->rounds--)
		pthread_setspecific(s->key, s);
}

static void end_with_destructors(int index, void *shared)
{
	destructor_state *s = (destructor_state *)shared + 2 * index;
	s[0] = (destructor_state){last_round, early_key};
	s[1] = (destructor_state){index % (last_round + 1), late_key};
	pthread_setspecific(early_key, &s[0]);
	pthread_setspecific(late_key, &s[1]);
	if (index % 2)
		REQUIRE(pl_self_in(exit_domain));
}

static void destructors_of_other_keys_can_still_lock(void **state)
{
	(void)state;
	/* Room for the crew before, which may still be on its way out of the kernel when it is joined. */
	enum { crew_size = 8, rounds = 5, room = 2 * crew_size };
	static destructor_state states[2 * crew_size];
	exit_domain = new_domain(room + 1, 0);
	exit_rounds = 0;
	for (int i = 0; i < rounds; i++)
		crew_run(crew_size, end_with_destructors, states);
	uint32_t late = 0; /* rounds of the late key; the early one has all */
	for (int i = 0; i < crew_size; i++)
		late += 1 + (uint32_t)i % (last_round + 1);
	assert_int_equal(exit_rounds, rounds * (crew_size * (last_round + 1) + late));
	assert_int_equal(any_bits(PL_LAYOUT_WORD, &exit_lock), 0);
	/* Slots that a last destructor left behind are there to be had. */
	pl_thread *slots[room];
	for (int i = 0; i < room; i++)
		AWAIT(pl_thread_register(exit_domain, 0, &slots[i]) == 0);
	assert_int_equal(pl_domain_close(exit_domain), 0);
}

typedef struct {
	pl_domain *domain;
	any_lock lock;
	int layout;
	uint32_t flags, held, waiting;
} exit_queue;

static void hold_and_end(int index, void *shared)
{
	exit_queue *q = shared;
	pl_thread *self = pl_self_in(q->domain);
	if (index == 0) {
		REQUIRE_EQUAL(any_lock_it(q->layout, self, &q->lock), 0);
		pl_store_rel(&q->held, 1);
		AWAIT(pl_load_acq(&q->waiting) == 4);
		sleep_us(500);
	} else {
		AWAIT(pl_load_acq(&q->held));
		pl_add_ar(&q->waiting, 1);
		REQUIRE_EQUAL(any_lock_wait(q->layout, self, &q->lock, q->flags, PL_FOREVER), 0);
	}
	REQUIRE_EQUAL(any_unlock(q->layout, self, &q->lock), 0);
	/* And ends, at once, while others queue. */
}

static void threads_end_while_others_queue(void **state)
{
	(void)state;
	for (int layout = 0; layout < layouts; layout++)
		for (uint32_t flags = 0; flags <= PL_WAIT_SPIN; flags++)
			for (int round = 0; round < 5; round++) {
				exit_queue q = {.domain = new_domain(6, 0), .layout = layout, .flags = flags};
				crew_run(5, hold_and_end, &q);
				assert_int_equal(any_bits(layout, &q.lock), 0);
				assert_int_equal(used_slots(q.domain), 0);
				assert_int_equal(pl_domain_close(q.domain), 0);
			}
}

/* ---- fork ---- */

typedef struct {
	pl_domain *domain;
	pl_thread *self;
	any_lock *lock; /* in the pool */
	int layout;
	uint32_t flags;
} fork_case;

static void wait_for_the_lock(int index, void *shared)
{
	(void)index;
	fork_case *f = shared;
	pl_thread *self = pl_self_in(f->domain);
	REQUIRE_EQUAL(any_lock_wait(f->layout, self, f->lock, f->flags, PL_FOREVER), 0);
	REQUIRE_EQUAL(any_unlock(f->layout, self, f->lock), 0);
}

static int private_child(void *argument)
{
	fork_case *f = argument;
	pl_thread *self = pl_self_in(f->domain), *other;
	REQUIRE(self == f->self);
	REQUIRE_EQUAL(self->tid, getpid());
	REQUIRE_EQUAL(f->domain->processes[self->process].pid, getpid());
	REQUIRE_EQUAL(used_slots(f->domain), 1);
	/* What the forking thread held, it holds here too, and can give back. */
	REQUIRE_EQUAL(any_is_locked(f->layout, f->lock), 1);
	REQUIRE_EQUAL(any_bits(f->layout, f->lock), PL_Q_LOCKED); /* the parent's waiters are gone */
	REQUIRE_EQUAL(any_unlock(f->layout, self, f->lock), 0);
	for (uint32_t i = 0; i < 4; i++) {
		REQUIRE_EQUAL(any_lock_wait(f->layout, self, f->lock, i % 2 ? PL_WAIT_SPIN : 0, PL_FOREVER), 0);
		REQUIRE_EQUAL(any_unlock(f->layout, self, f->lock), 0);
	}
	for (uint32_t i = 2; i < f->domain->slots; i++)
		REQUIRE_EQUAL(pl_thread_register(f->domain, 0, &other), 0);
	REQUIRE_EQUAL(pl_thread_register(f->domain, 0, &other), -ENOSPC);
	return 0;
}

static void forked_child_keeps_its_slot_of_a_private_domain(void **state)
{
	(void)state;
	for (int kind = 0; kind < 2 * layouts; kind++) {
		int layout = kind / 2;
		fork_case f = {.domain = new_domain(6, 0), .layout = layout, .flags = kind % 2 ? PL_WAIT_SPIN : 0};
		void *word;
		assert_int_equal(pl_domain_pool_take(f.domain, &word), 0);
		f.lock = word;
		f.self = pl_self_in(f.domain);
		assert_int_equal(any_lock_it(layout, f.self, f.lock), 0);
		crew *waiters = crew_start(3, wait_for_the_lock, &f);
		AWAIT(used_slots(f.domain) == 4);
		sleep_us(1500);
		assert_int_equal(forked(private_child, &f), 0);
		assert_int_equal(any_unlock(layout, f.self, f.lock), 0);
		crew_join(waiters);
		assert_ptr_equal(pl_self_in(f.domain), f.self);
		assert_int_equal(pl_domain_close(f.domain), 0);
	}
}

static int shared_child(void *argument)
{
	fork_case *f = argument;
	uint32_t parents = f->self ? f->self->process : 0;
	pl_thread *self = pl_self_in(f->domain), *others[8];
	REQUIRE(self);
	REQUIRE(self != f->self);
	REQUIRE_EQUAL(self->tid, getpid());
	REQUIRE_EQUAL(f->domain->processes[self->process].pid, getpid());
	if (f->self) {
		REQUIRE(self->process != parents);
		REQUIRE_EQUAL(f->self->state, PL_SLOT_USED);
		REQUIRE_EQUAL(f->domain->processes[parents].pid, getppid());
	}
	/* Nobody else takes the child's slot for an orphan. */
	int n = 0;
	while (n < 8 && pl_thread_register(f->domain, 0, &others[n]) == 0) {
		REQUIRE(others[n] != self);
		n++;
	}
	REQUIRE_EQUAL(n, (int)f->domain->slots - 1 - 1 - (f->self != NULL));
	while (n--)
		REQUIRE_EQUAL(pl_thread_release(others[n]), 0);
	return 0;
}

static void forked_child_has_a_new_slot_in_a_shared_domain(void **state)
{
	(void)state;
	int fd;
	fork_case f = {.domain = new_shared_domain(4, &fd)};
	f.self = pl_self_in(f.domain);
	assert_int_equal(forked(shared_child, &f), 0);
	/* The child's slot is an orphan now. */
	pl_thread *a, *b, *c;
	assert_int_equal(pl_thread_register(f.domain, 0, &a), 0);
	assert_int_equal(pl_thread_register(f.domain, 0, &b), 0);
	assert_int_equal(pl_thread_register(f.domain, 0, &c), -ENOSPC);
	assert_ptr_equal(pl_self_in(f.domain), f.self);
	assert_int_equal(pl_domain_close(f.domain), 0);
	close(fd);
}

/* In a fresh process, whose threads have no slot yet: fd of a shared domain. */
static int child_forks_before_its_first_slot(int argc, char **argv)
{
	(void)argc;
	fork_case f = {0};
	REQUIRE_EQUAL(pl_domain_open_fd((int)number_argument(argv, 0), &f.domain), 0);
	return forked(shared_child, &f);
}

static void fork_before_the_first_slot_is_noticed_too(void **state)
{
	(void)state;
	int fd;
	pl_domain *d = new_shared_domain(5, &fd);
	assert_int_equal(child_wait(CHILD_START("forks_before_its_first_slot", fd)), 0);
	assert_int_equal(pl_domain_close(d), 0);
	close(fd);
}

static int default_domain_child(void *argument)
{
	REQUIRE(pl_self() == argument);
	return 0;
}

static void forked_child_keeps_its_slot_of_the_default_domain(void **state)
{
	(void)state;
	assert_int_equal(forked(default_domain_child, pl_self()), 0);
}

/* ---- names ---- */

static void *find_myself_anew(void *argument)
{
	pl_thread *self = pl_self();
	REQUIRE(self && self != argument && pl_self_found == self);
	REQUIRE_EQUAL(pl_thread_release(self), 0); /* not meant for a slot of pl_self(), but it must not be used on */
	REQUIRE(!pl_self_found);
	pl_thread *other;
	REQUIRE_EQUAL(pl_thread_register(pl_domain_default(), 0, &other), 0); /* may be the same place */
	REQUIRE(pl_self() && pl_self() != other);
	REQUIRE_EQUAL(pl_thread_release(other), 0);
	return NULL;
}

static void each_thread_finds_its_own_slot_without_a_call(void **state)
{
	(void)state;
	pl_thread *self = pl_self();
	assert_ptr_equal(pl_self_found, self);
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, find_myself_anew, self), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_ptr_equal(pl_self(), self);
}

static void names_are_cut_between_characters(void **state)
{
	(void)state;
	pl_domain *d = new_domain(2, 0);
	pl_thread *self = pl_self_in(d);
	static const struct {
		const char *given, *kept;
	} names[] = {
		{"", ""},
		{"worker", "worker"},
		{"1234567890123456789012345678901", "1234567890123456789012345678901"},
		{"12345678901234567890123456789012", "1234567890123456789012345678901"},
		{"12345678901234567890123456789\u00e9", "12345678901234567890123456789\u00e9"},   /* 31 bytes: fits */
		{"123456789012345678901234567890\u00e9", "123456789012345678901234567890"},     /* 32 */
		{"12345678901234567890123456789\u20ac", "12345678901234567890123456789"},       /* 29 + 3 */
		{"1234567890123456789012345678\U0001f512", "1234567890123456789012345678"},     /* 28 + 4 */
		{"123456789012345678901234567\U0001f512", "123456789012345678901234567\U0001f512"}, /* 27 + 4 */
		{"\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac",
		 "\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac\u20ac"},
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		memset(self->name, 'x', PL_NAME_BYTES);
		assert_int_equal(QUIETLY(pl_thread_set_name(self, names[i].given)), 0);
		assert_string_equal(self->name, names[i].kept);
		for (size_t b = strlen(names[i].kept); b < PL_NAME_BYTES; b++)
			assert_int_equal(self->name[b], 0);
		for (size_t b = 0; b < sizeof self->pad; b++)
			assert_int_equal(self->pad[b], 0);
	}
	assert_int_equal(QUIETLY(pl_thread_set_name(self, NULL)), -EINVAL);
	assert_int_equal(QUIETLY(pl_thread_set_name(NULL, "x")), -EINVAL);
	assert_int_equal(pl_domain_close(d), 0);
}

static void name_of_an_earlier_thread_is_gone(void **state)
{
	(void)state;
	pl_domain *d = new_domain(2, 0);
	pl_thread *slot;
	assert_int_equal(pl_thread_register(d, 0, &slot), 0);
	assert_int_equal(pl_thread_set_name(slot, "first"), 0);
	assert_int_equal(pl_thread_interrupt(slot), 0);
	assert_int_equal(pl_thread_release(slot), 0);
	assert_int_equal(pl_thread_register(d, 0, &slot), 0);
	assert_string_equal(slot->name, "");
	assert_int_equal(pl_thread_clear_interrupt(slot), 0);
	assert_int_equal(pl_domain_close(d), 0);
}

/* ---- interruption ---- */

static void interruption_ends_one_interruptible_wait(void **state)
{
	(void)state;
	pl_domain *d = new_domain(3, 0);
	pl_thread *self = pl_self_in(d), *holder;
	assert_int_equal(pl_thread_register(d, 0, &holder), 0);
	assert_int_equal(QUIETLY(pl_thread_interrupt(NULL)), -EINVAL);
	assert_int_equal(QUIETLY(pl_thread_interrupt(pl_domain_service(d))), -EINVAL);
	assert_int_equal(QUIETLY(pl_thread_clear_interrupt(NULL)), -EINVAL);
	for (int layout = 0; layout < layouts; layout++)
		for (uint32_t policy = 0; policy <= PL_WAIT_SPIN; policy++) {
			any_lock lock = {.words = {0, 0}};
			assert_int_equal(any_lock_it(layout, holder, &lock), 0);
			assert_int_equal(QUIETLY(pl_thread_interrupt(self)), 0);
			assert_int_equal(QUIETLY(pl_thread_interrupt(self)), 0); /* counts once */
			assert_int_equal(any_lock_wait(layout, self, &lock, policy, ms), -ETIMEDOUT); /* does not consume it */
			assert_int_equal(any_lock_wait(layout, self, &lock, policy | PL_WAIT_INTERRUPTIBLE, PL_FOREVER), -EINTR);
			assert_int_equal(any_lock_wait(layout, self, &lock, policy | PL_WAIT_INTERRUPTIBLE, ms), -ETIMEDOUT);
			assert_int_equal(pl_thread_interrupt(self), 0);
			assert_int_equal(QUIETLY(pl_thread_clear_interrupt(self)), 1);
			assert_int_equal(QUIETLY(pl_thread_clear_interrupt(self)), 0);
			assert_int_equal(any_lock_wait(layout, self, &lock, policy | PL_WAIT_INTERRUPTIBLE, ms), -ETIMEDOUT);
			assert_int_equal(any_unlock(layout, holder, &lock), 0);
			assert_int_equal(any_bits(layout, &lock), 0);
		}
	assert_int_equal(pl_domain_close(d), 0);
}

/* ---- a thread's end and its domain's ---- */

typedef struct {
	pl_domain *domain;
	uint32_t ready, go, finished;
} ending;

static void *use_and_end(void *argument)
{
	ending *e = argument;
	REQUIRE(pl_self_in(e->domain));
	pl_add_ar(&e->ready, 1);
	while (!pl_load_acq(&e->go))
		sleep_us(20);
	pl_add_ar(&e->finished, 1); /* it does not touch the domain any more, but its slot is still registered */
	return NULL;
}

static void domain_may_be_closed_while_threads_that_used_it_end(void **state)
{
	(void)state;
	enum { enders = 4 };
	static ending all[400]; /* static: threads that nobody joins look at it */
	for (uint64_t i = 0; i < scaled(400); i++) {
		ending *e = &all[i];
		e->domain = new_domain(8, 0);
		for (int n = 0; n < enders; n++) {
			pthread_t thread;
			REQUIRE_EQUAL(pthread_create(&thread, NULL, use_and_end, e), 0);
			REQUIRE_EQUAL(pthread_detach(thread), 0);
		}
		AWAIT(pl_load_acq(&e->ready) == enders);
		pl_store_rel(&e->go, 1);
		while (pl_load_acq(&e->finished) < enders)
			;
		REQUIRE_EQUAL(pl_domain_close(e->domain), 0);
	}
}

int main(int argc, char **argv)
{
	static const child_program children[] = {
		{"forks_before_its_first_slot", child_forks_before_its_first_slot},
	};
	int code = CHILD_MAIN(argc, argv, children);
	if (code >= 0)
		return code;
	pthread_key_create(&early_key, lock_in_destructor);
	pl_self();
	pthread_key_create(&late_key, lock_in_destructor);
	const struct CMUnitTest tests[] = {
		TEST(slot_is_registered_on_first_use_only),
		TEST(slots_of_ended_threads_are_free_again),
		TEST(one_slot_too_many_is_refused_and_loses_nothing),
		TEST(smallest_domain_has_one_usable_slot),
		TEST(all_16382_slots_can_be_registered_and_used),
		TEST(slot_never_has_two_owners),
		TEST(slots_that_ended_threads_never_released_are_reused_when_no_other_is_left),
		TEST(orphaned_slot_is_claimed_once),
		TEST(bad_releases_are_refused),
		TEST(record_of_held_locks_ends_with_the_thread),
		TEST(thread_has_a_slot_in_each_of_eight_domains),
		TEST(closed_domains_take_no_place),
		TEST(domain_at_a_closed_ones_place_is_another_domain),
		TEST(destructors_of_other_keys_can_still_lock),
		TEST(threads_end_while_others_queue),
		TEST(forked_child_keeps_its_slot_of_a_private_domain),
		TEST(forked_child_has_a_new_slot_in_a_shared_domain),
		TEST(fork_before_the_first_slot_is_noticed_too),
		TEST(forked_child_keeps_its_slot_of_the_default_domain),
		TEST(each_thread_finds_its_own_slot_without_a_call),
		TEST(names_are_cut_between_characters),
		TEST(name_of_an_earlier_thread_is_gone),
		TEST(interruption_ends_one_interruptible_wait),
		TEST(domain_may_be_closed_while_threads_that_used_it_end),
	};
	return cmocka_run_group_tests_name("thread", tests, NULL, NULL);
}
