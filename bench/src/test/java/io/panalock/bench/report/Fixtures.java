// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.report;

import io.panalock.bench.Synthetic;
import io.panalock.bench.result.Metric;
import io.panalock.bench.result.Result;
import io.panalock.bench.result.Results;
import java.util.LinkedHashMap;
import java.util.Map;

/** Pages to look at. */
final class Fixtures {
    static final String HOSTILE = "</script><img src=x onerror=alert(1)><!-- {{data}} & \"'\u2028 $1 \\";

    private Fixtures() {}

    static Results quiet() {
        return new Synthetic(7).results();
    }

    static Results few() {
        return new Synthetic(7).quick().results();
    }

    static Results arm() {
        return new Synthetic(8).quick().slowMachine(1.7).machine("cpu", "Example Arm N9").machine("arch", "aarch64")
                .machine("relax", "yield").results();
    }

    static Results emulated() {
        return new Synthetic(9).quick().slowMachine(30).machine("cpu", "implementer 0x00 part 0x051").machine("arch", "aarch64")
                .machine("emulated", true).results();
    }

    /** An experiment that the page has never heard of, and one with published figures. */
    static Results unknown() {
        Results results = new Synthetic(10).quick().results();
        for (String lock : new String[] {"qspinlock", "rqspinlock"}) {
            for (int producers : new int[] {1, 2, 4, 8}) {
                double rate = 14.0 / Math.sqrt(producers) * (lock.equals("qspinlock") ? 1 : 1.2);
                Map<String, Metric> metrics = new LinkedHashMap<>();
                metrics.put("throughput", new Metric(rate, "M/s", 0.02 * rate));
                metrics.put("drops", new Metric(0, "M/s", 0));
                results.add(new Result("ringbuf", Synthetic.params("lock", lock, "producers", producers), metrics));
            }
        }
        for (String mode : new String[] {"shazptr", "urcu"}) {
            Map<String, Metric> metrics = new LinkedHashMap<>();
            double base = mode.equals("urcu") ? 40 : 0.8;
            metrics.put("average", new Metric(base * 1.3, "µs", base * 0.1));
            metrics.put("min", new Metric(base * 0.3, "µs", base * 0.02));
            metrics.put("p50", new Metric(base, "µs", base * 0.05));
            metrics.put("p90", new Metric(base * 3, "µs", base * 0.2));
            metrics.put("p99", new Metric(base * 9, "µs", base));
            metrics.put("max", new Metric(base * 200, "µs", base * 50));
            results.add(new Result("rcuscale", Synthetic.params("mode", mode), metrics));
        }
        for (int threads : new int[] {2, 8, 64, 224}) {
            for (String variant : new String[] {"poll", "conditional"}) {
                double rate = (variant.equals("poll") ? 3000 : 3600) / Math.sqrt(threads);
                results.add(new Result("locktest",
                        Synthetic.params("side", "c", "lock", "osq-mutex", "variant", variant, "threads", threads, "load", 1),
                        Map.of("total", new Metric(rate, "kops/s", rate * 0.05),
                                "per_cpu", new Metric(rate / 2, "kops/s", rate * 0.02),
                                "thread_min", new Metric(rate, "ops/s", 1))));
            }
        }
        for (String mode : new String[] {"shazptr", "urcu"}) {
            results.add(new Result("lockdep-unregister", Synthetic.params("side", "c", "mode", mode),
                    Map.of("elapsed", new Metric(mode.equals("urcu") ? 0.4 : 0.02, "s", 0.001))));
            results.add(new Result("refscale", Synthetic.params("side", "java", "mode", mode, "readers", 2),
                    Map.of("time", new Metric(1.5, "ns/read", 0.1))));
        }
        for (String via : new String[] {"pipe", "exclusive", "wake_all"}) {
            for (int processes : new int[] {8, 64}) {
                double us = (via.equals("wake_all") ? 40.0 : 5) + processes / 20.0;
                results.add(new Result("tokens", Synthetic.params("via", via, "processes", processes), Map.of(
                        "per_pass", new Metric(us, "µs", us / 20),
                        "elapsed", new Metric(us, "s", us / 20),
                        "switches_per_pass", new Metric(us / 4, "1", 0.1))));
            }
        }
        for (int size : new int[] {64, 4096}) {
            results.add(new Result("copying", Synthetic.params("size", size, "how", "memcpy"),
                    Map.of("time", Metric.single(size / 20.0, "ns"))));
        }
        results.add(new Result("claim",
                Synthetic.params("group", "bridge", "id", "example", "sentence", "An example costs less than 2 ns.", "bound", "< 2",
                        "verdict", "holds", "repeats", 11),
                Map.of("figure", new Metric(1.5, "ns", 0.1))));
        results.add(new Result("claim",
                Synthetic.params("group", "bridge", "id", "other", "sentence", "Another example costs less than 1 ns.", "bound", "< 1",
                        "verdict", "falls short", "repeats", 11),
                Map.of("figure", new Metric(1.5, "ns", 0.1))));
        return results;
    }

    static Results hostile() {
        Results results = new Synthetic(11).quick().machine("cpu", HOSTILE).machine(HOSTILE, HOSTILE)
                .run("started", HOSTILE).run("command", HOSTILE).results();
        for (int x : new int[] {1, 2, 3}) {
            results.add(new Result(HOSTILE, Synthetic.params(HOSTILE, HOSTILE + x, "a", x, "b", HOSTILE),
                    Map.of(HOSTILE, new Metric(x, "ns/" + HOSTILE, 0.1))));
        }
        results.add(new Result("claim", Synthetic.params("id", HOSTILE, "sentence", HOSTILE, "bound", HOSTILE, "verdict", HOSTILE),
                Map.of("figure", new Metric(1, HOSTILE, 0))));
        return results;
    }

    static String page(Results... results) {
        Map<String, Results> inputs = new LinkedHashMap<>();
        for (Results each : results) {
            inputs.put(inputs.size() + ".json", each);
        }
        return new Page(inputs, "0.0-test").html();
    }
}
