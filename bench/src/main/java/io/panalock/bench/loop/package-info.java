// SPDX-License-Identifier: Apache-2.0

/**
 * The measured Java loops. Every lock has its own copy of this package: see {@link io.panalock.bench.contend.IsolatingLoader}.
 *
 * <p>The loops of two locks differ in the calls that lock and unlock, and in nothing else; they are written out for each,
 * with the lock in a local variable, because anything between a loop and its lock, a method to override or a field to read
 * again, costs about what a part of a pair does.
 */
package io.panalock.bench.loop;
