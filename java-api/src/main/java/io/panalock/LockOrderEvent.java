// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** The lock-order validator has found something. */
@Name("io.panalock.LockOrder")
@Label("Lock Order")
@Description("The lock-order validator has found something")
@Category({"Panalock"})
@StackTrace(true)
final class LockOrderEvent extends Event {
    @Label("Kind")
    String kind;

    @Label("Lock Class")
    String lock;

    @Label("Message")
    String message;

    private LockOrderEvent() {}

    static void record(LockOrderReport r) {
        if (!FlightRecorder.isInitialized()) {
            return;
        }
        LockOrderEvent e = new LockOrderEvent();
        e.kind = r.kind().name();
        e.lock = r.lock().name();
        e.message = r.message();
        e.commit();
    }
}
