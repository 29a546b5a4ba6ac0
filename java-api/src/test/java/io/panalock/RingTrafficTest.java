// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.panalock.internal.ffm.panalock_h;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Many producers: every record arrives once, intact, in the order of its producer. */
class RingTrafficTest {
    /** As for the C tests: less of them in an emulator. */
    private static final int PERCENT = Integer.parseInt(System.getenv().getOrDefault("PANALOCK_TEST_PERCENT", "100"));

    private static final int RECORDS = Math.max(20_000 * PERCENT / 100, 4_000);

    @TempDir
    Path directory;

    static Stream<Backend> backends() {
        return Stream.of(Backend.values());
    }

    /** What producers send: their number, a count, and a checksum of both in as many bytes as the count says. */
    private static int rest(long count) {
        return (int) (count * 31 % 40);
    }

    private static void send(RingBuffer.Producer p, int producer, int records) {
        for (long n = 1; n <= records; ) {
            try (var r = p.tryReserve(16 + rest(n))) {
                if (r == null) {
                    Thread.yield();
                    continue;
                }
                r.setLong(0, producer).setLong(8, n);
                for (int i = 16; i < r.size(); i++) {
                    r.setByte(i, (byte) (producer + n + i));
                }
                if (n % 16 == 0 && (producer + n) % 3 == 0 && r.size() > 20) {
                    r.setLong(8, -1); // closed without commit: must not be seen; and once more for good
                    r.discard();
                    try (var again = p.tryReserve(16 + rest(n))) {
                        if (again == null) {
                            continue;
                        }
                        again.setLong(0, producer).setLong(8, n);
                        for (int i = 16; i < again.size(); i++) {
                            again.setByte(i, (byte) (producer + n + i));
                        }
                        again.commit();
                    }
                } else {
                    r.commit();
                }
                n++;
            }
        }
    }

    private static final class Check {
        final long[] next;
        final boolean gaps;
        long seen;

        Check(int producers, boolean gaps) {
            next = new long[producers];
            this.gaps = gaps;
        }

        void accept(RingBuffer.Entry r) {
            int producer = (int) r.getLong(0);
            long n = r.getLong(8);
            if (gaps ? n <= next[producer] : n != next[producer] + 1) {
                throw new AssertionError("producer " + producer + ": " + n + " after " + next[producer]);
            }
            if (r.size() != 16 + rest(n)) {
                throw new AssertionError(r.size() + " bytes");
            }
            for (int i = 16; i < r.size(); i++) {
                if (r.getByte(i) != (byte) (producer + n + i)) {
                    throw new AssertionError("byte " + i);
                }
            }
            next[producer] = n;
            seen++;
        }
    }

    /** One ring object a producer, all on the same memory; the consumer has the first one. */
    private static void traffic(List<RingBuffer> rings, Thread.Builder kind, int records) throws Exception {
        RingBuffer ring = rings.getFirst();
        int producers = rings.size();
        AtomicInteger running = new AtomicInteger(producers);
        List<Throwable> failures = java.util.Collections.synchronizedList(new ArrayList<>());
        Thread[] threads = IntStream.range(0, producers)
                .mapToObj(i -> kind.start(() -> {
                    try {
                        send(rings.get(i).producer(), i, records);
                    } catch (Throwable e) {
                        failures.add(e);
                    } finally {
                        running.decrementAndGet();
                        rings.get(i).wake();
                    }
                }))
                .toArray(Thread[]::new);
        Check check = new Check(producers, ring.overwrites());
        while (true) {
            boolean ended = running.get() == 0;
            if (ring.drain(check::accept) == 0) {
                if (ended) {
                    break;
                }
                ring.await(Duration.ofMillis(200));
            }
        }
        Eventually.join(threads);
        assertThat(failures).isEmpty();
        if (!ring.overwrites()) {
            assertThat(check.next).containsOnly(records);
            assertThat(check.seen).isEqualTo((long) producers * records);
        }
        assertThat(ring.available()).isZero();
    }

