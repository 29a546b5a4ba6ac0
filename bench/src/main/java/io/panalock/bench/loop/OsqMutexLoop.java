// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.loop;

import io.panalock.Backend;
import io.panalock.LockThread;
import io.panalock.OsqMutex;
import io.panalock.bench.contend.Control;
import io.panalock.bench.contend.Worker;
import java.util.List;
import java.util.Locale;

/** Panalock's mutex. */
public final class OsqMutexLoop extends Loop {
    private final OsqMutex mutex;
    private final boolean handle;

    /** @param arguments backend, then any of {@code block} (no spinning), {@code handle} (pairs with an explicit one) */
    public OsqMutexLoop(String... arguments) {
        List<String> options = List.of(arguments);
        mutex = OsqMutex.builder()
                .backend(Backend.valueOf(arguments[0].toUpperCase(Locale.ROOT)))
                .spinning(!options.contains("block"))
                .name("benchmark")
                .allocate();
        handle = options.contains("handle");
    }

    @Override
    public void pairs(int pairs) {
        if (handle) {
            withHandle(pairs);
        } else {
            lookedUp(pairs);
        }
    }

    private void lookedUp(int pairs) {
        final OsqMutex mutex = this.mutex;
        for (int i = 0; i < pairs; i++) {
            mutex.lock();
            mutex.unlock();
        }
    }

    private void withHandle(int pairs) {
        final OsqMutex mutex = this.mutex;
        final LockThread self = LockThread.current();
        for (int i = 0; i < pairs; i++) {
            mutex.lock(self);
            mutex.unlock(self);
        }
    }

    @Override
    public void throughput(Worker worker) {
        final Section section = this.section;
        final OsqMutex mutex = this.mutex;
        final Control control = worker.control();
        final long id = worker.id();
        final int inside = worker.insideSteps();
        final int pauses = worker.insidePauses();
        final int outside = worker.outsideSteps();
        final LockThread self = LockThread.current();
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
            mutex.lock(self);
            try {
                section.enter(id);
                x = Work.steps(x, inside);
                Work.pauses(pauses);
            } finally {
                mutex.unlock(self);
            }
            x = Work.steps(x, outside);
            n++;
        }
        worker.finish(n, n - atOpen, x);
    }

    @Override
    public void latency(Worker worker) {
        final Section section = this.section;
        final OsqMutex mutex = this.mutex;
        final Control control = worker.control();
        final long id = worker.id();
        final int inside = worker.insideSteps();
        final int pauses = worker.insidePauses();
        final int outside = worker.outsideSteps();
        final LockThread self = LockThread.current();
        long n = 0;
        long counted = 0;
        long x = id;
        while (control.phase() != Control.STOP) {
            long from = System.nanoTime();
            long waited;
            mutex.lock(self);
            waited = System.nanoTime() - from;
            try {
                section.enter(id);
                x = Work.steps(x, inside);
                Work.pauses(pauses);
            } finally {
                mutex.unlock(self);
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
