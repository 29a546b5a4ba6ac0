// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import io.panalock.internal.Layouts;
import java.lang.invoke.VarHandle;
import java.util.Arrays;

/**
 * The search for deadlocks: the twin of search.c, whose header file says why it misses none and reports none that is not
 * there. One object per wait of a thread that may be in a circle.
 */
final class Search {
    private static final int FIRST_NS = 20_000; // a waiter that stands by searches so long after it began
    private static final int AGAIN_NS = 1_000_000; // the second search after the first
    private static final int SELDOM_NS = 8_000_000; // longest distance of searches
    private static final int TRIES_MAX = 8; // threads that only try a lock of the circle are told from holders
    private static final int TRIES_LOOKS = 20; // by so many looks
    private static final int HOLDS_MAX = 8; // threads that may hold one lock, as the tables say
    private static final int STEPS_MAX = 4 * Layouts.CYCLE_MAX; // waits that one search looks at
    private static final int MIXED_MIN = 6; // a circle that we may be in is reported when so many searches in a row have found it

    /** What becomes of a wait. */
    private enum Fate {
        /** It may end. */
        MOVES,
        /** It waits for a circle. */
        ELSEWHERE,
        /** It waits for a circle, with the searcher in it or not: that depends on who holds a lock. */
        MIXED,
        /** It waits for a circle with the searcher in it. */
        OURS
    }
    private static final int CLAIM_BITS = 16;
    private static final int CLAIM_MASK = 0xffff;

    private static final int[] NONE = {};

    private final PureDomain domain;
    private final Memory memory;
    private final int slot;
    private final Circle report;

    private int number; // our node's
    private long node;
    private int gap; // from the last search to the next; 0: none yet
    private int mixed; // searches in a row that found a circle which we may be in
    /** When to search next, monotonic ns; Long.MAX_VALUE: never, this thread holds nothing else. */
    long at;

    // The chain, the searcher first; of each member also the index of the one that waits for what it seems to hold.
    private int length;
    private int steps; // left until we give up
    private int last; // index of the member whose lock the searcher seems to hold
    private final int[] from = new int[Layouts.CYCLE_MAX];
    private final int[] numbers = new int[Layouts.CYCLE_MAX];
    private final int[] waits = new int[Layouts.CYCLE_MAX];
    private final long[] keys = new long[Layouts.CYCLE_MAX];
    private final long[] entries = new long[Shape.HELD];

    Search(PureDomain domain, int slot, boolean holdsOthers, Circle report) {
        this.domain = domain;
        this.memory = domain.memory;
        this.slot = slot;
        this.report = report;
        this.at = holdsOthers ? 0 : Long.MAX_VALUE;
    }

    // ---- what a waiter shows ----

    void begin(Wait w, long now) {
        node = w.node;
        number = w.number;
        int wait = memory.get(node + Shape.NODE_WAIT) + 1;
        memory.set(node + Shape.NODE_LOCKED, wait & CLAIM_MASK); // nobody's claim, and unlike any before
        memory.setRelease(node + Shape.NODE_WAIT, wait); // R2J: release, pairs with R3, R3J
        if (at != Long.MAX_VALUE) {
            at = now + FIRST_NS;
        }
    }

    void pause() {
        memory.setRelease(node + Shape.NODE_WAIT, memory.get(node + Shape.NODE_WAIT) + 1); // R2J
    }

    void resume() {
        pause();
    }

    void end() {
        if ((memory.get(node + Shape.NODE_WAIT) & 1) != 0) {
            pause();
        }
        VarHandle.fullFence(); // R4J: the end of the wait before any entry that this thread pushes next; pairs with R5, R5J
    }

    /** The waiter is about to sleep for the first time: it searches before. */
    void hurry(long now) {
        if (gap == 0 && at != Long.MAX_VALUE) {
            at = now;
        }
    }

    /** The lock is free, nothing to search for: who sleeps until the next search must not find that passed for ever. */
    void postpone(long now) {
        if (now >= at) {
            at = now + AGAIN_NS;
        }
    }

    /** Searches if it is time. True: a deadlock, and we are the one to leave; the report is made. */
    boolean due(long now) {
        if (now < at) {
            return false;
        }
        gap = gap == 0 ? AGAIN_NS : Math.min(gap * 2, SELDOM_NS);
        at = now + gap;
        return find();
    }

