// SPDX-License-Identifier: Apache-2.0
package io.panalock;

/** What a management client sees, under {@code io.panalock:type=Panalock}, after {@link Panalock#registerMXBean}. */
public interface PanalockMXBean {
    /** {@return as {@link Panalock#dump}} */
    String getDump();

    /** {@return deadlocks that {@link RqSpinLock} has found in this JVM} */
    long getDeadlocks();

    /** {@return time limits of {@link RqSpinLock} that have passed in this JVM} */
    long getTimeouts();

    /** {@return the library's version} */
    String getVersion();
}
