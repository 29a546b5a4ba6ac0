// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.internal.Layouts;
import io.panalock.pure.PureCondition;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.Date;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;

/** A condition of an {@link OsqMutex}. Waits in Java, on 16 bytes that C code uses as a {@code pl_cond}. */
final class OsqCondition implements Condition {
    static final int BYTES = 16;

    private static final long FOREVER = -1;

    private final OsqMutex mutex;
    private final MemorySegment line; // kept, and with it an automatic arena
    private final PureCondition condition;

    OsqCondition(OsqMutex mutex, MemorySegment line) {
        this.mutex = mutex;
        this.line = line;
        condition = mutex.pureCondition(line);
    }

    @Override
    public void await() throws InterruptedException {
        interruptible(FOREVER);
    }

    @Override
    public void awaitUninterruptibly() {
        wait(FOREVER, false);
    }

    @Override
    public long awaitNanos(long nanosTimeout) throws InterruptedException {
        long start = System.nanoTime();
        interruptible(Math.max(0, nanosTimeout));
        return nanosTimeout - (System.nanoTime() - start);
    }

    @Override
    public boolean await(long time, TimeUnit unit) throws InterruptedException {
        return interruptible(Math.max(0, unit.toNanos(time)));
    }

    @Override
    public boolean awaitUntil(Date deadline) throws InterruptedException {
        long left = deadline.getTime() - System.currentTimeMillis();
        return interruptible(Math.max(0, TimeUnit.MILLISECONDS.toNanos(left)));
    }

    @Override
    public void signal() {
        signal(1);
    }

    @Override
    public void signalAll() {
        signal(Integer.MAX_VALUE);
    }

    private void signal(int count) {
        int result = condition.signal(mutex.pureWord(), mutex.self().slotIfAny(), count);
        Reference.reachabilityFence(this);
        if (result < 0) {
            throw mutex.notOwned("signals a condition of");
        }
    }

    private boolean interruptible(long nanos) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        int result = wait(nanos, true);
        if (result == -Layouts.EINTR) {
            throw new InterruptedException();
        }
        return result == 0;
    }

    private int wait(long nanos, boolean interruptible) {
        LockThread self = mutex.self();
        int result = condition.await(mutex.pureWord(), self.slotIfAny(), nanos, interruptible);
        Reference.reachabilityFence(line);
        return switch (-result) {
            case 0, Layouts.ETIMEDOUT, Layouts.EINTR -> result;
            case Layouts.EPERM, Layouts.EINVAL -> throw mutex.notOwned("waits on a condition of");
            default -> throw mutex.lost(self, result);
        };
    }

    @Override
    public String toString() {
        return "condition of " + mutex;
    }
}
