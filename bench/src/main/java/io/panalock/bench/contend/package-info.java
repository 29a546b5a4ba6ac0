// SPDX-License-Identifier: Apache-2.0

/** Locks under test, uncontended and contended, in C and in Java. */
package io.panalock.bench.contend;
