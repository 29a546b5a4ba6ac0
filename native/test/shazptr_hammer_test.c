/* SPDX-License-Identifier: Apache-2.0 */
#include "hazard_hammer.h"
#include "support.h"

enum { reads = 1000000 };

static void nobody_reads_what_was_freed(void **state)
{
	(void)state;
	hazard_hammer(scaled(reads), 2, 2);
}

static void nobody_reads_what_was_freed_with_more_threads_than_cpus(void **state)
{
	(void)state;
	hazard_hammer(scaled(reads) / 4 + 1, 8, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nobody_reads_what_was_freed),
		TEST(nobody_reads_what_was_freed_with_more_threads_than_cpus),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
