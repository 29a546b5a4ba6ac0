/* SPDX-License-Identifier: Apache-2.0 */
/* Making, opening and closing rings; ringbuf.c uses them. */
#define _GNU_SOURCE
#include "domain.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/pthread.h"
#include "ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(pl_ring_header) == 256, "docs/ringbuf.md");
_Static_assert(offsetof(pl_ring_header, lock) % PL_CACHE_LINE == 0, "the lock has a cache line of its own");
_Static_assert(offsetof(pl_ring_header, line) % PL_CACHE_LINE == 0, "and so has the line");
_Static_assert(sizeof(pthread_mutex_t) <= sizeof(((pl_ring_header *)0)->lock), "a mutex fits");
_Static_assert(sizeof(pl_ring_record) == PL_RING_RECORD_HEADER, "docs/ringbuf.md");

enum { fixed_pages = 3 };

#define KNOWN_FLAGS ((uint32_t)(PL_RING_OVERWRITE | PL_RING_PADDED))

static bool good_options(const pl_ring_options *o)
{
	uint64_t page = pl_os_page_bytes();
	return o && o->bytes >= PL_RING_MIN_BYTES && o->bytes >= page && o->bytes <= PL_RING_MAX_BYTES &&
	       !(o->bytes & (o->bytes - 1)) && !(o->flags & ~KNOWN_FLAGS) && o->lock <= PL_RING_LOCK_OSQ && !o->pad;
}

static uint64_t front_bytes(const pl_ring_header *h) { return fixed_pages * (uint64_t)h->page_bytes; }

/* A fresh header, but for the magic. */
static void plan(pl_ring_header *h, const pl_ring_options *o, uint64_t domain_bytes)
{
	h->version = PL_RING_VERSION;
	h->flags = o->flags;
	h->bytes = o->bytes;
	h->page_bytes = (uint32_t)pl_os_page_bytes();
	h->lock_kind = o->lock;
	h->domain_offset = domain_bytes ? front_bytes(h) + h->bytes : 0;
	h->domain_bytes = domain_bytes;
}

static int init_lock(pl_ring_header *h, bool shared)
{
	if (h->lock_kind != PL_RING_LOCK_MUTEX)
		return 0; /* zero is a free lock */
	pthread_mutexattr_t attributes;
	pthread_mutexattr_init(&attributes);
	if (shared) {
		pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
		pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	}
	int err = -pthread_mutex_init((pthread_mutex_t *)(void *)h->lock, &attributes);
	pthread_mutexattr_destroy(&attributes);
	return err;
}

/* A handle for a mapping whose header is good. */
static int make_handle(pl_ring_header *h, uint64_t mapped, pl_domain *domain, bool own_domain, pl_ring **out)
{
	pl_ring *r = calloc(1, sizeof *r);
	if (!r)
		return -ENOMEM;
	r->header = h;
	r->consumer = (pl_ring_consumer *)(void *)((char *)h + h->page_bytes);
	r->producer = (pl_ring_producer *)(void *)((char *)h + 2 * (size_t)h->page_bytes);
	r->data = (uint8_t *)h + front_bytes(h);
	r->bytes = h->bytes;
	r->mapped = mapped;
	r->domain = domain;
	r->flags = h->flags;
	r->lock_kind = h->lock_kind;
	r->own_domain = own_domain;
	r->lock_key = pl_key(domain, h->lock);
	/* Padded: what is left at the end plus the record must fit into an empty ring. A ring is never filled to the last byte. */
	r->max_record = (uint32_t)(h->flags & PL_RING_PADDED ? h->bytes / 2 : h->bytes - 8) - PL_RING_RECORD_HEADER;
	if (own_domain) {
		const pl_process *p = &domain->processes[pl_domain_process(domain)];
		r->owner = pl_ring_owner_code(pl_domain_process(domain), pl_load_rlx(&p->pid), pl_load64_rlx(&p->incarnation));
	}
	if (h->flags & PL_RING_OVERWRITE && !(r->copy = malloc(h->bytes))) {
		free(r);
		return -ENOMEM;
	}
	*out = r;
	return 0;
}

static uint64_t mapped_bytes(const pl_ring_header *h)
{
	return front_bytes(h) + (h->flags & PL_RING_PADDED ? 1 : 2) * h->bytes;
}

