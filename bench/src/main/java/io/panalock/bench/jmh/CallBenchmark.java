// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.jmh;

import io.panalock.bench.peer.FfmCalls;
import io.panalock.bench.peer.JniCalls;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/** What does one call to C cost? Names are target_way; JmhRun takes them apart. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class CallBenchmark {
    private final MemorySegment number = Arena.global().allocate(ValueLayout.JAVA_INT);
    private final long address = number.address();
    private int a = 1;
    private int b = 2;
    private int c = 3;
    private int d = 4;
    private int e = 5;
    private int f = 6;
    private int g = 7;
    private int h = 8;
    private int i = 9;
    private int j = 10;

    /** What JMH itself costs. */
    @Benchmark
    public void nothing_java() {}

    @Benchmark
    public void blank_jni() {
        JniCalls.blank();
    }

    @Benchmark
    public void blank_ffm() {
        FfmCalls.blank();
    }

    @Benchmark
    public void blank_critical() {
        FfmCalls.blankCritical();
    }

    @Benchmark
    public int int1_jni() {
        return JniCalls.int1(a);
    }

    @Benchmark
    public int int1_ffm() {
        return FfmCalls.int1(a);
    }

    @Benchmark
    public int int1_critical() {
        return FfmCalls.int1Critical(a);
    }

    @Benchmark
    public int int4_jni() {
        return JniCalls.int4(a, b, c, d);
    }

    @Benchmark
    public int int4_ffm() {
        return FfmCalls.int4(a, b, c, d);
    }

    @Benchmark
    public int int4_critical() {
        return FfmCalls.int4Critical(a, b, c, d);
    }

    @Benchmark
    public int int10_jni() {
        return JniCalls.int10(a, b, c, d, e, f, g, h, i, j);
    }

    @Benchmark
    public int int10_ffm() {
        return FfmCalls.int10(a, b, c, d, e, f, g, h, i, j);
    }

    @Benchmark
    public int int10_critical() {
        return FfmCalls.int10Critical(a, b, c, d, e, f, g, h, i, j);
    }

    @Benchmark
    public int pointer_jni() {
        return JniCalls.pointer(address);
    }

    @Benchmark
    public int pointer_ffm() {
        return FfmCalls.pointer(number);
    }

    @Benchmark
    public int pointer_critical() {
        return FfmCalls.pointerCritical(number);
    }
}
