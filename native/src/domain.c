/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "domain.h"

#include "hazard.h"
#include "os/os.h"
#include "recover.h"

#include <errno.h>
#include <fcntl.h>
#include <panalock/bridge.h>
#include <panalock/mutex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(sizeof(pl_node) == 40, "docs/layout.md");
_Static_assert(sizeof(pl_thread) % PL_CACHE_LINE == 0, "slots must not share cache lines");
_Static_assert(offsetof(pl_thread, held) == PL_CACHE_LINE, "the held table's first part is one cache line");
_Static_assert(sizeof(pl_overflow) % PL_CACHE_LINE == 0, "tables must not share cache lines");
_Static_assert(sizeof(pl_bucket) == PL_CACHE_LINE, "buckets must not share cache lines");
_Static_assert(sizeof(pl_domain) % PL_CACHE_LINE == 0, "the slots begin on a cache line");
_Static_assert(PL_MAX_SLOTS * PL_NESTING - 1 <= PL_Q_BYTE_TAIL_MASK >> PL_Q_BYTE_TAIL_SHIFT, "BYTE's tail must name every node");
_Static_assert(PL_MAX_SLOTS * PL_NESTING - 1 <= PL_Q_TAIL_MASK >> PL_Q_TAIL_SHIFT, "WORD's tail must name every node");

/* What this process knows of a domain that it has open. Entries are never freed, only reused: look-ups take no lock. */
typedef struct mapping {
	struct mapping *next;
	pl_domain *domain; /* null: entry free; M1: release when opened, pairs with M2 */
	uint32_t process;
	uint32_t holder; /* see pl_line_holder() */
	bool owned; /* to be unmapped by pl_domain_close(); else the caller's */
} mapping;

typedef struct region {
	pl_domain *domain; /* null: free; M3: release when attached, pairs with M4 */
	uintptr_t base;
	uint64_t bytes;
	uint32_t number;
} region;

static mapping *mappings; /* also M1 */
static region regions[PL_REGIONS];
static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER; /* guards changes of the two tables */
bool pl_checks_wanted;

static mapping *mapping_of(const pl_domain *domain)
{
	mapping *m = __atomic_load_n(&mappings, __ATOMIC_ACQUIRE); /* M2 */
	while (m && __atomic_load_n(&m->domain, __ATOMIC_ACQUIRE) != domain) /* M2: acquire, pairs with M1 */
		m = m->next;
	return m;
}

bool pl_is_domain(const pl_domain *domain)
{
	return domain && (uintptr_t)domain % PL_CACHE_LINE == 0 && domain->magic_lo == PL_MAGIC_LO &&
	       domain->magic_hi == PL_MAGIC_HI && domain->layout_version == PL_LAYOUT_VERSION;
}

static uint32_t holders; /* threads between pl_domains_hold() and pl_domains_let_go() */

void pl_domains_hold(void)
{
	pl_add_ar(&holders, 1); /* M9 */
	pl_fence();		/* M9: full fence, the count before the look whether a domain is open; pairs with M10 */
}

void pl_domains_let_go(void) { pl_sub_rel(&holders, 1); /* M11: release, the last touch of a slot; pairs with M12 */ }

/* After a domain has been struck off the list: until nobody is left who found it there. */
static void await_holders(void)
{
	pl_fence(); /* M10: full fence, the domain is struck off before the look at the count; pairs with M9 */
	while (pl_load_acq(&holders)) /* M12: acquire, pairs with M11 */
		pl_os_yield();
}

bool pl_domain_is_open(const pl_domain *domain) { return mapping_of(domain) != NULL; }

uint32_t pl_domain_process(pl_domain *domain)
{
	mapping *m = mapping_of(domain);
	return m ? m->process : 0;
}

uint32_t pl_line_holder(pl_domain *domain)
{
	mapping *m = mapping_of(domain);
	return m ? m->holder : PL_WAITQ_HELD;
}

