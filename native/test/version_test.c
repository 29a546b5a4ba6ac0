/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <panalock.h>

static void library_and_headers_are_of_one_version(void **state)
{
	(void)state;
	assert_string_equal(pl_version(), PL_VERSION_STRING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(library_and_headers_are_of_one_version),
	};
	return cmocka_run_group_tests_name("version", tests, NULL, NULL);
}
