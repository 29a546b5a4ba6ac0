/* SPDX-License-Identifier: Apache-2.0 */
/** @file The token test: one token that its players pass on, through a pipe of one kind or another. */
#ifndef PANALOCK_BENCH_TOKENS_H
#define PANALOCK_BENCH_TOKENS_H

#include "bench.h"

/** Players wait for a token, add one to it and write it again; every second time with another token that is ignored. */
typedef struct plb_tokens {
	const char *via;    /**< "pipe" (of the kernel), "exclusive", "wake_all", "greedy" (ours), "make": the token of the
			     *   GNU make -j2 whose recipe we are; nothing is ignored there. */
	uint32_t players;   /**< 1..PLB_MAX_THREADS. */
	uint32_t processes; /**< 1: each player is a process; 0: a thread. */
	uint32_t passes;
} plb_tokens;

typedef struct plb_tokens_result {
	uint64_t elapsed_ns; /**< From the first write to the last player's end. */
	uint64_t cpu_ns;     /**< Of the players, user and system. */
	uint64_t switches;   /**< Context switches of the players, voluntary or not. */
	int64_t migrations;  /**< From CPU to CPU; -1: the system does not tell. */
	uint64_t self;       /**< Passes whose reader was the writer. */
	uint64_t least, most; /**< Passes of one player. */
	double jain;
} plb_tokens_result;

/**
 * Plays once. Only for a program without other threads that use panalock.
 * @return 0; -EINVAL; -EPROTO (a player failed, or make has not exactly one token); -ENOTCONN (no make's jobserver); or why the players could not be started.
 */
PLB_API int plb_tokens_play(const plb_tokens *game, plb_tokens_result *result);

#endif
