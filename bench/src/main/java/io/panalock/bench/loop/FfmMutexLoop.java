// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.loop;

import io.panalock.bench.contend.Control;
import io.panalock.bench.contend.Worker;
import io.panalock.bench.peer.FfmCalls;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** pthread_mutex from Java through FFM. */
public final class FfmMutexLoop extends Loop {
    private final MemorySegment lock;

    /** @param arguments {@code adaptive}, or none for the default kind */
    public FfmMutexLoop(String... arguments) {
        lock = List.of(arguments).contains("adaptive") ? FfmCalls.newAdaptiveMutex() : FfmCalls.newMutex();
    }

    @Override
    public void pairs(int pairs) {
        final MemorySegment lock = this.lock;
        for (int i = 0; i < pairs; i++) {
            FfmCalls.mutexLock(lock);
            FfmCalls.mutexUnlock(lock);
        }
    }

    @Override
    public void throughput(Worker worker) {
        final Section section = this.section;
        final MemorySegment lock = this.lock;
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
            FfmCalls.mutexLock(lock);
            try {
                section.enter(id);
                x = Work.steps(x, inside);
                Work.pauses(pauses);
            } finally {
                FfmCalls.mutexUnlock(lock);
            }
            x = Work.steps(x, outside);
            n++;
        }
        worker.finish(n, n - atOpen, x);
    }

    @Override
    public void latency(Worker worker) {
        final Section section = this.section;
        final MemorySegment lock = this.lock;
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
            FfmCalls.mutexLock(lock);
            waited = System.nanoTime() - from;
            try {
                section.enter(id);
                x = Work.steps(x, inside);
                Work.pauses(pauses);
            } finally {
                FfmCalls.mutexUnlock(lock);
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
