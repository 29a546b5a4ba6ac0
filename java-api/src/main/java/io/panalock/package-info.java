// SPDX-License-Identifier: Apache-2.0

/** Queued locks that Java and C code can share. */
package io.panalock;
