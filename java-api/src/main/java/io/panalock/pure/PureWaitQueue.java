// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import io.panalock.internal.Layouts;
import java.lang.invoke.VarHandle;
import java.util.Arrays;

/**
 * Wait queue: a line of sleepers for any condition, 16 bytes that Java and native threads share; the twin of waitq.c,
 * whose header explains the protocol (enter, look, sleep, look, leave; change, wake).
 *
 * <p>Results are 0, a place or a count, or a negative errno value. Only {@link #sleep} blocks; it parks in Java.
 */
public final class PureWaitQueue {
    private static final int FEW = 16; // room for so many chosen waiters to begin with

    private final PureDomain domain;
    private final Memory nodes;
    private final Memory memory;
    private final long line;

    /**
     * The queue at an address; zeroed memory is an empty queue.
     *
     * @throws IllegalArgumentException misaligned
     */
    public PureWaitQueue(PureDomain domain, Memory memory, long address) {
        if (address == 0 || address % Integer.BYTES != 0) {
            throw new IllegalArgumentException("0x" + Long.toHexString(address) + " is not a multiple of 4 bytes");
        }
        this.domain = domain;
        this.nodes = domain.memory;
        this.memory = memory;
        this.line = address;
    }

    /** Joins the line at its end without sleeping yet; the place, or {@code -ENOSPC}, {@code -EINVAL}. */
    public int enter(int slot, boolean exclusive) {
        if (!domain.isWaiter(slot) || foreign()) {
            return -Layouts.EINVAL;
        }
        long depth = domain.slotAt(slot) + Shape.THREAD_DEPTH;
        int level = nodes.get(depth);
        if (level >= Layouts.NESTING) {
            return -Layouts.ENOSPC;
        }
        nodes.set(depth, level + 1);
        int number = PureDomain.nodeNumber(slot, level);
        long node = domain.nodeAt(number);
        nodes.set(node + Shape.NODE_KIND, Shape.NODE_AT_QUEUE | (exclusive ? Shape.NODE_EXCLUSIVE : 0));
        nodes.setLong(node + Shape.NODE_KEY, domain.key(line));
        nodes.setLong(node + Shape.NODE_ARRIVAL, domain.pacer.now());
        domain.parking.register(number, Thread.currentThread());
        int err = join(number);
        if (err != 0) {
            domain.parking.unregister(number);
            nodes.setLong(node + Shape.NODE_KEY, 0);
            nodes.set(depth, level);
            return err;
        }
        return level;
    }

    private int join(int number) {
        boolean damaged;
        Line.lock(domain, memory, line);
        try {
            damaged = damaged();
            if (!damaged) {
                Line.insert(domain, memory, line, number);
            }
        } finally {
            Line.unlock(domain, memory, line);
        }
        // W1J: full fence, the insertion before the caller's look at its condition, of whatever kind; pairs with W2, W2J
        VarHandle.fullFence();
        return damaged ? -Layouts.EINVAL : 0;
    }

    /** No queue of this domain, as far as its lock says. */
    private boolean foreign() {
        int lock = memory.get(line + Shape.WAITQ_LOCK);
        boolean held = (lock & Shape.WAITQ_HELD) != 0;
        return lock != 0 && !(held && (domain.shared || (lock & ~Shape.WAITQ_CONTENDED) == domain.holder()));
    }

    /** The ends of the line are no nodes: memory that was never initialised, or of another domain. Needs the lock. */
    private boolean damaged() {
        int head = memory.get(line + Shape.WAITQ_HEAD);
        int tail = memory.get(line + Shape.WAITQ_TAIL);
        return (head == 0) != (tail == 0) || head != 0 && !(isNode(head) && isNode(tail));
    }

    private boolean isNode(int number) {
        return number > 0 && domain.isWaiter(PureDomain.slotOf(number));
    }

