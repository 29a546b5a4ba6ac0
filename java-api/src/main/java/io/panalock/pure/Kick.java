// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import io.panalock.internal.Layouts;

/** Choosing the sleeper that is next: the twin of kick() in qspinlock.c. */
final class Kick {
    private static final int MUTEX_NEAR = 16;

    private Kick() {}

    static void kick(PureDomain d, LockWord v) {
        long key = v.lineKey(d);
        long line = d.lineOf(key);
        int chosen = 0;
        int watch = 0;
        Line.lock(d, d.memory, line);
        try {
            int number = nextInLine(d, line, key);
            // A waiter in the line is what keeps the lock's memory alive: without one it must not be touched any more.
            if (number != 0 && (v.setBits(Layouts.Q_STANDBY) & Layouts.Q_STANDBY) == 0) {
                chosen = Line.choose(d, d.memory, line, number);
                if (Line.find(d, d.memory, line, 0, key) == 0) {
                    v.clearBits(v.parked());
                } else {
                    watch = Line.newWatch(d, d.memory, line, key, number, near(v));
                }
            }
        } catch (IllegalStateException e) {
            // The arena of the lock was closed under its waiters. A release has happened and must not throw; the waiters
            // find out when their watch timers ring, one by one.
        } finally {
            Line.unlock(d, d.memory, line);
        }
        d.wake(watch);
        d.wake(chosen);
    }

    /** One of so many first waiters has a watch timer; of a mutex not the first, so that a broadcast wakes each only once. */
    static int near(LockWord v) {
        return v.mutex() ? MUTEX_NEAR : 1;
    }

    /** Which sleeper is next: one with a reservation, else the first. */
    private static int nextInLine(PureDomain d, long line, long key) {
        int first = Line.find(d, d.memory, line, 0, key);
        for (int n = first; n != 0; n = Line.find(d, d.memory, line, n, key)) {
            if ((d.memory.get(d.nodeAt(n) + Shape.NODE_KIND) & Shape.NODE_RESERVED) != 0) {
                return n;
            }
        }
        return first;
    }
}
