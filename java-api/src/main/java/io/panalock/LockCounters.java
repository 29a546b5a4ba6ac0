// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import java.util.concurrent.atomic.LongAccumulator;
import java.util.concurrent.atomic.LongAdder;

/** What one {@link QSpinLock} object has seen of contention since it was made. Read at any time, weakly consistent. */
public final class LockCounters {
    private final LongAdder contended = new LongAdder();
    private final LongAdder abandoned = new LongAdder();
    private final LongAdder waited = new LongAdder();
    private final LongAccumulator longest = new LongAccumulator(Math::max, 0);

    LockCounters() {}

    void add(long nanos, boolean acquired) {
        (acquired ? contended : abandoned).increment();
        waited.add(nanos);
        longest.accumulate(nanos);
    }

    /** {@return acquisitions that found the lock held and waited for it} */
    public long contended() {
        return contended.sum();
    }

    /** {@return waits that ended without the lock: time-out, interruption, closing} */
    public long abandoned() {
        return abandoned.sum();
    }

    /** {@return nanoseconds waited, all threads together} */
    public long waitedNanos() {
        return waited.sum();
    }

    /** {@return the longest wait in nanoseconds} */
    public long longestNanos() {
        return longest.get();
    }

    @Override
    public String toString() {
        return "contended " + contended() + ", abandoned " + abandoned() + ", waited " + waitedNanos()
                + " ns, longest " + longestNanos() + " ns";
    }
}
