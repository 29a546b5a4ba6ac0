// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.report;

import io.panalock.bench.result.Noise;
import io.panalock.bench.machine.Machine;
import io.panalock.bench.result.Metric;
import io.panalock.bench.result.Results;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Where figures come from: a machine of ours, or a publication.
 *
 * @param tag a letter when there are several machines, else empty
 * @param name short, as in headings and charts
 * @param results what was measured there
 * @param published the source when somebody else measured it, else null
 * @param noise of the results
 */
record Subject(String tag, String name, Results results, String published, Noise noise) {
    private static final Pattern STEPPING = Pattern.compile(" \\(family .*\\)$");

    /** What a figure is put in relation to. */
    enum Floor {
        ATOMIC("atomic", "one uncontended atomic operation"),
        CACHE_LINE("cache-line", "moving one cache line from one CPU to the other");

        private final String what;
        private final String words;

        Floor(String what, String words) {
            this.what = what;
            this.words = words;
        }

        String words() {
            return words;
        }
    }

    static Subject machine(String tag, Results results) {
        String name = (tag.isEmpty() ? "" : tag + " \u00b7 ") + cpu(results);
        return new Subject(tag, name, results, null, new Noise(results));
    }

    static Subject publication(String name, String source, Results results) {
        return new Subject("", name, results, source, new Noise(results));
    }

    /** The CPU's name as people say it. */
    static String cpu(Results results) {
        Object cpu = results.machine().get("cpu");
        Matcher stepping = STEPPING.matcher(cpu == null ? "unknown CPU" : cpu.toString());
        return stepping.replaceFirst("");
    }

    boolean isPublished() {
        return published != null;
    }

    boolean emulated() {
        return !isPublished() && Machine.emulated(results.machine());
    }

    /** Nothing on an emulated machine. */
    Optional<Metric> jniCall() {
        return emulated() ? Optional.empty() : results.metric("call", Map.of("target", "blank", "via", "jni"), "time");
    }

    Optional<Metric> floor(Floor floor) {
        return emulated() ? Optional.empty() : results.metric("floor", Map.of("what", floor.what), "time");
    }
}
