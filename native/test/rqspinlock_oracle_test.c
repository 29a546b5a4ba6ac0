/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlocks that happen are reported, others are not: random programs against a model. Longer: soak/rqspinlock_soak.c */
#include "support.h"
#include "oracle.h"

static void random_programs_are_as_the_oracle_says(void **state)
{
	(void)state;
	oracle_run((uint32_t)scaled(100));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(random_programs_are_as_the_oracle_says),
	};
	return cmocka_run_group_tests_name("rqspinlock_oracle", tests, NULL, NULL);
}
