// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import io.panalock.internal.Layouts;
import java.util.function.BooleanSupplier;

/**
 * OSQ in Java: the twin of native/src/osq.c, on the same word and in one queue with native spinners. Having or awaiting one
 * takes a nesting level of the slot; several are given back in reverse order.
 *
 * <p>Results are 0 or a negative errno value. Spins; a virtual thread gives way to others now and then.
 */
public final class PureOsq {
    private PureOsq() {}

    /** Takes an empty queue: 0; {@code -EBUSY}; {@code -ENOSPC}; {@code -EINVAL}. */
    public static int tryLock(PureDomain d, Memory m, long queue, int slot) {
        if (!d.isWaiter(slot)) {
            return -Layouts.EINVAL;
        }
        if (m.get(queue) != 0) {
            return -Layouts.EBUSY;
        }
        int level = enter(d, queue, slot);
        if (level < 0) {
            return level;
        }
        if (spinner(d, m, queue, slot, level).tryTake()) {
            return 0;
        }
        exit(d, slot, level);
        return -Layouts.EBUSY;
    }

    /**
     * Waits to become head. Acquire.
     *
     * @param flags {@code WAIT_INTERRUPTIBLE}, {@code WAIT_POLL}, {@code OSQ_RUNNING}
     * @param timeoutNanos from now; negative: no limit
     * @param leave a reason of the caller's, or null
     * @return 0; {@code -ETIMEDOUT}; {@code -EINTR}; {@code -ECANCELED}; {@code -EAGAIN}; {@code -ENOSPC}; {@code -EINVAL}
     */
    public static int lock(
            PureDomain d, Memory m, long queue, int slot, int flags, long timeoutNanos, BooleanSupplier leave) {
        int known = Layouts.WAIT_INTERRUPTIBLE | Layouts.WAIT_POLL | Layouts.OSQ_RUNNING;
        int tail = m.get(queue);
        if (!d.isWaiter(slot) || (flags & ~known) != 0 || tail != 0 && !d.isWaiter(PureDomain.slotOf(tail) & 0xffff)) {
            return -Layouts.EINVAL;
        }
        int level = enter(d, queue, slot);
        if (level < 0) {
            return level;
        }
        boolean interruptible = (flags & Layouts.WAIT_INTERRUPTIBLE) != 0;
        long slotAt = d.slotAt(slot);
        long end = d.pacer.now() + timeoutNanos;
        int result = -Layouts.EINVAL;
        try {
            result = spinner(d, m, queue, slot, level).await(flags, now -> {
                if (interruptible && Wait.interruption(d.memory, slotAt)) {
                    return -Layouts.EINTR;
                }
                if (timeoutNanos >= 0 && now - end >= 0) {
                    return -Layouts.ETIMEDOUT;
                }
                return leave != null && leave.getAsBoolean() ? -Layouts.ECANCELED : 0;
            });
        } finally {
            if (result != 0) {
                exit(d, slot, level);
            }
        }
        return result;
    }

    /** Makes the next one head: 0; {@code -EPERM} (not the head, or another queue was got later); {@code -EINVAL}. */
    public static int unlock(PureDomain d, Memory m, long queue, int slot) {
        if (!d.isWaiter(slot)) {
            return -Layouts.EINVAL;
        }
        int depth = d.memory.get(d.slotAt(slot) + Shape.THREAD_DEPTH);
        if (depth == 0 || d.memory.getLong(node(d, slot, depth - 1) + Shape.NODE_KEY) != keyOf(d, queue)) {
            return -Layouts.EPERM;
        }
        spinner(d, m, queue, slot, depth - 1).unlock();
        exit(d, slot, depth - 1);
        return 0;
    }

    private static long keyOf(PureDomain d, long queue) {
        return d.key(queue) | Layouts.LAYOUT_MUTEX;
    }

    private static long node(PureDomain d, int slot, int level) {
        return d.nodeAt(PureDomain.nodeNumber(slot, level));
    }

    private static Spinners spinner(PureDomain d, Memory m, long queue, int slot, int level) {
        return new Spinners(d, m, queue, PureDomain.nodeNumber(slot, level));
    }

    private static int enter(PureDomain d, long queue, int slot) {
        long depth = d.slotAt(slot) + Shape.THREAD_DEPTH;
        int level = d.memory.get(depth);
        if (level >= Layouts.NESTING) {
            return -Layouts.ENOSPC;
        }
        d.memory.set(depth, level + 1);
        d.memory.setLong(node(d, slot, level) + Shape.NODE_KEY, keyOf(d, queue));
        return level;
    }

    private static void exit(PureDomain d, int slot, int level) {
        d.memory.setLong(node(d, slot, level) + Shape.NODE_KEY, 0);
        d.memory.set(d.slotAt(slot) + Shape.THREAD_DEPTH, level);
    }
}
