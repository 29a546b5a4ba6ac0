/* SPDX-License-Identifier: Apache-2.0 */
#include "os/os.h"

#include <panalock/locktable.h>

uint32_t pl_table_stripes(uint32_t cpus)
{
	uint32_t wanted = cpus ? cpus : pl_os_cpus, stripes = PL_TABLE_MIN_STRIPES;
	while (stripes < wanted && stripes < PL_TABLE_MAX_STRIPES)
		stripes *= 2;
	return stripes;
}

static uint64_t size_of(uint32_t stripes) { return sizeof(pl_lock_table) + (uint64_t)stripes * PL_CACHE_LINE; }

uint64_t pl_table_size(uint32_t cpus) { return size_of(pl_table_stripes(cpus)); }

static bool bad(const void *memory, pl_lock_table **out) { return !memory || !out || (uintptr_t)memory % PL_CACHE_LINE; }

int pl_table_init(void *memory, uint64_t bytes, uint32_t cpus, pl_lock_table **out)
{
	uint32_t stripes = pl_table_stripes(cpus);
	if (bad(memory, out) || bytes < size_of(stripes))
		return -EINVAL;
	pl_lock_table *table = memory;
	char *locks = (char *)(table + 1);
	for (uint64_t i = 0; i < (uint64_t)stripes * PL_CACHE_LINE; i++)
		locks[i] = 0; /* zero is unlocked, whatever the kind */
	table->log = (uint32_t)__builtin_ctz(stripes);
	__atomic_store_n(&table->magic, PL_TABLE_MAGIC, __ATOMIC_RELEASE); /* D1 */
	*out = table;
	return 0;
}

int pl_table_at(void *memory, uint64_t bytes, pl_lock_table **out)
{
	if (bad(memory, out))
		return -EINVAL;
	pl_lock_table *table = memory;
	if (bytes < sizeof *table || __atomic_load_n(&table->magic, __ATOMIC_ACQUIRE) != PL_TABLE_MAGIC || /* D2 */
	    table->log < 1 || table->log > 16 || bytes < size_of(1u << table->log))
		return -EBADMSG;
	*out = table;
	return 0;
}
