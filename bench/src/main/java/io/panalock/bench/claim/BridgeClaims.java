// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.claim;

import io.panalock.bench.claim.Claim.Need;
import io.panalock.bench.claim.Point.Quantity;
import io.panalock.bench.contend.ContendedPoint;
import io.panalock.bench.contend.ContendedPoint.Mode;
import io.panalock.bench.contend.Locks;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Group {@code bridge}: domains, the queued spinlock, and the ways to it from Java. */
public final class BridgeClaims implements ClaimGroup {
    private static final String MUTEX = "c-pthread-mutex";
    private static final String REENTRANT = Locks.REENTRANT_LOCK;
    private static final int[] THREADS = {2, 4, 16, 64};
    /** -prof gc shows an object per call as 16 B or more; what is left is one-time set-up spread over all calls. */
    private static final double NO_OBJECT = 0.01;

    private final List<Claim> claims = new ArrayList<>();

    public BridgeClaims() {
        uncontendedC();
        uncontendedJava();
        contended();
        sizes();
        allocations();
    }

    @Override
    public String name() {
        return "bridge";
    }

    @Override
    public List<Claim> claims() {
        return List.copyOf(claims);
    }

    private void uncontendedC() {
        pair("c-word-mutex", "c-word", MUTEX, Bound.atMost(0.75), "C inline, WORD against pthread_mutex");
        pair("c-word-spin", "c-word", "c-pthread-spin", Bound.atMost(0.95), "C inline, WORD against pthread_spin");
        pair("c-word-self", "c-word-self", "c-word", Bound.atMost(1.15),
                "C inline, WORD with pl_self() in every call against the same with a slot looked up once");
        pair("c-wide-mutex", "c-wide", MUTEX, Bound.atMost(0.45), "C inline, WIDE against pthread_mutex");
        pair("c-wide-bare", "c-wide", "c-bare", Bound.atMost(1.15),
                "C inline, WIDE against a bare compare-and-swap + store");
        pair("c-wide-exported", "c-wide-exported", MUTEX, Bound.atMost(1.1),
                "C through the shared library, WIDE against pthread_mutex");
    }

    private void uncontendedJava() {
        for (String layout : Locks.LAYOUTS) {
            String name = layout.toUpperCase(Locale.ROOT);
            String hybrid = Locks.panalock("hybrid", layout, "pool");
            pair("hybrid-pure-" + layout, hybrid, Locks.panalock("pure", layout, "pool"), Bound.atMost(1.05),
                    "HYBRID against PURE, " + name);
            pair("hybrid-c-" + layout, hybrid, "c-" + layout, Bound.atMost(1.3),
                    "HYBRID against the inline C pair in a C loop, " + name);
        }
        pair("pool-wide-reentrant", Locks.panalock("hybrid", "wide", "pool"), REENTRANT, Bound.atMost(0.60),
                "pool lock, WIDE against ReentrantLock");
        pair("pool-word-reentrant", Locks.panalock("hybrid", "word", "pool"), REENTRANT, Bound.atMost(1.2),
                "pool lock, WORD against ReentrantLock");
        pair("arena-wide-reentrant", Locks.panalock("hybrid", "wide", "arena"), REENTRANT, Bound.atMost(1.25),
                "arena lock, WIDE against ReentrantLock");
        for (String layout : Locks.LAYOUTS) {
            String name = layout.toUpperCase(Locale.ROOT);
            String jni = Locks.panalock("jni", layout, "pool");
            pair("ffm-jni-" + layout, Locks.panalock("ffm", layout, "pool"), jni, Bound.atMost(1.05),
                    "FFM against JNI, " + name);
            pair("critical-jni-" + layout, Locks.panalock("ffm_critical", layout, "pool"), jni, Bound.atMost(0.85),
                    "FFM_CRITICAL against JNI, " + name);
        }
    }

    private void pair(String id, String subject, String peer, Bound bound, String what) {
        boolean wide = subject.contains("wide");
        claims.add(new Claim(id, "uncontended pair, " + what, new Quantity(new LockPoints.Pair(subject), "time"),
                new Quantity(new LockPoints.Pair(peer), "time"), bound, wide ? Need.MEMBARRIER : Need.NOTHING, true));
    }

