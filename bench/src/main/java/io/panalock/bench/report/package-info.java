// SPDX-License-Identifier: Apache-2.0

/** Results as one page that needs nothing else: charts, the same figures as tables, and what they say in words. */
package io.panalock.bench.report;
