// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.EventType;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Threshold;

/** A thread waited for a {@link QSpinLock}; its duration is the wait. Recorded from 1 ms unless told otherwise. */
@Name("io.panalock.QSpinLockContended")
@Label("QSpinLock Contended")
@Description("A thread waited for a queued spinlock")
@Category({"Panalock"})
@Threshold("1 ms")
@StackTrace(true)
final class ContendedEvent extends Event {
    @Label("Lock")
    @Description("Name of the lock")
    String lock;

    @Label("Layout")
    String layout;

    @Label("Backend")
    String backend;

    @Label("Acquired")
    @Description("False when the wait ended by time-out, interruption or closing")
    boolean acquired;

    private ContendedEvent() {}

    /** Loaded only once flight recorder is in use: its classes are heavy. */
    private static final class Type {
        static final EventType EVENT = EventType.getEventType(ContendedEvent.class);
    }

    /** Whether a wait is worth an event object. */
    static boolean isOn() {
        return FlightRecorder.isInitialized() && Type.EVENT.isEnabled();
    }

    static ContendedEvent started() {
        ContendedEvent e = new ContendedEvent();
        e.begin();
        return e;
    }

    void finish(QSpinLock l, boolean success) {
        end();
        if (shouldCommit()) {
            lock = l.name();
            layout = l.layout.name();
            backend = l.backend.name();
            acquired = success;
            commit();
        }
    }
}
