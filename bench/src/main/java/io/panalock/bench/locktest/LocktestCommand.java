// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.locktest;

import io.panalock.bench.Experiment;
import io.panalock.bench.contend.ContendedPoint;
import io.panalock.bench.contend.ContendedPoint.Mode;
import io.panalock.bench.contend.JavaLock;
import io.panalock.bench.contend.Lock;
import io.panalock.bench.contend.Locks;
import io.panalock.bench.result.Results;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code locktest}. */
@Command(
        name = "locktest",
        mixinStandardHelpOptions = true,
        description = {
            "The kernel's mutex micro-benchmark: all threads take one lock for the run time and count how often.",
            "load: a loop of so many pauses inside the critical section, besides a counter and the mark of who came last. A"
                    + " pause is what a spinning thread executes: Thread.onSpinWait in Java, pause (x86) or yield (arm64) in C;"
                    + " how long it takes is the CPU's affair, and a sibling has the core meanwhile.",
            "Per-CPU rate: total by the CPUs that the threads had, no more of them than threads.",
            "Without options: 2 to 224 threads, 1 s each, load 1, all locks. The published run: --threads 224 --runtime 10"
                    + " --load 1, with --wait poll and --wait cond."
        })
public final class LocktestCommand extends Experiment {
    private static final int MOST_THREADS = 1000;
    private static final int MOST_SECONDS = 3600;
    private static final int MOST_LOAD = 1_000_000;
    private static final long WARM_NS = 50_000_000;
    private static final long QUICK_NS = 200_000_000;
    private static final long NS_PER_S = 1_000_000_000;

    private List<Integer> threads = List.of(2, 4, 16, 64, 224);
    private int runtime = 1;
    private int load = 1;
    private List<String> locks; // null: all; their names come from the library, which may not be there
    private List<String> waits = List.of("cond");

    @Option(names = "--threads", paramLabel = "LIST", description = "Numbers of threads (default: 2,4,16,64,224).")
    void setThreads(String list) {
        threads = numbers("--threads", list, 1, MOST_THREADS);
    }

    @Option(names = "--runtime", paramLabel = "S", description = "Seconds for each lock and number of threads (default: 1).")
    void setRuntime(String seconds) {
        runtime = number("--runtime", seconds, 1, MOST_SECONDS);
    }

    @Option(names = "--load", paramLabel = "N", description = "Pauses inside the critical section (default: 1).")
    void setLoad(String pauses) {
        load = number("--load", pauses, 0, MOST_LOAD);
    }

    @Option(names = "--lock", paramLabel = "LIST", description = "Of osq-mutex, osq-mutex-block (without optimistic spinning),"
            + " qspinlock, rqspinlock, pthread-mutex, pthread-adaptive, java-osq-mutex, java-osq-mutex-block,"
            + " java-osq-mutex-pure, java-qspinlock, java-qspinlock-pure, java-rqspinlock,"
            + " java-rqspinlock-pure, reentrantlock, synchronized (default: all).")
    void setLocks(String list) {
        locks = words("--lock", list, Contenders.names());
    }

    @Option(names = "--wait", paramLabel = "LIST", description = "How osq-mutex waits for its turn to spin: cond (conditional"
            + " loads), poll (default: cond).")
    void setWaits(String list) {
        waits = words("--wait", list, Contenders.WAITS);
    }

    @Override
    protected void measure(Run run) {
        long windowNs = run.quick() ? QUICK_NS : runtime * NS_PER_S;
        List<Integer> counts = run.quick() ? List.of(2, 16) : threads;
        for (String name : locks != null ? locks : Contenders.names()) {
            for (String wait : name.equals("osq-mutex") ? waits : List.of("cond")) {
                Lock lock = open(Contenders.id(name, wait));
                run.out().printf(
                        "Running locktest with %s [runtime = %ss, load = %d]%s%n",
                        name,
                        run.quick() ? "0.2" : String.valueOf(runtime),
                        load,
                        name.equals("osq-mutex") ? " (" + wait + ")" : "");
                for (int n : counts) {
                    ContendedPoint point = new ContendedPoint(n, 0, load, 0, Mode.THROUGHPUT, run.pin());
                    Tally tally = Tally.of(lock.contend(point, WARM_NS, windowNs));
                    run.out().println(tally.lines());
                    record(run, name, Contenders.variant(name, wait), lock, tally);
                }
            }
        }
    }

    private static Lock open(String id) {
        Lock lock = Locks.open(id);
        if (lock instanceof JavaLock java) {
            java.warmUpContended();
        } else {
            lock.calibrate();
        }
        return lock;
    }

    private void record(Run run, String name, String variant, Lock lock, Tally t) {
        Map<String, Object> params = new LinkedHashMap<>();
        params.put("side", lock.params().get("side"));
        params.put("lock", name.startsWith("java-") ? name.substring("java-".length()) : name);
        params.put("variant", variant);
        params.put("threads", t.threads());
        params.put("load", load);
        run.recorder().record("locktest", params, "total", "kops/s", t.kops());
        run.recorder().record("locktest", params, "per_cpu", "kops/s", t.kopsPerCpu());
        run.recorder().record("locktest", params, "thread_min", "ops/s", t.min() / t.seconds());
        run.recorder().record("locktest", params, "thread_mean", "ops/s", t.mean() / t.seconds());
        run.recorder().record("locktest", params, "thread_max", "ops/s", t.max() / t.seconds());
    }

    @Override
    protected String text(Results results) {
        return "published (arm64, 224 CPUs and threads, runtime = 10s, load = 1; the kernel's mutex):" + System.lineSeparator()
                + "  poll  Total Rate = 2757 kop/s; Percpu Rate = 12 kop/s" + System.lineSeparator()
                + "  wfe   Total Rate = 3311 kop/s; Percpu Rate = 15 kop/s" + System.lineSeparator();
    }
}
