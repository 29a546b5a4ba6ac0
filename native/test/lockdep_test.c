/* SPDX-License-Identifier: Apache-2.0 */
/* The lock-order validator: by programs in a small language, what each thread does, one thread after the other. */
#define PANALOCK_LOCKDEP
#include "support.h"

#include <ctype.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- what was reported ---- */

enum { kinds = PL_LOCKDEP_FULL + 1 };
static uint32_t seen[kinds], orders_seen;
static char last_text[1 << 16], last_class[64], last_thread[64];

static void note(const pl_lockdep_report *r, void *argument)
{
	REQUIRE(argument == seen);
	REQUIRE(r->kind > 0 && r->kind < kinds);
	seen[r->kind]++;
	orders_seen = r->orders;
	snprintf(last_text, sizeof last_text, "%s", r->text);
	snprintf(last_class, sizeof last_class, "%s", r->lock_class);
	snprintf(last_thread, sizeof last_thread, "%s", r->thread);
}

static void listen_anew(void)
{
	memset(seen, 0, sizeof seen);
	last_text[0] = 0;
	pl_lockdep_listen(note, seen);
}

static uint32_t all_seen(void)
{
	uint32_t n = 0;
	for (int i = 0; i < kinds; i++)
		n += seen[i];
	return n;
}

/* ---- locks of every kind ---- */

enum { some_kinds = 5, some_locks = 5 };
typedef struct {
	union {
		pl_qspinlock word;
		pl_qspinlock_byte byte;
		pl_qspinlock_wide wide;
		pl_rqspinlock resilient;
		pl_mutex mutex;
	} u;
	int kind;
} any;

static int lock_any(any *l, char how)
{
	pl_thread *self = pl_self();
	int64_t limit = how == '~' ? 1000 * (int64_t)ms : PL_FOREVER;
	switch (l->kind) {
	case 0:
		return how == '?' ? pl_qspin_trylock(self, &l->u.word)
				  : how ? pl_qspin_lock_wait(self, &l->u.word, 0, limit) : pl_qspin_lock(self, &l->u.word);
	case 1:
		return how == '?' ? pl_mutex_trylock(self, &l->u.mutex)
				  : how ? pl_mutex_lock_wait(self, &l->u.mutex, 0, limit) : pl_mutex_lock(self, &l->u.mutex);
	case 2:
		return how == '?' ? pl_qspin_wide_trylock(self, &l->u.wide)
				  : how ? pl_qspin_wide_lock_wait(self, &l->u.wide, 0, limit) : pl_qspin_wide_lock(self, &l->u.wide);
	case 3:
		return how == '?' ? pl_rqspin_trylock(self, &l->u.resilient)
				  : how ? pl_rqspin_lock_wait(self, &l->u.resilient, 0, limit, NULL) : pl_rqspin_lock(self, &l->u.resilient);
	default:
		return how == '?' ? pl_qspin_byte_trylock(self, &l->u.byte)
				  : how ? pl_qspin_byte_lock_wait(self, &l->u.byte, 0, limit) : pl_qspin_byte_lock(self, &l->u.byte);
	}
}

static int unlock_any(any *l)
{
	pl_thread *self = pl_self();
	switch (l->kind) {
	case 0: return pl_qspin_unlock(self, &l->u.word);
	case 1: return pl_mutex_unlock(self, &l->u.mutex);
	case 2: return pl_qspin_wide_unlock(self, &l->u.wide);
	case 3: return pl_rqspin_unlock(self, &l->u.resilient);
	default: return pl_qspin_byte_unlock(self, &l->u.byte);
	}
}

/* ---- programs: `A` locks, `a` unlocks, `?A` tries, `~A` waits with a limit, `!A` waits without; `|` is the next thread ---- */

typedef struct {
	const char *words;
	any *locks;
} part;

static void *run_part(void *argument)
{
	const part *p = argument;
	for (const char *w = p->words; *w && *w != '|'; w++) {
		char how = 0;
		if (*w == ' ')
			continue;
		if (!isalpha((unsigned char)*w))
			how = *w++;
		if (islower((unsigned char)*w))
			REQUIRE_EQUAL(unlock_any(&p->locks[*w - 'a']), 0);
		else
			REQUIRE_EQUAL(lock_any(&p->locks[*w - 'A'], how), 0);
	}
	return NULL;
}

