// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import java.util.concurrent.TimeUnit;

/** That something takes no longer than it should, on machines that are busy with other things or emulated. */
public final class Promptly {
    private static final int TRIES = 20;

    private Promptly() {}

    /** Something that takes time. */
    @FunctionalInterface
    public interface Attempt {
        /** @return the nanoseconds that count */
        long run() throws Exception;
    }

    /** Tries until one attempt is in time: a busy machine makes some late, an error makes all. */
    public static void within(long millis, Attempt attempt) throws Exception {
        long best = Long.MAX_VALUE;
        for (int i = 0; i < TRIES && best > TimeUnit.MILLISECONDS.toNanos(millis); i++) {
            best = Math.min(best, attempt.run());
        }
        if (best > TimeUnit.MILLISECONDS.toNanos(millis)) {
            throw new AssertionError("takes at least " + TimeUnit.NANOSECONDS.toMillis(best) + " ms, not " + millis);
        }
    }
}