    private boolean find() {
        length = 1;
        numbers[0] = number;
        waits[0] = memory.get(node + Shape.NODE_WAIT);
        keys[0] = Held.key(memory.getLong(node + Shape.NODE_KEY));
        steps = STEPS_MAX;
        last = 0;
        VarHandle.fullFence(); // R1J: our wait before the look at others; pairs with R1, R1J
        Fate fate = fateOf(0);
        mixed = fate == Fate.MIXED ? mixed + 1 : 0;
        if (fate != Fate.OURS && mixed < MIXED_MIN) {
            return false;
        }
        long claims = registrar();
        int before = memory.getAcquire(claims); // R6J: acquire, pairs with R6, R6J
        if (isLeaving(before) || !unchanged()) {
            return false;
        }
        if (!memory.cas(claims, before, number << CLAIM_BITS | waits[0] & CLAIM_MASK)) { // R6J
            return false;
        }
        if (report != null) {
            explain();
        }
        return true;
    }

    // ---- the chain ----

    /** The wait of a member can end if anybody of those that may hold its lock can go on: that one may be who holds it. */
    private Fate fateOf(int member) {
        int[] holds = steps-- > 0 ? holdersOf(keys[member]) : NONE;
        Fate all = holds.length == 0 ? Fate.MOVES : fateOfHolder(member, holds[0]);
        for (int i = 1; i < holds.length && all != Fate.MOVES; i++) {
            Fate next = fateOfHolder(member, holds[i]);
            all = next == Fate.MOVES || next == all ? next : Fate.MIXED;
        }
        return all;
    }

    /** One that may hold what a member waits for goes on when all of its waits have ended. */
    private Fate fateOfHolder(int member, int hold) {
        if (!seemsHeld(keys[member])) {
            return Fate.MOVES;
        }
        int holder = PureDomain.slotOf(hold);
        if (holder == slot) {
            if (hold > number) {
                return Fate.MOVES;
            }
            last = member;
            return Fate.OURS;
        }
        int lengthBefore = length;
        int lastBefore = last;
        Fate best = Fate.MOVES;
        int bestNumber = 0;
        for (int next = hold; next <= PureDomain.nodeNumber(holder, Layouts.NESTING - 1); next++) {
            Fate fate = fateAt(member, next);
            if (fate == Fate.OURS) {
                return fate;
            }
            length = lengthBefore;
            last = lastBefore;
            if (fate.compareTo(best) > 0) {
                best = fate;
                bestNumber = next;
            }
        }
        return best == Fate.MOVES ? best : fateAt(member, bestNumber); // once more, for its members
    }

    private Fate fateAt(int member, int next) {
        int wait = memory.getAcquire(domain.nodeAt(next) + Shape.NODE_WAIT); // R3J: acquire, pairs with R2, R2J
        if ((wait & 1) == 0 || length == Layouts.CYCLE_MAX) {
            return Fate.MOVES;
        }
        if (onPath(member, next)) {
            return Fate.ELSEWHERE;
        }
        numbers[length] = next;
        waits[length] = wait;
        from[length] = member;
        keys[length] = Held.key(memory.getLong(domain.nodeAt(next) + Shape.NODE_KEY));
        return fateOf(length++);
    }

    private boolean onPath(int member, int node) {
        for (; numbers[member] != node; member = from[member]) {
            if (member == 0) {
                return false;
            }
        }
        return true;
    }

    /** The second collection: every wait and every hold is as it was, and nobody else has got a lock. */
    private boolean unchanged() {
        for (int i = 0; i < length; i++) {
            int[] holds = holdersOf(keys[i]);
            if (holds.length == 0 || Held.key(memory.getLong(domain.nodeAt(numbers[i]) + Shape.NODE_KEY)) != keys[i]) {
                return false;
            }
            for (int hold : holds) {
                if (!known(i, hold)) {
                    return false;
                }
            }
        }
        VarHandle.fullFence(); // R5J: the holds before the last look at the waits; pairs with R4, R4J
        for (int i = 0; i < length; i++) {
            if (memory.getAcquire(domain.nodeAt(numbers[i]) + Shape.NODE_WAIT) != waits[i]) { // R3J
                return false;
            }
        }
        return true;
    }

