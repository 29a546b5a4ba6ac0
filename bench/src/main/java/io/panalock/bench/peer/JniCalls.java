// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.peer;

/** The measured JNI calls; native/bench/jni.c has the other side. */
public final class JniCalls {
    static {
        if (!BenchLibrary.available()) {
            throw new UnsatisfiedLinkError("the C benchmarks are not available: " + BenchLibrary.whyNot());
        }
    }

    private JniCalls() {}

    public static native void blank();

    public static native int int1(int a);

    public static native int int4(int a, int b, int c, int d);

    public static native int int10(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j);

    public static native int pointer(long address);

    public static native int mutexLock(long mutex);

    public static native int mutexUnlock(long mutex);
}
