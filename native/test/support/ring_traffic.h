/* SPDX-License-Identifier: Apache-2.0 */
/* Producers and one consumer on a ring: every record arrives once, intact, in the order of its producer. */
#ifndef TEST_RING_TRAFFIC_H
#define TEST_RING_TRAFFIC_H

#include <panalock.h>
#include <stdbool.h>
#include <stdint.h>

/* A private ring; ends the process if there is none. */
pl_ring *ring_new(uint64_t bytes, uint32_t flags, uint32_t lock);

/* Fills bytes as @seed says; true if they are filled so. */
void ring_fill(uint8_t *p, uint32_t bytes, uint32_t seed);
bool ring_filled(const uint8_t *p, uint32_t bytes, uint32_t seed);

/* So many producers try to make so many records together, at most 52 of them; ends the process when one is not as it was. */
void ring_traffic(int producers, uint32_t flags, uint32_t lock, uint64_t bytes, uint64_t records);

#endif