    /** True if this hold is one that was found for what a member waits for. */
    private boolean known(int member, int hold) {
        if (PureDomain.slotOf(hold) == slot) {
            return hold <= number;
        }
        for (int i = 1; i < length; i++) {
            if ((from[i] == member || onPath(member, numbers[i]))
                    && PureDomain.slotOf(numbers[i]) == PureDomain.slotOf(hold)
                    && numbers[i] >= hold) {
                return true;
            }
        }
        return false;
    }

    /** False if we can tell that the lock is free: the entry that says otherwise is being cleared. */
    private boolean seemsHeld(long key) {
        return Long.compareUnsigned(key, domain.format().size()) >= 0
                || (memory.get(domain.address() + key) & Layouts.Q_LOCKED) != 0;
    }

    /**
     * The waiting slots that hold a lock, as the tables say, and since which nesting level, as the numbers of those levels'
     * nodes: one, or more while a handler of a native thread waits that has interrupted code which is about to take the lock
     * or has just released it. Empty: the holder does not wait, or is not recorded, or it is not clear who it is.
     */
    private int[] holdersOf(long key) {
        int[] holds = NONE;
        int others = 0;
        for (int s = 1, used = domain.slotsUsed(); s < used; s++) {
            if (memory.getAcquire(domain.slotAt(s) + Shape.THREAD_STATE) != Shape.SLOT_USED) { // T3J: acquire, pairs with T2
                continue;
            }
            int since = entryLevel(s, key);
            if (since == Layouts.NESTING) {
                continue;
            }
            if (!waitsFrom(s, since)) {
                if (++others > TRIES_MAX || !onlyTries(s, key)) {
                    return NONE;
                }
            } else if (holds.length == HOLDS_MAX) {
                return NONE;
            } else {
                holds = Arrays.copyOf(holds, holds.length + 1);
                holds[holds.length - 1] = PureDomain.nodeNumber(s, since);
            }
        }
        return holds;
    }

    /** The level of a slot's entry for a lock that it does not just wait for; NESTING: it has none. */
    private int entryLevel(int s, long key) {
        for (int n = Held.read(domain, s, entries) - 1; n >= 0; n--) {
            int since = Held.level(entries[n]);
            if (Held.key(entries[n]) == key && !attempts(s, since, key)) {
                return since;
            }
        }
        return Layouts.NESTING;
    }

    private boolean attempts(int s, int level, long key) {
        long n = domain.nodeAt(PureDomain.nodeNumber(s, level));
        return (memory.getAcquire(n + Shape.NODE_WAIT) & 1) != 0 // R3J
                && Held.key(memory.getLong(n + Shape.NODE_KEY)) == key;
    }

    private boolean waitsFrom(int s, int level) {
        for (int l = level; l < Layouts.NESTING; l++) {
            if ((memory.getAcquire(domain.nodeAt(PureDomain.nodeNumber(s, l)) + Shape.NODE_WAIT) & 1) != 0) { // R3J
                return true;
            }
        }
        return false;
    }

    /** The entry of a thread that does not wait: a try that fails goes within moments, what stays is a hold. */
    private boolean onlyTries(int s, long key) {
        for (int looks = TRIES_LOOKS; entryLevel(s, key) != Layouts.NESTING; looks--) {
            if (looks == 0) {
                return false;
            }
            Thread.onSpinWait();
        }
        return true;
    }

    // ---- the victim ----

    private long registrar() {
        int lowest = numbers[0];
        for (int i = 1; i < length; i++) {
            lowest = Math.min(lowest, numbers[i]);
        }
        return domain.nodeAt(lowest) + Shape.NODE_LOCKED;
    }

    /** True if the claimant still is where it claimed, and about to leave: not when a handler waits on top of it. */
    private boolean isLeaving(int claim) {
        int claimant = claim >>> CLAIM_BITS;
        int s = PureDomain.slotOf(claimant);
        return domain.isWaiter(s)
                && (memory.getAcquire(domain.nodeAt(claimant) + Shape.NODE_WAIT) & CLAIM_MASK) == (claim & CLAIM_MASK) // R3J
                && !waitsFrom(s, claimant % Layouts.NESTING + 1);
    }

    /** The circle alone: from its last member back to the searcher. */
    private void explain() {
        int members = 1;
        for (int i = last; i != 0; i = from[i]) {
            members++;
        }
        int[] slots = new int[members];
        long[] locks = new long[members];
        for (int i = last; members-- > 0; i = from[i]) {
            slots[members] = PureDomain.slotOf(numbers[i]);
            locks[members] = keys[i];
        }
        report.set(slots, locks);
    }
}
