/* SPDX-License-Identifier: Apache-2.0 */
/* Readers that read what writers replace, poison and free at once. */
#ifndef TEST_HAZARD_HAMMER_H
#define TEST_HAZARD_HAMMER_H

#include <stdint.h>

/* Until @reads guarded reads have been made; every way of protecting and of waiting. Ends the program on a bad read. */
void hazard_hammer(uint64_t reads, int readers, int writers);

#endif
