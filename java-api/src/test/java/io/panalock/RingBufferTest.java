// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** One ring, one thread: what each call does, with every backend and lock that there is here. */
class RingBufferTest {
    private static final int STEPS = 30_000;

    static Stream<Backend> backends() {
        return Stream.of(Backend.values()).filter(Backend::isAvailable);
    }

    /** Backends, locks, mapped twice or padded. */
    static Stream<Arguments> kinds() {
        List<Arguments> all = new ArrayList<>();
        backends().forEach(b -> Stream.of(RingLock.values())
                .filter(l -> b != Backend.PURE || l != RingLock.PTHREAD_MUTEX)
                .forEach(l -> {
                    all.add(Arguments.of(b, l, false));
                    all.add(Arguments.of(b, l, true));
                }));
        return all.stream();
    }

    private static RingBuffer ring(Backend backend, long bytes) {
        return RingBuffer.builder().backend(backend).bytes(bytes).create();
    }

    // ---- against a simple queue ----

    private record Expected(int size, int seed) {}

    /** Reserved and not consumed. */
    private static final class Pending {
        final RingBuffer.Reservation open;
        final Expected expected;
        int state; // 0 open, 1 committed, 2 discarded

        Pending(RingBuffer.Reservation open, Expected expected) {
            this.open = open;
            this.expected = expected;
        }
    }

    private static void fill(RingBuffer.Reservation r, int seed) {
        for (int i = 0; i < r.size(); i++) {
            r.setByte(i, (byte) (seed + i * 7));
        }
    }

