// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static io.panalock.internal.Words.LONG;
import static io.panalock.internal.Words.Whole.ALL;

import io.panalock.internal.Words.Whole;
import io.panalock.pure.Hazards;
import java.lang.invoke.VarHandle;
import java.lang.ref.Reference;

/**
 * A reader's guard: what it protects is not reclaimed until {@link #close}. Got from {@link HazardDomain#protect}; of one
 * thread, and used again for that thread's next guard, so close it once and keep no reference to it. Guards of a thread are
 * closed in the reverse order of their beginning, as try-with-resources does.
 */
public final class HazardGuard implements AutoCloseable {
    private static final int CLOSED = -1;

    private final LockThread self;
    private final int depth;

    private HazardDomain hazards;

    /** The view by which an outermost guard may be begun in place, without a fence, or with one; else null. */
    private HazardDomain light;

    private HazardDomain heavy;

    /**
     * Of the slot, while this is an outermost guard that is begun and ended in place; else 0. In place, the slot says all that
     * there is to know: two stores a guard, both into it. What the fast paths read there only this thread writes.
     */
    private long word;

    // Not in place:

    private long guard; // what the slot goes back to
    private long name;

    /** How many guards that began later are open: 0, or this one cannot be closed; CLOSED while it is closed itself. */
    private int inside = CLOSED;

    HazardGuard(LockThread self, int depth) {
        this.self = self;
        this.depth = depth;
    }

    /** Begins in place if possible: an outermost guard of a platform thread that has begun one before by a view without fences. */
    boolean begin(HazardDomain h, long n) {
        return light == h && begin(n);
    }

    /** The same by a view with fences. */
    boolean beginFenced(HazardDomain h, long n) {
        if (heavy != h || !begin(n)) {
            return false;
        }
        VarHandle.fullFence(); // G3J: pairs with P3
        return true;
    }

    private boolean begin(long n) {
        long w = Whole.pair(word);
        if ((long) LONG.get(ALL, w) != Hazards.IDLE) {
            return false;
        }
        LONG.setRelease(ALL, w, n); // G1J: release, pairs with G4, G4J
        return true;
    }

    void began(HazardDomain h, long n, long g, long inPlace) {
        hazards = h;
        light = inPlace != 0 && !h.isFenced() ? h : null;
        heavy = inPlace != 0 && h.isFenced() ? h : null;
        name = n;
        guard = g;
        word = inPlace;
        inside = 0;
        if (depth > 0) {
            self.guard(depth - 1).inside++;
        }
    }

    boolean isOpen() {
        return word != 0 ? (long) LONG.get(ALL, word) != Hazards.IDLE : inside != CLOSED;
    }

    /** {@return what is protected: an address, or in a shared domain a name that all processes agree on} */
    public long name() {
        long w = Whole.pair(word);
        return w != 0 ? (long) LONG.get(ALL, w) : name;
    }

    /**
     * Ends the guard. Release: what was read inside it is over. Never waits.
     *
     * @throws IllegalStateException it has been closed already, or guards that began later are open
     */
    @Override
    public void close() {
        long w = Whole.pair(word);
        if (w != 0 && (long) LONG.get(ALL, w) != Hazards.IDLE && (long) LONG.get(ALL, w + Hazards.WILDCARD_FROM_WORD) == 0) {
            LONG.setRelease(ALL, w, Hazards.IDLE); // G2J: release, pairs with G4, G4J
            Reference.reachabilityFence(this);
        } else {
            closeSlowly();
        }
    }

    private void closeSlowly() {
        if (word != 0 || inside != 0) {
            throw new IllegalStateException(
                    !isOpen()
                            ? "this guard of " + self.thread().getName() + " is closed already."
                            : "guards of " + self.thread().getName() + " that began later are open: close them first.");
        }
        inside = CLOSED;
        if (depth > 0) {
            self.guard(depth - 1).inside--;
        }
        hazards.end(self, guard);
    }

    @Override
    public String toString() {
        return "HazardGuard[0x" + Long.toHexString(name()) + ", " + (isOpen() ? "open" : "closed") + "]";
    }
}