void *pl_key_word(pl_domain *domain, uint64_t key)
{
	key &= ~3ull;
	if (key < domain->size)
		return (char *)domain + key;
	if (key & PL_KEY_LOCAL) {
		bool mine = !(domain->flags & PL_DOMAIN_SHARED) ||
			    (key & ~PL_KEY_LOCAL) >> PL_KEY_REGION_SHIFT == pl_domain_process(domain);
		return mine ? (void *)(uintptr_t)(key & ((1ull << PL_KEY_REGION_SHIFT) - 1)) : NULL;
	}
	uint64_t offset = key & ((1ull << PL_KEY_REGION_SHIFT) - 1);
	for (int i = 0; i < PL_REGIONS; i++) {
		region *r = &regions[i];
		if (__atomic_load_n(&r->domain, __ATOMIC_ACQUIRE) == domain && /* M4 */
		    r->number == key >> PL_KEY_REGION_SHIFT && offset < r->bytes)
			return (void *)(r->base + offset);
	}
	return NULL;
}

uint64_t pl_key(pl_domain *domain, const void *word)
{
	uintptr_t address = (uintptr_t)word;
	if (address - (uintptr_t)domain < domain->size)
		return address - (uintptr_t)domain;
	if (!(domain->flags & PL_DOMAIN_SHARED))
		return PL_KEY_LOCAL | address;
	for (int i = 0; i < PL_REGIONS; i++) {
		region *r = &regions[i];
		if (__atomic_load_n(&r->domain, __ATOMIC_ACQUIRE) == domain && address - r->base < r->bytes) /* M4: acquire, pairs with M3 */
			return (uint64_t)r->number << PL_KEY_REGION_SHIFT | (address - r->base);
	}
	return PL_KEY_LOCAL | (uint64_t)pl_domain_process(domain) << PL_KEY_REGION_SHIFT | address;
}

bool pl_held_elsewhere(pl_domain *domain, const void *word)
{
	for (mapping *m = __atomic_load_n(&mappings, __ATOMIC_ACQUIRE); m; m = m->next) { /* M2 */
		pl_domain *other = __atomic_load_n(&m->domain, __ATOMIC_ACQUIRE);  /* M2 */
		if (other && other != domain && other->flags & PL_DOMAIN_CHECKS && pl_domain_holder(other, word))
			return true;
	}
	return false;
}

/* ---- sizes ---- */

static uint64_t round_up(uint64_t n, uint64_t unit) { return (n + unit - 1) / unit * unit; }

static bool resolve(const pl_domain_options *given, pl_domain_options *o)
{
	*o = given ? *given : (pl_domain_options){0};
	if (!o->slots)
		o->slots = PL_DEFAULT_SLOTS;
	if (!o->pool_locks)
		o->pool_locks = PL_DEFAULT_POOL;
	return o->slots >= PL_MIN_SLOTS && o->slots <= PL_MAX_SLOTS && o->pool_locks <= PL_MAX_POOL &&
	       !(o->flags & ~(uint32_t)PL_DOMAIN_CHECKS);
}

/* Fills in the sizes and offsets that these options lead to: the one place that knows the order of the parts. */
static void plan(const pl_domain_options *o, pl_domain *d)
{
	d->slots = o->slots;
	d->slot_size = sizeof(pl_thread);
	d->slots_offset = sizeof(pl_domain);
	d->buckets_offset = d->slots_offset + (uint64_t)o->slots * sizeof(pl_thread);
	d->tables_offset = d->buckets_offset + PL_BUCKETS * sizeof(pl_bucket);
	d->tables = (o->slots + PL_SLOTS_PER_TABLE - 1) / PL_SLOTS_PER_TABLE;
	d->bitmap_offset = d->tables_offset + d->tables * sizeof(pl_overflow);
	d->pool_locks = o->pool_locks;
	d->listed_offset = round_up(d->bitmap_offset + (uint64_t)(o->pool_locks + 31) / 32 * 4, PL_CACHE_LINE);
	d->pool_offset = round_up(d->listed_offset + (uint64_t)(o->slots + 31) / 32 * 4, PL_CACHE_LINE);
	d->size = round_up(d->pool_offset + (uint64_t)o->pool_locks * PL_CACHE_LINE, 4096);
}

uint64_t pl_domain_size(const pl_domain_options *options)
{
	pl_domain_options o;
	pl_domain d;
	if (!resolve(options, &o))
		return 0;
	plan(&o, &d);
	return d.size;
}

