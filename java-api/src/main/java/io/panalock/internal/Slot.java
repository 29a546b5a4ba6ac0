// SPDX-License-Identifier: Apache-2.0
package io.panalock.internal;

import static io.panalock.internal.Words.INT;
import static io.panalock.internal.Words.Whole.ALL;

import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** The first entry of a thread's record of held locks, by address: what fast paths touch of a slot. By its thread only. */
public final class Slot {
    private Slot() {}

    private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();
    private static final long DEPTH = 32; // offsets in pl_thread; a test compares them with the bindings
    private static final long HELD_TOP = 36;
    private static final long HELD = 64;

    /** Whether only the first entry can be in use, and no wait is going on below a signal handler. */
    public static boolean isFirst(long slot) {
        return ((int) INT.getOpaque(ALL, slot + HELD_TOP) | (int) INT.getOpaque(ALL, slot + DEPTH)) == 0;
    }

    public static long entry(long slot) {
        return (long) LONG.getOpaque(ALL, slot + HELD);
    }

    public static void setEntry(long slot, long entry) {
        LONG.setOpaque(ALL, slot + HELD, entry);
    }
}
