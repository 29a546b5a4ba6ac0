// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.peer;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** What a broadcast to many waiters costs, in C: native/bench/broadcast.h. */
public final class Broadcasts {
    private static final MethodHandle BROADCAST =
            BenchLibrary.handle("plb_broadcast", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS));

    private Broadcasts() {}

    /** Context switches of this process until all waiters have had the mutex. */
    public static long switches(int waiters) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment switches = arena.allocate(JAVA_LONG);
            int result = (int) BROADCAST.invokeExact(waiters, switches);
            if (result != 0) {
                throw new IllegalStateException("plb_broadcast: error " + result);
            }
            return switches.get(JAVA_LONG, 0);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }
}
