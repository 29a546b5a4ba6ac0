// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.shazptr;

import io.panalock.bench.claim.Bench;
import io.panalock.bench.claim.Bound;
import io.panalock.bench.claim.Claim;
import io.panalock.bench.claim.Claim.Need;
import io.panalock.bench.claim.ClaimGroup;
import io.panalock.bench.claim.Point;
import io.panalock.bench.claim.Point.Quantity;
import io.panalock.bench.result.Stats;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Group {@code shazptr}: what a reader pays, and how long a writer waits. */
public final class ShazptrClaims implements ClaimGroup {
    private static final int SECTIONS = 20_000;
    private static final long HOLD_NS = 1_000_000;
    private static final double NS_PER_US = 1000;
    private static final int FEW = 1000;
    private static final int MANY = 16_000;

    private final List<Claim> claims = new ArrayList<>();

    public ShazptrClaims() {
        reads();
        waits();
        validator();
    }

    @Override
    public String name() {
        return "shazptr";
    }

    @Override
    public List<Claim> claims() {
        return List.copyOf(claims);
    }

    private void reads() {
        read("c-pair-fenced", "c-shazptr", "c-shazptr_fenced", 0.4, "C, asymmetric against its own full-fence form");
        read("c-pair-urcu", "c-shazptr", "c-urcu_memb", 0.7, "C, asymmetric against liburcu-memb's read section");
        read("java-handle-c", "java-hybrid-handle", "c-shazptr", 3, "Java with an explicit handle against C");
        read("java-lookup-c", "java-hybrid-lookup", "c-shazptr", 4.5, "Java, thread looked up, against C");
        read("java-handle-fenced", "java-hybrid-handle", "java-hybrid-handle-fenced", 0.6,
                "Java with an explicit handle against its own full-fence form");
    }

    private void validator() {
        claims.add(new Claim("lockdep-off",
                "a pair of a lock that was handed to the lock-order validator, which is off, against the same lock's by itself",
                new Quantity(new Read("java-unwatched_lock"), Point.Windowed.TIME),
                new Quantity(new Read("java-reentrant_lock"), Point.Windowed.TIME), Bound.atMost(1.05), Need.NOTHING, true));
    }

    private void read(String id, String subject, String peer, double bound, String what) {
        claims.add(new Claim(id, "guard, begin and end, " + what, new Quantity(new Read(subject), Point.Windowed.TIME),
                new Quantity(new Read(peer), Point.Windowed.TIME), Bound.atMost(bound), Need.MEMBARRIER, true));
    }

    private void waits() {
        Wait alone = new Wait("shazptr", 1, 0, 0);
        claims.add(new Claim("wait-urcu", "synchronize, nobody reads the pointer, against liburcu-memb's with one busy reader: median",
                new Quantity(alone, "median"), new Quantity(new Wait("urcu_memb", 1, 0, 0), "median"), Bound.atMost(0.5),
                Need.MEMBARRIER_AND_TWO_CPUS, true));
        claims.add(new Claim("wait-p99", "synchronize while readers use other pointers: p99 against the median",
                new Quantity(alone, "p99"), new Quantity(alone, "median"), Bound.atMost(10), Need.MEMBARRIER_AND_TWO_CPUS, true));
        claims.add(new Claim("wait-long-sections",
                "synchronize against an epoch wait (liburcu-memb), both with readers that hold sections of 1 ms: median",
                new Quantity(new Wait("urcu_memb", 1, 0, HOLD_NS), "median"),
                new Quantity(new Wait("shazptr", 1, 0, HOLD_NS), "median"), Bound.atLeast(100), Need.MEMBARRIER_AND_TWO_CPUS,
                true));
        claims.add(new Claim("wait-slots", "synchronize with 16,000 slots that have protected something against 1,000: median",
                new Quantity(new Wait("shazptr", 0, MANY, 0), "median"), new Quantity(new Wait("shazptr", 0, FEW, 0), "median"),
                Bound.atMost(1.5 * MANY / FEW), Need.MEMBARRIER, true));
    }

    /** One read section; metric {@code time}. */
    private record Read(String way) implements Point.Windowed {
        @Override
        public String batch() {
            return "read sections";
        }

        @Override
        public Map<String, Object> params() {
            Map<String, Object> params = new LinkedHashMap<>();
            params.put("read", way);
            if (Reads.isPeer(way)) {
                params.put("peer", true);
            }
            return params;
        }

        @Override
        public String unit(String metric) {
            return "ns/read";
        }

        @Override
        public double window(Bench bench) {
            return Reads.time(way, SECTIONS);
        }
    }

    /** Waiting for readers; metrics {@code median} and {@code p99}. */
    private record Wait(String mode, int readers, int idle, long holdNs) implements Point.Whole {
        @Override
        public String batch() {
            return "waits" + (holdNs > 0 ? ", long sections" : idle > 0 ? ", slots" : "");
        }

        @Override
        public Map<String, Object> params() {
            Map<String, Object> params = new LinkedHashMap<>();
            params.put("wait", mode);
            params.put("readers", readers);
            params.put("idle", idle);
            params.put("hold_us", holdNs / 1000);
            if (Grace.isPeer(mode)) {
                params.put("peer", true);
            }
            return params;
        }

        @Override
        public String unit(String metric) {
            return "µs";
        }

        @Override
        public int repeats(Bench bench) {
            return bench.windowedRepeats();
        }

        @Override
        public Map<String, Double> measure(Bench bench) {
            double[] ns = Grace.measure(mode, readers, idle, holdNs, bench.windowNs() / 2);
            return Map.of("median", Stats.median(ns) / NS_PER_US, "p99", Stats.percentile(ns, 99) / NS_PER_US);
        }
    }
}
