// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import io.panalock.internal.Layouts;

/**
 * Lines of waiters: the twin of line.c, with its invariant (a node is in the line iff its state is SLEEPING, PARKED,
 * REARM or INTERRUPTED). Everything but {@link #lock} needs the line's lock, which is held for some 100 ns and never
 * over anything that blocks; a thread stopped at a safepoint may hold it, though, so no critical downcall may wait for
 * it.
 */
final class Line {
    private Line() {}

    private static final int LOOK_NS = 100;
    private static final int LOOKS = 10;
    private static final int YIELDS = 20;
    private static final int NAP_NS = 20_000;
    private static final int NAPS_PER_RECOVERY = 100; // so that a killed holder is noticed within some milliseconds

    /**
     * Takes the line's lock. Unlike native contenders this one never sleeps for it: it would have to in native code,
     * pinning a carrier. It looks, gives way, and naps. A line whose holder's process was killed is made anew by native code.
     *
     * @param m the memory of the line itself; nodes are in the domain's
     */
    static void lock(PureDomain d, Memory m, long line) {
        long lock = line + Shape.WAITQ_LOCK;
        for (int i = 0; ; i++) {
            if (m.get(lock) == 0 && m.casAcquire(lock, 0, d.holder())) { // N1J: acquire, pairs with N2, N2J
                return;
            }
            if (d.shared && i % NAPS_PER_RECOVERY == NAPS_PER_RECOVERY - 1) {
                d.waker.recoverLine(d.address(), line);
            }
            if (i < LOOKS) {
                d.pacer.watch(m, lock, m.get(lock), LOOK_NS);
            } else if (i < LOOKS + YIELDS) {
                d.pacer.giveWay();
            } else {
                d.pacer.park(d, NAP_NS);
            }
        }
    }

    static void unlock(PureDomain d, Memory m, long line) {
        long lock = line + Shape.WAITQ_LOCK;
        if ((m.getAndSet(lock, 0) & Shape.WAITQ_CONTENDED) != 0) { // N2J: release, pairs with N1, N1J
            d.waker.futexWake(lock, 1, d.shared);
        }
    }

    /**
     * Inserts by arrival time, behind its equals. The first node of a key is marked WATCH, and so is the first of each other
     * crew.
     */
    static void insert(PureDomain d, Memory m, long line, int number) {
        Memory nodes = d.memory;
        long node = d.nodeAt(number);
        link(d, m, line, number);
        if (firstOfCrew(d, m, line, nodes.getLong(node + Shape.NODE_KEY), number) == number) {
            nodes.set(node + Shape.NODE_KIND, nodes.get(node + Shape.NODE_KIND) | Shape.NODE_WATCH);
        }
        nodes.setRelease(node + Shape.NODE_STATE, Layouts.NODE_PARKED); // S5J: release, pairs with S3, S3J
    }

    /** The same for a node that sleeps already, just removed from another line: its state stays, and it gets no timer. */
    static void link(PureDomain d, Memory m, long line, int number) {
        Memory nodes = d.memory;
        long node = d.nodeAt(number);
        long arrival = nodes.getLong(node + Shape.NODE_ARRIVAL);
        int before = m.get(line + Shape.WAITQ_TAIL);
        while (before != 0 && nodes.getLong(d.nodeAt(before) + Shape.NODE_ARRIVAL) - arrival > 0) {
            before = nodes.get(d.nodeAt(before) + Shape.NODE_PREV);
        }
        int next = before != 0 ? nodes.get(d.nodeAt(before) + Shape.NODE_NEXT) : m.get(line + Shape.WAITQ_HEAD);
        nodes.set(node + Shape.NODE_PREV, before);
        nodes.set(node + Shape.NODE_NEXT, next);
        if (next != 0) {
            nodes.set(d.nodeAt(next) + Shape.NODE_PREV, number);
        } else {
            m.set(line + Shape.WAITQ_TAIL, number);
        }
        if (before != 0) {
            nodes.set(d.nodeAt(before) + Shape.NODE_NEXT, number);
        } else {
            m.set(line + Shape.WAITQ_HEAD, number);
        }
    }

