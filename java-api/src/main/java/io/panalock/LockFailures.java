// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BiConsumer;
import jdk.jfr.Category;
import jdk.jfr.Event;
import jdk.jfr.EventType;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** Who is told when a {@link RqSpinLock} was not acquired: listeners, flight recorder, counters. */
final class LockFailures {
    private LockFailures() {}

    static final CopyOnWriteArrayList<BiConsumer<RqSpinLock, RuntimeException>> LISTENERS = new CopyOnWriteArrayList<>();
    static final LongAdder DEADLOCKS = new LongAdder();
    static final LongAdder TIMEOUTS = new LongAdder();

    /** Tells everybody and returns the failure. */
    static RuntimeException tell(RqSpinLock lock, RuntimeException failure) {
        (failure instanceof DeadlockException ? DEADLOCKS : TIMEOUTS).increment();
        if (FlightRecorder.isInitialized()) {
            Recording.tell(lock, failure);
        }
        for (BiConsumer<RqSpinLock, RuntimeException> listener : LISTENERS) {
            try {
                listener.accept(lock, failure);
            } catch (RuntimeException e) {
                failure.addSuppressed(e);
            }
        }
        return failure;
    }

    /** Loaded only once flight recorder is in use. */
    private static final class Recording {
        private static final EventType DEADLOCK = EventType.getEventType(DeadlockEvent.class);
        private static final EventType TIMEOUT = EventType.getEventType(LockTimeoutEvent.class);

        static void tell(RqSpinLock lock, RuntimeException failure) {
            if (failure instanceof DeadlockException && DEADLOCK.isEnabled()) {
                DeadlockEvent e = new DeadlockEvent();
                e.lock = lock.name();
                e.cycle = failure.getMessage();
                e.commit();
            } else if (failure instanceof LockTimeoutException && TIMEOUT.isEnabled()) {
                LockTimeoutEvent e = new LockTimeoutEvent();
                e.lock = lock.name();
                e.message = failure.getMessage();
                e.commit();
            }
        }
    }

    @Name("io.panalock.Deadlock")
    @Label("Lock Deadlock")
    @Category({"Panalock"})
    @StackTrace(true)
    static final class DeadlockEvent extends Event {
        @Label("Lock")
        String lock;

        @Label("Cycle")
        String cycle;
    }

    @Name("io.panalock.LockTimeout")
    @Label("Lock Timeout")
    @Category({"Panalock"})
    @StackTrace(true)
    static final class LockTimeoutEvent extends Event {
        @Label("Lock")
        String lock;

        @Label("Message")
        String message;
    }
}