    private static void compare(RingRecord r, Expected e) {
        assertThat(r.size()).isEqualTo(e.size());
        for (int i = 0; i < r.size(); i++) {
            if (r.getByte(i) != (byte) (e.seed() + i * 7)) {
                throw new AssertionError("byte " + i + " of " + e);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void randomOperationsAgreeWithAQueue(Backend backend, RingLock lock, boolean padded) {
        RingBuffer ring = RingBuffer.builder()
                .bytes(4096)
                .backend(backend)
                .lock(lock)
                .padded(padded)
                .create();
        Random random = new Random(4711);
        ArrayList<Pending> queue = new ArrayList<>();
        Deque<RingBuffer.Producer> free = new ArrayDeque<>();
        List<RingBuffer.Producer> inUse = new ArrayList<>();
        int full = 0;
        long consumed = 0;
        for (int n = 0; n < STEPS; n++) {
            int dice = random.nextInt(16);
            if (dice < 7) {
                int size = random.nextInt(dice == 0 ? ring.maxRecord() + 1 : 64);
                RingBuffer.Producer p = free.isEmpty() ? ring.producer() : free.pop();
                RingBuffer.Reservation r = p.tryReserve(size);
                if (r == null) {
                    long step = size + 15 & ~7;
                    assertThat(ring.available() + step * (ring.padded() ? 2 : 1)).isGreaterThan(4095);
                    full++;
                    free.push(p);
                } else {
                    Pending q = new Pending(r, new Expected(size, random.nextInt()));
                    fill(r, q.expected.seed());
                    queue.add(q);
                }
            } else if (dice < 13 && !queue.isEmpty()) {
                Pending q = queue.get(random.nextInt(queue.size()));
                if (q.state == 0) {
                    q.state = random.nextInt(8) == 0 ? 2 : 1;
                    if (q.state == 1) {
                        q.open.commit(RingBuffer.Wakeup.values()[random.nextInt(3)]);
                    }
                    q.open.close(); // discards what was not committed
                }
            } else {
                List<Expected> want = new ArrayList<>();
                int gone = 0;
                int max = random.nextInt(4) == 0 ? 3 : Integer.MAX_VALUE;
                while (gone < queue.size() && queue.get(gone).state != 0 && want.size() < max) {
                    if (queue.get(gone).state == 1) {
                        want.add(queue.get(gone).expected);
                    }
                    gone++;
                }
                int[] seen = {0};
                assertThat(ring.drain(r -> compare(r, want.get(seen[0]++)), max)).isEqualTo(want.size());
                assertThat(seen[0]).isEqualTo(want.size());
                consumed += seen[0];
                queue.subList(0, gone).clear();
            }
        }
        for (Pending q : queue) {
            q.open.close();
        }
        ring.drain(r -> {});
        assertThat(ring.available()).isZero();
        assertThat(full).isPositive();
        assertThat(consumed).isPositive();
    }

    // ---- step by step ----

    /** The ring's lock is its own: who holds it cannot reserve, and is told so at once. */
    @Test
    void whatTheResilientLockSaysComesThroughInPureToo() {
        RingBuffer ring = RingBuffer.builder()
                .backend(Backend.PURE)
                .bytes(4096)
                .lock(RingLock.RQSPINLOCK)
                .create();
        RqSpinLock lock = RqSpinLock.builder()
                .backend(Backend.PURE)
                .layout(Layout.WORD)
                .at(ring.memory(), io.panalock.pure.Ring.HEADER_LOCK);
        lock.lock();
        try {
            assertThatIllegalStateException().isThrownBy(() -> ring.reserve(8)).withMessageContaining("would be a deadlock");
        } finally {
            lock.unlock();
        }
        try (var r = ring.reserve(8)) {
            r.setLong(0, 1).commit();
        }
        assertThat(ring.drain(r -> assertThat(r.getLong(0)).isEqualTo(1))).isEqualTo(1);
    }

    @ParameterizedTest
    @MethodSource("backends")
    void recordsArriveInTheOrderOfTheirReservation(Backend backend) {
        RingBuffer ring = ring(backend, 4096);
        var first = ring.producer().reserve(8);
        try (var second = ring.reserve(16)) {
            second.setLong(0, 2).setInt(8, 22).setByte(12, (byte) 222).commit();
        }
        assertThat(ring.drain(r -> {
                    throw new AssertionError("the first is open");
                }))
                .isZero();
        first.segment().set(ValueLayout.JAVA_LONG, 0, 1);
        first.commit();
        first.close(); // nothing to do any more
        List<Long> seen = new ArrayList<>();
        assertThat(ring.drain(r -> seen.add(r.getLong(0)))).isEqualTo(2);
        assertThat(seen).containsExactly(1L, 2L);
        assertThat(ring.producerPosition()).isEqualTo(40);
        assertThat(ring.consumerPosition()).isEqualTo(40);
    }

    @ParameterizedTest
    @MethodSource("backends")
    void aRecordThatIsNotCommittedIsDiscarded(Backend backend) {
        RingBuffer ring = ring(backend, 4096);
        for (int i = 0; i < 1000; i++) {
            try (var r = ring.reserve(100)) {
                r.setInt(0, i);
            }
            assertThatThrownBy(() -> {
                        try (var r = ring.reserve(100)) {
                            throw new UnsupportedOperationException("of " + r.size());
                        }
                    })
                    .isInstanceOf(UnsupportedOperationException.class);
            assertThat(ring.drain(r -> {})).isZero();
            assertThat(ring.available()).isZero();
        }
    }

    @ParameterizedTest
    @MethodSource("backends")
    void aFullRingSaysSo(Backend backend) {
        RingBuffer ring = ring(backend, 4096);
        int made = 0;
        for (; ; made++) {
            try (var r = ring.tryReserve(8)) {
                if (r == null) {
                    break;
                }
                r.setLong(0, made).commit();
            }
        }
        assertThat(made).isEqualTo(255);
        assertThatThrownBy(() -> ring.reserve(8))
                .isInstanceOf(RingFullException.class)
                .hasMessageContaining("no room for a record of 8 bytes in ring buffer of 4096 bytes");
        assertThat(ring.drain(r -> {}, 1)).isEqualTo(1);
        ring.reserve(8).close();
    }

    @ParameterizedTest
    @MethodSource("backends")
    void overwritingKeepsTheNewest(Backend backend) {
        RingBuffer ring =
                RingBuffer.builder().bytes(4096).backend(backend).overwrite(true).create();
        assertThat(ring.overwrites()).isTrue();
        for (long i = 1; i <= 1000; i++) {
            try (var r = ring.reserve(8)) {
                r.setLong(0, i).commit();
            }
        }
        assertThat(ring.lost()).isEqualTo(745);
        List<Long> seen = new ArrayList<>();
        assertThat(ring.drain(r -> seen.add(r.getLong(0)))).isEqualTo(255);
        assertThat(seen.getFirst()).isEqualTo(746);
        assertThat(seen.getLast()).isEqualTo(1000);
        var open = ring.producer().reserve(8); // is never given up
        int made = 0;
        while (true) {
            try (var r = ring.tryReserve(8)) {
                if (r == null) {
                    break;
                }
                r.commit();
                made++;
            }
        }
        assertThat(made).isEqualTo(254);
        open.commit();
        ring.reserve(8).close();
    }

    @ParameterizedTest
    @MethodSource("backends")
    void whatAHandlerThrowsEndsTheDrainAndTheRecord(Backend backend) {
        for (boolean overwrite : new boolean[] {false, true}) {
            RingBuffer ring =
                    RingBuffer.builder().bytes(4096).backend(backend).overwrite(overwrite).create();
            for (int i = 0; i < 3; i++) {
                ring.put(MemorySegment.ofArray(new byte[] {(byte) i}));
            }
            assertThatThrownBy(() -> ring.drain(r -> {
                        throw new UnsupportedOperationException("record " + r.getByte(0));
                    }))
                    .hasMessage("record 0");
            assertThat(ring.drain(r -> assertThat(r.getByte(0)).isNotZero())).isEqualTo(2);
        }
    }

    // ---- bad input ----

    @ParameterizedTest
    @MethodSource("backends")
    void badInputIsRefusedAndChangesNothing(Backend backend) {
        RingBuffer ring = ring(backend, 4096);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ring.reserve(-1))
                .withMessageContaining("bytes: -1 is not a number from 0 to " + ring.maxRecord());
        assertThatIllegalArgumentException().isThrownBy(() -> ring.reserve(ring.maxRecord() + 1));
        assertThatIllegalArgumentException().isThrownBy(() -> ring.tryReserve(Integer.MAX_VALUE));
        assertThatIllegalArgumentException().isThrownBy(() -> ring.drain(r -> {}, 0));
        assertThatThrownBy(() -> ring.drain(null)).isInstanceOf(NullPointerException.class);
        assertThat(ring.producerPosition()).isZero();

        var r = ring.reserve(8);
        assertThatIllegalStateException()
                .isThrownBy(() -> ring.reserve(8))
                .withMessageContaining("RingBuffer.producer()");
        assertThatThrownBy(() -> r.setLong(1, 0)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> r.getInt(-1)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> r.getByte(8)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThat(r.segment().byteSize()).isEqualTo(8);
        r.commit();
        assertThatIllegalStateException().isThrownBy(r::commit).withMessageContaining("not open");
        assertThatIllegalStateException().isThrownBy(r::discard);
        assertThatIllegalStateException().isThrownBy(() -> r.setLong(0, 1));
        assertThatIllegalStateException().isThrownBy(r::segment);

        AtomicReference<RingBuffer.Entry> kept = new AtomicReference<>();
        ring.drain(kept::set);
        assertThatIllegalStateException().isThrownBy(() -> kept.get().getLong(0)).withMessageContaining("consumed");
        ring.reserve(8).commit();
        ring.drain(e -> assertThatIllegalStateException()
                .isThrownBy(() -> ring.drain(x -> {}))
                .withMessageContaining("one at a time"));
    }

    @Test
    void whatCannotBeMadeIsRefused() {
        RingBuffer.Builder b = RingBuffer.builder().backend(Backend.PURE);
        for (long bytes : new long[] {0, -1, 1, 4095, 5000, 12288, 1L << 31, 1L << 40, Long.MIN_VALUE}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> b.bytes(bytes))
                    .withMessageContaining("bytes: " + bytes + " is not a power of two from 4096 to 1073741824");
        }
        assertThatIllegalArgumentException().isThrownBy(b::create).withMessageContaining("say how many");
        b.bytes(4096).lock(RingLock.PTHREAD_MUTEX);
        assertThatIllegalArgumentException().isThrownBy(b::create).withMessageContaining("PURE cannot take a pthread_mutex");
    }

    @ParameterizedTest
    @MethodSource("backends")
    void aClosedRingRefusesEverythingButItsOpenRecords(Backend backend) throws Exception {
        RingBuffer ring = ring(backend, 4096);
        var open = ring.producer().reserve(8);
        Thread[] waiting = new Thread[2];
        AtomicReference<Throwable> said = new AtomicReference<>();
        for (int i = 0; i < 2; i++) {
            Thread.Builder b = i == 0 ? Thread.ofPlatform() : Thread.ofVirtual();
            waiting[i] = b.start(() -> {
                try {
                    ring.await();
                } catch (Throwable e) {
                    said.set(e);
                }
            });
        }
        Thread.sleep(20);
        ring.close();
        ring.close();
        Eventually.join(waiting);
        assertThat(said.get()).isInstanceOf(IllegalStateException.class).hasMessageContaining("is closed");
        assertThatIllegalStateException().isThrownBy(() -> ring.reserve(8)).withMessageContaining("is closed");
        assertThatIllegalStateException().isThrownBy(() -> ring.drain(r -> {})).withMessageContaining("is closed");
        assertThatIllegalStateException().isThrownBy(ring::await).withMessageContaining("is closed");
        open.setLong(0, 1).commit();
    }

    // ---- waiting ----

    @ParameterizedTest
    @MethodSource("backends")
    void waitingEndsByRecordTimeoutInterruptionAndWake(Backend backend) throws Exception {
        RingBuffer ring = ring(backend, 4096);
        assertThat(ring.await(Duration.ZERO)).isFalse();
        long start = System.nanoTime();
        assertThat(ring.await(Duration.ofMillis(5))).isFalse();
        assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(5_000_000);
        Thread.currentThread().interrupt();
        assertThatThrownBy(ring::await).isInstanceOf(InterruptedException.class);
        assertThat(Thread.interrupted()).isFalse();
        for (Thread.Builder b : List.of(Thread.ofPlatform(), Thread.ofVirtual())) {
            for (String how : List.of("record", "interruption", "wake", "force")) {
                AtomicReference<Object> result = new AtomicReference<>();
                var open = ring.producer().reserve(8);
                Thread t = b.name(how).start(() -> {
                    try {
                        ring.await();
                        result.set("woken");
                    } catch (InterruptedException e) {
                        result.set("interrupted");
                    }
                });
                Eventually.until("a waiting consumer", ring::hasWaiter);
                Thread.sleep(2);
                ring.reserve(8).commit(); // not the one at which the consumer stands
                assertThat(result.get()).isNull();
                switch (how) {
                    case "record" -> open.commit();
                    case "interruption" -> t.interrupt();
                    case "wake" -> ring.wake();
                    default -> ring.reserve(8).commit(RingBuffer.Wakeup.FORCE);
                }
                Eventually.join(t);
                assertThat(result.get()).isEqualTo(how.equals("interruption") ? "interrupted" : "woken");
                open.close();
                ring.drain(r -> {});
            }
        }
    }

    @Test
    void aHeapSegmentIsCopiedInAndANativeOneToo() {
        RingBuffer ring = ring(Backend.PURE, 8192);
        try (Arena arena = Arena.ofConfined()) {
            ring.put(arena.allocateFrom("native"));
            ring.put(MemorySegment.ofArray("heap".getBytes(java.nio.charset.StandardCharsets.UTF_8)));
        }
        List<String> seen = new ArrayList<>();
        ring.drain(r -> seen.add(new String(
                        r.segment().toArray(ValueLayout.JAVA_BYTE), java.nio.charset.StandardCharsets.UTF_8)
                .replace("\0", "")));
        assertThat(seen).containsExactly("native", "heap");
    }
}
