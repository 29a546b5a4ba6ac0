// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;

/** Any lock, with its acquisitions told to the lock-order validator. */
final class WatchedLock implements Lock {
    private final Lock lock;
    private final LockClass type;
    private final LockOrder order;

    WatchedLock(Lock lock, LockClass type, LockOrder order) {
        this.lock = lock;
        this.type = type;
        this.order = order;
    }

    @Override
    public void lock() {
        order.acquiring(lock, type);
        lock.lock();
        order.acquired(lock, type);
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        order.acquiring(lock, type);
        lock.lockInterruptibly();
        order.acquired(lock, type);
    }

    @Override
    public boolean tryLock() {
        return noted(lock.tryLock());
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        return noted(lock.tryLock(time, unit));
    }

    private boolean noted(boolean taken) {
        if (taken) {
            order.acquired(lock, type);
        }
        return taken;
    }

    @Override
    public void unlock() {
        order.releasing(lock, type);
        lock.unlock();
    }

    /** A wait on it releases the lock and acquires it again, which the validator need not see: nothing is held meanwhile. */
    @Override
    public Condition newCondition() {
        return lock.newCondition();
    }

    @Override
    public String toString() {
        return lock + ", watched as " + type.name();
    }
}
