// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.internal.Layouts;
import io.panalock.internal.Natives;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Transfers of platform threads in native code. */
final class NativePipe {
    static final int EPIPE = 32;
    static final int EMSGSIZE = 90;

    /** A native wait does not notice Thread.interrupt, so it ends this often to look. */
    private static final long SLICE_NANOS = 10_000_000;

    private static final int NONBLOCK = 16;

    private final LockDomain domain;
    private final MemorySegment pipe;
    private final boolean overJni;

    private NativePipe(LockDomain domain, MemorySegment pipe, boolean overJni) {
        this.domain = domain;
        this.pipe = pipe;
        this.overJni = overJni;
    }

    /** For backends that transfer in native code; else null. */
    static NativePipe of(LockDomain domain, Backend backend, MemorySegment pipe) {
        return switch (backend) {
            case HYBRID, PURE -> null;
            case FFM, FFM_CRITICAL -> new NativePipe(domain, pipe, false);
            case JNI -> new NativePipe(domain, pipe, true);
        };
    }

    int transfer(int slot, MemorySegment buffer, boolean writing, boolean nonBlocking, long nanos) {
        try (Arena arena = Arena.ofConfined()) {
            // Native code waits with the buffer in its hands: it is one of our own, that nobody can close meanwhile.
            MemorySegment own = arena.allocate(buffer.byteSize());
            if (writing) {
                own.copyFrom(buffer);
            }
            MemorySegment self = MemorySegment.ofAddress(domain.pure().slotAt(slot));
            int result = wait(self, own, writing, nonBlocking, nanos);
            if (!writing && result > 0) {
                MemorySegment.copy(own, 0, buffer, 0, result);
            }
            return result;
        }
    }

    private int wait(MemorySegment self, MemorySegment own, boolean writing, boolean nonBlocking, long nanos) {
        int flags = nonBlocking ? NONBLOCK : 0;
        long start = System.nanoTime();
        for (; ; ) {
            if (!nonBlocking && Thread.interrupted()) {
                return -Layouts.EINTR;
            }
            long left = nanos == Long.MAX_VALUE ? SLICE_NANOS : nanos - (System.nanoTime() - start);
            int result = Natives.pipe(overJni, self, pipe, own, writing, flags, Math.clamp(left, 0, SLICE_NANOS));
            if (result != -Layouts.ETIMEDOUT || left <= SLICE_NANOS && nanos != Long.MAX_VALUE) {
                return result;
            }
        }
    }
}
