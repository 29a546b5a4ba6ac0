// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static io.panalock.internal.Words.INT;
import static io.panalock.internal.Words.Whole.ALL;

import io.panalock.internal.Layouts;
import io.panalock.internal.Words;
import java.lang.invoke.VarHandle;
import java.lang.ref.Reference;

/** The fastest: a WIDE lock in memory that stays mapped (a domain's pool), taken and released through one constant segment. */
final class WholeWide extends QSpinLock {
    WholeWide(Plan p) {
        super(p);
    }

    private boolean take() {
        long at = Words.Whole.pair(address);
        boolean taken = ((int) INT.getOpaque(ALL, at + Integer.BYTES) & (Layouts.Q_PENDING | Layouts.Q_DEAD)) == 0
                && (int) INT.compareAndExchangeAcquire(ALL, at, 0, Layouts.Q_LOCKED) == 0; // L1J
        Reference.reachabilityFence(this); // the domain is mapped as long as this object is reachable
        return taken;
    }

    @Override
    public void lock() {
        if (!take()) {
            contended();
        }
    }

    @Override
    public boolean tryLock() {
        return take() || refused();
    }

    /**
     * Store {@code owner}, then load {@code queue}, without a fence between: a sleeper does it the other way round and
     * puts up, between the two, a fence for both of us (membarrier). That replaces the processor's fence. What is left is
     * that the compiler must not swap a release store and a later opaque load of another word. HotSpot's do not; the Java
     * memory model allows it. Hence the full fence wherever {@link Words#RELEASE_NEEDS_FENCE} says so: other virtual
     * machines, or no membarrier.
     */
    @Override
    public void unlock() {
        long at = Words.Whole.pair(address);
        INT.setRelease(ALL, at, 0); // U3J: release, pairs with L1, L2, L1J, L2J
        if (Words.RELEASE_NEEDS_FENCE) {
            VarHandle.fullFence();
        }
        if (Words.mustKick((int) INT.getOpaque(ALL, at + Integer.BYTES))) { // U4J: pairs with P1, P1J
            kick();
        }
        Reference.reachabilityFence(this);
    }
}
