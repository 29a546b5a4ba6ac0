// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import org.junit.jupiter.api.Test;

/** Locking allocates no Java object. In another JVM, where java.management is at hand. */
class AllocationTest {
    static final class Measure {
        private static final int PAIRS = 200_000;
        private static final int WINDOWS = 50;

        public static void main(String[] arguments) throws Exception {
            for (Backend b : Backend.values()) {
                for (Layout l : Layout.values()) {
                    uncontended(b, l, QSpinLock.builder().backend(b).layout(l).allocate());
                    uncontended(
                            b, l, QSpinLock.builder().backend(b).layout(l).at(Arena.ofShared().allocate(64, 64), 0));
                    contended(b, l, QSpinLock.builder().backend(b).layout(l).allocate());
                }
            }
            for (Backend b : Backend.values()) {
                guards(b);
            }
            System.out.println("done");
        }

        /** By reflection: this module does not require jdk.management. */
        private static final MethodHandle ALLOCATED = handle();

        private static MethodHandle handle() {
            try {
                Object bean = Class.forName("java.lang.management.ManagementFactory")
                        .getMethod("getThreadMXBean")
                        .invoke(null);
                return MethodHandles.publicLookup()
                        .findVirtual(
                                Class.forName("com.sun.management.ThreadMXBean"),
                                "getCurrentThreadAllocatedBytes",
                                MethodType.methodType(long.class))
                        .bindTo(bean);
            } catch (ReflectiveOperationException e) {
                throw new AssertionError(e);
            }
        }

        static long allocated() {
            try {
                return (long) ALLOCATED.invoke();
            } catch (Throwable e) {
                throw new AssertionError(e);
            }
        }

        private static void guards(Backend b) {
            HazardDomain h = HazardDomain.of(LockDomain.ofDefault(), b);
            LockThread self = LockThread.current();
            long least = Long.MAX_VALUE;
            for (int w = 0; w < WINDOWS; w++) {
                long before = allocated();
                for (int i = 0; i < PAIRS / 10; i++) {
                    try (var outer = h.protect(4096);
                            var nested = h.protect(self, 8192)) {
                        if (outer == nested) {
                            throw new AssertionError();
                        }
                    }
                }
                least = Math.min(least, allocated() - before);
            }
            if (least >= PAIRS / 10) { // less than a byte a pair: what the measurement itself allocates
                throw new AssertionError(b + " guards: " + least + " bytes for " + PAIRS / 10);
            }
        }

        private static void pairs(QSpinLock lock, int n) {
            for (int i = 0; i < n; i++) {
                lock.lock();
                lock.unlock();
            }
        }

        private static void uncontended(Backend b, Layout l, QSpinLock lock) {
            pairs(lock, PAIRS);
            measure(b + " " + l + " uncontended", lock, PAIRS);
        }

        private static void contended(Backend b, Layout l, QSpinLock lock) throws InterruptedException {
            Thread[] threads = new Thread[3];
            for (int i = 0; i < threads.length; i++) {
                threads[i] = Thread.ofPlatform().start(() -> measure(b + " " + l + " contended", lock, PAIRS / 10));
            }
            for (Thread t : threads) {
                t.join();
            }
        }

        /** Until code is compiled, method handles do allocate: the best of many windows counts. */
        private static void measure(String what, QSpinLock lock, int pairs) {
            long least = Long.MAX_VALUE;
            for (int i = 0; i < WINDOWS && least > pairs / 10; i++) {
                long before = allocated();
                pairs(lock, pairs);
                least = Math.min(least, allocated() - before);
            }
            if (least > pairs / 10) {
                System.out.println(what + ": " + least + " bytes in " + pairs + " pairs");
            }
        }
    }

    @Test
    void lockingAllocatesNothing() throws Exception {
        Child.Result r = Child.running(Measure.class).run();
        assertThat(r.output()).isEqualToIgnoringWhitespace("done");
    }
}
