// SPDX-License-Identifier: Apache-2.0
package io.panalock.internal;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.panalock.internal.ffm.panalock_h;
import io.panalock.internal.ffm.pl_domain_options;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/** Native functions in the shape that Java code wants; needs the library. Results are as in C: negative errno values. */
public final class Natives {
    private Natives() {}

    static {
        Library.require();
    }

    /** Loads the class, and with it the library; throws UnsatisfiedLinkError if it is not there. */
    public static void require() {}

    static boolean releaseNeedsFence() {
        return panalock_h.pl_release_needs_fence() != 0;
    }

    // ---- waiting and waking: ordinary calls; the segment keeps its arena open meanwhile ----

    public static int lockWait(MemorySegment self, MemorySegment lock, int layout, int flags, long timeoutNanos) {
        return switch (layout) {
            case Layouts.LAYOUT_WORD -> panalock_h.pl_qspin_lock_wait(self, lock, flags, timeoutNanos);
            case Layouts.LAYOUT_BYTE -> panalock_h.pl_qspin_byte_lock_wait(self, lock, flags, timeoutNanos);
            default -> panalock_h.pl_qspin_wide_lock_wait(self, lock, flags, timeoutNanos);
        };
    }

    /** The same for a rqspinlock. The report is a {@code pl_deadlock}. */
    public static int rqLockWait(
            MemorySegment self, MemorySegment lock, int layout, int flags, long timeoutNanos, MemorySegment report) {
        return switch (layout) {
            case Layouts.LAYOUT_WORD -> panalock_h.pl_rqspin_lock_wait(self, lock, flags, timeoutNanos, report);
            case Layouts.LAYOUT_BYTE -> panalock_h.pl_rqspin_byte_lock_wait(self, lock, flags, timeoutNanos, report);
            default -> panalock_h.pl_rqspin_wide_lock_wait(self, lock, flags, timeoutNanos, report);
        };
    }

    /** The node number of a waiter that the caller must unpark, or 0. */
    public static int kick(MemorySegment service, MemorySegment lock, int layout) {
        return panalock_h.pl_qspin_kick(service, lock, layout, 0);
    }

    // ---- the same over JNI ----

    /**
     * JNI takes addresses, which keep nothing open. For memory that another thread could unmap the call is made from inside
     * a downcall that was passed the segment; that downcall keeps the arena open for both.
     */
    public static int jniLockWait(
            long self, MemorySegment lock, boolean closeable, int layout, int flags, long timeoutNanos) {
        if (!closeable) {
            return Jni.lockWait(self, lock.address(), layout, flags, timeoutNanos);
        }
        return panalock_h.pl_call_with(
                lock, Upcalls.LOCK_WAIT, self, lock.address(), (long) layout << Integer.SIZE | flags, timeoutNanos);
    }

    public static int jniKick(long service, MemorySegment lock, boolean closeable, int layout) {
        if (!closeable) {
            return Jni.kick(service, lock.address(), layout);
        }
        return panalock_h.pl_call_with(lock, Upcalls.KICK, service, lock.address(), layout, 0);
    }

    public static int jniMutexWait(long self, MemorySegment mutex, boolean closeable, int flags, long timeoutNanos) {
        if (!closeable) {
            return Jni.mutexWait(self, mutex.address(), flags, timeoutNanos);
        }
        return panalock_h.pl_call_with(mutex, Upcalls.MUTEX_WAIT, self, mutex.address(), flags, timeoutNanos);
    }

    public static int jniMutexKick(long service, MemorySegment mutex, boolean closeable) {
        if (!closeable) {
            return Jni.mutexKick(service, mutex.address());
        }
        return panalock_h.pl_call_with(mutex, Upcalls.MUTEX_KICK, service, mutex.address(), 0, 0);
    }

    public static int jniOsqWait(long self, MemorySegment queue, boolean closeable, int flags, long timeoutNanos) {
        if (!closeable) {
            return Jni.osqWait(self, queue.address(), flags, timeoutNanos);
        }
        return panalock_h.pl_call_with(queue, Upcalls.OSQ_WAIT, self, queue.address(), flags, timeoutNanos);
    }

    /** Functions that pl_call_with calls. */
    private static final class Upcalls {
        static final MemorySegment LOCK_WAIT = stub("lockWait");
        static final MemorySegment KICK = stub("kick");
        static final MemorySegment PIPE = stub("pipe");
        static final MemorySegment MUTEX_WAIT = stub("mutexWait");
        static final MemorySegment MUTEX_KICK = stub("mutexKick");
        static final MemorySegment OSQ_WAIT = stub("osqWait");

