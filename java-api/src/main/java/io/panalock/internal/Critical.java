// SPDX-License-Identifier: Apache-2.0
package io.panalock.internal;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;

/**
 * Critical downcalls, written by hand since jextract has no notion of them. Only functions that neither wait nor make a
 * system call stand here: a critical call never reaches a safepoint while it runs, so one that waited for a lock whose
 * holder stands at a safepoint would hang the JVM.
 */
public final class Critical {
    private Critical() {}

    static {
        Library.require();
    }

    private static final MethodHandle WORD_TRY = handle("pl_qspin_trylock", ADDRESS, ADDRESS);
    private static final MethodHandle BYTE_TRY = handle("pl_qspin_byte_trylock", ADDRESS, ADDRESS);
    private static final MethodHandle WIDE_TRY = handle("pl_qspin_wide_trylock", ADDRESS, ADDRESS);
    private static final MethodHandle WORD_RELEASE = handle("pl_qspin_release", ADDRESS);
    private static final MethodHandle BYTE_RELEASE = handle("pl_qspin_byte_release", ADDRESS);
    private static final MethodHandle WIDE_RELEASE = handle("pl_qspin_wide_release", ADDRESS);
    private static final MethodHandle HAZARD_ACQUIRE =
            handle("pl_shazptr_acquire", FunctionDescriptor.of(JAVA_LONG, ADDRESS, JAVA_LONG));
    private static final MethodHandle HAZARD_CLEAR = handle("pl_shazptr_clear", ADDRESS, JAVA_LONG);

    private static final MethodHandle RING_FINISH = handle("pl_ring_finish", ADDRESS, JAVA_LONG, JAVA_INT, JAVA_INT);
    private static final MethodHandle MUTEX_TRY = handle("pl_mutex_trylock", ADDRESS, ADDRESS);
    private static final MethodHandle MUTEX_RELEASE = handle("pl_mutex_release", ADDRESS, ADDRESS);

    private static final MethodHandle OSQ_TRY = handle("pl_osq_trylock", ADDRESS, ADDRESS);

    private static MethodHandle handle(String name, MemoryLayout... arguments) {
        return handle(name, FunctionDescriptor.of(JAVA_INT, arguments));
    }

    private static MethodHandle handle(String name, FunctionDescriptor descriptor) {
        return Linker.nativeLinker()
                .downcallHandle(
                        SymbolLookup.loaderLookup().findOrThrow(name),
                        descriptor,
                        Linker.Option.critical(false));
    }

    public static long hazardAcquire(MemorySegment self, long name) {
        try {
            return (long) HAZARD_ACQUIRE.invokeExact(self, name);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    public static int hazardClear(MemorySegment self, long guard) {
        try {
            return (int) HAZARD_CLEAR.invokeExact(self, guard);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    public static int wordTry(MemorySegment self, MemorySegment lock) {
        try {
            return (int) WORD_TRY.invokeExact(self, lock);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    public static int byteTry(MemorySegment self, MemorySegment lock) {
        try {
            return (int) BYTE_TRY.invokeExact(self, lock);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    public static int wideTry(MemorySegment self, MemorySegment lock) {
        try {
            return (int) WIDE_TRY.invokeExact(self, lock);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    public static int wordRelease(MemorySegment lock) {
        try {
            return (int) WORD_RELEASE.invokeExact(lock);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    public static int byteRelease(MemorySegment lock) {
        try {
            return (int) BYTE_RELEASE.invokeExact(lock);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    public static int wideRelease(MemorySegment lock) {
        try {
            return (int) WIDE_RELEASE.invokeExact(lock);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    public static int ringFinish(MemorySegment ring, long offset, int discard, int flags) {
        try {
            return (int) RING_FINISH.invokeExact(ring, offset, discard, flags);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    public static int mutexTry(MemorySegment self, MemorySegment mutex) {
        try {
            return (int) MUTEX_TRY.invokeExact(self, mutex);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    public static int osqTry(MemorySegment self, MemorySegment queue) {
        try {
            return (int) OSQ_TRY.invokeExact(self, queue);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    public static int mutexRelease(MemorySegment self, MemorySegment mutex) {
        try {
            return (int) MUTEX_RELEASE.invokeExact(self, mutex);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    /** Nothing but unchecked exceptions come out of a downcall (a closed arena). */
    private static RuntimeException rethrow(Throwable e) {
        if (e instanceof RuntimeException r) {
            return r;
        }
        if (e instanceof Error error) {
            throw error;
        }
        return new IllegalStateException(e);
    }
}
