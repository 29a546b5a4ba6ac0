// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.jmh;

import com.sun.jna.Native;
import io.panalock.bench.peer.FfmCalls;
import io.panalock.bench.peer.JnaCalls;
import io.panalock.bench.peer.JniCalls;
import io.panalock.bench.peer.JnrCalls;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/**
 * What does it cost to hand over more than numbers: a struct, a string, an array, errno, a call back? Names are
 * target_way, as in {@link CallBenchmark}. Arrays: "jni" is GetPrimitiveArrayCritical, "jnicopy" GetIntArrayRegion, "ffm"
 * a copy into an arena, "critical" the heap array itself.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class DataCallBenchmark {
    private static final int ERRNO = 11;

    /* Constants, as in a program that hands its function to C once. */
    private static final MemorySegment UPCALL = FfmCalls.newUpcall();

    private final MemorySegment pair = FfmCalls.newPair(1, 2);
    private final MemorySegment state = FfmCalls.newState();
    private final int[] array16 = new int[16];
    private final int[] array1024 = new int[1024];
    private long a = 1;
    private long b = 2;
    private int value = ERRNO;
    private String text = "sixteen letters.";

    /** What JNA wants; apart, so that only its own benchmarks load it. */
    @State(Scope.Thread)
    public static class Jna {
        final JnaCalls.Pair pair = new JnaCalls.Pair(1, 2);
        final JnaCalls.IntCall call = v -> v + 1;
    }

    /** See {@link Jna}. */
    @State(Scope.Thread)
    public static class Jnr {
        final JnrCalls.IntCall call = new JnrCalls.IntCall() {
            @Override
            @jnr.ffi.annotations.Delegate
            public int call(int v) {
                return v + 1;
            }
        };
    }

    @Benchmark
    public long struct_jni() {
        return JniCalls.structFields(a, b);
    }

    @Benchmark
    public long struct_ffm() {
        return FfmCalls.struct(pair);
    }

    @Benchmark
    public long struct_critical() {
        return FfmCalls.structCritical(pair);
    }

    @Benchmark
    public long struct_jnadirect(Jna jna) {
        return JnaCalls.Direct.plb_struct(jna.pair);
    }

    @Benchmark
    public long struct_jnainterface(Jna jna) {
        return JnaCalls.VIA_INTERFACE.plb_struct(jna.pair);
    }

    @Benchmark
    public long string_jni() {
        return JniCalls.string(text);
    }

    @Benchmark
    public long string_ffm() {
        return FfmCalls.string(text);
    }

    @Benchmark
    public long string_critical() {
        return FfmCalls.stringCritical(text);
    }

    @Benchmark
    public long string_jnadirect() {
        return JnaCalls.Direct.plb_string(text);
    }

    @Benchmark
    public long string_jnainterface() {
        return JnaCalls.VIA_INTERFACE.plb_string(text);
    }

    @Benchmark
    public long string_jnr() {
        return JnrCalls.CALLS.plb_string(text);
    }

    @Benchmark
    public int errno_jni() {
        return JniCalls.errnoOf(value);
    }

    @Benchmark
    public int errno_ffm() {
        return FfmCalls.errnoOf(state, value);
    }

    @Benchmark
    public int errno_critical() {
        return FfmCalls.errnoOfCritical(state, value);
    }

    @Benchmark
    public int errno_jnadirect() {
        return JnaCalls.Direct.plb_errno(value) < 0 ? Native.getLastError() : 0;
    }

    @Benchmark
    public int errno_jnainterface() {
        return JnaCalls.VIA_INTERFACE.plb_errno(value) < 0 ? Native.getLastError() : 0;
    }

    @Benchmark
    public int errno_jnr() {
        return JnrCalls.CALLS.plb_errno(value) < 0 ? JnrCalls.RUNTIME.getLastError() : 0;
    }

    @Benchmark
    public int upcall_jni() {
        return JniCalls.upcall(value);
    }

    @Benchmark
    public int upcall_ffm() {
        return FfmCalls.upcall(UPCALL, value);
    }

    @Benchmark
    public int upcall_jnadirect(Jna jna) {
        return JnaCalls.Direct.plb_upcall(jna.call, value);
    }

    @Benchmark
    public int upcall_jnainterface(Jna jna) {
        return JnaCalls.VIA_INTERFACE.plb_upcall(jna.call, value);
    }

    @Benchmark
    public int upcall_jnr(Jnr jnr) {
        return JnrCalls.CALLS.plb_upcall(jnr.call, value);
    }

    @Benchmark
    public int array16_jni() {
        return JniCalls.arrayCritical(array16, array16.length);
    }

    @Benchmark
    public int array16_jnicopy() {
        return JniCalls.arrayCopy(array16, array16.length);
    }

    @Benchmark
    public int array16_ffm() {
        return FfmCalls.arrayCopy(array16);
    }

    @Benchmark
    public int array16_critical() {
        return FfmCalls.arrayCritical(array16);
    }

    @Benchmark
    public int array16_jnadirect() {
        return JnaCalls.Direct.plb_array(array16, array16.length);
    }

    @Benchmark
    public int array16_jnainterface() {
        return JnaCalls.VIA_INTERFACE.plb_array(array16, array16.length);
    }

    @Benchmark
    public int array16_jnr() {
        return JnrCalls.CALLS.plb_array(array16, array16.length);
    }

    @Benchmark
    public int array1024_jni() {
        return JniCalls.arrayCritical(array1024, array1024.length);
    }

    @Benchmark
    public int array1024_jnicopy() {
        return JniCalls.arrayCopy(array1024, array1024.length);
    }

    @Benchmark
    public int array1024_ffm() {
        return FfmCalls.arrayCopy(array1024);
    }

    @Benchmark
    public int array1024_critical() {
        return FfmCalls.arrayCritical(array1024);
    }

    @Benchmark
    public int array1024_jnadirect() {
        return JnaCalls.Direct.plb_array(array1024, array1024.length);
    }

    @Benchmark
    public int array1024_jnainterface() {
        return JnaCalls.VIA_INTERFACE.plb_array(array1024, array1024.length);
    }

    @Benchmark
    public int array1024_jnr() {
        return JnrCalls.CALLS.plb_array(array1024, array1024.length);
    }
}