int pl_ring_create(const pl_ring_options *options, pl_ring **out)
{
	PL_KEEP_ERRNO;
	pl_ring_header plan_of = {0};
	if (!good_options(options) || !out || options->slots)
		return -EINVAL;
	pl_domain *domain = options->domain ? options->domain : pl_domain_default();
	if (!domain)
		return -ENOMEM;
	if (!pl_is_domain(domain))
		return -EINVAL;
	plan(&plan_of, options, 0);
	int fd;
	void *at;
	int err = pl_os_anonymous_file(front_bytes(&plan_of) + plan_of.bytes, &fd);
	if (err)
		return err;
	err = pl_os_map_ring(fd, front_bytes(&plan_of), plan_of.bytes, !(plan_of.flags & PL_RING_PADDED), &at);
	pl_os_close_file(fd);
	if (err)
		return err;
	pl_ring_header *h = at;
	*h = plan_of;
	h->magic_hi = PL_RING_MAGIC_HI;
	h->magic_lo = PL_RING_MAGIC_LO;
	err = init_lock(h, false);
	if (!err)
		err = make_handle(h, mapped_bytes(h), domain, false, out);
	if (err)
		pl_os_unmap(at, mapped_bytes(&plan_of));
	return err;
}

/* Opens or (@options) makes the file's own domain and tells it where the lock is. */
static int own_domain(int fd, pl_ring_header *h, const pl_domain_options *options, pl_domain **domain)
{
	void *at;
	int err = pl_os_map(fd, h->domain_offset, h->domain_bytes, &at);
	if (err)
		return err;
	if (options)
		memset(at, 0, h->domain_bytes); /* what the file held is no domain of this ring */
	err = options ? pl_domain_create_at(at, h->domain_bytes, options, PL_DOMAIN_SHARED, domain)
		      : pl_domain_open_at(at, h->domain_bytes, domain);
	if (!err && !((*domain)->flags & PL_DOMAIN_SHARED)) {
		pl_domain_close(*domain);
		err = -EBADMSG;
	}
	if (!err) {
		err = pl_domain_attach(*domain, h, front_bytes(h), PL_RING_REGION);
		if (err)
			pl_domain_close(*domain);
	}
	if (err)
		pl_os_unmap(at, h->domain_bytes);
	return err;
}

static void leave_domain(pl_domain *domain, uint64_t bytes)
{
	pl_domain_close(domain); /* forgets the region too */
	pl_os_unmap(domain, bytes);
}

int pl_ring_create_fd(int fd, const pl_ring_options *options, pl_ring **out)
{
	PL_KEEP_ERRNO;
	pl_ring_header plan_of = {0};
	if (!good_options(options) || !out || options->domain || options->lock == PL_RING_LOCK_JAVA)
		return -EINVAL;
	pl_domain_options d = {.slots = options->slots ? options->slots : PL_RING_SLOTS, .pool_locks = 1};
	uint64_t domain_bytes = pl_domain_size(&d);
	if (!domain_bytes)
		return -EINVAL;
	uint64_t page = pl_os_page_bytes();
	plan(&plan_of, options, (domain_bytes + page - 1) / page * page);
	int err = pl_os_grow_file(fd, plan_of.domain_offset + plan_of.domain_bytes);
	if (err)
		return err;
	void *at;
	err = pl_os_map_ring(fd, front_bytes(&plan_of), plan_of.bytes, !(plan_of.flags & PL_RING_PADDED), &at);
	if (err)
		return err;
	pl_ring_header *h = at;
	pl_domain *domain;
	err = h->magic_lo == PL_RING_MAGIC_LO && h->magic_hi == PL_RING_MAGIC_HI ? -EEXIST : 0;
	if (!err) {
		memset(at, 0, front_bytes(&plan_of));
		*h = plan_of;
		h->magic_hi = PL_RING_MAGIC_HI;
		err = init_lock(h, true);
	}
	if (!err)
		err = own_domain(fd, h, &d, &domain);
	if (!err) {
		err = make_handle(h, mapped_bytes(h), domain, true, out);
		if (err)
			leave_domain(domain, h->domain_bytes);
	}
	if (!err)
		pl_store_rel(&h->magic_lo, PL_RING_MAGIC_LO); /* X7: release, so that nobody opens half a ring; pairs with X8 */
	else
		pl_os_unmap(at, mapped_bytes(&plan_of));
	return err;
}

