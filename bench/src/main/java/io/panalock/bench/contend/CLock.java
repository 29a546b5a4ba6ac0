// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.contend;

import io.panalock.bench.peer.CPeers;
import io.panalock.bench.peer.CProgram;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.HdrHistogram.Histogram;

/**
 * A lock in C. Uncontended pairs run in the program panalock-bench-c, contended points in libpanalock_bench in this
 * process: between threads the lock's cache lines decide, not how an executable reaches a library.
 */
public final class CLock implements Lock {
    private final int index;
    private final String name;

    private CLock(int index, String name) {
        this.index = index;
        this.name = name;
    }

    /** Names as in native/bench/locks.h, with hyphens. */
    public static CLock of(String name) {
        List<String> names = names();
        int index = names.indexOf(name);
        if (index < 0) {
            throw new IllegalArgumentException("\"" + name + "\" is not a lock in C; there are " + names);
        }
        return new CLock(index, name);
    }

    public static List<String> names() {
        return CPeers.lockNames().stream().map(n -> n.replace('_', '-')).toList();
    }

    static boolean built(String name) {
        return (CPeers.lockFlags(names().indexOf(name)) & CPeers.ABSENT) == 0;
    }

    static boolean forSeveralThreads(String name) {
        return (CPeers.lockFlags(names().indexOf(name)) & CPeers.CONTENDED_OK) != 0;
    }

    @Override
    public String id() {
        return "c-" + name;
    }

    @Override
    public Map<String, Object> params() {
        Map<String, Object> params = new LinkedHashMap<>();
        params.put("side", "c");
        params.put("lock", name);
        return params;
    }

    @Override
    public long pairs(int pairs) {
        return CProgram.pairs(name.replace('-', '_'), pairs);
    }

    @Override
    public Outcome contend(ContendedPoint point, long warmNs, long windowNs) {
        int mode = point.latency() ? CPeers.LATENCY : CPeers.THROUGHPUT;
        CPeers.Contended c = CPeers.contended(
                index, point.threads(), mode, point.pinned() ? CPeers.PIN : 0, point.insideNs(),
                point.insidePauses(), point.outsideNs(), warmNs, windowNs);
        return new Outcome(c.windowNs(), c.counts(), c.all(), c.handovers(), c.longestNs(),
                point.latency() ? Optional.of(histogram(c.buckets())) : Optional.empty(), 0,
                c.voluntarySwitches(), c.involuntarySwitches());
    }

    static Histogram histogram(long[] buckets) {
        Histogram histogram = Worker.newHistogram();
        for (int i = 0; i < buckets.length; i++) {
            if (buckets[i] > 0) {
                histogram.recordValueWithCount(Math.max(1, CPeers.bucketFloor(i)), buckets[i]);
            }
        }
        return histogram;
    }

    @Override
    public void calibrate() {
        CPeers.calibrate();
    }

    @Override
    public void warmUp() {
        pairs(1000);
    }
}