static const pl_lock_class classes[some_locks] = {
	PL_LOCK_CLASS_INIT("lock A"), PL_LOCK_CLASS_INIT("lock B"), PL_LOCK_CLASS_INIT("lock C"),
	PL_LOCK_CLASS_INIT("lock D"), PL_LOCK_CLASS_INIT("lock E"),
};

static void run_program(const char *program, int rotation)
{
	static any locks[some_locks];
	memset(locks, 0, sizeof locks);
	for (int i = 0; i < some_locks; i++) {
		locks[i].kind = (i + rotation) % some_kinds;
		REQUIRE_EQUAL(pl_lockdep_set_class(&locks[i], &classes[i], 0), 0);
	}
	listen_anew();
	for (const char *at = program; at; at = strchr(at, '|')) {
		part p = {at += *at == '|', locks};
		pthread_t thread;
		REQUIRE_EQUAL(pthread_create(&thread, NULL, run_part, &p), 0);
		pthread_join(thread, NULL);
	}
	for (int i = 0; i < some_locks; i++)
		REQUIRE_EQUAL(pl_lockdep_unregister(&classes[i]), 0);
	REQUIRE_EQUAL(pl_lockdep_forget(locks, sizeof locks), some_locks);
}

static const char *const inversions[] = {
	"A B b a | B A a b",
	"A B a b | B A b a",
	"A B b a | B !A a b",
	"A !B b a | B A a b",
	"A B b a | B C c b | C A a c",
	"A B b a | B C c b | C D d c | D A a d",
	"A B b a | B C c b | C D d c | D E e d | E A a e",
	"A B C c b a | C A a c",
	"A B C c b a | C B b c",
	"A B C D d c b a | D B b d",
	"A B C D E e d c b a | E A a e",
	"?A B b a | B A a b",
	"?A B b a | ?B A a b",
	"~A B b a | B A a b",
	"A ?B C c b a | C B b c",
	"A ?B C c b a | C A a c",
	"A B b C c a | C D d c | D A a d",
	"A B b a B A a b",
	"A B b a A C c a | B D d b | D C c d | C B b c",
	"A B a C b c | C A a c",
};

/* The same shapes in one order. */
static const char *const clean[] = {
	"A B b a | A B a b",
	"A B a b | A B b a",
	"A B b a | !A B b a",
	"A !B b a | A B b a",
	"A B b a | B C c b | A C c a",
	"A B b a | B C c b | C D d c | A D d a",
	"A B b a | B C c b | C D d c | D E e d | A E e a",
	"A B C c b a | A C c a",
	"A B C c b a | B C c b",
	"A B C D d c b a | B D d b",
	"A B C D E e d c b a | A E e a",
	"A B b a | B ?A a b",
	"?A ?B b a | ?B ?A a b",
	"A B b a | B ~A a b",
	"A ?B b a | B A a b",
	"A ?B C c b a | A C c a | B C c b",
	"A B b C c a | C D d c | A D d a",
	"A a B b A a B b",
	"A B b a A C c a | B D d b | D C c d | B C c b",
	"A a | B b | C c",
};

enum { some_inversions = sizeof inversions / sizeof *inversions, some_clean = sizeof clean / sizeof *clean };
_Static_assert(some_inversions == 20 && some_clean == 20, "twenty of each");

static void every_inversion_is_found(void **state)
{
	(void)state;
	for (int i = 0; i < some_inversions; i++)
		for (int rotation = 0; rotation < some_kinds; rotation++) {
			run_program(inversions[i], rotation);
			if (seen[PL_LOCKDEP_INVERSION] == 0 || all_seen() != seen[PL_LOCKDEP_INVERSION])
				printf("%s: %u inversions of %u reports\n%s", inversions[i], seen[PL_LOCKDEP_INVERSION], all_seen(), last_text);
			REQUIRE(seen[PL_LOCKDEP_INVERSION] > 0);
			REQUIRE_EQUAL(all_seen(), seen[PL_LOCKDEP_INVERSION]);
			REQUIRE(orders_seen >= 2 && orders_seen <= some_locks);
			REQUIRE(strstr(last_text, "possible deadlock"));
			REQUIRE(!strncmp(last_class, "lock ", 5));
			/* Each order of the circle with its two places, and a trace for each that begins in this program. */
			uint32_t places = 0;
			for (const char *at = last_text; (at = strstr(at, "acquired at\n    ")); at++)
				places++;
			REQUIRE_EQUAL(places, orders_seen);
			places = 0;
			for (const char *at = last_text; (at = strstr(at, "acquiring at\n    ")); at++)
				places++;
			REQUIRE_EQUAL(places, orders_seen);
			REQUIRE(!strstr(last_text, "pl_lockdep_ac"));
		}
}

