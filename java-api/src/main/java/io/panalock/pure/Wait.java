// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import io.panalock.internal.Layouts;
import java.lang.invoke.VarHandle;

/**
 * One wait of one thread for one lock. The object belongs to a node and is used again by its next wait, so that waiting
 * allocates nothing.
 */
final class Wait implements Spinners.Leave {
    static final int LOOK_NS = 100; // distance of two looks at a word that others are busy with
    static final int SPARSE_NS = 16_000; // longest distance of looks while standing by
    private static final int QUEUE_NS = 50_000; // patience of a mutex's spinners that are not the head
    private static final int VIRTUAL_SPIN_NS = 800; // a virtual thread that would wait longer gives way

    final PureDomain domain;
    final Memory memory; // the domain's
    final int slot;
    final long slotAddress;
    final int number; // 0: no nesting level left
    final long node;

    LockWord lock;
    int mine; // the lock's owner word when it is ours
    long key;
    long until; // monotonic ns; 0: never
    int flags;
    boolean virtual;
    boolean standby; // STANDBY is ours
    boolean reserved; // PENDING is ours
    boolean steal; // a context below this one waits for the same lock: never wait for it
    boolean listed; // the node may be in its line
    boolean queued; // the node may be in the spinners' queue
    long role; // when we began to stand by, over all sleeps; 0: not yet
    Search search; // for deadlocks; null: a qspinlock's wait
    long lying; // since when the lock lies free but reserved by somebody else; 0: it does not
    private Spinners spinners; // of this node; made on first use
    private long queuedSince; // when it joined a mutex's queue of spinners
    final Turns.Sleep sleep = new Turns.Sleep();
    private boolean interrupted; // to be told to the thread after a wait that no interruption ends

    Wait(PureDomain domain, int slot, int number) {
        this.domain = domain;
        this.memory = domain.memory;
        this.slot = slot;
        this.slotAddress = domain.slotAt(slot);
        this.number = number;
        this.node = number == 0 ? 0 : domain.nodeAt(number);
    }

    void begin(LockWord lock, int flags, long timeoutNanos) {
        this.lock = lock;
        key = lock.lineKey(domain);
        mine = lock.ownedBy(slot);
        begin(flags, timeoutNanos);
    }

    /** For a wait queue. */
    void begin(int flags, long timeoutNanos) {
        virtual = Thread.currentThread().isVirtual();
        // A virtual thread never just spins: giving way takes it behind the threads of its own carrier only, so one that
        // spun could wait for ever for another that a busy carrier does not get to.
        this.flags = virtual ? flags & ~Layouts.WAIT_SPIN : flags;
        until = 0;
        if (timeoutNanos >= 0) {
            long end = domain.pacer.now() + timeoutNanos;
            until = end <= 0 ? 0 : end; // overflow: some 290 years
        }
        standby = reserved = steal = listed = queued = interrupted = false;
        search = null;
        role = lying = 0;
    }

