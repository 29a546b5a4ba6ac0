// SPDX-License-Identifier: Apache-2.0
package io.panalock.internal;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;

/** A few POSIX calls on descriptors, from the C library alone. A failure is the negative errno, as everywhere. */
public final class Posix {
    // Linux, the same on x86-64 and arm64.
    public static final int O_RDONLY = 0;
    public static final int O_WRONLY = 1;
    public static final int O_RDWR = 2;
    public static final int O_NONBLOCK = 0x800;
    public static final int O_CLOEXEC = 0x80000;
    public static final int EINTR = 4;
    public static final int EAGAIN = 11;
    public static final int EPIPE = 32;
    private static final int F_GETFL = 3;
    private static final int O_ACCMODE = 3;
    private static final int F_SETPIPE_SZ = 1031;
    private static final int SPLICE_F_NONBLOCK = 2;
    private static final int SC_PAGESIZE = 30;
    private static final int LEAST_BUFFERS = 16; // what every pipe has
    private static final short POLLIN = 1;

    private static final Linker LINKER = Linker.nativeLinker();
    private static final StructLayout STATE = Linker.Option.captureStateLayout();
    private static final VarHandle ERRNO = STATE.varHandle(MemoryLayout.PathElement.groupElement("errno"));

    private static final MethodHandle OPEN = variadic("open", 2, FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT));
    private static final MethodHandle FCNTL =
            variadic("fcntl", 2, FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT));
    private static final MethodHandle MKFIFO = call("mkfifo", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT));
    private static final MethodHandle CLOSE = call("close", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
    private static final MethodHandle READ = call("read", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG));
    private static final MethodHandle WRITE = call("write", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG));
    private static final MethodHandle POLL = call("poll", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT));
    private static final MethodHandle SPLICE = call(
            "splice", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT));
    private static final MethodHandle SYSCONF = call("sysconf", FunctionDescriptor.of(JAVA_LONG, JAVA_INT));

    private static final StructLayout POLLFD = MemoryLayout.structLayout(
            JAVA_INT.withName("fd"), JAVA_SHORT.withName("events"), JAVA_SHORT.withName("revents"));

    private Posix() {}

    private static MethodHandle call(String name, FunctionDescriptor type) {
        return LINKER.downcallHandle(
                LINKER.defaultLookup().findOrThrow(name), type, Linker.Option.captureCallState("errno"));
    }

    private static MethodHandle variadic(String name, int fixed, FunctionDescriptor type) {
        return LINKER.downcallHandle(
                LINKER.defaultLookup().findOrThrow(name),
                type,
                Linker.Option.captureCallState("errno"),
                Linker.Option.firstVariadicArg(fixed));
    }

    @FunctionalInterface
    private interface Call {
        long apply(Arena arena, MemorySegment state) throws Throwable;
    }

    private static long errnoOr(Call call) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = arena.allocate(STATE);
            long result = call.apply(arena, state);
            return result < 0 ? -(int) ERRNO.get(state, 0L) : result;
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e); // downcalls declare it, and throw none
        }
    }

    /** Opens a file; {@code flags} are O_*. Blocks for a FIFO without the other end. */
    public static int open(String path, int flags) {
        return (int) errnoOr((a, s) -> (int) OPEN.invokeExact(s, a.allocateFrom(path), flags, 0));
    }

    /** Makes a FIFO that only its owner may use. */
    public static int mkfifo(String path) {
        return (int) errnoOr((a, s) -> (int) MKFIFO.invokeExact(s, a.allocateFrom(path), 0600));
    }

    public static int close(int fd) {
        return (int) errnoOr((a, s) -> (int) CLOSE.invokeExact(s, fd));
    }

    /** Whether the descriptor is open and may be read. */
    public static boolean canRead(int fd) {
        long mode = mode(fd);
        return mode == O_RDONLY || mode == O_RDWR;
    }

    /** Whether the descriptor is open and may be written. */
    public static boolean canWrite(int fd) {
        long mode = mode(fd);
        return mode == O_WRONLY || mode == O_RDWR;
    }

    private static long mode(int fd) {
        long flags = errnoOr((a, s) -> (int) FCNTL.invokeExact(s, fd, F_GETFL, 0));
        return flags < 0 ? flags : flags & O_ACCMODE;
    }

    /** Reads one byte: 0..255; -EAGAIN; -EPIPE at the end of the file. Starts again after a signal. */
    public static int readByte(int fd) {
        return (int) errnoOr((a, s) -> {
            MemorySegment one = a.allocate(1);
            long n;
            do {
                n = (long) READ.invokeExact(s, fd, one, 1L);
            } while (n < 0 && (int) ERRNO.get(s, 0L) == EINTR);
            if (n == 0) {
                ERRNO.set(s, 0L, EPIPE);
                return -1;
            }
            return n < 0 ? n : one.get(JAVA_BYTE, 0) & 0xff;
        });
    }

    /** Writes one byte: 0, or why not. Starts again after a signal. */
    public static int writeByte(int fd, int value) {
        return (int) errnoOr((a, s) -> {
            MemorySegment one = a.allocateFrom(JAVA_BYTE, (byte) value);
            long n;
            do {
                n = (long) WRITE.invokeExact(s, fd, one, 1L);
            } while (n < 0 && (int) ERRNO.get(s, 0L) == EINTR);
            return n < 0 ? n : 0;
        });
    }

    /** Moves one byte from a pipe to another, without waiting, at once: it is in one or in the other. 0, or why not. */
    public static int move(int from, int to) {
        return (int) errnoOr((a, s) -> {
            long n;
            do {
                n = (long) SPLICE.invokeExact(s, from, MemorySegment.NULL, to, MemorySegment.NULL, 1L, SPLICE_F_NONBLOCK);
            } while (n < 0 && (int) ERRNO.get(s, 0L) == EINTR);
            if (n == 0) {
                ERRNO.set(s, 0L, EPIPE);
                return -1;
            }
            return n < 0 ? n : 0;
        });
    }

    /** Gives a pipe room for so many buffers, if it is allowed: how many it has then, or -errno. */
    public static int growPipe(int fd, int buffers) {
        return (int) errnoOr((a, s) -> {
            long page = (long) SYSCONF.invokeExact(s, SC_PAGESIZE);
            long bytes = Math.max(buffers, LEAST_BUFFERS) * page;
            int granted = (int) FCNTL.invokeExact(s, fd, F_SETPIPE_SZ, (int) bytes);
            return granted < 0 ? granted : granted / page;
        });
    }

    /** Gives back the room of a pipe that never holds more than a byte. Only a favour to others. */
    public static void shrinkPipe(int fd) {
        errnoOr((a, s) -> (int) FCNTL.invokeExact(s, fd, F_SETPIPE_SZ, 1));
    }

    /** Waits until the descriptor can be read or {@code millis} have passed (-1: no limit): how many can, or -errno. */
    public static int pollIn(int fd, int millis) {
        return (int) errnoOr((a, s) -> {
            MemorySegment one = a.allocate(POLLFD);
            one.set(JAVA_INT, 0, fd);
            one.set(JAVA_SHORT, 4, POLLIN);
            return (int) POLL.invokeExact(s, one, 1L, millis);
        });
    }
}
