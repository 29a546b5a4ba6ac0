// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import io.panalock.internal.Layouts;

/**
 * Policy SPIN without a limit: pending bit, then an MCS queue in first-come order, native and Java spinners in one queue.
 * The twin of wait_spinning() in qspinlock.c.
 */
final class SpinQueue {
    private SpinQueue() {}

    private static final int TAIL_TRIES = 64; // compare-and-swaps for a place in the queue before we wait beside it
    private static final int WORD_LOOKS = 64; // a queued spinner looks at the lock once in so many looks at its node
    private static final int NO_PLACE = -1;

    /** 0, or a negative errno value. */
    static int await(Wait w) {
        LockWord v = w.lock;
        int seen = v.bits();
        if ((seen & ~(v.parked() | Layouts.Q_STANDBY)) == Layouts.Q_PENDING) { // being handed over: look once more
            w.watch(v.memory(), v.queue(), seen);
            seen = v.bits();
        }
        if ((seen & Layouts.Q_PENDING) == 0 && v.tailOf(seen) == 0) {
            int old = v.setBits(Layouts.Q_PENDING);
            boolean ours = (old & Layouts.Q_PENDING) == 0;
            if (ours && v.tailOf(old) == 0) {
                int result = takeReserved(w);
                v.clearBits(Layouts.Q_PENDING);
                return result;
            }
            if (ours) {
                v.clearBits(Layouts.Q_PENDING); // others queue already: we set it, so we undo it
            }
        }
        Memory m = w.memory;
        m.set(w.node + Shape.NODE_LOCKED, 0);
        m.set(w.node + Shape.NODE_NEXT, 0);
        seen = v.bits();
        int dead = LockWord.dead(seen);
        if (dead != 0) {
            return dead;
        }
        if (foreign(w, v.tailOf(seen))) {
            return -Layouts.EBADFD;
        }
        if ((seen & (Layouts.Q_LOCKED | Layouts.Q_PENDING)) == 0 && v.tailOf(seen) == 0 && v.take(seen, 0)) {
            return 0;
        }
        w.queued = true;
        m.set(w.node + Shape.NODE_KIND, Shape.NODE_QUEUED); // a killed thread's node stays where it is
        int before = swapTail(v, w.number);
        if (before == NO_PLACE) {
            w.queued = false;
            m.set(w.node + Shape.NODE_KIND, 0);
            return QSpin.waitBeside(w);
        }
        if (before != 0 && !foreign(w, before)) {
            // Q2J: release: our node's initialisation goes before the link; pairs with Q4, Q4J
            m.setRelease(w.domain.nodeAt(before) + Shape.NODE_NEXT, w.number);
            for (int n = 1; m.getAcquire(w.node + Shape.NODE_LOCKED) == 0; n++) { // Q3J: acquire, pairs with Q5, Q5J
                if (n % WORD_LOOKS == 0 && (v.bits() & Layouts.Q_BROKEN) != 0) {
                    w.queued = false;
                    return -Layouts.EBADFD;
                }
                w.watchLong(m, w.node + Shape.NODE_LOCKED, 0);
            }
        }
        int result = head(w);
        w.queued = false;
        m.set(w.node + Shape.NODE_KIND, 0);
        return result;
    }

    /** No node of the domain: this is no lock. */
    private static boolean foreign(Wait w, int number) {
        return number != 0 && !w.domain.isSlot(PureDomain.slotOf(number));
    }

    private static int head(Wait w) {
        LockWord v = w.lock;
        for (; ; ) {
            int seen = v.bits();
            if ((seen & Layouts.Q_BROKEN) != 0) {
                return -Layouts.EBADFD; // the word does not say who is its tail: all leave on their own account
            }
            if ((seen & Layouts.Q_PENDING) == 0 && v.reserve()) {
                break;
            }
            if (!w.mayTake(seen, w.domain.pacer.now())) {
                w.watchLong(v.memory(), v.queue(), seen);
            }
        }
        int result = takeReserved(w);
        if (result == -Layouts.EBADFD) {
            return result;
        }
        if (!leaveQueue(v, w.number)) {
            int next;
            while ((next = w.memory.getAcquire(w.node + Shape.NODE_NEXT)) == 0) { // Q4J: acquire, pairs with Q2, Q2J
                w.watchLong(w.memory, w.node + Shape.NODE_NEXT, 0);
            }
            handOver(w, next);
        }
        return result;
    }

    private static void handOver(Wait w, int next) {
        w.memory.setRelease(w.domain.nodeAt(next) + Shape.NODE_LOCKED, 1); // Q5J: release, pairs with Q3, Q3J
    }

    /** Makes us the tail: the old tail's node number, or NO_PLACE after too many lost compare-and-swaps. */
    private static int swapTail(LockWord v, int number) {
        for (int i = 0; i < TAIL_TRIES; i++) {
            int seen = v.memory().get(v.queue());
            // Q1J: release, pairs with Q2, Q2J (the successor reads our node); acquire, for the predecessor's
            if (v.memory().cas(v.queue(), seen, v.withTail(seen, number))) {
                return v.tailOf(seen);
            }
        }
        return NO_PLACE;
    }

    /** Gives PENDING back, and the tail if it is ours. True if it was: nobody queues behind us. */
    private static boolean leaveQueue(LockWord v, int number) {
        for (; ; ) {
            int seen = v.memory().get(v.queue());
            boolean last = v.tailOf(seen) == number;
            if (v.memory().cas(v.queue(), seen, (last ? v.withTail(seen, 0) : seen) & ~Layouts.Q_PENDING)) { // Q6J: pairs with Q1, Q1J
                return last;
            }
        }
    }

    /** With PENDING ours: waits for the owner and takes the lock. 0; or, without it, why. PENDING stays ours. */
    private static int takeReserved(Wait w) {
        LockWord v = w.lock;
        for (; ; ) {
            int seen = v.bits();
            int dead = LockWord.dead(seen);
            if (dead != 0) {
                return dead;
            }
            if ((seen & Layouts.Q_PENDING) == 0 && !v.reserve()) { // declared void while we did not run
                w.watch(v.memory(), v.queue(), seen);
            } else if ((seen & Layouts.Q_LOCKED) != 0) {
                w.watchLong(v.memory(), v.owner(), v.wide() ? Layouts.Q_LOCKED : seen);
            } else if (v.take(seen, 0)) {
                return 0;
            }
        }
    }

    /** After an exception (the lock's arena was closed): a successor must not wait for us for ever. */
    static void abandon(Wait w) {
        w.memory.set(w.node + Shape.NODE_KIND, 0);
        long end = w.domain.pacer.now() + Shape.WATCH_NS; // one that has taken the tail links itself soon
        int next;
        while ((next = w.memory.getAcquire(w.node + Shape.NODE_NEXT)) == 0 && w.domain.pacer.now() < end) {
            w.domain.pacer.giveWay();
        }
        if (next != 0) {
            handOver(w, next);
        }
    }
}