static void clean_programs_get_no_report(void **state)
{
	(void)state;
	for (int i = 0; i < some_clean; i++)
		for (int rotation = 0; rotation < some_kinds; rotation++) {
			run_program(clean[i], rotation);
			if (all_seen())
				printf("%s\n%s", clean[i], last_text);
			REQUIRE_EQUAL(all_seen(), 0);
		}
}

/* ---- programs at random, against an oracle: has the relation "waited for while held" a circle? ---- */

static bool has_circle(const uint32_t *edges, uint32_t n)
{
	uint32_t left = (1u << n) - 1;
	for (bool again = true; again;) {
		again = false;
		for (uint32_t i = 0; i < n; i++) {
			if (!(left >> i & 1))
				continue;
			bool led_to = false;
			for (uint32_t j = 0; j < n; j++)
				led_to = led_to || (left >> j & 1 && edges[j] >> i & 1);
			if (!led_to) { /* nothing leads to it: it is in no circle */
				left &= ~(1u << i);
				again = true;
			}
		}
	}
	return left;
}

static bool generated(uint32_t *random)
{
	enum { most = 7, deepest = 5 };
	static any locks[most];
	uint32_t n = 2 + random_next(random) % 6, edges[most] = {0}, sections = 1 + random_next(random) % 6;
	bool upwards = random_next(random) % 3 == 0; /* a third keeps to one order, so that both answers occur */
	memset(locks, 0, sizeof locks);
	for (uint32_t i = 0; i < n; i++)
		locks[i].kind = (int)(random_next(random) % some_kinds);
	listen_anew();
	for (uint32_t s = 0; s < sections; s++) {
		uint32_t held[deepest], count = 0, set = 0;
		for (int step = 0; step < 8; step++) {
			uint32_t next = random_next(random) % n;
			bool attempt = random_next(random) % 4 == 0;
			if (!(set >> next & 1) && count < deepest && (!upwards || !(set >> next))) {
				REQUIRE_EQUAL(lock_any(&locks[next], attempt ? (random_next(random) % 2 ? '?' : '~') : 0), 0);
				for (uint32_t i = 0; !attempt && i < count; i++)
					edges[held[i]] |= 1u << next;
				held[count++] = next;
				set |= 1u << next;
			} else if (count) {
				uint32_t at = random_next(random) % count;
				REQUIRE_EQUAL(unlock_any(&locks[held[at]]), 0);
				set &= ~(1u << held[at]);
				memmove(&held[at], &held[at + 1], (--count - at) * sizeof *held);
			}
		}
		while (count)
			REQUIRE_EQUAL(unlock_any(&locks[held[--count]]), 0);
	}
	bool circle = has_circle(edges, n);
	REQUIRE_EQUAL(all_seen(), seen[PL_LOCKDEP_INVERSION]);
	REQUIRE_EQUAL(seen[PL_LOCKDEP_INVERSION] > 0, circle);
	pl_lockdep_forget(locks, sizeof locks);
	return circle;
}

static void agrees_with_an_oracle_on_generated_programs(void **state)
{
	(void)state;
	uint32_t random = 4711, circles = 0, programs = (uint32_t)scaled(10000);
	for (uint32_t i = 0; i < programs; i++)
		circles += generated(&random);
	if (programs >= 100)
		REQUIRE(circles > programs / 10 && circles < programs - programs / 10);
}

/* ---- one thing each ---- */

