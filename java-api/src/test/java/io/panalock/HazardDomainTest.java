// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.panalock.internal.ffm.panalock_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class HazardDomainTest {
    private static final long OBJECT = 4096;
    private static final long OTHER = 8192;
    private static final long THIRD = 12288;

    private final LockDomain domain = LockDomain.builder().slots(64).create();

    @AfterEach
    void close() {
        domain.close();
    }

    /** A writer on a thread of its own. */
    private static final class Writer {
        final Thread thread;
        volatile boolean returned;

        Writer(HazardDomain h, long name, boolean skip, boolean virtual) {
            CountDownLatch begun = new CountDownLatch(1);
            Runnable wait = () -> {
                begun.countDown();
                h.synchronize(name, skip);
                returned = true;
            };
            thread = virtual ? Thread.ofVirtual().start(wait) : Thread.ofPlatform().daemon().start(wait);
            try {
                begun.await();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }

        void requireWaiting() throws InterruptedException {
            for (int i = 0; i < 10; i++) {
                assertThat(returned).isFalse();
                Thread.sleep(2);
            }
        }

        void join() throws InterruptedException {
            thread.join();
            assertThat(returned).isTrue();
        }
    }

    @ParameterizedTest
    @EnumSource(Backend.class)
    void writersWaitForReadersOfTheirPointer(Backend backend) throws Exception {
        HazardDomain h = HazardDomain.of(domain, backend);
        for (int way = 0; way < 4; way++) {
            boolean skip = (way & 1) != 0;
            boolean virtual = (way & 2) != 0;
            HazardGuard guard = h.protect(OBJECT);
            assertThat(h.isProtected(OBJECT)).isTrue();
            assertThat(guard.name()).isEqualTo(OBJECT);
            new Writer(h, OTHER, skip, virtual).join();
            Writer w = new Writer(h, OBJECT, skip, virtual);
            w.requireWaiting();
            guard.close();
            w.join();
            assertThat(h.isProtected(OBJECT)).isFalse();
        }
    }

    @ParameterizedTest
    @EnumSource(Backend.class)
    void aNestedGuardProtectsEverythingAndHidesNothing(Backend backend) throws Exception {
        HazardDomain h = HazardDomain.of(domain, backend);
        for (int way = 0; way < 4; way++) {
            boolean skip = (way & 1) != 0;
            boolean virtual = (way & 2) != 0;
            HazardGuard outer = h.protect(OBJECT);
            HazardGuard nested = h.protect(OTHER);
            HazardGuard deeper = h.protect(OTHER);
            Writer forThird = new Writer(h, THIRD, skip, virtual);
            Writer forObject = new Writer(h, OBJECT, skip, virtual);
            forThird.requireWaiting();
            deeper.close();
            forThird.requireWaiting();
            nested.close();
            forThird.join();
            HazardGuard later = h.protect(THIRD); // younger than the writer, but inside the guard on its object
            forObject.requireWaiting();
            later.close();
            forObject.requireWaiting();
            outer.close();
            forObject.join();
        }
    }

    @ParameterizedTest
    @EnumSource(Backend.class)
    void guardsOutOfOrderAndWritersThatWaitForThemselvesAreRefused(Backend backend) {
        HazardDomain h = HazardDomain.of(domain, backend);
        HazardGuard outer = h.protect(OBJECT);
        HazardGuard nested = h.protect(OTHER);
        assertThatThrownBy(outer::close).isInstanceOf(IllegalStateException.class).hasMessageContaining("close them first");
        assertThatThrownBy(() -> h.synchronize(THIRD)).isInstanceOf(IllegalStateException.class);
        nested.close();
        assertThatThrownBy(nested::close).isInstanceOf(IllegalStateException.class).hasMessageContaining("closed already");
        assertThatThrownBy(() -> h.synchronize(OBJECT)).hasMessageContaining("close it first");
        h.synchronize(OTHER);
        assertThatThrownBy(h::drain).isInstanceOf(IllegalStateException.class);
        outer.close();
        assertThatThrownBy(outer::close).hasMessageContaining("closed already");
        h.synchronize(OBJECT);
    }

    @Test
    void badInputIsRefused() throws Exception {
        HazardDomain h = HazardDomain.of(domain);
        assertThatThrownBy(() -> h.protect(MemorySegment.ofArray(new byte[8]))).hasMessageContaining("on the heap");
        assertThatThrownBy(() -> h.protect((MemorySegment) null)).isInstanceOf(NullPointerException.class);
        assertThatThrownBy(() -> h.protect(0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> h.protect(1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> h.synchronize(1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> h.retire(OBJECT, null)).isInstanceOf(NullPointerException.class);
        assertThatThrownBy(() -> h.retire(0, () -> {})).isInstanceOf(IllegalArgumentException.class);
        LockThread mine = LockThread.current(domain);
        assertThatThrownBy(() -> HazardDomain.of(LockDomain.ofPrivate()).protect(mine, OBJECT))
                .isInstanceOf(IllegalArgumentException.class);
        Throwable[] thrown = new Throwable[1];
        Thread t = Thread.ofPlatform().start(() -> {
            try {
                h.protect(mine, OBJECT);
            } catch (IllegalArgumentException e) {
                thrown[0] = e;
            }
        });
        t.join();
        assertThat(thrown[0]).hasMessageContaining("each thread has its own");
        domain.close();
        assertThatThrownBy(() -> h.synchronize(OBJECT)).hasMessageContaining("is closed");
        assertThatThrownBy(() -> h.retire(OBJECT, () -> {})).hasMessageContaining("is closed");
        assertThatThrownBy(() -> h.protect(OBJECT)).hasMessageContaining("is closed");
    }

    @Test
    void javaAndCSeeEachOthersGuards() {
        Eventually.inNewThread(this::seeEachOthersGuards);
    }

    private void seeEachOthersGuards() throws Exception {
        HazardDomain h = HazardDomain.of(domain, Backend.HYBRID);
        MemorySegment inC = panalock_h.pl_self_in(domain.memory());
        assertThat(inC.address()).isNotZero();
        long token = panalock_h.pl_shazptr_acquire(inC, OBJECT);
        Writer w = new Writer(h, OBJECT, false, true); // looks in Java
        w.requireWaiting();
        try (var nested = h.protect(OTHER)) { // Java's first guard inside one of C, on the same slot
            assertThat(panalock_h.pl_shazptr_clear(inC, token)).isNegative();
            assertThat(nested.name()).isEqualTo(OTHER);
        }
        w.requireWaiting();
        assertThat(panalock_h.pl_shazptr_clear(inC, token)).isZero();
        w.join();
        try (var guard = h.protect(OBJECT)) {
            assertThat(panalock_h.pl_shazptr_is_protected(domain.memory(), OBJECT)).isEqualTo(1);
            assertThat(guard.name()).isEqualTo(OBJECT);
        }
        assertThat(panalock_h.pl_shazptr_is_protected(domain.memory(), OBJECT)).isZero();
    }

    @ParameterizedTest
    @EnumSource(Backend.class)
    void retiredObjectsAreReclaimedOnceNoReaderIsLeft(Backend backend) throws Exception {
        HazardDomain h = HazardDomain.of(domain, backend);
        List<Integer> reclaimed = java.util.Collections.synchronizedList(new ArrayList<>());
        HazardGuard guard = h.protect(OBJECT + 7);
        for (int i = 0; i < 300; i++) {
            int number = i;
            h.retire(OBJECT + i, () -> {
                reclaimed.add(number);
                if (number == 5) {
                    throw new AssertionError("a reclaimer that fails; this is meant");
                }
            });
        }
        Eventually.until("all but one", () -> reclaimed.size() == 299);
        assertThat(reclaimed).doesNotContain(7).isSorted();
        guard.close();
        h.drain();
        assertThat(reclaimed).hasSize(300).endsWith(7);
    }

    @Test
    void aReclaimerMayRetireAndTheBacklogIsBounded() throws Exception {
        HazardDomain h = HazardDomain.of(domain);
        AtomicLong reclaimed = new AtomicLong();
        HazardGuard outer = h.protect(OBJECT);
        HazardGuard nested = h.protect(OTHER); // nothing gets free
        int n = HazardReclaimer.BACKLOG;
        Thread t = Thread.ofPlatform().start(() -> {
            for (int i = 0; i < n; i++) {
                h.retire(THIRD + i, () -> {
                    if (reclaimed.incrementAndGet() == 1) {
                        h.retire(THIRD, reclaimed::incrementAndGet);
                    }
                });
            }
        });
        t.join();
        assertThatThrownBy(() -> h.retire(THIRD, reclaimed::incrementAndGet)).hasMessageContaining("inside a guard");
        Thread waits = Thread.ofPlatform().start(() -> h.retire(THIRD, reclaimed::incrementAndGet));
        Thread.sleep(20);
        assertThat(waits.isAlive()).isTrue();
        nested.close();
        outer.close();
        waits.join();
        h.drain();
        Eventually.until("all", () -> reclaimed.get() == n + 2);
    }

    @Test
    void aVirtualThreadStaysProtectedWhileItIsUnmounted() throws Exception {
        HazardDomain h = HazardDomain.of(domain);
        CountDownLatch inside = new CountDownLatch(40); // guards that last: a writer may pass between two short ones
        CountDownLatch go = new CountDownLatch(1);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 40; i++) { // fewer than slots
            threads.add(Thread.ofVirtual().start(() -> {
                for (int round = 0; round < 5; round++) {
                    try (var guard = h.protect(OBJECT)) {
                        Thread.sleep(1);
                        if (guard.name() != OBJECT) {
                            throw new AssertionError();
                        }
                    } catch (InterruptedException e) {
                        throw new AssertionError(e);
                    }
                }
                try (var _ = h.protect(OBJECT)) {
                    inside.countDown();
                    go.await();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            }));
        }
        inside.await();
        Writer w = new Writer(h, OBJECT, false, false);
        w.requireWaiting();
        go.countDown();
        for (Thread t : threads) {
            t.join();
        }
        w.join();
        // More virtual threads than slots, one after another.
        for (int i = 0; i < 500; i++) {
            Thread.ofVirtual().start(() -> h.protect(OBJECT).close()).join();
        }
    }

    @Test
    void closingADomainLeavesGuardsAndWhatWaitsForThem() throws Exception {
        LockDomain closing = LockDomain.builder().slots(8).create();
        HazardDomain h = HazardDomain.of(closing);
        AtomicLong reclaimed = new AtomicLong();
        h.protect(OBJECT).close(); // the next one is in place
        HazardGuard guard = h.protect(OBJECT);
        h.retire(OBJECT, reclaimed::incrementAndGet);
        h.retire(OTHER, reclaimed::incrementAndGet);
        closing.close();
        Eventually.until("the other", () -> reclaimed.get() == 1);
        assertThat(guard.isOpen()).isTrue();
        guard.close();
        Eventually.until("both", () -> reclaimed.get() == 2);
        assertThatThrownBy(guard::close).hasMessageContaining("closed already");
    }

    @Test
    void oneThreadUsesViewsOfEveryKindInTurnAndNested() {
        HazardDomain[] views = new HazardDomain[Backend.values().length * 2];
        for (Backend b : Backend.values()) {
            views[b.ordinal() * 2] = HazardDomain.of(domain, b);
            views[b.ordinal() * 2 + 1] = views[b.ordinal() * 2].withFences();
        }
        for (HazardDomain a : views) {
            for (HazardDomain b : views) {
                for (int i = 0; i < 3; i++) {
                    HazardGuard outer = a.protect(OBJECT);
                    assertThat(outer.name()).isEqualTo(OBJECT);
                    HazardGuard inner = b.protect(OTHER);
                    assertThat(inner.name()).isEqualTo(OTHER);
                    assertThat(outer.isOpen() && inner.isOpen()).isTrue();
                    assertThatThrownBy(outer::close).hasMessageContaining("close them first");
                    inner.close();
                    assertThatThrownBy(inner::close).hasMessageContaining("closed already");
                    assertThat(b.isProtected(OBJECT)).isTrue();
                    outer.close();
                    assertThatThrownBy(outer::close).hasMessageContaining("closed already");
                    assertThat(a.isProtected(OBJECT)).isFalse();
                }
            }
        }
    }

    @Test
    void thousandsOfThreadsShareFewSlots() throws Exception {
        HazardDomain h = HazardDomain.of(domain);
        AtomicLong sections = new AtomicLong();
        AtomicBoolean stop = new AtomicBoolean();
        Thread writer = Thread.ofPlatform().start(() -> {
            while (!stop.get()) {
                h.synchronize(THIRD);
                h.retire(THIRD, () -> {});
            }
        });
        int threads = 1000;
        List<Thread> virtual = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            virtual.add(Thread.ofVirtual().start(() -> {
                for (int n = 0; n < 3; n++) {
                    try (var _ = h.protect(OBJECT); var _ = h.protect(OTHER)) {
                        Thread.yield();
                        sections.incrementAndGet();
                    }
                }
            }));
        }
        for (Thread t : virtual) {
            t.join();
        }
        for (int batch = 0; batch < threads / 20; batch++) {
            List<Thread> platform = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                platform.add(Thread.ofPlatform().start(() -> {
                    try (var _ = h.protect(OBJECT)) {
                        sections.incrementAndGet();
                    }
                }));
            }
            for (Thread t : platform) {
                t.join();
            }
        }
        stop.set(true);
        writer.join();
        assertThat(sections.get()).isEqualTo(4L * threads);
        h.synchronize(OBJECT);
        assertThat(h.isProtected(OBJECT)).isFalse();
        h.drain();
    }

    @Test
    void aPlatformThreadThatEndsInsideAGuardHoldsNobodyUp() throws Exception {
        HazardDomain h = HazardDomain.of(domain);
        Thread.ofPlatform().start(() -> h.protect(OBJECT)).join();
        h.synchronize(OBJECT);
    }

    @Test
    void inASharedDomainNamesAreTheSameForAllMappings(@TempDir Path directory) throws Exception {
        Path file = directory.resolve("domain");
        try (LockDomain a = LockDomain.createShared(file);
                LockDomain b = LockDomain.openShared(file);
                Arena arena = Arena.ofShared()) {
            MemorySegment memory = arena.allocate(4096, 4096);
            a.attach(memory, 5);
            b.attach(memory, 5);
            HazardDomain in = HazardDomain.of(a);
            HazardDomain out = HazardDomain.of(b);
            assertThat(in.nameOf(memory.asSlice(64))).isEqualTo(out.nameOf(memory.asSlice(64)));
            assertThat(in.nameOf(memory)).isNotEqualTo(memory.address());
            assertThatThrownBy(() -> in.protectPointer(memory, 0)).isInstanceOf(IllegalStateException.class);
            HazardGuard guard = in.protect(memory.asSlice(64));
            Writer w = new Writer(out, out.nameOf(memory.asSlice(64)), false, false);
            w.requireWaiting();
            guard.close();
            w.join();
        }
    }

    private static final int WORDS = 8;

    /** Readers read what a writer replaces and poisons meanwhile. */
    private void hammer(Backend backend, long reads) throws Exception {
        HazardDomain h = HazardDomain.of(domain, backend);
        try (Arena arena = Arena.ofShared()) {
            MemorySegment root = arena.allocate(8, 8);
            MemorySegment all = arena.allocate(64L * 64, 64);
            java.util.concurrent.ConcurrentLinkedQueue<MemorySegment> free = new java.util.concurrent.ConcurrentLinkedQueue<>();
            for (int i = 1; i < 64; i++) {
                free.add(all.asSlice(i * 64L, 64));
            }
            fill(all.asSlice(0, 64), 1);
            root.set(ValueLayout.JAVA_LONG, 0, all.address());
            AtomicLong done = new AtomicLong();
            AtomicBoolean bad = new AtomicBoolean();
            List<Thread> threads = new ArrayList<>();
            for (int r = 0; r < 3; r++) {
                threads.add((r == 2 ? Thread.ofVirtual() : Thread.ofPlatform()).start(() -> {
                    while (done.get() < reads && !bad.get()) {
                        for (int i = 0; i < 100; i++) {
                            try (var guard = h.protectPointer(root, 0)) {
                                MemorySegment s = all.asSlice(guard.name() - all.address(), 64);
                                long first = s.get(ValueLayout.JAVA_LONG, 0);
                                for (int w = 1; w < WORDS; w++) {
                                    if (s.get(ValueLayout.JAVA_LONG, w * 8L) != first || first < 0) {
                                        bad.set(true);
                                    }
                                }
                            }
                        }
                        done.addAndGet(100);
                        Thread.yield();
                    }
                }));
            }
            for (long i = 2; done.get() < reads && !bad.get(); i++) {
                MemorySegment fresh = free.poll();
                if (fresh == null) {
                    h.drain();
                    continue;
                }
                fill(fresh, i);
                MemorySegment old = all.asSlice(
                        (long) ValueLayout.JAVA_LONG.varHandle().getAndSet(root, 0L, fresh.address()) - all.address(), 64);
                if (i % 4 != 0) {
                    h.synchronize(h.nameOf(old), i % 8 == 1);
                    fill(old, -1);
                    free.add(old);
                } else {
                    h.retire(old, s -> {
                        fill(s, -1);
                        free.add(s);
                    });
                }
            }
            for (Thread t : threads) {
                t.join();
            }
            h.drain();
            assertThat(bad).isFalse();
        }
    }

    private static void fill(MemorySegment s, long value) {
        for (int w = 0; w < WORDS; w++) {
            s.set(ValueLayout.JAVA_LONG, w * 8L, value);
        }
    }

    @ParameterizedTest
    @EnumSource(Backend.class)
    void nobodyReadsWhatWasReclaimed(Backend backend) throws Exception {
        hammer(backend, 200_000);
    }

    @Tag("soak")
    @Test
    void nobodyReadsWhatWasReclaimedForLong() throws Exception {
        long reads = 20_000_000L * Integer.getInteger("panalock.soak.percent", 1) / 100;
        for (Backend b : Backend.values()) {
            hammer(b, reads);
        }
    }
}
