// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.internal.Library;

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
