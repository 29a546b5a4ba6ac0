// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.contend;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The phase of a contended run, which every thread reads once per acquisition. Opaque, as in the C loops: the threads
 * need to see a change soon, nothing else is ordered by it.
 */
public final class Control {
    public static final int WARM = 1;
    public static final int MEASURE = 2;
    public static final int STOP = 3;

    private static final VarHandle PHASE;

    static {
        try {
            PHASE = MethodHandles.lookup().findVarHandle(Control.class, "phase", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private int phase = WARM;

    public int phase() {
        return (int) PHASE.getOpaque(this);
    }

    void enter(int newPhase) {
        PHASE.setOpaque(this, newPhase);
    }
}