/* A header that another process wrote is believed only if it is exactly what plan() would have written. */
static int validate(const pl_domain *d, uint64_t bytes)
{
	if (bytes < sizeof *d || __atomic_load_n(&d->magic_lo, __ATOMIC_ACQUIRE) != PL_MAGIC_LO || /* D2: acquire, pairs with D1 */
	    d->magic_hi != PL_MAGIC_HI)
		return -EBADMSG;
	if (d->layout_version != PL_LAYOUT_VERSION)
		return -EPROTO;
	pl_domain_options given = {d->slots, d->pool_locks, d->flags & ~(uint32_t)PL_DOMAIN_SHARED}, o;
	pl_domain expected;
	if (!d->slots || !d->pool_locks || !resolve(&given, &o))
		return -EBADMSG;
	plan(&o, &expected);
	bool same = d->size == expected.size && d->size <= bytes && d->slot_size == expected.slot_size &&
		    d->slots_offset == expected.slots_offset && d->buckets_offset == expected.buckets_offset &&
		    d->tables_offset == expected.tables_offset && d->tables == expected.tables &&
		    d->bitmap_offset == expected.bitmap_offset &&
		    d->listed_offset == expected.listed_offset && d->pool_offset == expected.pool_offset;
	return same ? 0 : -EBADMSG;
}

/* A process is named by its id, which means another process, or none, in another PID namespace. */
static int foreign_processes(const pl_domain *d)
{
	uint64_t mine = d->pid_namespace ? pl_os_pid_namespace() : 0;
	return mine && mine != d->pid_namespace ? -EXDEV : 0;
}

/* ---- opening and closing ---- */

/* With this bit the pid claims the entry but has not written its incarnation yet. */
#define CLAIMING 0x80000000u

static bool process_alive(const pl_process *p, uint32_t pid)
{
	uint64_t incarnation = pl_os_incarnation(pid & ~CLAIMING);
	return incarnation && (pid & CLAIMING || pl_os_same_incarnation(incarnation, pl_load64_rlx(&p->incarnation)));
}

bool pl_process_gone(pl_domain *d, uint32_t index)
{
	pl_process *p = &d->processes[index % PL_PROCESSES];
	uint32_t pid = pl_load_acq(&p->pid); /* M7 */
	return !pid || (pid != pl_os_pid() && !process_alive(p, pid));
}

/* The entry may be another process's by now: then the incarnation differs, or is about to be written. */
bool pl_line_holder_gone(pl_domain *d, uint32_t lock)
{
	pl_process *p = &d->processes[lock % PL_PROCESSES];
	uint32_t incarnation = lock >> PL_WAITQ_INCARNATION_SHIFT & PL_WAITQ_INCARNATION_MASK;
	return pl_load_acq(&p->pid) & CLAIMING || /* M7 */
	       (pl_load64_rlx(&p->incarnation) & PL_WAITQ_INCARNATION_MASK) != incarnation || pl_process_gone(d, lock % PL_PROCESSES);
}

static uint32_t holder_of(const pl_domain *d, uint32_t process)
{
	uint32_t incarnation = (uint32_t)pl_load64_rlx(&d->processes[process].incarnation) & PL_WAITQ_INCARNATION_MASK;
	return PL_WAITQ_HELD | incarnation << PL_WAITQ_INCARNATION_SHIFT | process;
}

/* A process that opens a domain twice has two entries: closing one mapping says nothing about the other's slots. */
static int claim_process(pl_domain *d, uint32_t *index)
{
	uint32_t pid = pl_os_pid();
	uint64_t incarnation = pl_os_incarnation(pid);
	for (uint32_t i = 0; i < PL_PROCESSES; i++) {
		pl_process *p = &d->processes[i];
		uint32_t old = pl_load_acq(&p->pid); /* M7: acquire, pairs with M8 */
		if (old && process_alive(p, old))
			continue;
		if (pl_cas_acq(&p->pid, old, pid | CLAIMING)) { /* M7: acquire, pairs with M8 */
			pl_store64_rlx(&p->incarnation, incarnation);
			pl_store_rel(&p->pid, pid); /* M8: release, pairs with M7 */
			*index = i;
			return 0;
		}
	}
	return -EUSERS;
}

