// SPDX-License-Identifier: Apache-2.0

/** The measured Java loops. Every lock has its own copy of this package: see {@link io.panalock.bench.contend.IsolatingLoader}. */
package io.panalock.bench.loop;
