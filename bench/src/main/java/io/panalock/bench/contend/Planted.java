// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.contend;

import java.util.Map;

/**
 * A slowdown put into one backend's measured loops, to find out whether somebody who looks at the figures finds it:
 * {@code -Dpanalock.bench.planted=hybrid} makes that backend do fifteen per cent more for the same count, pairs where it is
 * alone and work inside where several contend. Runs record that they have one.
 */
public final class Planted {
    public static final String PROPERTY = "panalock.bench.planted";
    private static final double FACTOR = 1.15;

    private Planted() {}

    /** The backend, or null. */
    public static String backend() {
        return System.getProperty(PROPERTY);
    }

    /** By what the lock with these parameters does more. */
    static double factor(Map<String, Object> params) {
        return backend() != null && backend().equals(params.get("backend")) ? FACTOR : 1;
    }
}