static void recursion_strangers_and_second_locks_of_a_class_are_reported(void **state)
{
	(void)state;
	static pl_qspinlock a, b, c;
	static const pl_lock_class tree = PL_LOCK_CLASS_INIT("tree");
	pl_thread *self = pl_self();
	pl_lockdep_set_class(&a, &tree, 0);
	pl_lockdep_set_class(&b, &tree, 0);
	pl_lockdep_set_class(&c, &tree, 1);
	listen_anew();
	REQUIRE_EQUAL(pl_qspin_lock(self, &a), 0);
	REQUIRE_EQUAL(pl_qspin_lock(self, &c), 0);
	REQUIRE_EQUAL(pl_qspin_unlock(self, &c), 0);
	REQUIRE_EQUAL(all_seen(), 0);
	REQUIRE_EQUAL(pl_qspin_lock(self, &b), 0);
	REQUIRE_EQUAL(seen[PL_LOCKDEP_SAME_CLASS], 1);
	REQUIRE(strstr(last_text, "\"tree\"") && strstr(last_text, "acquired at"));
	REQUIRE_EQUAL(pl_qspin_unlock(self, &b), 0);
	REQUIRE_EQUAL(pl_lockdep_acquiring(&a), 0); /* the lock itself would wait for ever */
	REQUIRE_EQUAL(seen[PL_LOCKDEP_RECURSION], 1);
	REQUIRE(strstr(last_text, "which it holds already"));
	REQUIRE_EQUAL(pl_lockdep_acquiring(&a), 0);
	REQUIRE_EQUAL(seen[PL_LOCKDEP_RECURSION], 1); /* said once */
	REQUIRE_EQUAL(pl_qspin_unlock(self, &a), 0);
	REQUIRE_EQUAL(all_seen(), 2);
	REQUIRE_EQUAL(pl_lockdep_releasing(&a), -EPERM);
	REQUIRE_EQUAL(seen[PL_LOCKDEP_NOT_HELD], 1);
	REQUIRE(strstr(last_text, "does not hold") && strstr(last_text, "released at"));
	REQUIRE_EQUAL(pl_lockdep_unregister(&tree), 0);
}

static pl_mutex left_behind;

static void *leave_it_locked(void *unused)
{
	pl_thread_set_name(pl_self(), "careless");
	REQUIRE_EQUAL(pl_mutex_lock(pl_self(), &left_behind), 0);
	return unused;
}

static void a_lock_held_at_thread_exit_is_reported(void **state)
{
	(void)state;
	pthread_t thread;
	listen_anew();
	REQUIRE_EQUAL(pthread_create(&thread, NULL, leave_it_locked, NULL), 0);
	pthread_join(thread, NULL);
	REQUIRE_EQUAL(seen[PL_LOCKDEP_HELD_AT_EXIT], 1);
	REQUIRE_EQUAL(all_seen(), 1);
	REQUIRE(strstr(last_text, "ends and holds") && strstr(last_text, "acquired at"));
	pl_lockdep_forget(&left_behind, sizeof left_behind);
}

static void a_circle_is_reported_once_and_a_class_takes_its_orders_along(void **state)
{
	(void)state;
	static pl_qspinlock a, b;
	pl_lock_class *module = malloc(sizeof *module);
	REQUIRE(module);
	static const pl_lock_class stays = PL_LOCK_CLASS_INIT("stays");
	*module = (pl_lock_class)PL_LOCK_CLASS_INIT("module");
	REQUIRE_EQUAL(pl_lockdep_unregister(module), -ENOENT);
	REQUIRE_EQUAL(pl_lockdep_register(module), 0);
	REQUIRE_EQUAL(pl_lockdep_register(module), -EEXIST);
	pl_lockdep_set_class(&a, module, 0);
	pl_lockdep_set_class(&b, &stays, 0);
	pl_thread *self = pl_self();
	listen_anew();
	for (int i = 0; i < 3; i++) {
		REQUIRE_EQUAL(pl_qspin_lock(self, &a), 0);
		REQUIRE_EQUAL(pl_qspin_lock(self, &b), 0);
		pl_qspin_unlock(self, &b);
		pl_qspin_unlock(self, &a);
		if (i == 2) { /* what was learnt of the module is gone: the other order is the first */
			REQUIRE_EQUAL(pl_lockdep_unregister(module), 0);
			REQUIRE_EQUAL(pl_lockdep_unregister(module), -ENOENT);
			free(module);
			listen_anew();
		}
		REQUIRE_EQUAL(pl_qspin_lock(self, &b), 0);
		REQUIRE_EQUAL(pl_qspin_lock(self, &a), 0);
		pl_qspin_unlock(self, &a);
		pl_qspin_unlock(self, &b);
		REQUIRE_EQUAL(all_seen(), i < 2);
	}
	REQUIRE_EQUAL(pl_lockdep_forget(&a, sizeof a), 1);
	REQUIRE_EQUAL(pl_lockdep_forget(&a, sizeof a), 0);
	REQUIRE_EQUAL(pl_lockdep_unregister(&stays), 0);
}

