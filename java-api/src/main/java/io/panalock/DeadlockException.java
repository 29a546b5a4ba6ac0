// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.pure.Circle;
import java.util.ArrayList;
import java.util.List;

/**
 * A lock was not acquired because waiting for it would have been for ever. Of the threads of a deadlock one gets this
 * exception; when it releases what it holds the others go on. The stack trace is that of the acquisition.
 */
public final class DeadlockException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /**
     * One thread of a deadlock.
     *
     * @param thread its name
     * @param holds the lock that the one before it waits for
     * @param waitsFor the lock that the next one holds
     */
    public record Participant(String thread, String holds, String waitsFor) implements java.io.Serializable {
        @Override
        public String toString() {
            return thread + " holds \"" + holds + "\", waits for \"" + waitsFor + "\"";
        }
    }

    /** The threads, the caller first. */
    private final Participant[] cycle;

    private DeadlockException(String message, List<Participant> cycle) {
        super(message);
        this.cycle = cycle.toArray(new Participant[0]);
    }

    static DeadlockException of(RqSpinLock lock, LockThread self, Circle circle) {
        int n = circle.length();
        List<Participant> cycle = new ArrayList<>(n);
        for (int i = 0; i < n; i++) {
            long held = circle.key((i + n - 1) % n);
            String thread = i == 0 ? self.thread().getName() : lock.threadName(circle.slot(i));
            cycle.add(new Participant(thread, lock.domain().lockNames().of(held), lock.domain().lockNames().of(circle.key(i))));
        }
        String message;
        if (n == 1) {
            message = cycle.getFirst().thread() + " locks \"" + lock.name() + "\", which it holds already: the lock is not recursive.";
        } else {
            List<String> parts = new ArrayList<>(n);
            cycle.forEach(p -> parts.add(p.toString()));
            message = String.join("; ", parts);
        }
        return new DeadlockException(message, cycle);
    }

    /** {@return the whole circle, the caller first; one participant if it held the lock itself} */
    public List<Participant> cycle() {
        return List.of(cycle);
    }
}
