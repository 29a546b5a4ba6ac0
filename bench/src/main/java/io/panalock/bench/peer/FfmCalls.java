// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.peer;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;

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

    private static final MethodHandle SPIN_LOCK = BenchLibrary.handle("pthread_spin_lock", POINTER_TYPE);
    private static final MethodHandle SPIN_UNLOCK = BenchLibrary.handle("pthread_spin_unlock", POINTER_TYPE);
    private static final MethodHandle SPIN_INIT =
            BenchLibrary.handle("pthread_spin_init", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT));
    private static final FunctionDescriptor MIX_TYPE =
            FunctionDescriptor.of(JAVA_DOUBLE, JAVA_LONG, JAVA_DOUBLE, JAVA_LONG, JAVA_DOUBLE);
    private static final StructLayout PAIR = MemoryLayout.structLayout(JAVA_LONG.withName("a"), JAVA_LONG.withName("b"));
    private static final FunctionDescriptor STRUCT_TYPE = FunctionDescriptor.of(JAVA_LONG, PAIR);
    private static final FunctionDescriptor STRING_TYPE = FunctionDescriptor.of(JAVA_LONG, ADDRESS);
    private static final FunctionDescriptor UPCALL_TYPE = FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT);
    private static final FunctionDescriptor ARRAY_TYPE = FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT);
    private static final FunctionDescriptor SLEEP_TYPE = FunctionDescriptor.ofVoid(JAVA_LONG);
    private static final StructLayout STATE = Linker.Option.captureStateLayout();
    private static final VarHandle ERRNO = STATE.varHandle(MemoryLayout.PathElement.groupElement("errno"));

    private static final MethodHandle MIX = BenchLibrary.handle("plb_mix", MIX_TYPE);
    private static final MethodHandle MIX_CRITICAL = BenchLibrary.handle("plb_mix", MIX_TYPE, CRITICAL);
    private static final MethodHandle STRUCT = BenchLibrary.handle("plb_struct", STRUCT_TYPE);
    private static final MethodHandle STRUCT_CRITICAL = BenchLibrary.handle("plb_struct", STRUCT_TYPE, CRITICAL);
    private static final MethodHandle STRING = BenchLibrary.handle("plb_string", STRING_TYPE);
    private static final MethodHandle STRING_CRITICAL = BenchLibrary.handle("plb_string", STRING_TYPE, CRITICAL);
    private static final MethodHandle ERRNO_OF =
            BenchLibrary.handle("plb_errno", INT1_TYPE, Linker.Option.captureCallState("errno"));
    private static final MethodHandle ERRNO_OF_CRITICAL =
            BenchLibrary.handle("plb_errno", INT1_TYPE, Linker.Option.captureCallState("errno"), CRITICAL);
    /* Critical calls must not call back. */
    private static final MethodHandle UPCALL = BenchLibrary.handle("plb_upcall", UPCALL_TYPE);
    private static final MethodHandle ARRAY = BenchLibrary.handle("plb_array", ARRAY_TYPE);
    private static final MethodHandle ARRAY_CRITICAL =
            BenchLibrary.handle("plb_array", ARRAY_TYPE, Linker.Option.critical(true));
    private static final MethodHandle SLEEP = BenchLibrary.handle("plb_sleep", SLEEP_TYPE);
    private static final MethodHandle SLEEP_CRITICAL = BenchLibrary.handle("plb_sleep", SLEEP_TYPE, CRITICAL);

    /** Enough for a pthread_mutex_t on every platform that Panalock knows; zero is an unlocked one. */
    private static final long MUTEX_BYTES = 128;

    private FfmCalls() {}

    /** Handles for callers that keep them in a field which the compiler does not take for a constant. */
    public static MethodHandle newHandle(String target) {
        return BenchLibrary.handle("plb_" + target, switch (target) {
            case "blank" -> BLANK_TYPE;
            case "int1" -> INT1_TYPE;
            case "int4" -> INT4_TYPE;
            case "int10" -> INT10_TYPE;
            case "mix" -> MIX_TYPE;
            case "pointer" -> POINTER_TYPE;
            default -> throw new IllegalArgumentException(target);
        });
    }

    /** A struct for {@link #struct}. */
    public static MemorySegment newPair(long a, long b) {
        MemorySegment pair = BenchLibrary.forever().allocate(PAIR);
        pair.set(JAVA_LONG, 0, a);
        pair.set(JAVA_LONG, Long.BYTES, b);
        return pair;
    }

    /** Where a call leaves errno. */
    public static MemorySegment newState() {
        return BenchLibrary.forever().allocate(STATE);
    }

    /** A function pointer to {@link #calledBack}. */
    public static MemorySegment newUpcall() {
        try {
            return Linker.nativeLinker().upcallStub(
                    MethodHandles.lookup().findStatic(
                            FfmCalls.class, "calledBack", MethodType.methodType(int.class, int.class)),
                    INT1_TYPE, BenchLibrary.forever());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Called from C. */
    static int calledBack(int value) {
        return value + 1;
    }

    public static MemorySegment newMutex() {
        return BenchLibrary.forever().allocate(MUTEX_BYTES, 128);
    }

    /** Of the kind that spins before it sleeps; used by the same functions. */
    public static MemorySegment newAdaptiveMutex() {
        MemorySegment mutex = newMutex();
        CPeers.initAdaptive(mutex);
        return mutex;
    }

    public static MemorySegment newSpinLock() {
        try {
            MemorySegment lock = newMutex();
            int ignored = (int) SPIN_INIT.invokeExact(lock, 0);
            return lock;
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    public static int spinLock(MemorySegment lock) {
        try {
            return (int) SPIN_LOCK.invokeExact(lock);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    public static int spinUnlock(MemorySegment lock) {
        try {
            return (int) SPIN_UNLOCK.invokeExact(lock);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
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

    public static double mix(long a, double b, long c, double d) {
        try {
            return (double) MIX.invokeExact(a, b, c, d);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    public static long struct(MemorySegment pair) {
        try {
            return (long) STRUCT.invokeExact(pair);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    /** Copies the string to native memory first, as jextract's users do. */
    public static long string(String text) {
        try (Arena arena = Arena.ofConfined()) {
            return (long) STRING.invokeExact(arena.allocateFrom(text));
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    public static int errnoOf(MemorySegment state, int value) {
        try {
            return (int) ERRNO_OF.invokeExact(state, value) < 0 ? (int) ERRNO.get(state, 0L) : 0;
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    public static void sleep(long ns) {
        try {
            SLEEP.invokeExact(ns);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    public static double mixCritical(long a, double b, long c, double d) {
        try {
            return (double) MIX_CRITICAL.invokeExact(a, b, c, d);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    public static long structCritical(MemorySegment pair) {
        try {
            return (long) STRUCT_CRITICAL.invokeExact(pair);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    public static long stringCritical(String text) {
        try (Arena arena = Arena.ofConfined()) {
            return (long) STRING_CRITICAL.invokeExact(arena.allocateFrom(text));
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    public static int errnoOfCritical(MemorySegment state, int value) {
        try {
            return (int) ERRNO_OF_CRITICAL.invokeExact(state, value) < 0 ? (int) ERRNO.get(state, 0L) : 0;
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    public static void sleepCritical(long ns) {
        try {
            SLEEP_CRITICAL.invokeExact(ns);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    public static int upcall(MemorySegment call, int value) {
        try {
            return (int) UPCALL.invokeExact(call, value);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    /** Copies the array to native memory. */
    public static int arrayCopy(int[] array) {
        try (Arena arena = Arena.ofConfined()) {
            return (int) ARRAY.invokeExact(arena.allocateFrom(JAVA_INT, array), array.length);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    /** The array itself, which the collector does not move during a critical call. */
    public static int arrayCritical(int[] array) {
        try {
            return (int) ARRAY_CRITICAL.invokeExact(MemorySegment.ofArray(array), array.length);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }
}
