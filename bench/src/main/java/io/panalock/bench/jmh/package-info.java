// SPDX-License-Identifier: Apache-2.0

/** JMH benchmarks and how they are run. */
package io.panalock.bench.jmh;
