// SPDX-License-Identifier: Apache-2.0

/** What calls to C do beside costing time: to the collector, to safepoints. */
package io.panalock.bench.call;
