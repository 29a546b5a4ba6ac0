// SPDX-License-Identifier: Apache-2.0

/** What the machine is; travels with every result. */
package io.panalock.bench.machine;
