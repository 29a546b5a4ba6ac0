// SPDX-License-Identifier: Apache-2.0

/** Figures, their statistics, and results as JSON. */
package io.panalock.bench.result;
