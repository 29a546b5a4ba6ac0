// SPDX-License-Identifier: Apache-2.0
/** Read sections in Java; each way has its own copy of this package, see {@link io.panalock.bench.contend.IsolatingLoader}. */
package io.panalock.bench.shazptr.loop;
