// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import java.util.concurrent.locks.LockSupport;

/**
 * Time in a model: every look at the clock moves it on by one step, so that all that depends on time happens within a
 * few looks. Nobody is ever woken by a timer: a wake-up that got lost shows as a deadlock.
 */
final class ModelPacer implements Pacer {
    private final long step;
    private long now = 1;

    ModelPacer(long step) {
        this.step = step;
    }

    @Override
    public long now() {
        return now += step;
    }

    @Override
    public void delay(int ns) {
        Thread.onSpinWait();
    }

    @Override
    public int watch(Memory memory, long address, int value, int ns) {
        Thread.onSpinWait();
        return memory.get(address);
    }

    @Override
    public void giveWay() {
        Thread.yield();
    }

    @Override
    public void park(Object blocker, long ns) {
        if (ns >= 0 && ns < Shape.WATCH_NS / 2) {
            Thread.yield(); // a nap
        } else {
            LockSupport.park();
        }
    }
}