        private static MemorySegment stub(String name) {
            try {
                MethodType type = MethodType.methodType(int.class, long.class, long.class, long.class, long.class);
                MethodHandle method = MethodHandles.lookup().findStatic(Upcalls.class, name, type);
                FunctionDescriptor c = FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
                return Linker.nativeLinker().upcallStub(method, c, Arena.global());
            } catch (ReflectiveOperationException e) {
                throw new AssertionError(e);
            }
        }

        @SuppressWarnings("unused") // by name, above
        private static int lockWait(long self, long lock, long layoutAndFlags, long timeoutNanos) {
            return Jni.lockWait(self, lock, (int) (layoutAndFlags >> Integer.SIZE), (int) layoutAndFlags, timeoutNanos);
        }

        @SuppressWarnings("unused")
        private static int mutexWait(long self, long mutex, long flags, long timeoutNanos) {
            return Jni.mutexWait(self, mutex, (int) flags, timeoutNanos);
        }

        @SuppressWarnings("unused")
        private static int mutexKick(long service, long mutex, long unused, long unusedToo) {
            return Jni.mutexKick(service, mutex);
        }

        @SuppressWarnings("unused")
        private static int osqWait(long self, long queue, long flags, long timeoutNanos) {
            return Jni.osqWait(self, queue, (int) flags, timeoutNanos);
        }

        @SuppressWarnings("unused")
        private static int kick(long service, long lock, long layout, long unused) {
            return Jni.kick(service, lock, (int) layout);
        }

        @SuppressWarnings("unused")
        private static int pipe(long call, long unused1, long unused2, long unused3) {
            MemorySegment c = MemorySegment.ofAddress(call).reinterpret(7 * JAVA_LONG.byteSize());
            return Jni.pipe(
                    c.getAtIndex(JAVA_LONG, 0),
                    c.getAtIndex(JAVA_LONG, 1),
                    c.getAtIndex(JAVA_LONG, 2),
                    (int) c.getAtIndex(JAVA_LONG, 3),
                    c.getAtIndex(JAVA_LONG, 4) != 0,
                    (int) c.getAtIndex(JAVA_LONG, 5),
                    c.getAtIndex(JAVA_LONG, 6));
        }
    }

    // ---- pipes ----

    /** A transfer in native code; the pipe's segment stays open meanwhile, the buffer is the caller's own. */
    public static int pipe(
            boolean overJni,
            MemorySegment self,
            MemorySegment pipe,
            MemorySegment buffer,
            boolean writing,
            int flags,
            long timeoutNanos) {
        int bytes = (int) buffer.byteSize();
        if (overJni) {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment call = arena.allocateFrom(
                        JAVA_LONG, self.address(), pipe.address(), buffer.address(), bytes, writing ? 1 : 0, flags, timeoutNanos);
                return panalock_h.pl_call_with(pipe, Upcalls.PIPE, call.address(), 0, 0, 0);
            }
        }
        return (int) (writing
                ? panalock_h.pl_pipe_write(self, pipe, buffer, bytes, flags, timeoutNanos)
                : panalock_h.pl_pipe_read(self, pipe, buffer, bytes, flags, timeoutNanos));
    }

    // ---- domains ----

    /** What a function that hands out a domain or a word gave: a result, and the address if the result is 0. */
    public record Made(int result, MemorySegment at) {}

    /** A function with an out parameter. */
    public interface Maker {
        int make(Arena arena, MemorySegment out);
    }

    public static Made made(Maker maker) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment out = arena.allocate(ADDRESS);
            int result = maker.make(arena, out);
            return new Made(result, result == 0 ? out.get(ADDRESS, 0) : MemorySegment.NULL);
        }
    }

    public static MemorySegment options(Arena arena, int slots, int locks, int flags) {
        MemorySegment o = pl_domain_options.allocate(arena);
        pl_domain_options.slots(o, slots);
        pl_domain_options.pool_locks(o, locks);
        pl_domain_options.flags(o, flags);
        return o;
    }

    public static void nameSlot(MemorySegment slot, String name) {
        try (Arena arena = Arena.ofConfined()) {
            panalock_h.pl_thread_set_name(slot, arena.allocateFrom(name));
        }
    }
}
