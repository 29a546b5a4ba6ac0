// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import io.panalock.internal.Layouts;

/**
 * A condition of mutexes: the twin of the second half of native/src/mutex.c, on the same 16 bytes. A signal moves waiters
 * into the mutex's line, where releases wake one after the other.
 *
 * <p>Results are 0, a count, or a negative errno value. Only {@link #await} blocks; it parks in Java.
 */
public final class PureCondition {
    private final PureDomain domain;
    private final Memory nodes;
    private final Memory memory;
    private final long line;

    /**
     * The condition at an address; zeroed memory has no waiters.
     *
     * @throws IllegalArgumentException misaligned
     */
    public PureCondition(PureDomain domain, Memory memory, long address) {
        if (address == 0 || address % Integer.BYTES != 0) {
            throw new IllegalArgumentException("0x" + Long.toHexString(address) + " is not a multiple of 4 bytes");
        }
        this.domain = domain;
        this.nodes = domain.memory;
        this.memory = memory;
        this.line = address;
    }

    /**
     * Releases the mutex, sleeps until signalled, and acquires it again, whatever the result.
     *
     * @param timeoutNanos from now; negative: no limit
     * @param interruptible whether Thread.interrupt ends the wait (and clears the flag)
     * @return 0; {@code -ETIMEDOUT}; {@code -EINTR}; {@code -EPERM}, {@code -ENOSPC}, {@code -EINVAL} (nothing was
     *     released); {@code -ESHUTDOWN} (the mutex was poisoned and is not owned)
     */
    public int await(LockWord lock, int slot, long timeoutNanos, boolean interruptible) {
        if (!domain.isWaiter(slot)) {
            return -Layouts.EINVAL;
        }
        if (!PureMutex.owns(lock, slot)) {
            return -Layouts.EPERM;
        }
        long depth = domain.slotAt(slot) + Shape.THREAD_DEPTH;
        int level = nodes.get(depth);
        if (level >= Layouts.NESTING) {
            return -Layouts.ENOSPC;
        }
        nodes.set(depth, level + 1);
        Wait w = domain.waitOf(slot, level);
        w.begin(lock, interruptible ? Layouts.WAIT_INTERRUPTIBLE : 0, timeoutNanos);
        domain.parking.register(w.number, Thread.currentThread()); // before the node is PARKED
        try {
            nodes.setLong(w.node + Shape.NODE_KEY, domain.key(line));
            nodes.set(w.node + Shape.NODE_KIND, Shape.NODE_AT_QUEUE);
            nodes.setLong(w.node + Shape.NODE_ARRIVAL, domain.pacer.now());
            Line.lock(domain, memory, line);
            try {
                Line.insert(domain, memory, line, w.number);
            } finally {
                Line.unlock(domain, memory, line);
            }
            QSpin.unlock(domain, lock, slot);
            int result = sleep(w);
            w.flags = 0; // the mutex is acquired in any case
            w.until = 0;
            int err;
            if (moved(w)) {
                w.listed = true;
                err = Park.sleep(w);
                err = PureMutex.go(w, err == 0 ? Compete.compete(w) : err);
            } else {
                nodes.set(w.node + Shape.NODE_KIND, 0);
                nodes.setLong(w.node + Shape.NODE_KEY, w.key);
                nodes.setLong(w.node + Shape.NODE_ARRIVAL, domain.pacer.now());
                err = PureMutex.tryLock(lock, slot) ? 0 : PureMutex.go(w, Compete.SLEEP);
            }
            return err != 0 ? err : result;
        } finally {
            if (w.listed) {
                Park.abandon(w);
            }
            domain.parking.unregister(w.number);
            nodes.setLong(w.node + Shape.NODE_KEY, 0);
            nodes.set(depth, level);
            w.end();
        }
    }

    private boolean moved(Wait w) {
        return nodes.getLong(w.node + Shape.NODE_KEY) == w.key;
    }

    /** Sleeps in the condition's line until moved out of it: 0; or why to go. */
    private int sleep(Wait w) {
        long stateAt = w.node + Shape.NODE_STATE;
        for (; ; ) {
            if (moved(w)) {
                return 0;
            }
            int err = w.mustLeave(w.lock.bits() & Layouts.Q_POISON, domain.pacer.now());
            if (err != 0) {
                if (leave(w)) {
                    return err;
                }
                if (err == -Layouts.EINTR) { // a signal was faster: kept for later
                    Thread.currentThread().interrupt();
                }
                return 0;
            }
            int state = w.sleep(w.until);
            if (state == Layouts.NODE_CHOSEN) {
                return 0; // moved, and then some
            }
            if (state != Layouts.NODE_PARKED && !moved(w)) { // roused: look again; fails if moved and chosen meanwhile
                nodes.cas(stateAt, state, Layouts.NODE_PARKED); // S6J
            }
        }
    }

    /** Takes the node out of the condition's line; false if a signal was faster. */
    private boolean leave(Wait w) {
        Line.lock(domain, memory, line);
        try {
            boolean here = !moved(w);
            if (here) {
                Line.remove(domain, memory, line, w.number);
                nodes.set(w.node + Shape.NODE_STATE, Layouts.NODE_IDLE);
            }
            return here;
        } finally {
            Line.unlock(domain, memory, line);
        }
    }

    /** Moves up to so many waiters to the mutex, which the slot's thread owns: how many; {@code -EPERM}; {@code -EINVAL}. */
    public int signal(LockWord lock, int slot, int count) {
        if (!domain.isWaiter(slot)) {
            return -Layouts.EINVAL;
        }
        if (!PureMutex.owns(lock, slot)) {
            return -Layouts.EPERM;
        }
        long key = lock.lineKey(domain);
        long now = domain.pacer.now();
        int done = 0;
        int watch = 0;
        int first = 0;
        Line.lock(domain, memory, line);
        try {
            if (memory.get(line + Shape.WAITQ_HEAD) != 0) {
                long to = domain.lineOf(key);
                Line.lock(domain, domain.memory, to);
                try {
                    int n;
                    while (done < count && (n = memory.get(line + Shape.WAITQ_HEAD)) != 0) {
                        long node = domain.nodeAt(n);
                        Line.remove(domain, memory, line, n);
                        nodes.setLong(node + Shape.NODE_ARRIVAL, now);
                        nodes.set(node + Shape.NODE_KIND, 0);
                        nodes.setLong(node + Shape.NODE_KEY, key);
                        Line.link(domain, domain.memory, to, n);
                        first = first == 0 ? n : first;
                        done++;
                    }
                    // Y7J: we own the mutex, and our release looks after this. A spinner may be killed before it acts: then
                    // somebody in the line must notice.
                    if ((lock.setBits(Layouts.Q_PARKED) & Layouts.Q_STANDBY) != 0) {
                        watch = Line.newWatch(domain, domain.memory, to, key, first, Kick.near(lock));
                    }
                } finally {
                    Line.unlock(domain, domain.memory, to);
                }
            }
        } finally {
            Line.unlock(domain, memory, line);
        }
        domain.wake(watch);
        return done;
    }
}
