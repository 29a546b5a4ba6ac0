// SPDX-License-Identifier: Apache-2.0
package io.panalock.internal;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** How Java code reaches lock words. */
public final class Words {
    private Words() {}

    /** 32-bit words of a segment: (MemorySegment, long offset). */
    public static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();

    /** 64-bit words of a segment: (MemorySegment, long offset). */
    public static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();

    /**
     * A WIDE release must be followed by a full fence: where sleepers cannot put up the heavy half of the asymmetric fence
     * (no native library, membarrier refused), and on virtual machines other than HotSpot with its own compilers.
     *
     * <p>The fence that is left out otherwise would order a release store before a later opaque load of another word. The
     * processor's part of that is replaced by the sleeper's membarrier system call. The compiler's part rests on HotSpot
     * keeping the two accesses in program order, which the Java memory model does not promise.
     */
    public static final boolean RELEASE_NEEDS_FENCE = !Library.isLoaded() || Natives.releaseNeedsFence() || !isHotSpot();

    private static boolean isHotSpot() {
        String vm = System.getProperty("java.vm.name", "");
        boolean itsOwnCompilers = !System.getProperty("java.vm.version", "").contains("jvmci");
        return (vm.startsWith("OpenJDK") || vm.contains("HotSpot")) && itsOwnCompilers;
    }

    /** All memory of the process as one constant segment. Apart, because making it needs native access. */
    public static final class Whole {
        private Whole() {}

        /** Compiled accesses cost no liveness check, and at an address from {@link #word} or {@link #pair} no other one either. */
        public static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

        /**
         * The address of a lock of one word, unchanged, but so that the compiler sees that it is aligned and inside
         * {@link #ALL}. User space ends below 2^56 on every CPU that we know; its words are divisible by four.
         */
        public static long word(long address) {
            return address & 0x00FF_FFFF_FFFF_FFFCL;
        }

        /** The same for a lock of two words, on which the second one's address is as good. */
        public static long pair(long address) {
            return address & 0x00FF_FFFF_FFFF_FFF8L;
        }
    }

    /** True when the release of a WIDE lock that left these bits behind must wake a sleeper; PARKED is the sign bit. */
    public static boolean mustKick(int bits) {
        return bits < 0 && (bits & Layouts.Q_STANDBY) == 0;
    }
}
