// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.ringbuf;

/** The loops of one kind of ring; its only implementation is in {@code ringbuf.loop}. */
public interface RingLoop {
    /** An empty ring. */
    void reset();

    /** Emits batches until the run stops. */
    void produce(Traffic traffic, int producer);

    /** Consumes and checks until all producers have ended and nothing is left. */
    void consume(Traffic traffic);

    /** Ends the consumer's wait. */
    void wake();
}
