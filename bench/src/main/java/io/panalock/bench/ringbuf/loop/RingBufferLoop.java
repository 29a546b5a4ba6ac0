// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.ringbuf.loop;

import io.panalock.Backend;
import io.panalock.RingBuffer;
import io.panalock.RingLock;
import io.panalock.bench.ringbuf.RingLoop;
import io.panalock.bench.ringbuf.RingPeer;
import io.panalock.bench.ringbuf.Traffic;
import java.time.Duration;

/** Producers and consumer over {@link RingBuffer}, one open record after the other. */
public final class RingBufferLoop implements RingLoop {
    private static final int NUMBER_BITS = 48;
    private static final long NUMBER = (1L << NUMBER_BITS) - 1;
    private static final int MOST = 1024; // records a drain
    private static final Duration PATIENCE = Duration.ofMillis(100);

    private final RingBuffer.Builder builder;
    private RingBuffer ring;

    /** @param arguments backend, lock, bytes */
    public RingBufferLoop(String... arguments) {
        builder = RingBuffer.builder()
                .backend(Backend.valueOf(arguments[0]))
                .lock(RingLock.valueOf(arguments[1]))
                .bytes(Long.parseLong(arguments[2]));
        reset();
    }

    @Override
    public void reset() {
        ring = builder.create();
    }

    @Override
    public void produce(Traffic traffic, int producer) {
        RingBuffer.Producer p = ring.producer();
        long id = (long) producer << NUMBER_BITS;
        int batch = traffic.batch();
        long made = 0;
        long dropped = 0;
        while (!traffic.stopped()) {
            for (int i = 0; i < batch; i++) {
                try (RingBuffer.Reservation record = p.tryReserve(Long.BYTES)) {
                    if (record == null) {
                        dropped++;
                    } else {
                        record.setLong(0, id | made++);
                        record.commit();
                    }
                }
            }
            traffic.dropped(producer, dropped);
            RingPeer.cheapSystemCall();
        }
        traffic.made(producer, made);
    }

    @Override
    public void consume(Traffic traffic) {
        long[] seen = traffic.seen();
        RingBuffer.Handler check = record -> {
            long word = record.getLong(0);
            int producer = (int) (word >>> NUMBER_BITS);
            if (record.size() != Long.BYTES || (word & NUMBER) != seen[producer]) {
                throw new IllegalStateException("A RECORD WAS LOST OR DAMAGED: producer " + producer + ", number "
                        + (word & NUMBER) + " after " + seen[producer] + " records");
            }
            seen[producer]++;
        };
        long hits = 0;
        try {
            while (true) {
                boolean ended = traffic.allEnded();
                int n = ring.drain(check, MOST);
                hits += n;
                traffic.consumed(hits);
                if (n == 0) {
                    if (ended) {
                        return;
                    }
                    ring.await(PATIENCE);
                }
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted while consuming", e);
        }
    }

    @Override
    public void wake() {
        ring.wake();
    }
}
