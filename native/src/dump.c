/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds what and waits for what, as text; from signal handlers too, hence without stdio and memory of its own. */
#include "held.h"
#include "os/os.h"

#include <panalock/rqspinlock.h>

typedef struct {
	int fd, error;
	uint32_t length;
	char text[512];
} page;

static void flush(page *p)
{
	if (p->length && !p->error)
		p->error = pl_os_write(p->fd, p->text, p->length);
	p->length = 0;
}

static void put(page *p, const char *text)
{
	for (; *text; text++) {
		if (p->length == sizeof p->text)
			flush(p);
		p->text[p->length++] = *text;
	}
}

static void put_number(page *p, uint64_t n, uint32_t base)
{
	char digits[24], *at = digits + sizeof digits - 1;
	*at = 0;
	do
		*--at = "0123456789abcdef"[n % base];
	while (n /= base);
	put(p, at);
}

/* A name that another thread may be writing: what is no text is left out. */
static void put_name(page *p, const pl_thread *slot)
{
	char name[PL_NAME_BYTES];
	int n = 0;
	for (; n < PL_NAME_BYTES - 1 && slot->name[n]; n++)
		name[n] = slot->name[n] == '\n' || slot->name[n] == '"' ? ' ' : slot->name[n];
	name[n] = 0;
	put(p, " \"");
	put(p, name);
	put(p, "\"");
}

static void put_lock(page *p, pl_domain *d, uint64_t key)
{
	uint64_t address = key & ((1ull << PL_KEY_REGION_SHIFT) - 1);
	if (key & PL_KEY_LOCAL) {
		put(p, "lock 0x");
		put_number(p, address, 16);
	} else if (key >> PL_KEY_REGION_SHIFT) {
		put(p, "lock at 0x");
		put_number(p, address, 16);
		put(p, " of region ");
		put_number(p, key >> PL_KEY_REGION_SHIFT, 10);
	} else {
		put(p, "pool lock ");
		put_number(p, (key - d->pool_offset) / PL_CACHE_LINE, 10);
	}
}

static void put_slot(page *p, pl_domain *d, pl_thread *slot)
{
	uint64_t entries[PL_HELD];
	uint32_t n = pl_held_read(d, slot, entries);
	const char *verb = " holds ";
	put(p, "slot ");
	put_number(p, slot->index, 10);
	put_name(p, slot);
	put(p, " process ");
	put_number(p, pl_load_rlx(&d->processes[pl_load_rlx(&slot->process) % PL_PROCESSES].pid), 10);
	put(p, " thread ");
	put_number(p, pl_load_rlx(&slot->tid), 10);
	put(p, ":");
	for (uint32_t i = 0; i < n; i++) {
		const pl_node *node = &slot->nodes[pl_held_level(entries[i])];
		if (pl_held_key(pl_load64_rlx(&node->key)) == pl_held_key(entries[i]))
			continue; /* it waits for this one */
		put(p, verb);
		put_lock(p, d, pl_held_key(entries[i]));
		verb = ", ";
	}
	if (pl_load_rlx(&slot->held_unrecorded)) {
		put(p, verb);
		put_number(p, pl_load_rlx(&slot->held_unrecorded), 10);
		put(p, " more");
	}
	verb = " waits for ";
	for (int level = PL_NESTING - 1; level >= 0; level--) {
		uint64_t key = pl_held_key(pl_load64_rlx(&slot->nodes[level].key));
		if (!key)
			continue;
		put(p, verb);
		put_lock(p, d, key);
		verb = ", below a handler for ";
	}
	put(p, "\n");
}

static bool says_anything(pl_domain *d, const pl_thread *slot)
{
	uint64_t entries[PL_HELD];
	bool waits = false;
	for (int level = 0; level < PL_NESTING; level++)
		waits = waits || pl_load64_rlx(&slot->nodes[level].key);
	return waits || pl_load_rlx(&slot->held_unrecorded) || pl_held_read(d, slot, entries);
}

int pl_dump(int fd, pl_domain *domain)
{
	PL_KEEP_ERRNO;
	if (!pl_is_domain(domain) || fd < 0)
		return -EINVAL;
	page p = {.fd = fd};
	uint32_t used = 0, busy = 0, end = pl_slots_used(domain);
	for (uint32_t i = 1; i < end; i++)
		used += pl_load_acq(&pl_slot(domain, i)->state) == PL_SLOT_USED; /* T3 */
	put(&p, "panalock: domain of ");
	put_number(&p, domain->slots, 10);
	put(&p, " slots, ");
	put_number(&p, used, 10);
	put(&p, " in use\n");
	for (uint32_t i = 1; i < end; i++) {
		pl_thread *slot = pl_slot(domain, i);
		if (pl_load_acq(&slot->state) == PL_SLOT_USED && says_anything(domain, slot)) { /* T3 */
			put_slot(&p, domain, slot);
			busy++;
		}
	}
	if (!busy)
		put(&p, "nobody holds a recorded lock or waits for one\n");
	flush(&p);
	return p.error;
}
