// SPDX-License-Identifier: Apache-2.0
package io.panalock;

/** How a contended lock is waited for. Users of one word may differ. */
public enum WaitPolicy {
    /**
     * A short spin, then sleep: for everybody. Running threads may overtake sleeping ones within half a millisecond.
     */
    SPIN_THEN_PARK,

    /**
     * Never sleep, first come first served: for threads that have a CPU each and critical sections that are never
     * preempted for long. Waiting platform threads delay the JVM's safepoints. A virtual thread that waits gives way to
     * others, but does not park.
     */
    SPIN
}
