// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import io.panalock.internal.Layouts;
import io.panalock.internal.Parking;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.ThreadIdGen;

/**
 * A counter under a pure lock in array memory: what the model checker runs. Two increments that overlap, or one that is
 * lost, show in the results; a lost wake-up shows as a hang, since no timer helps out.
 */
public abstract class LockModel {
    private static final int SLOTS = 4;

    /** A step of the clock at which the second look finds a held lock hopeless. */
    static final long QUICK = 60_000;
    /** One at which a waiter reserves the lock at once, and a reservation is soon void. */
    static final long HASTY = 1_500_000;

    /** How to break the lock, so that the checker can prove that it would notice. */
    enum Fault {
        NONE,
        /** Compare-and-swap as a load and a store. */
        TORN_TAKE,
        /** A release that never wakes anybody. */
        NO_KICK,
        /** A sleeper that does not see, after it has announced itself, that the lock is free. */
        NO_LOOK
    }

    final PureDomain domain;
    private final LockWord lock;
    private int counter;

    LockModel(int layout, long step, Fault fault) {
        DomainFormat format = DomainFormat.plan(SLOTS, 1);
        Memory memory = new Faulty(format.size(), fault);
        format.format(memory, ArrayMemory.BASE, 0);
        domain = new PureDomain(memory, ArrayMemory.BASE, Waker.NONE, new ModelPacer(step), new Parking(SLOTS), 1, 0);
        memory.set(domain.processAt(0) + Shape.PROCESS_PID, 1);
        for (int slot = 1; slot < SLOTS; slot++) {
            Slots.register(domain, 0);
        }
        lock = LockWord.at(memory, Pool.take(domain), layout);
    }

    /** What one thread does; slots are threads' numbers, from 1. */
    @Operation
    public int next(@Param(gen = ThreadIdGen.class) int thread) {
        return next(thread, 0, -1);
    }

    /** A negative errno value when the lock was not to be had. */
    final int next(int thread, int flags, long timeoutNanos) {
        int result = QSpin.lock(domain, lock, flags, timeoutNanos, thread);
        if (result != 0) {
            return result;
        }
        int value = ++counter;
        QSpin.unlock(domain, lock, thread);
        return value;
    }

    private static final class Faulty extends ArrayMemory {
        private final Fault fault;

        Faulty(long bytes, Fault fault) {
            super(bytes);
            this.fault = fault;
        }

        @Override
        public boolean casAcquire(long address, int expected, int desired) {
            if (fault == Fault.TORN_TAKE) {
                if (get(address) != expected) {
                    return false;
                }
                set(address, desired);
                return true;
            }
            return super.casAcquire(address, expected, desired);
        }

        @Override
        public int getAndAddRelease(long address, int delta) {
            int seen = super.getAndAddRelease(address, delta);
            return fault == Fault.NO_KICK ? seen & ~Layouts.Q_PARKED : seen;
        }

        @Override
        public int get(long address) {
            int seen = super.get(address);
            boolean blind = fault == Fault.NO_LOOK && seen == Layouts.Q_PARKED;
            return blind ? seen | Layouts.Q_LOCKED : seen;
        }
    }

    // ---- what is checked ----

    public static class Word extends LockModel {
        public Word() {
            super(Layouts.LAYOUT_WORD, QUICK, Fault.NONE);
        }
    }

    public static class Wide extends LockModel {
        public Wide() {
            super(Layouts.LAYOUT_WIDE, QUICK, Fault.NONE);
        }
    }

    public static class HastyWord extends LockModel {
        public HastyWord() {
            super(Layouts.LAYOUT_WORD, HASTY, Fault.NONE);
        }
    }

    public static class HastyWide extends LockModel {
        public HastyWide() {
            super(Layouts.LAYOUT_WIDE, HASTY, Fault.NONE);
        }
    }

    /** Waits that give up, and must pass on what they were responsible for; then once more without a limit. */
    public static class Leaving extends LockModel {
        public Leaving() {
            super(Layouts.LAYOUT_WIDE, QUICK, Fault.NONE);
        }

        @Override
        public int next(int thread) {
            int value = next(thread, 0, 3 * QUICK);
            return value > 0 ? value : next(thread, 0, -1);
        }
    }

    /** The spinners' queue. */
    public static class SpinWord extends LockModel {
        public SpinWord() {
            super(Layouts.LAYOUT_WORD, QUICK, Fault.NONE);
        }

        @Override
        public int next(int thread) {
            return next(thread, Layouts.WAIT_SPIN, -1);
        }
    }

    /** Both policies on one word. */
    public static class MixedWide extends LockModel {
        public MixedWide() {
            super(Layouts.LAYOUT_WIDE, QUICK, Fault.NONE);
        }

        @Override
        public int next(int thread) {
            return next(thread, thread % 2 == 0 ? Layouts.WAIT_SPIN : 0, -1);
        }
    }

    // ---- what must be caught ----

    public static class TornTake extends LockModel {
        public TornTake() {
            super(Layouts.LAYOUT_WORD, QUICK, Fault.TORN_TAKE);
        }
    }

    public static class NoKick extends LockModel {
        public NoKick() {
            super(Layouts.LAYOUT_WORD, QUICK, Fault.NO_KICK);
        }
    }

    public static class NoLook extends LockModel {
        public NoLook() {
            super(Layouts.LAYOUT_WORD, QUICK, Fault.NO_LOOK);
        }
    }
}
