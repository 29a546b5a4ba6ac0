// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.shazptr;

import io.panalock.bench.contend.IsolatingLoader;
import io.panalock.bench.peer.Readers;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Empty read sections by name: {@code c-...} in C, {@code java-...} in Java. */
final class Reads {
    static final List<String> ALL = List.of("c-shazptr", "c-shazptr_fenced", "c-shazptr_nested", "c-volatile_read",
            "c-pthread_rwlock", "c-urcu_memb", "c-urcu_mb", "c-urcu_qsbr", "c-urcu_bp", "java-hybrid-handle", "java-hybrid-lookup",
            "java-hybrid-handle-fenced", "java-hybrid-lookup-fenced", "java-pure-handle", "java-ffm-handle",
            "java-ffm_critical-handle", "java-jni-handle", "java-stamped_optimistic", "java-stamped_read", "java-read_write_lock",
            "java-volatile_read", "java-reentrant_lock", "java-unwatched_lock");

    private static final Map<String, ReadLoop> LOOPS = new HashMap<>();
    private static final String PACKAGE = "io.panalock.bench.shazptr.loop.";

    private Reads() {}

    static boolean present(String way) {
        return !way.startsWith("c-") || Readers.present(way.substring(2));
    }

    static boolean isPeer(String way) {
        return !way.contains("shazptr") && !way.contains("handle") && !way.contains("lookup") && !way.contains("unwatched");
    }

    /** Nanoseconds of one section, over so many in a row. */
    static double time(String way, int sections) {
        if (way.startsWith("c-")) {
            return Readers.section(way.substring(2), sections);
        }
        ReadLoop loop = LOOPS.computeIfAbsent(way, Reads::open);
        long from = System.nanoTime();
        loop.sections(sections);
        return (double) (System.nanoTime() - from) / sections;
    }

    private static ReadLoop open(String way) {
        String[] words = way.substring("java-".length()).split("-");
        ReadLoop loop = words.length == 1
                ? IsolatingLoader.open(way, ReadLoop.class, PACKAGE + "JdkReads", words[0])
                : IsolatingLoader.open(way, ReadLoop.class, PACKAGE + "HazardReads", words[0].toUpperCase(Locale.ROOT),
                        words[1], words.length > 2 ? words[2] : "asymmetric");
        for (int i = 0; i < 200; i++) {
            loop.sections(2_000); // compiled before it is measured
        }
        return loop;
    }
}
