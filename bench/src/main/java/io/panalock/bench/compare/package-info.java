// SPDX-License-Identifier: Apache-2.0

/** Two results side by side: what differs by more than the noise. */
package io.panalock.bench.compare;
