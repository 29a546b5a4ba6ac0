// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import java.util.List;

/**
 * What the lock-order validator found.
 *
 * @param kind what is wrong
 * @param lock the class of the lock that was being acquired or released
 * @param thread the thread that did it
 * @param orders for {@link Kind#INVERSION}: the orders that together form a circle, each with the two places where it was
 *     seen; the last is the new one. Empty otherwise
 * @param places where the locks that matter were acquired, and where this was found
 */
public record LockOrderReport(Kind kind, LockClass lock, String thread, List<Order> orders, List<Place> places) {
    /** What is wrong. */
    public enum Kind {
        /** Two or more locks are acquired in a circle of orders: threads that meet at the right moment wait for ever. */
        INVERSION,
        /** A thread acquires a lock that it holds. */
        RECURSION,
        /** A thread acquires a lock while it holds another of its class, without {@link LockClass#nested}. */
        SAME_CLASS,
        /** A thread has ended and holds a lock. */
        HELD_AT_EXIT,
        /** A thread releases a lock that it does not hold. */
        NOT_HELD
    }

    /**
     * {@code second} was acquired while {@code first} was held.
     *
     * @param first held
     * @param second acquired
     * @param thread who did it first
     * @param held where {@code first} had been acquired
     * @param acquired where {@code second} was
     */
    public record Order(LockClass first, LockClass second, String thread, List<StackTraceElement> held,
            List<StackTraceElement> acquired) {}

    /**
     * A place in the program.
     *
     * @param what in words
     * @param trace innermost call first
     */
    public record Place(String what, List<StackTraceElement> trace) {}

    /** {@return the report for people: what is wrong, the chains with their stack traces, what to do} */
    public String message() {
        StringBuilder text = new StringBuilder();
        switch (kind) {
            case INVERSION -> {
                text.append("possible deadlock: ").append(thread).append(" acquires \"").append(lock.name())
                        .append("\" against an order seen before:");
                for (Order o : orders) {
                    text.append(" \"").append(o.first().name()).append("\" before \"").append(o.second().name()).append("\";");
                }
                text.setCharAt(text.length() - 1, '.');
                text.append(" Acquire them in one order everywhere.");
                for (Order o : orders) {
                    text.append("\n\"").append(o.second().name()).append("\" while holding \"").append(o.first().name())
                            .append("\", first by ").append(o.thread()).append(":\n  holding, acquired at");
                    append(text, o.held());
                    text.append("\n  acquiring at");
                    append(text, o.acquired());
                }
            }
            case RECURSION ->
                text.append(thread).append(" acquires \"").append(lock.name()).append("\", which it holds already.");
            case SAME_CLASS -> text.append(thread).append(" acquires a second lock of class \"").append(lock.name())
                    .append("\": if others do so in another order they wait for ever. Say the order with LockClass.nested().");
            case HELD_AT_EXIT -> text.append(thread).append(" has ended and holds \"").append(lock.name())
                    .append("\": nobody will release it.");
            case NOT_HELD ->
                text.append(thread).append(" releases \"").append(lock.name()).append("\", which it does not hold.");
        }
        for (Place p : places) {
            text.append("\n").append(p.what());
            append(text, p.trace());
        }
        return text.toString();
    }

    private static void append(StringBuilder text, List<StackTraceElement> trace) {
        for (StackTraceElement e : trace) {
            text.append("\n    ").append(e);
        }
    }
}
