// SPDX-License-Identifier: Apache-2.0

/** The benchmark program. */
package io.panalock.bench;
