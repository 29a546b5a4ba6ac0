// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import io.panalock.internal.Layouts;

/**
 * The queue of spinners behind OSQ and mutex, from which each can leave: the twin of native/src/spinners.h, which says who
 * may change what and why. Native and Java spinners stand in one queue. Labels are those of the C code with a J behind.
 *
 * <p>Made once per wait or kept by its owner; used by one thread.
 */
final class Spinners {
    /** Why to leave; called again and again, on the waiting thread. */
    interface Leave {
        /** 0 to stay, or a negative errno value. */
        int why(long now);
    }

    private static final int TRIES = 64; // compare-and-swaps for a shared tail before the caller does without
    private static final int TURNS_PER_YIELD = 256;
    private static final int NO_PLACE = -1;
    private static final int WHOLE = -1; // mask of a word that is all tail

    private final PureDomain domain;
    private final Memory nodes;
    private Memory memory; // of the tail's word
    private long word;
    private final int mask;
    private final int shift;
    private final long node;
    private final int number;

    /** A whole word. */
    Spinners(PureDomain domain, Memory memory, long word, int number) {
        this(domain, memory, word, WHOLE, 0, number);
    }

    Spinners(PureDomain domain, Memory memory, long word, int mask, int shift, int number) {
        this.domain = domain;
        this.nodes = domain.memory;
        this.memory = memory;
        this.word = word;
        this.mask = mask;
        this.shift = shift;
        this.node = domain.nodeAt(number);
        this.number = number;
    }

    /** Another queue of this kind, so that the object can be used again. */
    Spinners at(Memory memory, long word) {
        this.memory = memory;
        this.word = word;
        return this;
    }

    int tail() {
        return tailOf(memory.get(word));
    }

    private int tailOf(int seen) {
        return (seen & mask) >>> shift;
    }

    private int with(int seen, int tail) {
        return seen & ~mask | tail << shift;
    }

    /** Takes an empty queue. */
    boolean tryTake() {
        nodes.set(node + Shape.NODE_NEXT, 0);
        nodes.set(node + Shape.NODE_KIND, 0);
        return memory.cas(word, 0, number); // V6J
    }

    private int join() {
        nodes.set(node + Shape.NODE_LOCKED, 0);
        nodes.set(node + Shape.NODE_NEXT, 0);
        if (mask == WHOLE) {
            return memory.getAndSet(word, number); // V1J: acquire and release, pairs with V6, V6J and itself
        }
        for (int i = 0; i < TRIES; i++) {
            int seen = memory.get(word);
            if (memory.cas(word, seen, with(seen, number))) { // V1J
                return tailOf(seen);
            }
        }
        return NO_PLACE;
    }

    private boolean known(int node) {
        return node != 0 && domain.isWaiter(PureDomain.slotOf(node));
    }

    /** If we are the tail, makes another one the tail. */
    private boolean retreat(int to) {
        for (; ; ) {
            int seen = memory.get(word);
            if (tailOf(seen) != number) {
                return false;
            }
            if (memory.cas(word, seen, with(seen, to))) { // V6J: acquire and release, pairs with V1, V1J
                return true;
            }
        }
    }

    /** Step B: takes our successor, or, when there is none, makes {@code before} the tail: 0. */
    private int pinNext(int before) {
        for (int turn = 1; ; turn++) {
            if (retreat(before)) {
                return 0;
            }
            if (nodes.get(node + Shape.NODE_NEXT) != 0) {
                int next = nodes.getAndSet(node + Shape.NODE_NEXT, 0); // V7J: an exchange, pairs with V2, V5, V8 and twins
                if (next != 0) {
                    return next;
                }
            }
            pause(turn);
        }
    }

    /** Steps A, B, C; false when we were made head meanwhile. */
    private boolean leave() {
        int before;
        for (int turn = 1; ; turn++) {
            before = nodes.get(node + Shape.NODE_PREV);
            long next = domain.nodeAt(before) + Shape.NODE_NEXT;
            if (nodes.get(next) == number && nodes.cas(next, number, 0)) { // V5J: acquire and release, pairs with V7, V7J
                break;
            }
            if (nodes.getAcquire(node + Shape.NODE_LOCKED) != 0) { // V3J
                return false;
            }
            pause(turn);
        }
        int next = pinNext(before);
        if (next != 0) {
            nodes.set(domain.nodeAt(next) + Shape.NODE_PREV, before);
            nodes.setRelease(domain.nodeAt(before) + Shape.NODE_NEXT, next); // V8J: release, pairs with V7, V7J
        }
        return true;
    }

    void unlock() {
        int next = pinNext(0);
        if (next != 0) {
            nodes.setRelease(domain.nodeAt(next) + Shape.NODE_LOCKED, 1); // V4J: release, pairs with V3, V3J
        }
    }

    /**
     * Waits to become head.
     *
     * @param flags {@code WAIT_POLL}, {@code OSQ_RUNNING}
     * @return 0; or what {@code leave} said, and we are out of the queue; {@code -EAGAIN} also when there was no place
     */
    int await(int flags, Leave leave) {
        int before = join();
        if (before == NO_PLACE) {
            return -Layouts.EAGAIN;
        }
        long kind = node + Shape.NODE_KIND;
        if (!known(before)) {
            nodes.set(kind, 0);
            return 0;
        }
        int beat = 1;
        nodes.set(kind, beat);
        nodes.set(node + Shape.NODE_PREV, before);
        // V2J: release: our node's initialisation and PREV go before the link; pairs with V7, V7J
        nodes.setRelease(domain.nodeAt(before) + Shape.NODE_NEXT, number);
        boolean running = (flags & Layouts.OSQ_RUNNING) != 0;
        int seenNumber = 0;
        int seenBeat = 0;
        long since = 0;
        while (nodes.getAcquire(node + Shape.NODE_LOCKED) == 0) { // V3J: acquire, pairs with V4, V4J
            long now = domain.pacer.now();
            int why = leave.why(now);
            if (why == 0 && running) {
                int p = nodes.get(node + Shape.NODE_PREV);
                int b = nodes.get(domain.nodeAt(p) + Shape.NODE_KIND);
                if ((b & 1) == 0 || p != seenNumber || b != seenBeat) {
                    seenNumber = p;
                    seenBeat = b;
                    since = now;
                } else if (now - since >= Shape.OSQ_IDLE_NS) {
                    why = -Layouts.EAGAIN;
                }
            }
            if (why != 0 && leave()) {
                return why;
            }
            beat += 2;
            nodes.set(kind, beat);
            if ((flags & Layouts.WAIT_POLL) != 0) {
                Thread.onSpinWait();
            } else if (domain.pacer.watch(nodes, node + Shape.NODE_LOCKED, 0, Shape.OSQ_LOOK_NS) == 0) {
                domain.pacer.giveWay();
            }
        }
        nodes.set(kind, 0);
        return 0;
    }

    private void pause(int turn) {
        if (turn % TURNS_PER_YIELD == 0) {
            domain.pacer.giveWay();
        } else {
            Thread.onSpinWait();
        }
    }
}
