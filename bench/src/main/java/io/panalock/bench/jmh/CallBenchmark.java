// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.jmh;

import com.sun.jna.Pointer;
import io.panalock.bench.peer.FfmCalls;
import io.panalock.bench.peer.JnaCalls;
import io.panalock.bench.peer.JniCalls;
import io.panalock.bench.peer.JnrCalls;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/**
 * What does one call to C cost, with nothing but numbers to hand over? Names are target_way; JmhPoint takes them apart.
 * "nonconst" is FFM through a handle in an ordinary field, which the JIT compiler cannot see through.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class CallBenchmark {
    private final MemorySegment number = Arena.global().allocate(ValueLayout.JAVA_INT);
    private final long address = number.address();
    private MethodHandle blankHandle = FfmCalls.newHandle("blank");
    private MethodHandle int1Handle = FfmCalls.newHandle("int1");
    private MethodHandle int4Handle = FfmCalls.newHandle("int4");
    private MethodHandle int10Handle = FfmCalls.newHandle("int10");
    private MethodHandle mixHandle = FfmCalls.newHandle("mix");
    private MethodHandle pointerHandle = FfmCalls.newHandle("pointer");
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
    private long k = 11;
    private double l = 12;
    private long m = 13;
    private double n = 14;

    /** What the libraries want for a pointer; apart, so that only their own benchmarks load them. */
    @State(Scope.Thread)
    public static class JnaPointer {
        final Pointer pointer = new Pointer(Arena.global().allocate(ValueLayout.JAVA_INT).address());
    }

    /** See {@link JnaPointer}. */
    @State(Scope.Thread)
    public static class JnrPointer {
        final jnr.ffi.Pointer pointer = JnrCalls.pointerTo(Arena.global().allocate(ValueLayout.JAVA_INT).address());
    }

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
    public void blank_nonconst() throws Throwable {
        blankHandle.invokeExact();
    }

    @Benchmark
    public void blank_jnadirect() {
        JnaCalls.Direct.plb_blank();
    }

    @Benchmark
    public void blank_jnainterface() {
        JnaCalls.VIA_INTERFACE.plb_blank();
    }

    @Benchmark
    public void blank_jnr() {
        JnrCalls.CALLS.plb_blank();
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
    public int int1_nonconst() throws Throwable {
        return (int) int1Handle.invokeExact(a);
    }

    @Benchmark
    public int int1_jnadirect() {
        return JnaCalls.Direct.plb_int1(a);
    }

    @Benchmark
    public int int1_jnainterface() {
        return JnaCalls.VIA_INTERFACE.plb_int1(a);
    }

    @Benchmark
    public int int1_jnr() {
        return JnrCalls.CALLS.plb_int1(a);
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
    public int int4_nonconst() throws Throwable {
        return (int) int4Handle.invokeExact(a, b, c, d);
    }

    @Benchmark
    public int int4_jnadirect() {
        return JnaCalls.Direct.plb_int4(a, b, c, d);
    }

    @Benchmark
    public int int4_jnainterface() {
        return JnaCalls.VIA_INTERFACE.plb_int4(a, b, c, d);
    }

    @Benchmark
    public int int4_jnr() {
        return JnrCalls.CALLS.plb_int4(a, b, c, d);
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
    public int int10_nonconst() throws Throwable {
        return (int) int10Handle.invokeExact(a, b, c, d, e, f, g, h, i, j);
    }

    @Benchmark
    public int int10_jnadirect() {
        return JnaCalls.Direct.plb_int10(a, b, c, d, e, f, g, h, i, j);
    }

    @Benchmark
    public int int10_jnainterface() {
        return JnaCalls.VIA_INTERFACE.plb_int10(a, b, c, d, e, f, g, h, i, j);
    }

    @Benchmark
    public int int10_jnr() {
        return JnrCalls.CALLS.plb_int10(a, b, c, d, e, f, g, h, i, j);
    }

    @Benchmark
    public double mix_jni() {
        return JniCalls.mix(k, l, m, n);
    }

    @Benchmark
    public double mix_ffm() {
        return FfmCalls.mix(k, l, m, n);
    }

    @Benchmark
    public double mix_critical() {
        return FfmCalls.mixCritical(k, l, m, n);
    }

    @Benchmark
    public double mix_nonconst() throws Throwable {
        return (double) mixHandle.invokeExact(k, l, m, n);
    }

    @Benchmark
    public double mix_jnadirect() {
        return JnaCalls.Direct.plb_mix(k, l, m, n);
    }

    @Benchmark
    public double mix_jnainterface() {
        return JnaCalls.VIA_INTERFACE.plb_mix(k, l, m, n);
    }

    @Benchmark
    public double mix_jnr() {
        return JnrCalls.CALLS.plb_mix(k, l, m, n);
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

    @Benchmark
    public int pointer_nonconst() throws Throwable {
        return (int) pointerHandle.invokeExact(number);
    }

    @Benchmark
    public int pointer_jnadirect(JnaPointer of) {
        return JnaCalls.Direct.plb_pointer(of.pointer);
    }

    @Benchmark
    public int pointer_jnainterface(JnaPointer of) {
        return JnaCalls.VIA_INTERFACE.plb_pointer(of.pointer);
    }

    @Benchmark
    public int pointer_jnr(JnrPointer of) {
        return JnrCalls.CALLS.plb_pointer(of.pointer);
    }
}