static void bad_input_is_refused(void **state)
{
	(void)state;
	static const pl_lock_class any_class = PL_LOCK_CLASS_INIT(NULL);
	static pl_qspinlock a;
	REQUIRE_EQUAL(QUIETLY(pl_lockdep_register(NULL)), -EINVAL);
	REQUIRE_EQUAL(QUIETLY(pl_lockdep_register((const pl_lock_class *)(const void *)((const char *)&any_class + 1))), -EINVAL);
	REQUIRE_EQUAL(QUIETLY(pl_lockdep_unregister(NULL)), -EINVAL);
	REQUIRE_EQUAL(QUIETLY(pl_lockdep_set_class(NULL, &any_class, 0)), -EINVAL);
	REQUIRE_EQUAL(QUIETLY(pl_lockdep_set_class(&a, NULL, 0)), -EINVAL);
	REQUIRE_EQUAL(QUIETLY(pl_lockdep_set_class(&a, &any_class, PL_LOCKDEP_LEVELS)), -EINVAL);
	REQUIRE_EQUAL(QUIETLY(pl_lockdep_forget(NULL, 1)), -EINVAL);
	REQUIRE_EQUAL(QUIETLY(pl_lockdep_forget(&a, SIZE_MAX)), -EINVAL);
	REQUIRE_EQUAL(QUIETLY(pl_lockdep_acquiring(NULL)), -EINVAL);
	REQUIRE_EQUAL(QUIETLY(pl_lockdep_acquired(NULL)), -EINVAL);
	REQUIRE_EQUAL(QUIETLY(pl_lockdep_releasing(NULL)), -EINVAL);
	REQUIRE_EQUAL(QUIETLY(pl_lockdep_set_class(&a, &any_class, 7)), 0);
	REQUIRE_EQUAL(QUIETLY(pl_lockdep_unregister(&any_class)), 0);
	pl_lockdep_forget(&a, sizeof a);
}

static void inside_nested_guards_nothing_is_forgotten(void **state)
{
	(void)state;
	static const pl_lock_class c = PL_LOCK_CLASS_INIT("kept");
	REQUIRE_EQUAL(pl_lockdep_register(&c), 0);
	uint64_t outer = pl_shazptr_acquire(pl_self(), 4096);
	uint64_t nested = pl_shazptr_acquire(pl_self(), 4096);
	REQUIRE_EQUAL(pl_lockdep_unregister(&c), -EDEADLK);
	REQUIRE_EQUAL(pl_lockdep_forget(&c, sizeof c), -EDEADLK);
	REQUIRE_EQUAL(pl_shazptr_clear(pl_self(), nested), 0);
	REQUIRE_EQUAL(pl_lockdep_unregister(&c), 0);
	REQUIRE_EQUAL(pl_shazptr_clear(pl_self(), outer), 0);
}

static void more_classes_than_there_is_room_for_are_said_and_room_comes_back(void **state)
{
	(void)state;
	enum { many = PL_LOCKDEP_CLASSES + 50 };
	pl_lock_class *all = calloc(many, sizeof *all);
	REQUIRE(all);
	listen_anew();
	for (int round = 0; round < 2; round++) {
		int n = 0;
		while (n < many && pl_lockdep_register(&all[n]) == 0)
			n++;
		REQUIRE(n > PL_LOCKDEP_CLASSES - 100 && n <= PL_LOCKDEP_CLASSES);
		REQUIRE_EQUAL(pl_lockdep_register(&all[n]), -ENOSPC);
		static pl_qspinlock unseen;
		REQUIRE_EQUAL(pl_qspin_lock(pl_self(), &unseen), 0);
		REQUIRE_EQUAL(seen[PL_LOCKDEP_FULL], 1);
		REQUIRE(strstr(last_text, "pl_lockdep_forget"));
		pl_lockdep_listen(NULL, NULL);
		REQUIRE_EQUAL(pl_lockdep_forget(all, many * sizeof *all), n);
		pl_qspin_unlock(pl_self(), &unseen); /* nobody saw it taken: reported, to standard error */
		pl_lockdep_listen(note, seen);
		pl_lockdep_forget(&unseen, sizeof unseen);
	}
	free(all);
}

/* ---- storms: classes come and go while others are looked up ---- */

enum { storm_threads = 4 };
typedef struct {
	uint64_t rounds;
	uint32_t stop;
} storm;

