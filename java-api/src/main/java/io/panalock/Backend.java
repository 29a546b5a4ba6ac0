// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.internal.Library;

/**
 * How a Java lock object reaches the lock's words. All of them follow one protocol and may be mixed freely on one word,
 * with each other and with C code; they differ in cost only.
 */
public enum Backend {
    /** Takes and releases in Java, with instructions that the JIT inlines, and calls C only to wait or to wake. */
    HYBRID,

    /** Every operation is a call through the Foreign Function and Memory API, with the bindings that jextract made. */
    FFM,

    /**
     * As {@link #FFM}, but calls that can never wait are <em>critical</em>: they skip the thread-state transition, about a
     * nanosecond. Whatever may wait or wake stays an ordinary call, since a critical one holds up safepoints.
     */
    FFM_CRITICAL,

    /**
     * Every operation is a JNI call. For a lock in a shared arena, closing the arena while another thread is inside a
     * call that does not wait (try, unlock, state) is not caught, as it is with the other backends.
     */
    JNI,

    /**
     * Waits and wakes in Java too; works without the native library. Without it, words must not be shared with native code
     * or other processes.
     */
    PURE;

    private static final String PROPERTY = "panalock.backend";

    /** {@return whether locks of this backend can be made in this JVM: {@link #PURE} always, the others with the native library} */
    public boolean isAvailable() {
        return this == PURE || Library.isLoaded();
    }

    /**
     * The backend of locks whose builder names none: {@link #HYBRID}, or what the system property
     * {@code panalock.backend} says.
     *
     * @return the default
     * @throws IllegalArgumentException the property names no backend
     */
    public static Backend ofDefault() {
        return Default.VALUE;
    }

    private static final class Default {
        static final Backend VALUE = choose(System.getProperty(PROPERTY, ""));

        private static Backend choose(String name) {
            if (name.isEmpty()) {
                return HYBRID;
            }
            for (Backend b : values()) {
                if (b.name().equalsIgnoreCase(name)) {
                    return b;
                }
            }
            throw new IllegalArgumentException("-D" + PROPERTY + "=" + name + ": the backends are "
                    + java.util.Arrays.toString(values()));
        }
    }
}
