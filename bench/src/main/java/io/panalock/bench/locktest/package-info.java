// SPDX-License-Identifier: Apache-2.0

/** The kernel's mutex micro-benchmark: all threads take one mutex, for a while, again and again. */
package io.panalock.bench.locktest;
