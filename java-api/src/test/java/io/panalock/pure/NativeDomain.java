// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import static java.lang.foreign.ValueLayout.ADDRESS;

import io.panalock.internal.Layouts;
import io.panalock.internal.Library;
import io.panalock.internal.Parking;
import io.panalock.internal.ffm.panalock_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** A domain of the native library that Java works on too, with a thread that answers the doorbell. */
final class NativeDomain {
    static final Waker WAKER = new NativeWaker();

    final MemorySegment domain;
    final PureDomain pure;
    private final MemorySegment bell;
    private final Thread listener;
    private volatile boolean closed;

    NativeDomain() {
        Library.require();
        domain = out(p -> panalock_h.pl_domain_create(MemorySegment.NULL, p));
        bell = panalock_h.pl_domain_doorbell(domain);
        pure = PureDomain.open(
                Memory.whole(),
                domain.address(),
                PureDomain.size(0, 0),
                WAKER,
                new Parking(Layouts.DEFAULT_SLOTS),
                bell.address());
        listener = Thread.ofPlatform().daemon().start(this::listen);
    }

    private void listen() {
        while (!closed) {
            int rung = Memory.whole().getAcquire(bell.address());
            for (int number = Layouts.NESTING; number < Layouts.DEFAULT_SLOTS * Layouts.NESTING; number++) {
                pure.parking.unpark(number);
            }
            panalock_h.pl_futex_wait(bell, rung, 1_000_000_000, 0);
        }
    }

    interface Maker {
        int make(MemorySegment out);
    }

    static MemorySegment out(Maker maker) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment out = arena.allocate(ADDRESS);
            int err = maker.make(out);
            if (err != 0) {
                throw new AssertionError(err);
            }
            return out.get(ADDRESS, 0);
        }
    }

    /** A slot registered by the library. */
    MemorySegment slot() {
        return out(p -> panalock_h.pl_thread_register(domain, 0, p));
    }

    /** Its number. */
    int number(MemorySegment slot) {
        return (int) ((slot.address() - pure.slotAt(0)) / Shape.THREAD);
    }

    MemorySegment service() {
        return panalock_h.pl_domain_service(domain);
    }

    static int lock(MemorySegment self, LockWord lock, int flags, long timeoutNanos) {
        MemorySegment at = MemorySegment.ofAddress(lock.owner());
        return switch (lock.layout()) {
            case Layouts.LAYOUT_WORD -> panalock_h.pl_qspin_lock_wait(self, at, flags, timeoutNanos);
            case Layouts.LAYOUT_BYTE -> panalock_h.pl_qspin_byte_lock_wait(self, at, flags, timeoutNanos);
            default -> panalock_h.pl_qspin_wide_lock_wait(self, at, flags, timeoutNanos);
        };
    }

    static void unlock(MemorySegment self, LockWord lock) {
        MemorySegment at = MemorySegment.ofAddress(lock.owner());
        int err = switch (lock.layout()) {
            case Layouts.LAYOUT_WORD -> panalock_h.pl_qspin_unlock(self, at);
            case Layouts.LAYOUT_BYTE -> panalock_h.pl_qspin_byte_unlock(self, at);
            default -> panalock_h.pl_qspin_wide_unlock(self, at);
        };
        if (err != 0) {
            throw new AssertionError(err);
        }
    }

    void close() throws InterruptedException {
        closed = true;
        Memory.whole().getAndAdd(bell.address(), 1);
        panalock_h.pl_futex_wake(bell, 1, 0);
        listener.join();
        int err = panalock_h.pl_domain_close(domain);
        if (err != 0) {
            throw new AssertionError(err);
        }
    }
}