static int enlist(pl_domain *d, bool owned)
{
	uint32_t process;
	pl_threads_prepare();
	pthread_mutex_lock(&registry);
	mapping *m = mapping_of(d);
	if (m && pl_load_rlx(&d->processes[m->process].pid) == pl_os_pid()) { /* opened again (pl_domain_open_at) */
		pthread_mutex_unlock(&registry);
		return 0;
	}
	int err = claim_process(d, &process);
	if (!err && !m) /* else the caller had a domain at this place before and has unmapped it */
		m = mapping_of(NULL);
	if (!err && !m) {
		m = calloc(1, sizeof *m);
		if (!m)
			err = -ENOMEM;
		else {
			m->next = mappings;
			__atomic_store_n(&mappings, m, __ATOMIC_RELEASE); /* M1 */
		}
	}
	if (!err) {
		m->process = process;
		m->holder = holder_of(d, process);
		m->owned = owned;
		if (d->flags & PL_DOMAIN_CHECKS)
			__atomic_store_n(&pl_checks_wanted, true, __ATOMIC_RELAXED);
		__atomic_store_n(&m->domain, d, __ATOMIC_RELEASE); /* M1 */
	}
	pthread_mutex_unlock(&registry);
	return err;
}

/* Writes a fresh domain into zeroed memory; the magic comes last, so that nobody opens half a domain. */
static void format(pl_domain *d, const pl_domain_options *o, uint32_t flags)
{
	plan(o, d);
	d->flags = o->flags | flags;
	d->layout_version = PL_LAYOUT_VERSION;
	for (uint32_t i = 0; i < d->slots; i++) {
		pl_thread *slot = pl_slot(d, i);
		slot->index = i;
		slot->offset = (uint64_t)((char *)slot - (char *)d);
	}
	pl_thread *service = pl_slot(d, 0);
	service->state = PL_SLOT_USED;
	service->held_top = PL_HELD; /* no fast path takes a lock for it */
	memcpy(service->name, "domain", sizeof "domain");
	d->slot_hint = 1;
	d->slots_used = 1;
	d->pid_namespace = flags & PL_DOMAIN_SHARED ? pl_os_pid_namespace() : 0;
	d->magic_hi = PL_MAGIC_HI;
	__atomic_store_n(&d->magic_lo, PL_MAGIC_LO, __ATOMIC_RELEASE); /* D1: release, pairs with D2 */
}

/* True for a domain of any layout version: it is not to be overwritten. */
static bool holds_domain(const pl_domain *d) { return d->magic_lo == PL_MAGIC_LO && d->magic_hi == PL_MAGIC_HI; }

int pl_domain_create_at(void *memory, uint64_t bytes, const pl_domain_options *options, uint32_t flags, pl_domain **out)
{
	pl_domain_options o;
	if (!memory || !out || (uintptr_t)memory % 4096 || !resolve(options, &o) || flags & ~(uint32_t)PL_DOMAIN_SHARED)
		return -EINVAL;
	if (bytes < pl_domain_size(&o))
		return -EINVAL;
	pl_domain *d = memory;
	if (holds_domain(d))
		return -EEXIST;
	memset(memory, 0, pl_domain_size(&o));
	format(d, &o, flags);
	int err = enlist(d, false);
	if (!err)
		*out = d;
	return err;
}

int pl_domain_open_at(void *memory, uint64_t bytes, pl_domain **out)
{
	if (!memory || !out || (uintptr_t)memory % 4096)
		return -EINVAL;
	int err = validate(memory, bytes);
	if (!err)
		err = foreign_processes(memory);
	if (!err)
		err = enlist(memory, false);
	if (!err)
		*out = memory;
	return err;
}

int pl_domain_create(const pl_domain_options *options, pl_domain **out)
{
	PL_KEEP_ERRNO;
	pl_domain_options o;
	if (!out || !resolve(options, &o))
		return -EINVAL;
	uint64_t bytes = pl_domain_size(&o);
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return -ENOMEM;
	format(memory, &o, 0);
	int err = enlist(memory, true);
	if (err)
		munmap(memory, bytes);
	else
		*out = memory;
	return err;
}