    void end() {
        lock = null;
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    int myBits() {
        return (standby ? Layouts.Q_STANDBY : 0) | (reserved ? Layouts.Q_PENDING : 0);
    }

    boolean spinning() {
        return (flags & Layouts.WAIT_SPIN) != 0;
    }

    /** Mutex: no optimistic spinning. */
    boolean blocking() {
        return (flags & Layouts.WAIT_BLOCK) != 0;
    }

    /** This wait's place in a mutex's queue of spinners. */
    Spinners spinners() {
        if (spinners == null) {
            spinners = new Spinners(domain, lock.memory(), lock.queue(), Shape.Q_TAIL_MASK, Shape.Q_TAIL_SHIFT, number);
        }
        queuedSince = domain.pacer.now();
        return spinners.at(lock.memory(), lock.queue());
    }

    /** Why to leave a mutex's queue of spinners. */
    @Override
    public int why(long now) {
        int bits = lock.bits();
        int err = mustLeave(bits, now);
        if (err != 0) {
            return err;
        }
        // Others sleep already: they were first.
        boolean enough = (bits & Layouts.Q_PARKED) != 0 || now - queuedSince >= QUEUE_NS || ownerSleeps();
        return enough ? -Layouts.EAGAIN : 0;
    }

    /** Whether a mutex's owner sleeps for another lock, queue or condition: spinning is no use then. */
    boolean ownerSleeps() {
        if (!lock.mutex()) {
            return false;
        }
        int owner = lock.memory().get(lock.owner()) >>> Layouts.M_OWNER_SHIFT;
        if (!domain.isWaiter(owner)) {
            return false;
        }
        int depth = memory.get(domain.slotAt(owner) + Shape.THREAD_DEPTH);
        if (depth <= 0 || depth > Layouts.NESTING) {
            return false;
        }
        int state = memory.get(domain.nodeAt(PureDomain.nodeNumber(owner, depth - 1)) + Shape.NODE_STATE);
        return state == Layouts.NODE_SLEEPING || state == Layouts.NODE_PARKED;
    }

    boolean interruptible() {
        return (flags & Layouts.WAIT_INTERRUPTIBLE) != 0;
    }

    /** Why the wait must end without the lock, or 0. */
    int mustLeave(int seen, long now) {
        int dead = LockWord.dead(seen);
        if (dead != 0) {
            return dead;
        }
        if (interruptible() && interruption(memory, slotAddress)) {
            return -Layouts.EINTR;
        }
        if (search != null && (seen & Layouts.Q_LOCKED) == 0) {
            search.postpone(now);
        } else if (search != null && search.due(now)) {
            return -Layouts.EDEADLK;
        }
        return until != 0 && now >= until ? -Layouts.ETIMEDOUT : 0;
    }

    /** Takes the lock, at the end of a wait that others can see. */
    boolean take(int seen, int clear) {
        if (search == null) {
            return lock.take(seen, clear, mine);
        }
        search.pause();
        if (lock.take(seen, clear, mine)) {
            return true;
        }
        search.resume();
        return false;
    }

    /** True once if the thread was interrupted, as a Java thread or through its slot. */
    static boolean interruption(Memory memory, long slotAddress) {
        long word = slotAddress + Shape.THREAD_INTERRUPTED;
        VarHandle.fullFence(); // I2J: our node's state before the look at the flag; pairs with I1, I1J
        return Thread.interrupted() || memory.get(word) != 0 && memory.getAndSet(word, 0) != 0;
    }

    /** True if this waiter may take the lock as it was seen; voids a reservation that lies idle. */
    boolean mayTake(int seen, long now) {
        boolean locked = (seen & Layouts.Q_LOCKED) != 0;
        if (locked || (seen & Layouts.Q_PENDING) == 0 || reserved) {
            lying = 0;
            return !locked;
        }
        if (steal) {
            return true;
        }
        if (lying == 0) {
            lying = now;
        } else if (now - lying >= Shape.RESERVATION_NS) {
            lock.clearBits(Layouts.Q_PENDING);
        }
        return false;
    }

    // ---- heat: recent back-to-back contention of this thread ----

    int heat() {
        return memory.get(slotAddress + Shape.THREAD_HEAT);
    }

    void heat(int value) {
        memory.set(slotAddress + Shape.THREAD_HEAT, value);
    }

    // ---- passing time ----

    /** A while without looking. A virtual thread's carrier may be just what the holder needs in order to go on. */
    void delay(int ns) {
        if (virtual && ns > VIRTUAL_SPIN_NS) {
            domain.pacer.giveWay();
            domain.pacer.delay(LOOK_NS);
        } else {
            domain.pacer.delay(ns);
        }
    }

    /** A while with looking, then gives way. */
    int watchLong(Memory m, long address, int value) {
        int seen = domain.pacer.watch(m, address, value, SPARSE_NS);
        if (seen == value) {
            domain.pacer.giveWay();
        }
        return seen;
    }

    void watch(Memory m, long address, int value) {
        domain.pacer.watch(m, address, value, LOOK_NS);
    }

    /** Parks for so long, or until something happens that {@link #mustLeave} wants to know. */
    void nap(long ns) {
        if (!interruptible() && Thread.interrupted()) { // an interrupted thread does not park at all
            interrupted = true;
        }
        domain.pacer.park(domain, ns);
    }

    /**
     * Sleeps on the own node, which is in a line, until its state changes, time is up, or (an interruptible wait) the
     * thread is interrupted. Returns the state seen.
     */
    int sleep(long until) {
        for (;;) {
            int state = memory.getAcquire(node + Shape.NODE_STATE); // S2J: acquire, pairs with S1, S1J
            if (state != Layouts.NODE_PARKED) {
                return state;
            }
            long left = -1;
            if (until != 0) {
                left = until - domain.pacer.now();
                if (left <= 0) {
                    return state;
                }
            }
            // An interrupted thread does not park at all, so the flag must go if it does not end the wait.
            if (interruptible()) {
                if (Thread.currentThread().isInterrupted()) {
                    return state;
                }
            } else if (Thread.interrupted()) {
                interrupted = true;
            }
            domain.pacer.park(domain, left);
        }
    }
}
