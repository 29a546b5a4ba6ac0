// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import io.panalock.internal.Layouts;

/**
 * Sleeping until chosen: the twins of park(), withdraw() and give_up() in qspinlock.c, which says why no wake-up is lost.
 * The Java waiter's node is PARKED where a native one is SLEEPING, and its thread is parked by LockSupport, so that a
 * virtual thread leaves its carrier.
 */
final class Park {
    private Park() {}

    /** Sleeps until chosen (or promoted by the watch timer): 0, and we stand by; or why to leave (standing by or not). */
    static int park(Wait w) {
        PureDomain d = w.domain;
        d.parking.register(w.number, Thread.currentThread()); // before the node is PARKED
        boolean turns = w.virtual && d.turns != null;
        try {
            enter(w);
            if (turns) {
                d.turns.asleep(w);
            }
            if (w.lock.wide()) {
                d.waker.heavyFence(d.shared); // P1J
            }
            int responsible = Layouts.Q_LOCKED | Layouts.Q_STANDBY | (w.reserved ? 0 : Layouts.Q_PENDING);
            int seen = w.lock.bits();
            if ((seen & responsible) == 0 || (seen & Layouts.Q_DEAD) != 0) { // nobody is left to wake us
                withdraw(w, true);
                return 0;
            }
            // An interruption that came before the node was PARKED has not touched it: I1 sets the flag and then looks at
            // the state, we set the state and, with the line's unlock between, look at the flag.
            long now = d.pacer.now();
            if (w.search != null) {
                w.search.hurry(now);
            }
            int err = w.mustLeave(seen, now);
            if (err != 0) {
                withdraw(w, false);
                return err;
            }
            return sleep(w);
        } finally {
            if (turns) {
                d.turns.awake(w);
            }
            d.parking.unregister(w.number);
        }
    }

    private static void enter(Wait w) {
        PureDomain d = w.domain;
        LockWord v = w.lock;
        long line = d.lineOf(w.key);
        Line.lock(d, d.memory, line);
        try {
            w.memory.set(w.node + Shape.NODE_KIND, w.reserved ? Shape.NODE_RESERVED : 0);
            w.listed = true;
            Line.insert(d, d.memory, line, w.number);
            v.setBits(v.parked()); // P1J: set before the look in park; pairs with that of U1, U2, U4, U1J, U4J
            if (w.standby) {
                v.clearBits(Layouts.Q_STANDBY);
            }
            w.standby = false;
        } finally {
            Line.unlock(d, d.memory, line);
        }
    }

    static int sleep(Wait w) {
        Memory m = w.memory;
        Pacer pacer = w.domain.pacer;
        long watchAt = 0; // 0: begins anew
        for (; ; ) {
            long until = w.until;
            boolean watching = (m.get(w.node + Shape.NODE_KIND) & (Shape.NODE_WATCH | Shape.NODE_RESERVED)) != 0;
            // The one that watches, or stands by, may lie under a handler in C that waits for what we hold: then we watch too.
            boolean needed = w.search != null && w.search.at != Long.MAX_VALUE;
            if (watchAt == 0 && (watching || needed || w.domain.shared)) {
                watchAt = pacer.now() + (watching || needed ? Shape.WATCH_NS : Shape.RECHECK_NS);
            }
            if (watchAt != 0 && (until == 0 || watchAt < until)) {
                until = watchAt;
            }
            if (w.search != null && (until == 0 || w.search.at < until)) {
                until = w.search.at;
            }
            int state = w.sleep(until);
            if (state == Layouts.NODE_CHOSEN) {
                m.set(w.node + Shape.NODE_STATE, Layouts.NODE_IDLE);
                w.listed = false;
                w.standby = true;
                return 0;
            }
            if (state != Layouts.NODE_PARKED) { // to set the watch timer, or interrupted; fails if chosen meanwhile
                m.cas(w.node + Shape.NODE_STATE, state, Layouts.NODE_PARKED);
            }
            int seen = w.lock.bits();
            long now = pacer.now();
            int err = w.mustLeave(seen, now);
            if (err != 0) {
                withdraw(w, false);
                return err;
            }
            // The watch timer: an owner will wake us when it releases; a standby should not have taken this long.
            boolean helpless = (seen & Layouts.Q_LOCKED) == 0 || (watching && (seen & Layouts.Q_STANDBY) != 0);
            if (state == Layouts.NODE_PARKED && (watching || needed) && now >= watchAt && helpless) {
                withdraw(w, true);
                return 0;
            }
            if (state != Layouts.NODE_PARKED || now >= watchAt) { // not when it woke for a search
                watchAt = 0;
            }
        }
    }

    /**
     * Leaves the line on the waiter's own account, unless it was chosen first (then it stands by).
     *
     * @param promote it becomes the standby
     */
    private static void withdraw(Wait w, boolean promote) {
        PureDomain d = w.domain;
        long line = d.lineOf(w.key);
        int watch = 0;
        Line.lock(d, d.memory, line);
        try {
            boolean inLine = Line.holds(d, w.node);
            if (inLine && promote) {
                w.lock.setBits(Layouts.Q_STANDBY);
            }
            w.standby = promote || !inLine;
            if (inLine) {
                watch = unlink(w, line);
                if (Line.find(d, d.memory, line, 0, w.key) == 0) {
                    w.lock.clearBits(w.lock.parked());
                }
            } else {
                w.memory.set(w.node + Shape.NODE_STATE, Layouts.NODE_IDLE);
                w.listed = false;
            }
        } finally {
            Line.unlock(d, d.memory, line);
        }
        d.wake(watch);
    }

    /** Out of the line, whose lock is held; whom to wake for the watch timer. */
    private static int unlink(Wait w, long line) {
        PureDomain d = w.domain;
        Line.remove(d, d.memory, line, w.number);
        w.memory.set(w.node + Shape.NODE_STATE, Layouts.NODE_IDLE);
        w.listed = false;
        return Line.newWatch(d, d.memory, line, w.key, w.number, Kick.near(w.lock));
    }

    /** After an exception (the lock's arena was closed): the node must not stay behind, the lock's word is not touched. */
    static void abandon(Wait w) {
        PureDomain d = w.domain;
        long line = d.lineOf(w.key);
        int watch = 0;
        Line.lock(d, d.memory, line);
        try {
            if (Line.holds(d, w.node)) {
                watch = unlink(w, line);
            } else {
                w.memory.set(w.node + Shape.NODE_STATE, Layouts.NODE_IDLE);
                w.listed = false;
            }
        } finally {
            Line.unlock(d, d.memory, line);
        }
        d.wake(watch);
    }

    /** Takes our bits back and, if that leaves sleepers without anybody responsible, chooses the next. */
    static void giveUp(Wait w) {
        int mine = w.myBits();
        if (mine == 0) {
            return;
        }
        LockWord v = w.lock;
        v.clearBits(mine);
        if (v.wide()) {
            w.domain.waker.heavyFence(w.domain.shared); // P2J: as P1J; pairs with U4, U4J
        }
        // Another's PENDING does not count: he may sleep, and is chosen then. If he is awake, one is woken too many.
        int seen = v.bits();
        if ((seen & Layouts.Q_LOCKED) == 0 && v.mustKick(seen)) {
            Kick.kick(w.domain, v);
        }
    }
}
