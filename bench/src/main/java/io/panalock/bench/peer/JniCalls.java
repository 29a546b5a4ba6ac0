// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.peer;

/** The measured JNI calls; native/bench/jni.c has the other side. */
public final class JniCalls {
    static {
        if (!BenchLibrary.available()) {
            throw new UnsatisfiedLinkError("the C benchmarks are not available: " + BenchLibrary.whyNot());
        }
        prepareUpcall();
    }

    private JniCalls() {}

    public static native void blank();

    public static native int int1(int a);

    public static native int int4(int a, int b, int c, int d);

    public static native int int10(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j);

    public static native int pointer(long address);

    public static native int mutexLock(long mutex);

    public static native int mutexUnlock(long mutex);

    public static native double mix(long a, double b, long c, double d);

    /** A struct's fields, since JNI has no structs. */
    public static native long structFields(long a, long b);

    public static native long string(String text);

    /** Calls a function that fails with this errno and reads it on the C side. */
    public static native int errnoOf(int value);

    private static native void prepareUpcall();

    /** Calls {@link #calledBack}. */
    public static native int upcall(int value);

    /** Called from C. */
    static int calledBack(int value) {
        return value + 1;
    }

    /** GetPrimitiveArrayCritical. */
    public static native int arrayCritical(int[] array, int length);

    /** GetIntArrayRegion, up to 1024 elements. */
    public static native int arrayCopy(int[] array, int length);

    public static native void sleep(long ns);
}
