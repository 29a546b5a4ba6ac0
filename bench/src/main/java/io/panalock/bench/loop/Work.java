// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.loop;

/** The calibrated work: the same chain, calibrated in the same way, as in native/bench/work.h. */
final class Work {
    private static final long FACTOR = 0x9fb21c651e98df25L;
    private static final int WINDOWS = 400;
    private static final int PORTIONS = 100;
    private static final int STEPS = 128;

    private Work() {}

    /** Shift and multiplication do not commute, so no compiler can fold several steps into one. */
    static long steps(long seed, int steps) {
        long x = seed;
        for (int i = 0; i < steps; i++) {
            x = (x ^ x >>> 32) * FACTOR + 1;
        }
        return x;
    }

    /** What a spinning thread does between two looks, so many times: no work. */
    static void pauses(int pauses) {
        for (int i = 0; i < pauses; i++) {
            Thread.onSpinWait();
        }
    }

    /** Nanoseconds per step: the best of many windows, after enough of them for the JIT compiler. */
    static double stepNs(Section section) {
        window(section);
        double best = Double.MAX_VALUE;
        for (int i = 0; i < WINDOWS; i++) {
            best = Math.min(best, window(section));
        }
        return best;
    }

    private static double window(Section section) {
        long from = System.nanoTime();
        long x = from;
        for (int i = 0; i < PORTIONS; i++) {
            x = steps(x, STEPS);
        }
        long to = System.nanoTime();
        section.sink(x);
        return (double) (to - from) / (PORTIONS * STEPS);
    }
}
