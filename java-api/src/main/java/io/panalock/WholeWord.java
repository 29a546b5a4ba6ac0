// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static io.panalock.internal.Words.INT;
import static io.panalock.internal.Words.Whole.ALL;

import io.panalock.internal.Layouts;
import io.panalock.internal.Words;
import java.lang.ref.Reference;

/** A WORD or BYTE lock in memory that stays mapped, taken and released in Java through one constant segment. */
final class WholeWord extends QSpinLock {
    WholeWord(Plan p) {
        super(p);
    }

    private boolean take() {
        boolean taken = (int) INT.compareAndExchangeAcquire(ALL, Words.Whole.word(address), 0, Layouts.Q_LOCKED) == 0 || takeBeside(); // L1J
        Reference.reachabilityFence(this);
        return taken;
    }

    private boolean takeBeside() {
        int seen = (int) INT.getOpaque(ALL, Words.Whole.word(address));
        return (seen & (Layouts.Q_LOCKED | Layouts.Q_PENDING | Layouts.Q_DEAD)) == 0
                && (int) INT.compareAndExchangeAcquire(ALL, Words.Whole.word(address), seen, seen | Layouts.Q_LOCKED) == seen; // L1J
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

    /** 32 bits in BYTE too: memory segments have no atomic byte operations, and this one changes only the byte. */
    @Override
    public void unlock() {
        int left = (int) INT.getAndAddRelease(ALL, Words.Whole.word(address), -Layouts.Q_LOCKED); // U1J: pairs with L1, L2, L1J, L2J
        if (left != Layouts.Q_LOCKED) {
            released(left);
        }
        Reference.reachabilityFence(this);
    }
}