    /** Least throughput against the peer with 2, 4, 16 and 64 threads. */
    private static final Map<String, double[]> C_LEAST = Map.of(
            "empty", new double[] {1, 4, 4, 4},
            "100", new double[] {0.9, 1.4, 2, 2},
            "100-500", new double[] {0.9, 0.9, 0.9, 0.9});

    private static final Map<String, double[]> HYBRID_LEAST = Map.of(
            "empty", new double[] {1, 1.15, 1.15, 1.15},
            "100", new double[] {0.9, 0.9, 0.9, 0.9},
            "100-500", new double[] {0.9, 0.9, 0.9, 0.9});

    private void contended() {
        // WIDE, the layout that allocate() takes; `locks` shows the others.
        contended("c-wide", "c-wide", MUTEX, C_LEAST);
        contended("hybrid-wide", Locks.panalock("hybrid", "wide", "pool"), REENTRANT, HYBRID_LEAST);
    }

    private void contended(String prefix, String lock, String peer, Map<String, double[]> least) {
        for (String section : List.of("empty", "100", "100-500")) {
            int inside = section.equals("empty") ? 0 : 100;
            int outside = section.equals("100-500") ? 500 : 0;
            for (int i = 0; i < THREADS.length; i++) {
                int threads = THREADS[i];
                String id = prefix + "-" + section + "-" + threads;
                String at = threads + " threads, " + section + (section.equals("empty") ? " section" : " ns");
                Need need = Need.MEMBARRIER_AND_TWO_CPUS;
                boolean quick = (threads == 2 || threads == 16) && outside == 0;
                ContendedPoint point = new ContendedPoint(threads, inside, outside, Mode.THROUGHPUT);
                Quantity own = new Quantity(new LockPoints.Contended(lock, point), "throughput");
                claims.add(new Claim("rate-" + id, "throughput against " + peer + ", " + at, own,
                        new Quantity(new LockPoints.Contended(peer, point), "throughput"), Bound.atLeast(least.get(section)[i]),
                        need, quick));
                claims.add(new Claim("jain-" + id, "Jain index, " + at, new Quantity(own.point(), "jain"), null,
                        Bound.atLeast(0.85), need, false)); // turns are too long for a quick window
                ContendedPoint timed = new ContendedPoint(threads, inside, outside, Mode.LATENCY);
                claims.add(new Claim("longest-" + id, "longest acquire against " + peer + ", " + at,
                        new Quantity(new LockPoints.Contended(lock, timed), "longest"),
                        new Quantity(new LockPoints.Contended(peer, timed), "longest"), Bound.atMost(2), need, false));
            }
        }
    }

    private void sizes() {
        size("bytes-word", "WORD", 4, "a lock in the WORD layout is 4 bytes");
        size("bytes-byte", "BYTE", 4, "a lock in the BYTE layout is 4 bytes");
        size("bytes-wide", "WIDE", 8, "a lock in the WIDE layout is 8 bytes");
        size("bytes-domain", "domain", 512 * 1024, "a domain for 1,024 slots is at most 512 KiB");
    }

    private void size(String id, String what, int limit, String sentence) {
        claims.add(new Claim(id, sentence, new Quantity(new LockPoints.Size(what), "bytes"), null, Bound.atMost(limit),
                Need.NOTHING, true));
    }

    private void allocations() {
        for (String backend : Locks.BACKENDS) {
            for (String place : Locks.PLACES) {
                String lock = Locks.panalock(backend, place.equals("pool") ? "wide" : "word", place);
                claims.add(new Claim("objects-" + lock, "an uncontended pair allocates no Java object",
                        new Quantity(new LockPoints.Allocation(lock), "allocated"), null, Bound.atMost(NO_OBJECT), Need.NOTHING,
                        true));
            }
        }
        ContendedPoint point = new ContendedPoint(4, 100, 500, Mode.THROUGHPUT);
        claims.add(new Claim("objects-contended", "contended acquisitions (4 threads, 100-500 ns) allocate no Java object",
                new Quantity(new LockPoints.Contended(Locks.panalock("hybrid", "wide", "pool"), point), "allocated"), null,
                Bound.atMost(NO_OBJECT), Need.TWO_CPUS, false));
    }
}