/* A header that another process wrote is believed only if it is what plan() would have written and the file has it all. */
static int validate(const pl_ring_header *h, uint64_t file_bytes)
{
	if (pl_load_acq(&h->magic_lo) != PL_RING_MAGIC_LO || h->magic_hi != PL_RING_MAGIC_HI) /* X8: acquire, pairs with X7 */
		return -EBADMSG;
	if (h->version != PL_RING_VERSION)
		return -EPROTO;
	uint64_t page = pl_os_page_bytes();
	if (h->page_bytes != page)
		return h->page_bytes >= PL_RING_MIN_BYTES && !(h->page_bytes & (h->page_bytes - 1)) ? -EPROTO : -EBADMSG;
	pl_ring_options o = {.bytes = h->bytes, .flags = h->flags, .lock = h->lock_kind};
	if (!good_options(&o) || o.lock == PL_RING_LOCK_JAVA || !h->domain_bytes || h->domain_bytes % page ||
	    h->domain_bytes > file_bytes)
		return -EBADMSG;
	pl_ring_header expected = {0};
	plan(&expected, &o, h->domain_bytes);
	return h->domain_offset == expected.domain_offset && h->domain_offset + h->domain_bytes <= file_bytes ? 0 : -EBADMSG;
}

/* Positions move while we look: they are good if they are at one of several looks. */
static int validate_positions(const pl_ring *r)
{
	enum { looks = 1000 };
	for (int i = 0; i < looks; i++) {
		uint64_t pending = pl_load64_rlx(&r->producer->pending);
		uint64_t consumer = pl_load64_rlx(&r->consumer->position);
		uint64_t position = pl_load64_acq(&r->producer->position); /* X4 */
		bool good = !((pending | consumer | position) % 8) && pending <= position && position - pending <= r->bytes &&
			    consumer <= position && (r->flags & PL_RING_OVERWRITE || position - consumer <= r->bytes);
		if (good)
			return 0;
	}
	return -EBADMSG;
}

int pl_ring_open_fd(int fd, pl_ring **out)
{
	PL_KEEP_ERRNO;
	uint64_t file_bytes;
	void *at;
	if (!out)
		return -EINVAL;
	int err = pl_os_file_size(fd, &file_bytes);
	if (err)
		return err;
	if (file_bytes < sizeof(pl_ring_header))
		return -EBADMSG;
	err = pl_os_map(fd, 0, sizeof(pl_ring_header), &at); /* a first look, to see how much there is to map */
	if (err)
		return err;
	err = validate(at, file_bytes);
	pl_ring_header seen = {0};
	if (!err)
		seen = *(pl_ring_header *)at; /* from here on only what was checked counts */
	pl_os_unmap(at, sizeof(pl_ring_header));
	if (err)
		return err;
	seen.magic_lo = PL_RING_MAGIC_LO;
	err = validate(&seen, file_bytes);
	if (!err)
		err = pl_os_map_ring(fd, front_bytes(&seen), seen.bytes, !(seen.flags & PL_RING_PADDED), &at);
	if (err)
		return err;
	pl_domain *domain;
	err = memcmp(at, &seen, offsetof(pl_ring_header, lock)) ? -EBADMSG : own_domain(fd, at, NULL, &domain);
	if (!err) {
		err = make_handle(at, mapped_bytes(&seen), domain, true, out);
		if (!err && (err = validate_positions(*out))) {
			free((*out)->copy);
			free(*out);
			*out = NULL;
		}
		if (err)
			leave_domain(domain, seen.domain_bytes);
	}
	if (err)
		pl_os_unmap(at, mapped_bytes(&seen));
	return err;
}

int pl_ring_create_path(const char *path, const pl_ring_options *options, pl_ring **out)
{
	PL_KEEP_ERRNO;
	int fd;
	if (!path || !good_options(options) || !out)
		return -EINVAL;
	int err = pl_os_create_file(path, &fd);
	if (err)
		return err;
	err = pl_ring_create_fd(fd, options, out);
	pl_os_close_file(fd);
	if (err)
		pl_os_delete_file(path);
	return err;
}

int pl_ring_open_path(const char *path, pl_ring **out)
{
	PL_KEEP_ERRNO;
	int fd;
	if (!path || !out)
		return -EINVAL;
	int err = pl_os_open_file(path, &fd);
	if (err)
		return err;
	err = pl_ring_open_fd(fd, out);
	pl_os_close_file(fd);
	return err;
}

int pl_ring_close(pl_ring *ring)
{
	if (!ring || !ring->header)
		return -EINVAL;
	pl_ring_header *h = ring->header;
	if (ring->own_domain)
		leave_domain(ring->domain, h->domain_bytes);
	else if (h->lock_kind == PL_RING_LOCK_MUTEX)
		pthread_mutex_destroy((pthread_mutex_t *)(void *)h->lock);
	pl_os_unmap(h, ring->mapped);
	ring->header = NULL;
	free(ring->copy);
	free(ring);
	return 0;
}
