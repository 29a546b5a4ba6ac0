// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.loop;

import io.panalock.bench.contend.Control;
import io.panalock.bench.contend.Worker;

/** Java's built-in monitor. */
public final class SynchronizedLoop extends Loop {
    private final Object lock = new Object();
    /** Not final: the JIT compiler does not unroll a loop of unknown stride, and so has no neighbouring pairs to merge into one. */
    private int one = 1;

    /** @param arguments none */
    public SynchronizedLoop(String... arguments) {}

    @Override
    public void pairs(int pairs) {
        final Section section = this.section;
        final Object lock = this.lock;
        for (int i = 0; i < pairs; i += one) {
            synchronized (lock) {
                section.sink(i);
            }
        }
    }

    @Override
    public void throughput(Worker worker) {
        final Section section = this.section;
        final Object lock = this.lock;
        final Control control = worker.control();
        final long id = worker.id();
        final int inside = worker.insideSteps();
        final int pauses = worker.insidePauses();
        final int outside = worker.outsideSteps();
        long n = 0;
        long atOpen = 0;
        long x = id;
        int seen = Control.WARM;
        for (; ; ) {
            int now = control.phase();
            if (now != seen) {
                if (seen != Control.MEASURE) {
                    atOpen = n;
                }
                if (now == Control.STOP) {
                    break;
                }
                seen = now;
            }
            synchronized (lock) {
                section.enter(id);
                x = Work.steps(x, inside);
                Work.pauses(pauses);
            }
            x = Work.steps(x, outside);
            n++;
        }
        worker.finish(n, n - atOpen, x);
    }

    @Override
    public void latency(Worker worker) {
        final Section section = this.section;
        final Object lock = this.lock;
        final Control control = worker.control();
        final long id = worker.id();
        final int inside = worker.insideSteps();
        final int pauses = worker.insidePauses();
        final int outside = worker.outsideSteps();
        long n = 0;
        long counted = 0;
        long x = id;
        while (control.phase() != Control.STOP) {
            long from = System.nanoTime();
            long waited;
            synchronized (lock) {
                waited = System.nanoTime() - from;
                section.enter(id);
                x = Work.steps(x, inside);
                Work.pauses(pauses);
            }
            n++;
            if (control.phase() != Control.WARM) {
                worker.record(waited);
                counted++;
            }
            x = Work.steps(x, outside);
        }
        worker.finish(n, counted, x);
    }
}
