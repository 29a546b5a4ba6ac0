// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.loop;

import io.panalock.bench.contend.Control;
import io.panalock.bench.contend.Worker;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/** ReentrantLock. */
public final class ReentrantLockLoop extends Loop {
    private final ReentrantLock lock;

    /** @param arguments {@code fair}, or none for the default, which is not */
    public ReentrantLockLoop(String... arguments) {
        lock = new ReentrantLock(List.of(arguments).contains("fair"));
    }

    @Override
    public void pairs(int pairs) {
        final ReentrantLock lock = this.lock;
        for (int i = 0; i < pairs; i++) {
            lock.lock();
            lock.unlock();
        }
    }

    @Override
    public void throughput(Worker worker) {
        final Section section = this.section;
        final ReentrantLock lock = this.lock;
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
            lock.lock();
            try {
                section.enter(id);
                x = Work.steps(x, inside);
                Work.pauses(pauses);
            } finally {
                lock.unlock();
            }
            x = Work.steps(x, outside);
            n++;
        }
        worker.finish(n, n - atOpen, x);
    }

    @Override
    public void latency(Worker worker) {
        final Section section = this.section;
        final ReentrantLock lock = this.lock;
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
            lock.lock();
            waited = System.nanoTime() - from;
            try {
                section.enter(id);
                x = Work.steps(x, inside);
                Work.pauses(pauses);
            } finally {
                lock.unlock();
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
