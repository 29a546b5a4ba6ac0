// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.loop;

import io.panalock.Backend;
import io.panalock.Layout;
import io.panalock.LockThread;
import io.panalock.LockTimeoutException;
import io.panalock.RqSpinLock;
import io.panalock.bench.contend.Control;
import io.panalock.bench.contend.Worker;
import java.util.Locale;

/** Panalock's resilient queued spinlock, in the pool; handle looked up, or explicit. */
public final class RqSpinLoop extends Loop {
    private final RqSpinLock lock;
    private final boolean explicit;

    /** @param arguments layout, {@code handle} or {@code lookup}, backend */
    public RqSpinLoop(String... arguments) {
        lock = RqSpinLock.builder()
                .backend(Backend.valueOf(arguments[2].toUpperCase(Locale.ROOT)))
                .layout(Layout.valueOf(arguments[0].toUpperCase(Locale.ROOT)))
                .name("benchmark")
                .allocate();
        explicit = arguments[1].equals("handle");
    }

    @Override
    public void pairs(int pairs) {
        final RqSpinLock lock = this.lock;
        if (explicit) {
            final LockThread self = LockThread.current();
            for (int i = 0; i < pairs; i++) {
                lock.lock(self);
                lock.unlock(self);
            }
            return;
        }
        for (int i = 0; i < pairs; i++) {
            lock.lock();
            lock.unlock();
        }
    }

    /** Under a load that may take longer than the lock's limit. */
    private static void take(RqSpinLock lock) {
        for (; ; ) {
            try {
                lock.lock();
                return;
            } catch (LockTimeoutException again) {
                // its turn comes
            }
        }
    }

    @Override
    public void throughput(Worker worker) {
        final Section section = this.section;
        final RqSpinLock lock = this.lock;
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
            take(lock);
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
        final RqSpinLock lock = this.lock;
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
            take(lock);
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
