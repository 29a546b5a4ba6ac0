// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.internal.Library;
import java.util.Objects;
import java.util.function.BiConsumer;

/** Facts about this build of Panalock. */
public final class Panalock {
    private Panalock() {}

    /**
     * The version of this library.
     *
     * @return for example {@code 0.1.0-SNAPSHOT}; {@code unknown} when the classes do not come from Panalock's jar
     */
    public static String version() {
        String version = Panalock.class.getPackage().getImplementationVersion();
        return version == null ? "unknown" : version;
    }

    /**
     * Who holds what and who waits for what in the domains of this JVM: a picture of a moment, taken without locks, that
     * other threads go on changing. Locks of {@link RqSpinLock} and waiters of all locks; with debug checks all locks.
     *
     * @return lines for people
     */
    public static String dump() {
        StringBuilder text = new StringBuilder();
        LockDomain.all().forEach(d -> text.append(Dump.of(d)));
        return text.isEmpty() ? "no domain is in use\n" : text.toString();
    }

    /**
     * Has a listener told of every acquisition of a {@link RqSpinLock} that failed, by the failing thread, before it gets the
     * {@link DeadlockException} or {@link LockTimeoutException}. What the listener throws is added to that as suppressed.
     *
     * @param listener takes the lock and the exception
     */
    public static void addLockFailureListener(BiConsumer<RqSpinLock, RuntimeException> listener) {
        LockFailures.LISTENERS.add(Objects.requireNonNull(listener, "listener"));
    }

    /**
     * Takes a listener back.
     *
     * @param listener the same object
     * @return whether it was there
     */
    public static boolean removeLockFailureListener(BiConsumer<RqSpinLock, RuntimeException> listener) {
        return LockFailures.LISTENERS.remove(listener);
    }

    /**
     * Registers the {@link PanalockMXBean} with the platform's management server. Idempotent.
     *
     * @throws IllegalStateException this JVM has no module java.management, or does not allow it
     */
    public static void registerMXBean() {
        Management.register();
    }

    /** {@return whether the native library is there; without it only {@link Backend#PURE} works} Never throws. */
    public static boolean hasNativeLibrary() {
        return Library.isLoaded();
    }

    /**
     * Where the native library was found, or why there is none.
     *
     * @return words for people
     */
    public static String nativeLibrary() {
        return Library.isLoaded() ? Library.origin() : Library.problem();
    }
}
