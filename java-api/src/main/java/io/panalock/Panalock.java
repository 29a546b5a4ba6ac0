// SPDX-License-Identifier: Apache-2.0
package io.panalock;

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
}
