// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.ringbuf;

import io.panalock.bench.Experiment;
import io.panalock.bench.Progress;
import io.panalock.bench.result.Results;
import io.panalock.bench.ringbuf.RingPeer.Point;
import io.panalock.bench.ringbuf.RingPeer.Samples;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code ringbuf}: the multi-producer benchmark of the kernel's BPF selftests, for the ring buffer of this library. */
@Command(
        name = "ringbuf",
        mixinStandardHelpOptions = true,
        description = {
            "The ring buffer under many producers, as the kernel's selftest measures its own: batches of 50 records of 8 bytes,"
                    + " a ring of 512 KiB, one consumer, a sample every second.",
            "hits: records that the consumer saw; drops: reservations refused for want of room; both in millions a second,"
                    + " mean and standard deviation of the samples, the first of the warm-up left out. The per cent compare"
                    + " with the first lock.",
            "The consumer has a CPU of its own, the producers share the others, with or without --pin.",
            "Without options: C, qspinlock and pthread-mutex and what else C has, 1 to 52 producers, 13 seconds each."
        })
public final class RingbufCommand extends Experiment {
    private static final int MOST_SECONDS = 3600;
    private static final long SECOND = 1_000_000_000;
    private static final long QUICK_SAMPLE = 100_000_000;

    private List<Integer> producers = List.of(1, 2, 3, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52);
    private List<String> locks =
            Contender.lockNames().stream().filter(lock -> Contender.possible("c", lock)).toList();
    private List<String> vias = List.of("c");
    private int seconds = 10;
    private int warmSeconds = 3;
    private final List<Row> rows = new ArrayList<>();

    private record Row(Contender contender, int producers, Samples samples) {}

    @Option(names = "--producers", paramLabel = "LIST", description = "Numbers of producers (default: 1,2,3,4,8,12,...,52).")
    void setProducers(String list) {
        producers = numbers("--producers", list, 1, 1024);
    }

    @Option(names = "--lock", paramLabel = "LIST", description = "What producers hold while they reserve.")
    void setLocks(String list) {
        locks = words("--lock", list, Contender.lockNames());
    }

    @Option(names = "--via", paramLabel = "LIST", description = "Of c, hybrid, ffm, ffm_critical, jni, pure: who produces and consumes (default: c).")
    void setVias(String list) {
        vias = words("--via", list, Contender.VIAS);
    }

    @Option(names = "--duration", paramLabel = "S", description = "Seconds a point is measured (default: 10).")
    void setDuration(String text) {
        seconds = number("--duration", text, 1, MOST_SECONDS);
    }

    @Option(names = "--warmup", paramLabel = "S", description = "Seconds before that (default: 3).")
    void setWarmup(String text) {
        warmSeconds = number("--warmup", text, 0, MOST_SECONDS);
    }

    @Override
    protected void check() {
        if (vias.stream().noneMatch(via -> locks.stream().anyMatch(lock -> Contender.possible(via, lock)))) {
            throw wrong("--lock: " + String.join(", ", locks) + " cannot be taken via " + String.join(", ", vias));
        }
    }

    @Override
    protected void measure(Run run) {
        List<Integer> few = producers.stream().filter(n -> n <= 2 || n == 16).toList();
        List<Integer> counts = run.quick() && !few.isEmpty() ? few : producers;
        long sampleNs = run.quick() ? QUICK_SAMPLE : SECOND;
        long warmNs = run.quick() ? QUICK_SAMPLE : warmSeconds * SECOND;
        List<Contender> contenders = new ArrayList<>();
        for (String via : vias) {
            locks.stream().filter(lock -> Contender.possible(via, lock)).map(lock -> Contender.open(via, lock)).forEach(contenders::add);
        }
        try (Progress progress = Progress.start(run.out(), "ringbuf", contenders.size() * counts.size())) {
            // Code, memory and clock frequency are the same for the first point as for the others.
            contenders.forEach(contender -> contender.measure(new Point(counts.getFirst(), QUICK_SAMPLE, QUICK_SAMPLE, 1)));
            for (int n : counts) {
                Point point = new Point(n, warmNs, sampleNs, seconds + 1);
                for (Contender contender : contenders) {
                    progress.at(contender.lock() + " via " + contender.via() + ", " + n + " producers");
                    Samples samples = contender.measure(point);
                    rows.add(new Row(contender, n, samples));
                    Map<String, Object> params = new LinkedHashMap<>(contender.params());
                    params.put("producers", n);
                    run.recorder().record("ringbuf", params, "throughput", "M/s", samples.hits());
                    run.recorder().record("ringbuf", params, "drops", "M/s", samples.drops());
                    progress.step();
                }
            }
        }
    }

    /** The lines of the kernel's script, and behind them how each compares with the first lock of the same kind. */
    @Override
    protected String text(Results results) {
        StringBuilder text = new StringBuilder("Ringbuf, multi-producer contention" + System.lineSeparator());
        Map<String, Double> first = new HashMap<>();
        Map<String, String> firstLock = new HashMap<>();
        int width = rows.stream().mapToInt(r -> label(r).length()).max().orElse(0);
        for (Row row : rows) {
            String kind = row.contender.via() + " " + row.producers;
            double hits = mean(row.samples.hits());
            Double base = first.putIfAbsent(kind, hits);
            firstLock.putIfAbsent(kind, row.contender.lock());
            text.append(String.format(
                    Locale.ROOT,
                    "%-" + width + "s nr_prod %-3d%7.3f ± %.3fM/s (drops %.3f ± %.3fM/s)%s%n",
                    label(row),
                    row.producers,
                    hits,
                    deviation(row.samples.hits()),
                    mean(row.samples.drops()),
                    deviation(row.samples.drops()),
                    base == null || firstLock.get(kind).equals(row.contender.lock())
                            ? ""
                            : String.format(Locale.ROOT, " (%+.2f%%)", 100 * (hits / base - 1))));
        }
        return text.toString();
    }

    private static String label(Row row) {
        return "rb " + row.contender.lock() + (row.contender.via().equals("c") ? "" : " " + row.contender.via());
    }

    private static double mean(double[] values) {
        return io.panalock.bench.result.Stats.mean(values);
    }

    /** Of a sample: n - 1, as the kernel's script has it. */
    static double deviation(double[] values) {
        if (values.length < 2) {
            return 0;
        }
        double mean = mean(values);
        double squares = 0;
        for (double v : values) {
            squares += (v - mean) * (v - mean);
        }
        return Math.sqrt(squares / (values.length - 1));
    }
}
