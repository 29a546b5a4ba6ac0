/* SPDX-License-Identifier: Apache-2.0 */
/* Campaigns against processes that are stopped, continued and killed: scene after scene, for a share of the whole time. */
#ifndef PL_TEST_CAMPAIGN_H
#define PL_TEST_CAMPAIGN_H

#include <stdint.h>

typedef struct {
	uint64_t kills, stops, spared;
} tally;

typedef struct {
	const char *name;
	uint64_t whole_s, scene_ms;
	int (*victim)(int argc, char **argv); /* what the child program "victim" does */
	void (*scene)(uint64_t duration_ns, uint32_t *random, tally *t);
} campaign;

/** main() of a campaign's program. Its argument: per cent of the whole time, 100 without one. */
int campaign_main(const campaign *c, int argc, char **argv);

#endif
