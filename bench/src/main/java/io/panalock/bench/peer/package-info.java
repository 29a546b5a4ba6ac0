// SPDX-License-Identifier: Apache-2.0

/** The C side: libpanalock_bench through FFM and JNI. */
package io.panalock.bench.peer;
