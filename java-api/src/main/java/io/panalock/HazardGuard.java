// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static io.panalock.internal.Words.LONG;
import static io.panalock.internal.Words.Whole.ALL;

import io.panalock.pure.Hazards;
import java.lang.ref.Reference;

/**
 * A reader's guard: what it protects is not reclaimed until {@link #close}. Got from {@link HazardDomain#protect}; of one
 * thread, and used again for that thread's next guard, so close it once and keep no reference to it. Guards of a thread are
 * closed in the reverse order of their beginning, as try-with-resources does.
 */
public final class HazardGuard implements AutoCloseable {
    private final LockThread self;
    private final int depth;

    private HazardDomain hazards;
    private long guard; // what the slot goes back to
    private long name;

    /** How many guards that began later are open: 0, or this one cannot be closed; -1 while it is closed itself. */
    private int inside = CLOSED;

    private static final int CLOSED = -1;

    /** Of the slot, while this is an outermost guard that is begun and ended in place; else 0. */
    private long word;

    HazardGuard(LockThread self, int depth) {
        this.self = self;
        this.depth = depth;
    }

    /** Begins in place if possible: an outermost guard of a platform thread that has begun one before. */
    boolean begin(HazardDomain h, long n) {
        long w = word; // read once, so that its bounds are checked once
        if (hazards != h || w == 0 || (long) LONG.getOpaque(ALL, w) != Hazards.IDLE) {
            return false;
        }
        inside = 0;
        LONG.setRelease(ALL, w, n); // G1J: release, pairs with G4, G4J
        return true;
    }

    void began(HazardDomain h, long n, long g, long inPlace) {
        hazards = h;
        name = n;
        guard = g;
        word = inPlace;
        inside = 0;
        if (depth > 0) {
            self.guard(depth - 1).inside++;
        }
    }

    boolean isOpen() {
        return inside != CLOSED;
    }

    /** {@return what is protected: an address, or in a shared domain a name that all processes agree on} */
    public long name() {
        return word != 0 ? (long) LONG.getOpaque(ALL, word) : name; // in place, the slot has it
    }

    /**
     * Ends the guard. Release: what was read inside it is over. Never waits.
     *
     * @throws IllegalStateException it has been closed already, or guards that began later are open
     */
    @Override
    public void close() {
        long w = word;
        if (inside == 0 && w != 0) {
            inside = CLOSED;
            LONG.setRelease(ALL, w, Hazards.IDLE); // G2J: release, pairs with G4, G4J
            Reference.reachabilityFence(this);
        } else {
            closeSlowly();
        }
    }

    private void closeSlowly() {
        if (inside != 0) {
            throw new IllegalStateException(
                    inside == CLOSED
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
