// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.jmh;

import io.panalock.bench.peer.FfmCalls;
import io.panalock.bench.peer.JniCalls;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/** What does an uncontended pair cost with the locks that a Java program has today? */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class PeerPairBenchmark {
    private final ReentrantLock reentrantLock = new ReentrantLock();
    private final Object monitor = new Object();
    private final MemorySegment mutex = FfmCalls.newMutex();
    private final long mutexAddress = mutex.address();
    private int guarded;

    @Benchmark
    public void reentrantlock() {
        reentrantLock.lock();
        reentrantLock.unlock();
    }

    @Benchmark
    public void synchronizedBlock() {
        synchronized (monitor) {
            guarded++;
        }
    }

    @Benchmark
    public void pthreadMutexFfm() {
        FfmCalls.mutexLock(mutex);
        FfmCalls.mutexUnlock(mutex);
    }

    @Benchmark
    public void pthreadMutexJni() {
        JniCalls.mutexLock(mutexAddress);
        JniCalls.mutexUnlock(mutexAddress);
    }
}