/* By statx, since fstat is a newer symbol than the oldest C library that we support. */
static int file_size(int fd, uint64_t *bytes)
{
	struct statx st;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_SIZE, &st))
		return -errno;
	*bytes = st.stx_size;
	return 0;
}

static int map_shared(int fd, uint64_t bytes, void **memory)
{
	*memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return *memory == MAP_FAILED ? -errno : 0;
}

int pl_domain_create_fd(int fd, const pl_domain_options *options, pl_domain **out)
{
	PL_KEEP_ERRNO;
	pl_domain_options o;
	uint64_t present, bytes;
	void *memory;
	if (!out || !resolve(options, &o))
		return -EINVAL;
	bytes = pl_domain_size(&o);
	int err = file_size(fd, &present);
	if (err)
		return err;
	if (present < bytes && ftruncate(fd, (off_t)bytes))
		return -errno;
	err = map_shared(fd, bytes, &memory);
	if (err)
		return err;
	if (holds_domain(memory))
		err = -EEXIST;
	if (!err) {
		memset(memory, 0, bytes);
		format(memory, &o, PL_DOMAIN_SHARED);
		err = enlist(memory, true);
	}
	if (err)
		munmap(memory, bytes);
	else
		*out = memory;
	return err;
}

int pl_domain_open_fd(int fd, pl_domain **out)
{
	PL_KEEP_ERRNO;
	uint64_t bytes;
	void *memory;
	if (!out)
		return -EINVAL;
	int err = file_size(fd, &bytes);
	if (err)
		return err;
	if (bytes < sizeof(pl_domain))
		return -EBADMSG;
	err = map_shared(fd, bytes, &memory);
	if (err)
		return err;
	err = validate(memory, bytes);
	if (!err && !(((pl_domain *)memory)->flags & PL_DOMAIN_SHARED))
		err = -EBADMSG;
	if (!err)
		err = foreign_processes(memory);
	uint64_t size = err ? 0 : ((pl_domain *)memory)->size;
	if (size && size < round_up(bytes, 4096)) /* map just the domain, so that close unmaps what was mapped */
		munmap((char *)memory + size, round_up(bytes, 4096) - size);
	if (!err)
		err = enlist(memory, true);
	if (err)
		munmap(memory, size ? size : bytes);
	else
		*out = memory;
	return err;
}

int pl_domain_create_path(const char *path, const pl_domain_options *options, pl_domain **out)
{
	PL_KEEP_ERRNO;
	if (!path || !out || !pl_domain_size(options))
		return -EINVAL;
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
	if (fd < 0)
		return -errno;
	int err = pl_domain_create_fd(fd, options, out);
	close(fd);
	if (err)
		unlink(path);
	return err;
}

int pl_domain_open_path(const char *path, pl_domain **out)
{
	PL_KEEP_ERRNO;
	if (!path || !out)
		return -EINVAL;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int err = pl_domain_open_fd(fd, out);
	close(fd);
	return err;
}

static uint32_t *pool_word(pl_domain *d, uint32_t i)
{
	return (uint32_t *)(void *)((char *)d + d->pool_offset + (uint64_t)i * PL_CACHE_LINE);
}

/* Poison as a locked lock of any layout: WORD and BYTE see it in the first word, WIDE in both. */
static void poison_word(uint32_t *word)
{
	pl_or_ar(&word[1], PL_Q_POISON); /* Z1: acquire and release, pairs with L1, L2, Z3 */
	pl_or_ar(&word[0], PL_Q_POISON); /* Z1 */
}

static void wake_all_sleepers(pl_domain *d)
{
	for (uint32_t n = PL_NESTING; n < d->slots * PL_NESTING; n++) {
		pl_node *node = pl_node_at(d, n);
		uint32_t was = pl_load_rlx(&node->state);
		if ((was == PL_NODE_SLEEPING || was == PL_NODE_PARKED) && pl_cas_ar(&node->state, was, PL_NODE_REARM)) /* S3 */
			pl_node_wake(d, n, was);
	}
}

