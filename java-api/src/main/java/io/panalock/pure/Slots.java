// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import io.panalock.internal.Layouts;
import java.lang.invoke.VarHandle;

/** Thread slots: the twin of thread.c, for whoever manages slots by hand. Never waits. */
public final class Slots {
    private static final int RELEASE_TRIES = 1000;

    private Slots() {}

    /**
     * Registers a slot for a thread; slots of threads and processes that have ended are reused when no other is left.
     *
     * @param tid the thread's kernel id, or 0 when the slot will be released for certain (virtual threads)
     * @return the slot's number; {@code -ENOSPC}; {@code -ESHUTDOWN}
     */
    public static int register(PureDomain d, int tid) {
        Memory m = d.memory;
        if (m.get(d.header(Shape.DOMAIN_CLOSED)) != 0) {
            return -Layouts.ESHUTDOWN;
        }
        int slot = find(d);
        if (slot < 0) {
            return slot;
        }
        long s = d.slotAt(slot);
        m.set(s + Shape.THREAD_PROCESS, d.process());
        m.setLong(s + Shape.THREAD_INCARNATION, m.getLong(d.processAt(d.process()) + Shape.PROCESS_INCARNATION));
        m.set(s + Shape.THREAD_TID, tid);
        m.set(s + Shape.THREAD_DEPTH, 0);
        m.set(s + Shape.THREAD_HEAT, 0);
        m.setLong(s + Shape.THREAD_ACQUIRED, 0);
        m.set(s + Shape.THREAD_INTERRUPTED, 0);
        Held.reset(d, slot);
        Hazards.forget(d, slot); // a dead owner's guards
        m.set(s + Shape.THREAD_NAME, 0);
        use(d, slot);
        m.setRelease(s + Shape.THREAD_STATE, Shape.SLOT_USED); // T2J: release, pairs with T1, T1J
        return slot;
    }

    /** Before the slot is USED: whoever looks at USED slots looks far enough. */
    private static void use(PureDomain d, int slot) {
        long used = d.header(Shape.DOMAIN_SLOTS_USED);
        int seen = d.memory.get(used);
        while (seen <= slot && !d.memory.cas(used, seen, slot + 1)) { // T4J: release, pairs with T5, T5J
            seen = d.memory.get(used);
        }
    }

    /** Takes a slot in a state; on success it is CLAIMED by us. */
    private static boolean claim(PureDomain d, int slot, int from) {
        long state = d.slotAt(slot) + Shape.THREAD_STATE;
        return d.memory.get(state) == from
                && d.memory.casAcquire(state, from, Shape.SLOT_CLAIMED); // T1J: acquire, pairs with T2, T2J
    }

    private static int find(PureDomain d) {
        for (; ; ) {
            int slot = findFree(d);
            if (slot > 0) {
                return slot;
            }
            int freed = d.waker.recoverSlots(d.address());
            if (freed <= 0) {
                return freed == 0 ? -Layouts.ENOSPC : findOrphan(d);
            }
        }
    }

    private static int findFree(PureDomain d) {
        Memory m = d.memory;
        long hint = d.header(Shape.DOMAIN_SLOT_HINT);
        int usable = d.format().slots() - 1;
        int start = m.get(hint);
        for (int n = 0; n < usable; n++) {
            int slot = 1 + Integer.remainderUnsigned(start + n, usable);
            if (claim(d, slot, Shape.SLOT_FREE)) {
                m.set(hint, slot);
                return slot;
            }
        }
        return -Layouts.ENOSPC;
    }