    static void remove(PureDomain d, Memory m, long line, int number) {
        Memory nodes = d.memory;
        long node = d.nodeAt(number);
        int prev = nodes.get(node + Shape.NODE_PREV);
        int next = nodes.get(node + Shape.NODE_NEXT);
        if (prev != 0) {
            nodes.set(d.nodeAt(prev) + Shape.NODE_NEXT, next);
        } else {
            m.set(line + Shape.WAITQ_HEAD, next);
        }
        if (next != 0) {
            nodes.set(d.nodeAt(next) + Shape.NODE_PREV, prev);
        } else {
            m.set(line + Shape.WAITQ_TAIL, prev);
        }
        nodes.set(node + Shape.NODE_NEXT, 0);
        nodes.set(node + Shape.NODE_PREV, 0);
        nodes.set(node + Shape.NODE_KIND, nodes.get(node + Shape.NODE_KIND) & ~Shape.NODE_WATCH);
    }

    /** First node with this key behind node {@code after} (0: from the head), or 0. */
    static int find(PureDomain d, Memory m, long line, int after, long key) {
        Memory nodes = d.memory;
        int n = after != 0 ? nodes.get(d.nodeAt(after) + Shape.NODE_NEXT) : m.get(line + Shape.WAITQ_HEAD);
        while (n != 0 && nodes.getLong(d.nodeAt(n) + Shape.NODE_KEY) != key) {
            n = nodes.get(d.nodeAt(n) + Shape.NODE_NEXT);
        }
        return n;
    }

    /** First node with this key of the crew that node {@code like} belongs to, or 0. */
    private static int firstOfCrew(PureDomain d, Memory m, long line, long key, int like) {
        int crew = d.crewOf(like);
        int n = find(d, m, line, 0, key);
        while (n != 0 && d.crewOf(n) != crew) {
            n = find(d, m, line, n, key);
        }
        return n;
    }

    /** Chooses a node: out of the line, state CHOSEN. Returns a token for {@link PureDomain#wake}, after the unlock. */
    static int choose(PureDomain d, Memory m, long line, int number) {
        remove(d, m, line, number);
        // S1J: release, pairs with S2, S2J
        return PureDomain.token(number, d.memory.getAndSet(d.nodeAt(number) + Shape.NODE_STATE, Layouts.NODE_CHOSEN));
    }

    /**
     * After the removal of node {@code gone}: if the new first node of the key of its crew sleeps without a watch timer,
     * marks it; a token, or 0.
     */
    static int newWatch(PureDomain d, Memory m, long line, long key, int gone) {
        return newWatch(d, m, line, key, gone, 1);
    }

    /**
     * The same, content if one of the first {@code near} nodes of the crew has a timer. With 1 each choice of a waiter
     * wakes the next one too, to set its timer.
     */
    static int newWatch(PureDomain d, Memory m, long line, long key, int gone, int near) {
        Memory nodes = d.memory;
        int crew = d.crewOf(gone);
        int number = 0;
        int seen = 0;
        for (int n = find(d, m, line, 0, key); n != 0 && seen < near; n = find(d, m, line, n, key)) {
            if (d.crewOf(n) != crew) {
                continue;
            }
            if ((nodes.get(d.nodeAt(n) + Shape.NODE_KIND) & Shape.NODE_WATCH) != 0) {
                return 0;
            }
            number = n;
            seen++;
        }
        if (number == 0) {
            return 0;
        }
        long node = d.nodeAt(number);
        nodes.getAndOr(node + Shape.NODE_KIND, Shape.NODE_WATCH);
        // S3J: a read-modify-write: a waiter that is about to sleep again (S6) sees its kind, or we see it asleep
        int was = nodes.getAndOr(node + Shape.NODE_STATE, 0);
        if (was != Layouts.NODE_SLEEPING && was != Layouts.NODE_PARKED) {
            return 0; // awake anyway
        }
        // S3J: acquire and release, pairs with S2, S2J, S5, S5J
        return nodes.cas(node + Shape.NODE_STATE, was, Layouts.NODE_REARM) ? PureDomain.token(number, was) : 0;
    }

    /** True while the node is in its line. */
    static boolean holds(PureDomain d, long node) {
        int state = d.memory.getAcquire(node + Shape.NODE_STATE);
        return state != Layouts.NODE_IDLE && state != Layouts.NODE_CHOSEN;
    }
}
