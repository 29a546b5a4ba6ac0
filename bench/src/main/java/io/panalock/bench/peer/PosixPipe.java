// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.peer;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** pipe(2) of the kernel by read(2) and write(2), as a C program uses it. Calls block, in native code. */
public final class PosixPipe implements AutoCloseable {
    private static final MethodHandle PIPE = BenchLibrary.handle("pipe", FunctionDescriptor.of(JAVA_INT, ADDRESS));
    private static final MethodHandle READ =
            BenchLibrary.handle("read", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG));
    private static final MethodHandle WRITE =
            BenchLibrary.handle("write", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG));
    private static final MethodHandle CLOSE = BenchLibrary.handle("close", FunctionDescriptor.of(JAVA_INT, JAVA_INT));

    private final Arena arena = Arena.ofShared();
    private final int in;
    private final int out;

    public PosixPipe() {
        try {
            MemorySegment ends = arena.allocate(JAVA_INT, 2);
            if ((int) PIPE.invokeExact(ends) != 0) {
                throw new IllegalStateException("pipe(2) failed");
            }
            in = ends.getAtIndex(JAVA_INT, 0);
            out = ends.getAtIndex(JAVA_INT, 1);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    /** Memory for transfers, as long as the pipe. */
    public MemorySegment buffer(long bytes) {
        return arena.allocate(bytes, Long.BYTES);
    }

    public void read(MemorySegment to, long bytes) {
        try {
            long n = (long) READ.invokeExact(in, to, bytes);
            if (n != bytes) {
                throw new IllegalStateException("read(2) gave " + n);
            }
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    public void write(MemorySegment from, long bytes) {
        try {
            long n = (long) WRITE.invokeExact(out, from, bytes);
            if (n != bytes) {
                throw new IllegalStateException("write(2) gave " + n);
            }
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    @Override
    public void close() {
        try {
            int ignored = (int) CLOSE.invokeExact(in);
            ignored = (int) CLOSE.invokeExact(out);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
        arena.close();
    }
}
