// SPDX-License-Identifier: Apache-2.0

/**
 * The pure-Java twins: domain, lines of waiters, qspinlock and wait queue on the same bytes, in the same protocol, as the
 * native library, file by file. Java code that waits here never blocks in native code, so virtual threads leave their
 * carriers; everything works without the library.
 */
package io.panalock.pure;
