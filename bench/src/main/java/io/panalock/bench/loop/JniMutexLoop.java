// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.loop;

import io.panalock.bench.contend.Control;
import io.panalock.bench.contend.Worker;
import io.panalock.bench.peer.FfmCalls;
import io.panalock.bench.peer.JniCalls;

/** pthread_mutex from Java through JNI. */
public final class JniMutexLoop extends Loop {
    private final long lock = FfmCalls.newMutex().address();

    /** @param arguments none */
    public JniMutexLoop(String... arguments) {}

    @Override
    public void pairs(int pairs) {
        final long lock = this.lock;
        for (int i = 0; i < pairs; i++) {
            JniCalls.mutexLock(lock);
            JniCalls.mutexUnlock(lock);
        }
    }

    @Override
    public void throughput(Worker worker) {
        final Section section = this.section;
        final long lock = this.lock;
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
            JniCalls.mutexLock(lock);
            try {
                section.enter(id);
                x = Work.steps(x, inside);
                Work.pauses(pauses);
            } finally {
                JniCalls.mutexUnlock(lock);
            }
            x = Work.steps(x, outside);
            n++;
        }
        worker.finish(n, n - atOpen, x);
    }

    @Override
    public void latency(Worker worker) {
        final Section section = this.section;
        final long lock = this.lock;
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
            JniCalls.mutexLock(lock);
            waited = System.nanoTime() - from;
            try {
                section.enter(id);
                x = Work.steps(x, inside);
                Work.pauses(pauses);
            } finally {
                JniCalls.mutexUnlock(lock);
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
