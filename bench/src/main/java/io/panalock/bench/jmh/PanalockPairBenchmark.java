// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.jmh;

import io.panalock.Backend;
import io.panalock.Layout;
import io.panalock.QSpinLock;
import java.lang.foreign.Arena;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** What does an uncontended lock and unlock cost through each backend? */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class PanalockPairBenchmark {
    private static final long ALIGNMENT = 128;

    @Param({"HYBRID", "FFM", "FFM_CRITICAL", "JNI", "PURE"})
    public Backend backend;

    @Param({"WORD", "BYTE", "WIDE"})
    public Layout layout;

    /** In the domain's pool, or in a shared arena of the user. */
    @Param({"pool", "arena"})
    public String place;

    private QSpinLock lock;

    @Setup
    public void open() {
        QSpinLock.Builder builder = QSpinLock.builder().backend(backend).layout(layout);
        lock = place.equals("pool")
                ? builder.allocate()
                : builder.at(Arena.ofShared().allocate(2 * ALIGNMENT, ALIGNMENT), ALIGNMENT);
    }

    @Benchmark
    public void pair() {
        lock.lock();
        lock.unlock();
    }
}