    @ParameterizedTest
    @MethodSource("backends")
    void everyBackendKeepsEveryRecord(Backend backend) throws Exception {
        for (RingLock lock : RingLock.values()) {
            if (backend == Backend.PURE && lock == RingLock.PTHREAD_MUTEX) {
                continue;
            }
            for (boolean padded : new boolean[] {false, true}) {
                RingBuffer ring = RingBuffer.builder()
                        .bytes(16384)
                        .backend(backend)
                        .lock(lock)
                        .padded(padded)
                        .create();
                traffic(List.of(ring, ring, ring), Thread.ofPlatform(), RECORDS / 4);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 8, 24, 52})
    void everyNumberOfProducersKeepsEveryRecord(int producers) throws Exception {
        RingBuffer ring = RingBuffer.create(65536);
        traffic(java.util.Collections.nCopies(producers, ring), Thread.ofPlatform(), RECORDS / producers);
    }

    @ParameterizedTest
    @MethodSource("backends")
    void virtualThreadsProduce(Backend backend) throws Exception {
        RingBuffer ring = RingBuffer.builder().bytes(16384).backend(backend).create();
        traffic(java.util.Collections.nCopies(100, ring), Thread.ofVirtual(), RECORDS / 100);
    }

    @ParameterizedTest
    @MethodSource("backends")
    void overwritingShowsWholeRecordsOnly(Backend backend) throws Exception {
        RingBuffer ring =
                RingBuffer.builder().bytes(4096).backend(backend).overwrite(true).create();
        traffic(List.of(ring, ring), Thread.ofPlatform(), RECORDS);
    }

    /** All backends and C at once on one ring file. */
    @Test
    void allBackendsAndCMixOnOneRing() {
        Eventually.inNewThread(this::mixOnOneRing);
    }

    private void mixOnOneRing() throws Exception {
        for (boolean padded : new boolean[] {false, true}) {
            Path file = directory.resolve("ring" + padded);
            List<RingBuffer> rings = new ArrayList<>();
            rings.add(RingBuffer.builder().bytes(16384).padded(padded).create(file));
            for (Backend b : Backend.values()) {
                rings.add(RingBuffer.builder().backend(b).open(file));
            }
            traffic(rings, Thread.ofPlatform(), RECORDS / 4);
            // C writes, Java reads; and the other way round in RingBufferProcess and the C tests.
            RingBuffer ring = rings.getFirst();
            MemorySegment text = java.lang.foreign.Arena.ofAuto().allocateFrom("from C");
            MemorySegment self = panalock_h.pl_self_in(
                    io.panalock.internal.ffm.pl_ring.domain(
                            ring.nativeHandle().reinterpret(io.panalock.internal.ffm.pl_ring.sizeof())));
            assertThat(panalock_h.pl_ring_output(self, ring.nativeHandle(), text, (int) text.byteSize(), 0))
                    .isZero();
            assertThat(ring.drain(r -> assertThat(r.segment().getString(0)).isEqualTo("from C")))
                    .isEqualTo(1);
        }
    }

    // ---- files ----

    @Test
    void ringFilesExplainWhyTheyCannotBeUsed() throws Exception {
        Path file = directory.resolve("ring");
        assertThatIllegalStateException().isThrownBy(() -> RingBuffer.open(file)).withMessageContaining("no such file");
        RingBuffer.builder().bytes(8192).create(file);
        assertThatIllegalStateException()
                .isThrownBy(() -> RingBuffer.builder().bytes(8192).create(file))
                .withMessageContaining("the file exists");
        Path other = Files.writeString(directory.resolve("text"), "this is no ring buffer at all".repeat(100));
        assertThatIllegalStateException().isThrownBy(() -> RingBuffer.open(other)).withMessageContaining("no ring buffer");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RingBuffer.builder()
                        .bytes(8192)
                        .lock(RingLock.REENTRANT_LOCK)
                        .create(directory.resolve("new")))
                .withMessageContaining("other processes cannot take a ReentrantLock");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RingBuffer.builder()
                        .bytes(8192)
                        .domain(LockDomain.ofDefault())
                        .create(directory.resolve("new")));
        RingBuffer mutex =
                RingBuffer.builder().bytes(8192).lock(RingLock.PTHREAD_MUTEX).create(directory.resolve("mutex"));
        assertThat(mutex.lock()).isEqualTo(RingLock.PTHREAD_MUTEX);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RingBuffer.builder().backend(Backend.PURE).open(directory.resolve("mutex")))
                .withMessageContaining("PURE cannot take");
    }

    /** Opens the ring, leaves a record open, and waits for its end. */
    static final class Dying {
        public static void main(String[] arguments) throws Exception {
            RingBuffer ring = RingBuffer.open(Path.of(arguments[0]));
            ring.producer().reserve(8);
            try (var r = ring.reserve(8)) {
                r.setLong(0, 4711).commit();
            }
            Thread.sleep(Long.MAX_VALUE);
        }
    }

    @Test
    void aJvmThatIsKilledBetweenReserveAndCommitIsSkipped() throws Exception {
        Path file = directory.resolve("ring");
        RingBuffer ring = RingBuffer.builder().bytes(8192).create(file);
        Process child = Child.running(Dying.class).arguments(file).start(directory.resolve("output"));
        try {
            Eventually.until("records of the child", () -> ring.available() == 32);
            assertThat(ring.await(Duration.ofMillis(60))).isFalse(); // it may still commit
        } finally {
            child.destroyForcibly().waitFor();
        }
        List<Long> seen = new ArrayList<>();
        while (seen.isEmpty()) {
            ring.await();
            ring.drain(r -> seen.add(r.getLong(0)));
        }
        assertThat(seen).containsExactly(4711L);
        assertThat(ring.available()).isZero();
    }

    // ---- allocation ----

    /** In another JVM, where java.management is at hand. */
    static final class Measure {
        private static final int BATCH = 50;
        private static final int BATCHES = 2000;

        /** Prints who allocates: {@code accessors}, or {@code segments}. */
        public static void main(String[] arguments) throws Exception {
            boolean segments = arguments[0].equals("segments");
            for (Backend b : Backend.values()) {
                RingBuffer ring = RingBuffer.builder().bytes(65536).backend(b).create();
                long least = Long.MAX_VALUE;
                for (int i = 0; i < 60 && least > BATCHES; i++) {
                    long before = AllocationTest.Measure.allocated();
                    run(ring, segments);
                    least = Math.min(least, AllocationTest.Measure.allocated() - before);
                }
                if (least > BATCHES) {
                    System.out.println(b + ": " + least + " bytes for " + BATCH * BATCHES + " records");
                }
            }
            System.out.println("done");
        }

        private static long sum;

        private static void run(RingBuffer ring, boolean segments) {
            RingBuffer.Handler handler = r -> sum += r.getLong(0);
            for (int i = 0; i < BATCHES; i++) {
                for (int n = 0; n < BATCH; n++) {
                    try (var r = ring.reserve(8)) {
                        if (segments) {
                            r.segment().set(java.lang.foreign.ValueLayout.JAVA_LONG, 0, n);
                        } else {
                            r.setLong(0, n);
                        }
                        r.commit();
                    }
                }
                if (ring.drain(handler) != BATCH) {
                    throw new AssertionError();
                }
            }
        }
    }

    @Test
    void recordsAllocateNothing() throws Exception {
        assertThat(Child.running(Measure.class).arguments("accessors").run().output()).isEqualToIgnoringWhitespace("done");
    }

    /** C2 removes the slices; an emulated JVM does without C2. */
    @Test
    @Tag("hardware")
    void segmentsOfRecordsAllocateNothingOnceCompiled() throws Exception {
        assertThat(Child.running(Measure.class).arguments("segments").run().output()).isEqualToIgnoringWhitespace("done");
    }
}