int pl_domain_poison(pl_domain *domain)
{
	if (!pl_is_domain(domain))
		return -EINVAL;
	if (pl_swap_ar(&domain->closed, 1)) /* Z2: pairs with itself: the first closer poisons */
		return 0;
	for (uint32_t i = 0; i < domain->pool_locks; i++)
		poison_word(pool_word(domain, i));
	wake_all_sleepers(domain);
	return 0;
}

static pl_domain *default_domain;
static pl_domain_options default_options; /* for the default domain, once it is made; zero: from the environment */

int pl_domain_close(pl_domain *domain)
{
	if (!domain || domain == __atomic_load_n(&default_domain, __ATOMIC_RELAXED) || !pl_domain_is_open(domain))
		return -EINVAL;
	pl_shazptr_close(domain);
	pthread_mutex_lock(&registry);
	mapping *m = mapping_of(domain); /* before any look at memory that may not be there any more */
	if (!m) {
		pthread_mutex_unlock(&registry);
		return -EINVAL;
	}
	for (int i = 0; i < PL_REGIONS; i++)
		if (regions[i].domain == domain)
			__atomic_store_n(&regions[i].domain, NULL, __ATOMIC_RELEASE); /* M3 */
	pl_store_rel(&domain->processes[m->process].pid, 0); /* M8: release, pairs with M7 */
	bool owned = m->owned;
	__atomic_store_n(&m->domain, NULL, __ATOMIC_RELEASE); /* M1 */
	pthread_mutex_unlock(&registry);
	await_holders();
	if (!(domain->flags & PL_DOMAIN_SHARED))
		pl_domain_poison(domain);
	if (owned)
		munmap(domain, domain->size);
	return 0;
}

/* The number in an environment variable; 0 when it is not set, or not a number from @least to @most: then it says so. */
static uint32_t number_from(const char *variable, uint32_t least, uint32_t most)
{
	const char *text = getenv(variable);
	if (!text || !*text)
		return 0;
	uint64_t n = 0;
	const char *p = text;
	while (*p >= '0' && *p <= '9' && n <= most)
		n = n * 10 + (uint64_t)(*p++ - '0');
	if (!*p && n >= least && n <= most)
		return (uint32_t)n;
	dprintf(STDERR_FILENO, "panalock: %s: \"%s\" is not a number from %u to %u; it is ignored.\n", variable, text, least, most);
	return 0;
}