    /**
     * Sleeps until chosen. Afterwards the caller is out of the line; on its next call it joins again, keeping its arrival
     * time. Blocks.
     *
     * @return 0 (chosen); {@code -ETIMEDOUT} or {@code -EINTR} (still in the line: call leave); {@code -EINVAL}
     */
    public int sleep(int slot, int place, long timeoutNanos, boolean interruptible) {
        if (badPlace(slot, place) || foreign()) {
            return -Layouts.EINVAL;
        }
        int number = PureDomain.nodeNumber(slot, place);
        long stateAt = domain.nodeAt(number) + Shape.NODE_STATE;
        Wait w = domain.waitOf(slot, place);
        w.begin(interruptible ? Layouts.WAIT_INTERRUPTIBLE : 0, timeoutNanos);
        try {
            for (; ; ) {
                if (interruptible && Wait.interruption(nodes, domain.slotAt(slot))) {
                    return -Layouts.EINTR;
                }
                // In shared domains: a waker, or the waiter chosen in our stead, may have been killed.
                long recheck = domain.shared ? domain.pacer.now() + Shape.RECHECK_NS : 0;
                boolean slice = recheck != 0 && (w.until == 0 || recheck < w.until);
                int state = w.sleep(slice ? recheck : w.until);
                if (state == Layouts.NODE_CHOSEN) {
                    nodes.set(stateAt, Layouts.NODE_IDLE);
                    return 0;
                }
                if (state == Layouts.NODE_IDLE) { // chosen before: join again, then let the caller look at its condition
                    return join(number);
                }
                if (state == Layouts.NODE_PARKED) {
                    if (interruptible && Thread.currentThread().isInterrupted()) {
                        continue;
                    }
                    if (slice) {
                        domain.waker.recoverSlots(domain.address());
                        continue;
                    }
                    return -Layouts.ETIMEDOUT;
                }
                nodes.cas(stateAt, state, Layouts.NODE_PARKED); // woken for another reason: look again; fails if chosen
            }
        } finally {
            w.end();
        }
    }

    /**
     * Leaves for good and gives the place back; a wake-up that chose this waiter and was not consumed is passed on. A
     * thread that stands in several queues leaves them in reverse order.
     */
    public int leave(int slot, int place, boolean consumed) {
        if (badPlace(slot, place) || foreign() || place + 1 != nodes.get(domain.slotAt(slot) + Shape.THREAD_DEPTH)) {
            return -Layouts.EINVAL;
        }
        int number = PureDomain.nodeNumber(slot, place);
        long node = domain.nodeAt(number);
        Line.lock(domain, memory, line);
        boolean chosen; // out of the line though it has not left: a waker took it
        try {
            chosen = !Line.holds(domain, node);
            if (!chosen) {
                Line.remove(domain, memory, line, number);
            }
            nodes.set(node + Shape.NODE_STATE, Layouts.NODE_IDLE);
        } finally {
            Line.unlock(domain, memory, line);
        }
        domain.parking.unregister(number);
        boolean exclusive = (nodes.get(node + Shape.NODE_KIND) & Shape.NODE_EXCLUSIVE) != 0;
        nodes.setLong(node + Shape.NODE_KEY, 0);
        nodes.set(domain.slotAt(slot) + Shape.THREAD_DEPTH, place);
        if (exclusive && chosen && !consumed) {
            choose(1);
        }
        return 0;
    }

    /**
     * Wakes all non-exclusive waiters and up to so many others; the caller has changed the condition before.
     *
     * @param slot any slot of the domain, 0 included
     * @return how many were chosen; {@code -EINVAL}
     */
    public int wake(int slot, int exclusive) {
        if (!domain.isSlot(slot) || exclusive < 0 || foreign()) {
            return -Layouts.EINVAL;
        }
        // W2J: the caller's change before the look at the line; pairs with W1, W1J
        VarHandle.fullFence();
        return memory.get(line + Shape.WAITQ_HEAD) == 0 ? 0 : choose(exclusive);
    }

    private int choose(int exclusive) {
        int left = exclusive;
        int chosen = 0;
        int[] tokens = new int[FEW];
        Line.lock(domain, memory, line);
        try { // all in one visit: who was woken meanwhile could join again at its old place, and again, without end
            if (damaged()) {
                return -Layouts.EINVAL;
            }
            int next;
            for (int i = memory.get(line + Shape.WAITQ_HEAD); i != 0; i = next) {
                long node = domain.nodeAt(i);
                next = nodes.get(node + Shape.NODE_NEXT);
                boolean counts = (nodes.get(node + Shape.NODE_KIND) & Shape.NODE_EXCLUSIVE) != 0;
                if (counts && left <= 0) {
                    continue;
                }
                left -= counts ? 1 : 0;
                if (chosen == tokens.length) {
                    tokens = Arrays.copyOf(tokens, chosen * 4);
                }
                tokens[chosen++] = Line.choose(domain, memory, line, i);
            }
        } finally {
            Line.unlock(domain, memory, line);
        }
        for (int i = 0; i < chosen; i++) {
            domain.wake(tokens[i]);
        }
        return chosen;
    }

    private boolean badPlace(int slot, int place) {
        return !domain.isWaiter(slot)
                || place < 0
                || place >= Layouts.NESTING
                || place >= nodes.get(domain.slotAt(slot) + Shape.THREAD_DEPTH);
    }
}
