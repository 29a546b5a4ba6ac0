// SPDX-License-Identifier: Apache-2.0

/** The Linux kernel's queued locks for Java: over the Foreign Function and Memory API, over JNI, and in pure Java. */
module io.panalock {
    requires jdk.jfr;
    requires static java.management;

    exports io.panalock;
}
