// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.contend;

import java.util.Map;

/** A lock under test, in C or in Java. */
public sealed interface Lock permits CLock, JavaLock, OwnJvmLock {
    /** Short and unique, for example {@code hybrid-wide-pool} or {@code c-pthread-mutex}. */
    String id();

    /** What identifies it in results: side, lock, and where it applies form, backend, layout, place, policy. */
    Map<String, Object> params();

    /** Nanoseconds for so many uncontended pairs on the calling thread. */
    long pairs(int pairs);

    /** Bytes of Java objects that so many pairs allocate. */
    default long allocatedByPairs(int pairs) {
        return 0;
    }

    /** Measures one contended point. */
    Outcome contend(ContendedPoint point, long warmNs, long windowNs);

    /** Must be called before the first measurement and again when the machine may have changed its speed. */
    void calibrate();

    /** Runs the loops until the JIT compiler is done with them. */
    void warmUp();
}
