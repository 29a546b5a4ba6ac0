// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.shazptr.loop;

import io.panalock.LockClass;
import io.panalock.Lockdep;
import io.panalock.bench.shazptr.ReadLoop;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;

/** What the JDK has for readers; and its lock, as it is or handed to the lock-order validator while that is off. */
public final class JdkReads implements ReadLoop {
    private final String way;
    private final StampedLock stamped = new StampedLock();
    private final ReentrantReadWriteLock.ReadLock read = new ReentrantReadWriteLock().readLock();
    private volatile int word = 1;
    private int failed;

    private final Lock lock;

    /**
     * @param arguments {@code stamped_optimistic}, {@code stamped_read}, {@code read_write_lock}, {@code volatile_read},
     *     {@code reentrant_lock} or {@code unwatched_lock}
     */
    public JdkReads(String... arguments) {
        way = arguments[0];
        Lock bare = new ReentrantLock();
        lock = way.equals("unwatched_lock") ? Lockdep.watch(bare, LockClass.of("a lock")) : bare;
    }

    @Override
    public void sections(int sections) {
        switch (way) {
            case "stamped_optimistic" -> optimistic(sections);
            case "stamped_read" -> stampedRead(sections);
            case "read_write_lock" -> readLock(sections);
            case "volatile_read" -> volatileRead(sections);
            case "reentrant_lock", "unwatched_lock" -> pairs(sections);
            default -> throw new IllegalArgumentException(way);
        }
    }

    private void optimistic(int sections) {
        final StampedLock lock = stamped;
        int bad = 0;
        for (int i = 0; i < sections; i++) {
            long stamp = lock.tryOptimisticRead();
            if (!lock.validate(stamp)) {
                bad++;
            }
        }
        failed += bad;
    }

    private void stampedRead(int sections) {
        final StampedLock lock = stamped;
        for (int i = 0; i < sections; i++) {
            lock.unlockRead(lock.readLock());
        }
    }

    private void readLock(int sections) {
        final ReentrantReadWriteLock.ReadLock lock = read;
        for (int i = 0; i < sections; i++) {
            lock.lock();
            lock.unlock();
        }
    }

    private void pairs(int sections) {
        final Lock l = lock;
        for (int i = 0; i < sections; i++) {
            l.lock();
            l.unlock();
        }
    }

    private void volatileRead(int sections) {
        int sum = 0;
        for (int i = 0; i < sections; i++) {
            sum += word;
        }
        failed += sum == 0 ? 1 : 0;
    }
}
