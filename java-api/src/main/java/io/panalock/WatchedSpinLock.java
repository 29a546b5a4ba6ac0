// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import java.util.concurrent.TimeUnit;

/** A {@link QSpinLock}, with its acquisitions told to the lock-order validator. Exists only when that is on. */
final class WatchedSpinLock extends QSpinLock {
    private final QSpinLock lock;
    private final LockClass type;
    private final Object identity; // several objects may stand for one lock

    WatchedSpinLock(Plan p, QSpinLock lock, LockClass type) {
        super(p);
        this.lock = lock;
        this.type = type;
        this.identity = Lockdep.identityOf(address);
    }

    @Override
    public void lock() {
        Lockdep.order().acquiring(identity, type);
        lock.lock();
        Lockdep.order().acquired(identity, type);
    }

    @Override
    public void lock(LockThread self) {
        Lockdep.order().acquiring(identity, type);
        lock.lock(self);
        Lockdep.order().acquired(identity, type);
    }

    @Override
    public boolean tryLock() {
        boolean taken = lock.tryLock();
        if (taken) {
            Lockdep.order().acquired(identity, type);
        }
        return taken;
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        Lockdep.order().acquiring(identity, type);
        lock.lockInterruptibly();
        Lockdep.order().acquired(identity, type);
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        boolean taken = lock.tryLock(time, unit);
        if (taken) {
            Lockdep.order().acquired(identity, type);
        }
        return taken;
    }

    @Override
    public void unlock() {
        Lockdep.order().releasing(identity, type);
        lock.unlock();
    }
}
