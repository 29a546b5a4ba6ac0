// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import java.util.concurrent.locks.LockSupport;

/** How a waiting thread passes its time. A seam, since a model checker has no clock. */
interface Pacer {
    /** Monotonic ns; on Linux the clock that native code uses too, as a list ordered by arrival needs. */
    long now();

    /** Busy-waits for about this long. */
    void delay(int ns);

    /** Busy-waits for about this long or until the word differs from the value; returns the word, opaque. */
    int watch(Memory memory, long address, int value, int ns);

    /** Lets another thread run: of the CPU, or, if virtual, of the carrier. */
    void giveWay();

    /** Parks for at most so many ns, or without limit if negative. May return at any time. */
    void park(Object blocker, long ns);

    /** Budgets are measured, not counted: what a loop costs is not known before the JIT has been at it. */
    Pacer REAL = new Pacer() {
        @Override
        public long now() {
            return System.nanoTime();
        }

        @Override
        public void delay(int ns) {
            long start = System.nanoTime();
            do {
                Thread.onSpinWait();
            } while (System.nanoTime() - start < ns);
        }

        @Override
        public int watch(Memory memory, long address, int value, int ns) {
            int seen = memory.get(address);
            if (seen != value) {
                return seen;
            }
            long start = System.nanoTime();
            do {
                Thread.onSpinWait();
                seen = memory.get(address);
            } while (seen == value && System.nanoTime() - start < ns);
            return seen;
        }

        @Override
        public void giveWay() {
            Thread.yield();
        }

        @Override
        public void park(Object blocker, long ns) {
            if (ns < 0) {
                LockSupport.park(blocker);
            } else {
                LockSupport.parkNanos(blocker, ns);
            }
        }
    };
}