static void storm_run(int index, void *argument)
{
	storm *s = argument;
	static pl_qspinlock steady[2];
	if (index == 0) { /* registers and unregisters, in memory that is freed: a look-up that was not waited for would show */
		for (uint64_t i = 0; i < s->rounds; i++) {
			pl_lock_class *c = malloc(sizeof *c);
			pl_qspinlock *l = calloc(1, sizeof *l);
			REQUIRE(c && l);
			c->name = "comes and goes";
			REQUIRE_EQUAL(pl_lockdep_set_class(l, c, i % 3), 0);
			REQUIRE_EQUAL(pl_qspin_lock(pl_self(), l), 0);
			REQUIRE_EQUAL(pl_qspin_unlock(pl_self(), l), 0);
			REQUIRE_EQUAL(pl_lockdep_forget(l, sizeof *l), 1);
			REQUIRE_EQUAL(pl_lockdep_unregister(c), 0);
			free(l), free(c);
		}
		pl_store_rel(&s->stop, 1);
		return;
	}
	while (!pl_load_acq(&s->stop)) {
		static pl_qspinlock own[storm_threads];
		REQUIRE_EQUAL(pl_qspin_lock(pl_self(), &own[index]), 0);
		REQUIRE_EQUAL(pl_qspin_lock(pl_self(), &steady[0]), 0);
		REQUIRE_EQUAL(pl_qspin_trylock(pl_self(), &steady[1]), 0);
		REQUIRE_EQUAL(pl_qspin_unlock(pl_self(), &steady[1]), 0);
		REQUIRE_EQUAL(pl_qspin_unlock(pl_self(), &steady[0]), 0);
		REQUIRE_EQUAL(pl_qspin_unlock(pl_self(), &own[index]), 0);
	}
}

static void classes_come_and_go_while_others_look(void **state)
{
	(void)state;
	storm s = {.rounds = scaled(1000)};
	listen_anew();
	crew_run(storm_threads, storm_run, &s);
	REQUIRE_EQUAL(all_seen(), 0);
}

/* ---- handlers and children ---- */

static pl_qspinlock in_handler;

static void on_signal(int number)
{
	(void)number;
	if (pl_qspin_trylock(pl_self(), &in_handler) == 0)
		pl_qspin_unlock(pl_self(), &in_handler);
}

static void a_handler_may_lock_while_the_validator_runs(void **state)
{
	(void)state;
	static pl_qspinlock a, b;
	pl_lockdep_acquired(&in_handler); /* its class is known before a handler asks */
	pl_lockdep_releasing(&in_handler);
	struct sigaction act = {.sa_handler = on_signal}, before;
	sigaction(SIGUSR1, &act, &before);
	listen_anew();
	for (uint64_t i = 0; i < scaled(2000); i++) {
		raise(SIGUSR1);
		REQUIRE_EQUAL(pl_qspin_lock(pl_self(), &a), 0);
		raise(SIGUSR1);
		REQUIRE_EQUAL(pl_qspin_lock(pl_self(), &b), 0);
		pl_qspin_unlock(pl_self(), &b);
		pl_qspin_unlock(pl_self(), &a);
	}
	sigaction(SIGUSR1, &before, NULL);
	REQUIRE_EQUAL(all_seen(), 0);
}

static void a_forked_child_goes_on_watching(void **state)
{
	(void)state;
	static pl_qspinlock a, b;
	listen_anew();
	REQUIRE_EQUAL(pl_qspin_lock(pl_self(), &a), 0);
	REQUIRE_EQUAL(pl_qspin_lock(pl_self(), &b), 0);
	pl_qspin_unlock(pl_self(), &b);
	pl_qspin_unlock(pl_self(), &a);
	pid_t child = fork();
	if (child == 0) {
		REQUIRE_EQUAL(pl_qspin_lock(pl_self(), &b), 0);
		REQUIRE_EQUAL(pl_qspin_lock(pl_self(), &a), 0);
		_exit(seen[PL_LOCKDEP_INVERSION] == 1 ? 0 : 1);
	}
	int status;
	REQUIRE_EQUAL(waitpid(child, &status, 0), child);
	REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	REQUIRE_EQUAL(all_seen(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_inversion_is_found),
		TEST(clean_programs_get_no_report),
		TEST(agrees_with_an_oracle_on_generated_programs),
		TEST(recursion_strangers_and_second_locks_of_a_class_are_reported),
		TEST(a_lock_held_at_thread_exit_is_reported),
		TEST(a_circle_is_reported_once_and_a_class_takes_its_orders_along),
		TEST(bad_input_is_refused),
		TEST(inside_nested_guards_nothing_is_forgotten),
		TEST(more_classes_than_there_is_room_for_are_said_and_room_comes_back),
		TEST(classes_come_and_go_while_others_look),
		TEST(a_handler_may_lock_while_the_validator_runs),
		TEST(a_forked_child_goes_on_watching),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
