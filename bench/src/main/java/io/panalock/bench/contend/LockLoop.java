// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.contend;

/**
 * The measuring loops of one lock, each called once per run, so that the interface costs nothing where it counts.
 * Implementations live in {@code io.panalock.bench.loop}, of which every lock under test has its own copy.
 */
public interface LockLoop {
    /** Locks and unlocks so many times on the calling thread. */
    void pairs(int pairs);

    /** Locks, works inside, unlocks, works outside, until the phase is {@link Control#STOP}. */
    void throughput(Worker worker);

    /** The same with a look at the clock before and after each acquisition. */
    void latency(Worker worker);

    /** How often the protected counter was raised since {@link #reset}: must equal the acquisitions of all threads. */
    long protectedCount();

    /** How often another thread than the one before came in since {@link #reset}. */
    long handovers();

    void reset();

    /** Nanoseconds of one step of work in this copy of the loops. */
    double stepNs();

    /** The chain of work itself: the C loops compute the same value. */
    long work(long seed, int steps);
}
