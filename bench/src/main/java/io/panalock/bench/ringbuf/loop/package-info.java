// SPDX-License-Identifier: Apache-2.0
/** Producers and consumer in Java; each kind of ring gets copies of its own. */
package io.panalock.bench.ringbuf.loop;
