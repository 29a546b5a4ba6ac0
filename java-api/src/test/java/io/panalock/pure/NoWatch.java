// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

/** Real time without the watch timer: who sleeps without a limit is woken, or sleeps for ever. */
final class NoWatch implements Pacer {
    /** Longer sleeps than this are the watch timer's, if all limits are shorter. */
    static final long LONGEST_LIMIT = 3_000_000;

    @Override
    public long now() {
        return REAL.now();
    }

    @Override
    public void delay(int ns) {
        REAL.delay(ns);
    }

    @Override
    public int watch(Memory memory, long address, int value, int ns) {
        return REAL.watch(memory, address, value, ns);
    }

    @Override
    public void giveWay() {
        REAL.giveWay();
    }

    @Override
    public void park(Object blocker, long ns) {
        REAL.park(blocker, ns > LONGEST_LIMIT ? -1 : ns);
    }
}
