// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.loop;

import io.panalock.Backend;
import io.panalock.Layout;
import io.panalock.QSpinLock;
import io.panalock.WaitPolicy;
import io.panalock.bench.contend.Control;
import io.panalock.bench.contend.Worker;
import java.lang.foreign.Arena;
import java.util.Locale;

/** Panalock's queued spinlock. */
public final class QSpinLoop extends Loop {
    private static final long ARENA_BYTES = 256;
    private static final long IN_ARENA = 128;

    private final QSpinLock lock;

    /** @param arguments backend, layout, {@code pool} or {@code arena}, policy */
    public QSpinLoop(String... arguments) {
        QSpinLock.Builder builder = QSpinLock.builder()
                .backend(Backend.valueOf(arguments[0].toUpperCase(Locale.ROOT)))
                .layout(Layout.valueOf(arguments[1].toUpperCase(Locale.ROOT)))
                .policy(WaitPolicy.valueOf(arguments[3].toUpperCase(Locale.ROOT)))
                .name("benchmark");
        lock = switch (arguments[2]) {
            case "pool" -> builder.allocate();
            // A shared arena: what a program that shares a lock with others would use, and the dearest to check.
            case "arena" -> builder.at(Arena.ofShared().allocate(ARENA_BYTES, IN_ARENA), IN_ARENA);
            default -> throw new IllegalArgumentException(arguments[2] + " is neither pool nor arena");
        };
    }

    @Override
    public void pairs(int pairs) {
        final QSpinLock lock = this.lock;
        for (int i = 0; i < pairs; i++) {
            lock.lock();
            lock.unlock();
        }
    }

    @Override
    public void throughput(Worker worker) {
        final Section section = this.section;
        final QSpinLock lock = this.lock;
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
        final QSpinLock lock = this.lock;
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
