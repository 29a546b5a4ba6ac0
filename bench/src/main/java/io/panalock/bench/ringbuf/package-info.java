// SPDX-License-Identifier: Apache-2.0
/** The ring buffer under many producers: the experiment {@code ringbuf} and its claims. */
package io.panalock.bench.ringbuf;
