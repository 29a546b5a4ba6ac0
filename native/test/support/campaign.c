/* SPDX-License-Identifier: Apache-2.0 */
#include "campaign.h"

#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int campaign_main(const campaign *c, int argc, char **argv)
{
	const child_program children[] = {
		{"victim", c->victim},
	};
	if (argc > 1 && strcmp(argv[1], "victim") == 0)
		return CHILD_MAIN(argc, argv, children);
	CHILD_MAIN(1, argv, children);
	uint64_t percent = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
	uint64_t total = percent * c->whole_s * 10 * (uint64_t)ms, most = c->scene_ms * (uint64_t)ms;
	uint32_t random = 1;
	tally t = {0, 0, 0};
	for (uint64_t spent = 0; spent < total; spent += most)
		c->scene(total - spent < most ? total - spent : most, &random, &t);
	REQUIRE(t.stops > 0);
	printf("%s: passed\n", c->name);
	return 0;
}
