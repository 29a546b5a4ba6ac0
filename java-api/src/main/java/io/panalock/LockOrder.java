// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.LockOrderReport.Kind;
import io.panalock.LockOrderReport.Order;
import io.panalock.LockOrderReport.Place;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * The lock-order validator's engine: which classes were acquired while which were held, and whether those orders have a
 * circle.
 *
 * <p>Invariant: {@code edges} holds an order iff some thread has waited, or could have had to wait, for a lock of the second
 * class while it held one of the first. A try never waits, so it adds no order to what it takes; what is acquired later
 * while it is held does. An order that closes a circle is reported when it is added, once; it is added all the same, so that
 * it is not reported again. Orders are added under the monitor; known ones are recognised without it.
 */
final class LockOrder {
    private static final int TRACE = 16;

    /** Classes of this library that stand between the program and the validator. */
    private static final Set<String> OWN = Set.of("io.panalock.LockOrder", "io.panalock.WatchedLock",
            "io.panalock.WatchedSpinLock", "io.panalock.Lockdep", "io.panalock.OsqMutex", "io.panalock.RqSpinLock");

    private static final class Held {
        final Object lock;
        final LockClass type;
        final Throwable where;

        Held(Object lock, LockClass type, Throwable where) {
            this.lock = lock;
            this.type = type;
            this.where = where;
        }
    }

    /** What a thread holds, in order of acquisition; touched by it, and by others once it has ended. */
    private static final class Locks {
        final Thread thread = Thread.currentThread();
        final ArrayList<Held> held = new ArrayList<>();
    }

    private final Map<LockClass, Map<LockClass, Order>> edges = new ConcurrentHashMap<>();
    private final ThreadLocal<Locks> mine = ThreadLocal.withInitial(this::newLocks);
    private final Set<Locks> busy = ConcurrentHashMap.newKeySet(); // strong, while something is held
    private final Set<Object> said = ConcurrentHashMap.newKeySet(); // reported once: same class, recursion, not held
    private final Consumer<LockOrderReport> to;

    LockOrder(Consumer<LockOrderReport> to) {
        this.to = to;
    }

    private Locks newLocks() {
        findLeftBehind();
        return new Locks();
    }

    /** Before an acquisition that may wait. */
    void acquiring(Object lock, LockClass type) {
        Locks me = mine.get();
        for (Held h : me.held) {
            if (h.lock == lock) {
                once(Kind.RECURSION, type, me, List.of(place("acquired at", h.where), place("again at", new Throwable())));
            } else if (h.type.equals(type)) {
                once(Kind.SAME_CLASS, type, me, List.of(place("the first at", h.where), place("the second at", new Throwable())));
            } else {
                Map<LockClass, Order> known = edges.get(h.type);
                if (known == null || !known.containsKey(type)) {
                    add(h, type, me);
                }
            }
        }
    }

    /** After an acquisition, by a try or otherwise. */
    void acquired(Object lock, LockClass type) {
        Locks me = mine.get();
        if (me.held.isEmpty()) {
            busy.add(me);
        }
        me.held.add(new Held(lock, type, new Throwable()));
    }

    /** Before a release. False if the thread does not hold the lock. */
    boolean releasing(Object lock, LockClass type) {
        Locks me = mine.get();
        for (int i = me.held.size() - 1; i >= 0; i--) {
            if (me.held.get(i).lock == lock) {
                me.held.remove(i);
                if (me.held.isEmpty()) {
                    busy.remove(me);
                }
                return true;
            }
        }
        once(Kind.NOT_HELD, type, me, List.of(place("released at", new Throwable())));
        return false;
    }

    /** Threads that have ended and held something. */
    void findLeftBehind() {
        for (Locks l : busy) {
            if (!l.thread.isAlive() && busy.remove(l)) {
                for (Held h : l.held) {
                    to.accept(new LockOrderReport(Kind.HELD_AT_EXIT, h.type, l.thread.getName(), List.of(),
                            List.of(place("acquired at", h.where))));
                }
            }
        }
    }

    synchronized void forget(LockClass type) {
        edges.keySet().removeIf(c -> c.belongsTo(type));
        edges.values().forEach(m -> m.keySet().removeIf(c -> c.belongsTo(type)));
    }

    private synchronized void add(Held h, LockClass type, Locks me) {
        Map<LockClass, Order> from = edges.computeIfAbsent(h.type, c -> new ConcurrentHashMap<>());
        if (from.containsKey(type) || type.isClosed() || h.type.isClosed()) {
            return;
        }
        Order order = new Order(h.type, type, me.thread.getName(), trace(h.where), trace(new Throwable()));
        List<Order> back = path(type, h.type);
        from.put(type, order);
        if (back != null) {
            List<Order> circle = new ArrayList<>(back);
            circle.add(order);
            to.accept(new LockOrderReport(Kind.INVERSION, type, me.thread.getName(), List.copyOf(circle), List.of()));
        }
    }

    /** The shortest chain of orders from one class to another, or null. */
    private List<Order> path(LockClass from, LockClass goal) {
        Map<LockClass, Order> by = new HashMap<>();
        Set<LockClass> seen = new HashSet<>(Set.of(from));
        ArrayDeque<LockClass> next = new ArrayDeque<>(List.of(from));
        while (!next.isEmpty()) {
            LockClass at = next.poll();
            for (Map.Entry<LockClass, Order> e : edges.getOrDefault(at, Map.of()).entrySet()) {
                if (seen.add(e.getKey())) {
                    by.put(e.getKey(), e.getValue());
                    if (e.getKey().equals(goal)) {
                        ArrayDeque<Order> path = new ArrayDeque<>();
                        for (LockClass c = goal; !c.equals(from); c = path.getFirst().first()) {
                            path.addFirst(by.get(c));
                        }
                        return List.copyOf(path);
                    }
                    next.add(e.getKey());
                }
            }
        }
        return null;
    }

    private void once(Kind kind, LockClass type, Locks me, List<Place> places) {
        if (said.add(List.of(kind, type, places.getLast().trace()))) {
            to.accept(new LockOrderReport(kind, type, me.thread.getName(), List.of(), places));
        }
    }

    private static Place place(String what, Throwable where) {
        return new Place(what, trace(where));
    }

    /** Without this library's own frames. */
    private static List<StackTraceElement> trace(Throwable where) {
        List<StackTraceElement> trace = new ArrayList<>();
        for (StackTraceElement e : where.getStackTrace()) {
            boolean own = OWN.contains(e.getClassName());
            if ((!own || !trace.isEmpty()) && trace.size() < TRACE) {
                trace.add(e);
            }
        }
        return List.copyOf(trace);
    }
}
