// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import io.panalock.internal.Layouts;
import io.panalock.internal.Parking;
import java.util.concurrent.atomic.AtomicInteger;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.ThreadIdGen;

/**
 * The mutex, its condition and the OSQ on array memory: what the model checker runs. Increments that overlap show in the
 * results; a lost wake-up, or a queue that is not whole any more, shows as a hang.
 */
abstract class MutexModel {
    private static final int SLOTS = 4;

    final PureDomain domain;
    final Memory memory;
    final long word;
    int counter;

    MutexModel(long step, boolean plainRead) {
        DomainFormat format = DomainFormat.plan(SLOTS, 2);
        memory = plainRead ? new PlainRead(format.size()) : new ArrayMemory(format.size());
        format.format(memory, ArrayMemory.BASE, 0);
        domain = new PureDomain(memory, ArrayMemory.BASE, Waker.NONE, new ModelPacer(step), new Parking(SLOTS), 1, 0);
        memory.set(domain.processAt(0) + Shape.PROCESS_PID, 1);
        for (int slot = 1; slot < SLOTS; slot++) {
            Slots.register(domain, 0);
        }
        word = Pool.take(domain);
    }

    /** Bug row 16: a leaver reads its own {@code next} instead of taking it. */
    private static final class PlainRead extends ArrayMemory {
        PlainRead(long bytes) {
            super(bytes);
        }

        @Override
        public int getAndSet(long address, int value) {
            return value == 0 ? get(address) : super.getAndSet(address, value);
        }
    }

    /** Waiters that spin, sleep, and request the hand-off soon, or do not spin. */
    public static class Mutex extends MutexModel {
        private final LockWord lock = PureMutex.at(memory, word);
        private final int flags;

        public Mutex() {
            this(LockModel.QUICK, 0);
        }

        Mutex(long step, int flags) {
            super(step, false);
            this.flags = flags;
        }

        @Operation
        public int next(@Param(gen = ThreadIdGen.class) int slot) {
            int result = PureMutex.lock(domain, lock, flags, -1, slot);
            if (result != 0 || PureMutex.owner(lock) != slot) {
                return -1;
            }
            int value = ++counter;
            return PureMutex.unlock(domain, lock, slot) != 0 ? -1 : value;
        }
    }

    /** The same with requests for the hand-off at once. */
    public static class Hasty extends Mutex {
        public Hasty() {
            super(LockModel.HASTY, 0);
        }
    }

    /** The same without optimistic spinning. */
    public static class Blocking extends Mutex {
        public Blocking() {
            super(LockModel.QUICK, Layouts.WAIT_BLOCK);
        }
    }

    /** A gate that lets one through for every ticket, on a mutex and a condition. */
    public static class Condition extends MutexModel {
        private final LockWord lock = PureMutex.at(memory, word);
        private final PureCondition condition = new PureCondition(domain, memory, Pool.take(domain));
        private final AtomicInteger tickets = new AtomicInteger();

        public Condition() {
            super(LockModel.QUICK, false);
        }

        @Operation
        public void pass(@Param(gen = ThreadIdGen.class) int slot) {
            PureMutex.lock(domain, lock, 0, -1, slot);
            tickets.getAndIncrement();
            condition.signal(lock, slot, 1);
            while (tickets.get() == 0) {
                condition.await(lock, slot, -1, false);
            }
            tickets.getAndDecrement();
            PureMutex.unlock(domain, lock, slot);
        }
    }

    /** All leave once, at their first look or second, and then stay until they are head. */
    public static class Leavers extends MutexModel {
        public Leavers() {
            this(false);
        }

        Leavers(boolean plainRead) {
            super(1, plainRead);
        }

        @Operation
        public int next(@Param(gen = ThreadIdGen.class) int slot) {
            int[] looks = {slot % 2};
            int result = PureOsq.lock(domain, memory, word, slot, 0, -1, () -> looks[0]-- <= 0);
            if (result != 0) {
                result = PureOsq.lock(domain, memory, word, slot, 0, -1, null);
            }
            int value = result != 0 ? result : ++counter;
            PureOsq.unlock(domain, memory, word, slot);
            return value;
        }
    }

    /** Must be caught. */
    public static class LeaversThatOnlyRead extends Leavers {
        public LeaversThatOnlyRead() {
            super(true);
        }
    }
}
