// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import java.util.List;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.Lock;
import java.util.function.Consumer;

/**
 * The lock-order validator: with {@code -Dpanalock.lockdep=on} every acquisition of every {@link QSpinLock},
 * {@link RqSpinLock} and {@link OsqMutex} of this JVM, and of every lock given to {@link #watch}, is noted, and the first time that an order of acquisitions <em>could</em> deadlock it
 * is reported with the stack traces of all orders that take part, whether or not it did. Also: recursion, locks held by
 * threads that have ended, releases of what is not held.
 *
 * <p>Reports go to the listeners, to the system logger {@code io.panalock.lockdep}, and to flight recorder
 * ({@code io.panalock.LockOrder}).
 *
 * <pre>{@code
 * static final LockClass ACCOUNTS = LockClass.of("accounts");
 * Lock lock = Lockdep.watch(new ReentrantLock(), ACCOUNTS);
 * }</pre>
 *
 * <p>Without the property nothing is wrapped: locks are the very objects that they are otherwise, and cost what they cost.
 * With it an acquisition takes a stack trace, microseconds.
 *
 * <p>Limits: it learns what it sees. Two orders that a third lock, held around both, keeps from ever meeting are reported too.
 * Native code's own acquisitions are not seen.
 */
public final class Lockdep {
    /** Whether locks are watched; constant, so that what depends on it is not even compiled. */
    static final boolean ON = "on".equals(System.getProperty("panalock.lockdep"));

    private static final List<Consumer<LockOrderReport>> LISTENERS = new CopyOnWriteArrayList<>();
    private static final LockOrder ORDER = new LockOrder(Lockdep::report);
    private static final ConcurrentHashMap<String, LockClass> BY_PLACE = new ConcurrentHashMap<>();
    private static final ConcurrentHashMap<Long, Long> IDENTITIES = new ConcurrentHashMap<>();

    private Lockdep() {}

    /** {@return whether locks are watched in this JVM} */
    public static boolean isOn() {
        return ON;
    }

    /**
     * Has a lock watched, if locks are watched at all.
     *
     * @param lock any lock; a try and a wait with a time limit never add an order towards it, since they end by themselves
     * @param type its class
     * @return a view to be used instead; the lock itself if the validator is off
     */
    public static Lock watch(Lock lock, LockClass type) {
        Objects.requireNonNull(lock, "lock");
        Objects.requireNonNull(type, "type");
        return ON ? new WatchedLock(lock, type, ORDER) : lock;
    }

    /**
     * Is called with every report from now on, by the thread that is about to do what is reported. What it throws is thrown
     * there, so that a test can fail at the place.
     *
     * @param listener gets the reports
     */
    public static void addListener(Consumer<LockOrderReport> listener) {
        LISTENERS.add(Objects.requireNonNull(listener, "listener"));
    }

    /**
     * Undoes {@link #addListener}.
     *
     * @param listener as given there
     */
    public static void removeListener(Consumer<LockOrderReport> listener) {
        LISTENERS.remove(listener);
    }

    /** Looks for threads that have ended while they held a watched lock; happens by itself whenever a new thread locks. */
    public static void check() {
        ORDER.findLeftBehind();
    }

    static void forget(LockClass type) {
        ORDER.forget(type);
        BY_PLACE.values().remove(type);
    }

    static LockOrder order() {
        return ORDER;
    }

    /** One object for each address: several lock objects may stand for one lock. */
    static Object identityOf(long address) {
        Long boxed = address;
        Long before = IDENTITIES.putIfAbsent(boxed, boxed);
        return before != null ? before : boxed;
    }

    /** The class of a lock: the one that it was given, or else its name, or the place in the program that makes it. */
    static LockClass classOf(LockClass given, String name) {
        if (given != null) {
            return given;
        }
        String key = name != null ? name : StackWalker.getInstance()
                .walk(s -> s.filter(f -> !f.getClassName().startsWith("io.panalock.")).findFirst())
                .map(f -> "locks made at " + f.getClassName() + "." + f.getMethodName() + ":" + f.getLineNumber())
                .orElse("locks of Panalock");
        return BY_PLACE.computeIfAbsent(key, LockClass::of);
    }

    private static void report(LockOrderReport r) {
        LockOrderEvent.record(r);
        System.getLogger("io.panalock.lockdep").log(System.Logger.Level.WARNING, r.message());
        LISTENERS.forEach(l -> l.accept(r));
    }
}