pl_domain *pl_domain_default(void)
{
	pl_domain *d = __atomic_load_n(&default_domain, __ATOMIC_ACQUIRE); /* M6: acquire, pairs with M5 */
	if (PL_LIKELY(d))
		return d;
	PL_KEEP_ERRNO;
	const char *checks = getenv("PANALOCK_CHECKS");
	bool on = pl_load_rlx(&default_options.flags) || (checks && *checks && strcmp(checks, "0"));
	pl_domain_options o = {.slots = pl_load_rlx(&default_options.slots),
			       .pool_locks = pl_load_rlx(&default_options.pool_locks),
			       .flags = on ? PL_DOMAIN_CHECKS : 0};
	if (!o.slots)
		o.slots = number_from("PANALOCK_SLOTS", PL_MIN_SLOTS, PL_MAX_SLOTS);
	pl_domain *made, *none = NULL;
	if (pl_domain_create(&o, &made))
		return NULL;
	if (__atomic_compare_exchange_n(&default_domain, &none, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) /* M5: release, pairs with M6 */
		return made;
	pl_domain_close(made); /* another thread was faster */
	return none;
}

int pl_domain_default_options(const pl_domain_options *options)
{
	pl_domain_options o;
	if (!options || !resolve(options, &o))
		return -EINVAL;
	if (options->slots)
		pl_store_rlx(&default_options.slots, options->slots);
	if (options->pool_locks)
		pl_store_rlx(&default_options.pool_locks, options->pool_locks);
	if (options->flags)
		pl_store_rlx(&default_options.flags, options->flags);
	pl_domain *d = __atomic_load_n(&default_domain, __ATOMIC_ACQUIRE); /* M6 */
	return d && ((options->slots && d->slots != options->slots) ||
		     (options->pool_locks && d->pool_locks != options->pool_locks) || options->flags & ~d->flags)
		       ? -EBUSY
		       : 0;
}

/* ---- pool ---- */

static uint32_t *bitmap(pl_domain *d) { return (uint32_t *)(void *)((char *)d + d->bitmap_offset); }

/*
 * A word that was given back is poisoned, so that who uses it still is told so, at least until it is taken again, which is
 * as late as can be: the hint goes round. A closing at the same time poisons it for good: its poison comes after this, or
 * we see that it is closed. @keep is 0 for one who takes it: a stray unlock may have left more than the poison.
 */
static bool lift_poison(pl_domain *d, uint32_t *word, uint32_t keep)
{
	for (int i = 0; i < 2; i++)
		if (pl_load_rlx(&word[i]) & ~keep)
			pl_and_ar(&word[i], keep); /* Z3: acquire, pairs with Z1 */
	if (!pl_load_rlx(&d->closed))
		return true;
	poison_word(word);
	return false;
}

/* False if somebody has come: then it is as it was. A closing may be quicker than we. */
static bool set_poison(pl_domain *d, uint32_t *word)
{
	for (int i = 0; i < 2; i++)
		if (!pl_cas_rlx(&word[i], 0, PL_Q_POISON) && pl_load_rlx(&word[i]) != PL_Q_POISON) {
			lift_poison(d, word, ~PL_Q_POISON);
			return false;
		}
	return true;
}

int pl_domain_pool_take(pl_domain *domain, void **word)
{
	if (!pl_is_domain(domain) || !word)
		return -EINVAL;
	if (pl_load_rlx(&domain->closed))
		return -ESHUTDOWN;
	uint32_t start = pl_load_rlx(&domain->pool_hint);
	for (uint32_t n = 0; n < domain->pool_locks; n++) {
		uint32_t i = (start + n) % domain->pool_locks, bit = 1u << i % 32;
		uint32_t *group = &bitmap(domain)[i / 32];
		if (pl_load_rlx(group) & bit || pl_or_ar(group, bit) & bit) /* O1: acquire, pairs with O2 */
			continue;
		pl_store_rlx(&domain->pool_hint, (i + 1) % domain->pool_locks);
		if (!lift_poison(domain, pool_word(domain, i), 0))
			return -ESHUTDOWN;
		*word = pool_word(domain, i);
		return 0;
	}
	return -ENOSPC;
}

int pl_domain_pool_index(pl_domain *domain, const void *word)
{
	if (!pl_is_domain(domain))
		return -EINVAL;
	uint64_t offset = (uint64_t)((const char *)word - (const char *)domain) - domain->pool_offset;
	return offset / PL_CACHE_LINE < domain->pool_locks ? (int)(offset / PL_CACHE_LINE) : -EINVAL;
}

int pl_domain_pool_at(pl_domain *domain, uint32_t index, void **word)
{
	if (!pl_is_domain(domain) || !word || index >= domain->pool_locks)
		return -EINVAL;
	if (!(pl_load_rlx(&bitmap(domain)[index / 32]) & 1u << index % 32)) /* relaxed: who told us the index took it before */
		return -ENOENT;
	*word = pool_word(domain, index);
	return 0;
}

int pl_domain_pool_give(pl_domain *domain, void *word)
{
	if (!pl_is_domain(domain))
		return -EINVAL;
	uint64_t offset = (uint64_t)((char *)word - (char *)domain) - domain->pool_offset;
	uint32_t i = (uint32_t)(offset / PL_CACHE_LINE), bit = 1u << i % 32;
	if (offset / PL_CACHE_LINE >= domain->pool_locks || offset % PL_CACHE_LINE)
		return -EINVAL;
	uint32_t *w = word, *group = &bitmap(domain)[i / 32];
	if (!(pl_load_rlx(group) & bit))
		return -EINVAL;
	uint32_t seen = pl_load_acq(&w[0]) | pl_load_acq(&w[1]); /* O3: acquire, pairs with U1, U2, U3 */
	if (seen & PL_Q_LOCKED || (seen & ~PL_Q_POISON && !pl_recover_word(domain, w)) || !set_poison(domain, w))
		return -EBUSY;
	return pl_and_ar(group, ~bit) & bit ? 0 : -EINVAL; /* O2: release, pairs with O1 */
}

/* ---- regions ---- */

int pl_domain_attach(pl_domain *domain, void *base, uint64_t bytes, uint32_t number)
{
	uintptr_t b = (uintptr_t)base;
	if (!pl_is_domain(domain) || !(domain->flags & PL_DOMAIN_SHARED) || !base || !bytes || !number ||
	    number > PL_MAX_REGION || bytes >> PL_KEY_REGION_SHIFT || b + bytes < b)
		return -EINVAL;
	pthread_mutex_lock(&registry);
	int err = -ENOSPC;
	region *free_entry = NULL;
	for (int i = PL_REGIONS - 1; i >= 0; i--) {
		region *r = &regions[i];
		if (!r->domain)
			free_entry = r;
		else if (r->domain == domain && ((b < r->base + r->bytes && r->base < b + bytes) || r->number == number))
			err = -EEXIST;
	}
	if (free_entry && err != -EEXIST) {
		free_entry->base = b;
		free_entry->bytes = bytes;
		free_entry->number = number;
		__atomic_store_n(&free_entry->domain, domain, __ATOMIC_RELEASE); /* M3 */
		err = 0;
	}
	pthread_mutex_unlock(&registry);
	return err;
}

int pl_domain_detach(pl_domain *domain, void *base)
{
	if (!pl_is_domain(domain))
		return -EINVAL;
	int err = -ENOENT;
	pthread_mutex_lock(&registry);
	for (int i = 0; i < PL_REGIONS; i++)
		if (regions[i].domain == domain && regions[i].base == (uintptr_t)base) {
			__atomic_store_n(&regions[i].domain, NULL, __ATOMIC_RELEASE); /* M3 */
			err = 0;
		}
	pthread_mutex_unlock(&registry);
	return err;
}

void pl_node_wake(pl_domain *domain, uint32_t number, uint32_t was)
{
	/* A node found REARM or INTERRUPTED is awake, unless whoever marked it was killed before it woke it. */
	bool unsure = was == PL_NODE_REARM || was == PL_NODE_INTERRUPTED;
	if (was == PL_NODE_SLEEPING || unsure)
		pl_futex_wake(&pl_node_at(domain, number)->state, 1, pl_futex_flags(domain));
	if (was == PL_NODE_PARKED || unsure) {
		uint32_t *bell = &domain->processes[pl_node_slot(domain, number)->process % PL_PROCESSES].doorbell;
		pl_add_ar(bell, 1); /* S4: release, the node's new state before the ring; pairs with S2 */
		pl_futex_wake(bell, UINT32_MAX, pl_futex_flags(domain));
	}
}

/* ---- fork ---- */

/* In a forked child: the waiters of the pool's locks were threads of the parent. */
static void forget_waiters(pl_domain *d)
{
	for (uint32_t i = 0; i < d->pool_locks; i++) {
		uint32_t *word = pool_word(d, i);
		if (word[0] && !(word[0] & PL_M_NAMED)) /* a mutex keeps its owner there */
			word[0] &= PL_Q_LOCKED | PL_Q_POISON;
		if (word[1])
			word[1] &= PL_Q_POISON;
	}
}

void pl_domains_each_after_fork(pl_thread *(*kept)(pl_domain *))
{
	registry = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	holders = 0; /* other threads of the parent */
	for (mapping *m = mappings; m; m = m->next) {
		if (!m->domain)
			continue;
		if (!(m->domain->flags & PL_DOMAIN_SHARED)) {
			m->domain->processes[m->process].pid = 0; /* this copy is the child's alone */
			pl_thread *keep = kept(m->domain);
			pl_domain_after_fork(m->domain, keep);
			if (!keep || !keep->depth)
				forget_waiters(m->domain);
		}
		if (claim_process(m->domain, &m->process))
			m->domain = NULL; /* no room: to this process the domain is closed */
		else
			m->holder = holder_of(m->domain, m->process);
	}
}