    /** In a domain of this process alone: a slot of a thread that has ended without giving it back. */
    private static int findOrphan(PureDomain d) {
        Memory m = d.memory;
        for (int slot = 1; slot < d.format().slots(); slot++) {
            long s = d.slotAt(slot);
            // A slot that died inside a queue stays: its neighbours still point at it.
            if (m.get(s + Shape.THREAD_STATE) == Shape.SLOT_USED
                    && m.get(s + Shape.THREAD_DEPTH) == 0
                    && ownerGone(d, s)
                    && claim(d, slot, Shape.SLOT_USED)) {
                if (m.get(s + Shape.THREAD_DEPTH) == 0 && ownerGone(d, s)) {
                    return slot;
                }
                m.setRelease(s + Shape.THREAD_STATE, Shape.SLOT_USED); // T2J; another was faster, and its owner is alive
            }
        }
        return -Layouts.ENOSPC;
    }

    static boolean ownerGone(PureDomain d, long s) {
        Memory m = d.memory;
        long p = d.processAt(Integer.remainderUnsigned(m.get(s + Shape.THREAD_PROCESS), Shape.PROCESSES));
        int pid = m.get(p + Shape.PROCESS_PID);
        long incarnation = m.getLong(s + Shape.THREAD_INCARNATION);
        if (pid == 0 || m.getLong(p + Shape.PROCESS_INCARNATION) != incarnation) {
            return true;
        }
        if (pid != d.pid() && !ProcessIdentity.same(ProcessIdentity.incarnation(pid), incarnation)) {
            return true;
        }
        int tid = m.get(s + Shape.THREAD_TID);
        return tid != 0 && !ProcessIdentity.threadAlive(pid, tid);
    }

    /** Releases a registered slot. 0; {@code -EBUSY} (it waits, holds or protects right now); {@code -EINVAL}. */
    public static int release(PureDomain d, int slot) {
        if (!d.isWaiter(slot)) {
            return -Layouts.EINVAL;
        }
        long s = d.slotAt(slot);
        if (d.memory.get(s + Shape.THREAD_DEPTH) != 0 || Held.any(d, slot) || Hazards.isActive(d, slot)) {
            return -Layouts.EBUSY;
        }
        for (int i = 0; !claim(d, slot, Shape.SLOT_USED); i++) {
            if (d.memory.get(s + Shape.THREAD_STATE) == Shape.SLOT_FREE) {
                return -Layouts.EINVAL;
            }
            if (i == RELEASE_TRIES) {
                return -Layouts.EBUSY;
            }
            d.pacer.giveWay(); // somebody looks whether its owner is gone
        }
        Hazards.unlist(d, slot);
        d.memory.setRelease(s + Shape.THREAD_STATE, Shape.SLOT_FREE); // T2J
        return 0;
    }

    /** Names a slot for messages and dumps. */
    public static void name(PureDomain d, int slot, String name) {
        DomainFormat.writeName(d.memory, d.slotAt(slot) + Shape.THREAD_NAME, name);
    }

    public static String name(PureDomain d, int slot) {
        return DomainFormat.readName(d.memory, d.slotAt(slot) + Shape.THREAD_NAME);
    }

    /**
     * Ends one interruptible wait of that slot's thread, Java or native, the current or else the next one, with
     * {@code -EINTR}. By any thread.
     */
    public static int interrupt(PureDomain d, int slot) {
        if (!d.isWaiter(slot)) {
            return -Layouts.EINVAL;
        }
        Memory m = d.memory;
        m.getAndSet(d.slotAt(slot) + Shape.THREAD_INTERRUPTED, 1);
        VarHandle.fullFence(); // I1J: the flag before the look at the states; pairs with I2, I2J
        for (int level = 0; level < Layouts.NESTING; level++) {
            rouse(d, PureDomain.nodeNumber(slot, level), Layouts.NODE_INTERRUPTED);
        }
        return 0;
    }

    /** Wakes a sleeper without taking it out of its line. */
    static void rouse(PureDomain d, int number, int into) {
        long state = d.nodeAt(number) + Shape.NODE_STATE;
        int was = d.memory.get(state);
        if ((was == Layouts.NODE_SLEEPING || was == Layouts.NODE_PARKED) && d.memory.cas(state, was, into)) { // S3J
            d.wake(PureDomain.token(number, was));
        }
    }
}
