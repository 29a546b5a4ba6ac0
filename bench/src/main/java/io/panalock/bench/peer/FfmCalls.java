// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.peer;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** The measured FFM calls, plain and critical. Each handle is a constant for the compiler. */
public final class FfmCalls {
    private static final Linker.Option CRITICAL = Linker.Option.critical(false);
    private static final FunctionDescriptor BLANK_TYPE = FunctionDescriptor.ofVoid();
    private static final FunctionDescriptor INT1_TYPE = FunctionDescriptor.of(JAVA_INT, JAVA_INT);
    private static final FunctionDescriptor INT4_TYPE =
            FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT);
    private static final FunctionDescriptor INT10_TYPE = FunctionDescriptor.of(
            JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT);
    private static final FunctionDescriptor POINTER_TYPE = FunctionDescriptor.of(JAVA_INT, ADDRESS);

    private static final MethodHandle BLANK = BenchLibrary.handle("plb_blank", BLANK_TYPE);
    private static final MethodHandle BLANK_CRITICAL = BenchLibrary.handle("plb_blank", BLANK_TYPE, CRITICAL);
    private static final MethodHandle INT1 = BenchLibrary.handle("plb_int1", INT1_TYPE);
    private static final MethodHandle INT1_CRITICAL = BenchLibrary.handle("plb_int1", INT1_TYPE, CRITICAL);
    private static final MethodHandle INT4 = BenchLibrary.handle("plb_int4", INT4_TYPE);
    private static final MethodHandle INT4_CRITICAL = BenchLibrary.handle("plb_int4", INT4_TYPE, CRITICAL);
    private static final MethodHandle INT10 = BenchLibrary.handle("plb_int10", INT10_TYPE);
    private static final MethodHandle INT10_CRITICAL = BenchLibrary.handle("plb_int10", INT10_TYPE, CRITICAL);
    private static final MethodHandle POINTER = BenchLibrary.handle("plb_pointer", POINTER_TYPE);
    private static final MethodHandle POINTER_CRITICAL = BenchLibrary.handle("plb_pointer", POINTER_TYPE, CRITICAL);
    /* A mutex may wait, so its calls are never critical. */
    private static final MethodHandle MUTEX_LOCK = BenchLibrary.handle("pthread_mutex_lock", POINTER_TYPE);
    private static final MethodHandle MUTEX_UNLOCK = BenchLibrary.handle("pthread_mutex_unlock", POINTER_TYPE);

    /** Enough for a pthread_mutex_t on every platform that Panalock knows; zero is an unlocked one. */
    private static final long MUTEX_BYTES = 128;

    private FfmCalls() {}

    public static MemorySegment newMutex() {
        return BenchLibrary.forever().allocate(MUTEX_BYTES, 128);
    }

    public static void blank() {
        try {
            BLANK.invokeExact();
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    public static void blankCritical() {
        try {
            BLANK_CRITICAL.invokeExact();
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    public static int int1(int a) {
        try {
            return (int) INT1.invokeExact(a);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    public static int int1Critical(int a) {
        try {
            return (int) INT1_CRITICAL.invokeExact(a);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    public static int int4(int a, int b, int c, int d) {
        try {
            return (int) INT4.invokeExact(a, b, c, d);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    public static int int4Critical(int a, int b, int c, int d) {
        try {
            return (int) INT4_CRITICAL.invokeExact(a, b, c, d);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    public static int int10(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j) {
        try {
            return (int) INT10.invokeExact(a, b, c, d, e, f, g, h, i, j);
        } catch (Throwable t) {
            throw BenchLibrary.rethrow(t);
        }
    }

    public static int int10Critical(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j) {
        try {
            return (int) INT10_CRITICAL.invokeExact(a, b, c, d, e, f, g, h, i, j);
        } catch (Throwable t) {
            throw BenchLibrary.rethrow(t);
        }
    }

    public static int pointer(MemorySegment p) {
        try {
            return (int) POINTER.invokeExact(p);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    public static int pointerCritical(MemorySegment p) {
        try {
            return (int) POINTER_CRITICAL.invokeExact(p);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    public static int mutexLock(MemorySegment mutex) {
        try {
            return (int) MUTEX_LOCK.invokeExact(mutex);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    public static int mutexUnlock(MemorySegment mutex) {
        try {
            return (int) MUTEX_UNLOCK.invokeExact(mutex);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }
}
