// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.shazptr.loop;

import io.panalock.bench.shazptr.ReadLoop;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;

/** What the JDK has for readers. */
public final class JdkReads implements ReadLoop {
    private final String way;
    private final StampedLock stamped = new StampedLock();
    private final ReentrantReadWriteLock.ReadLock read = new ReentrantReadWriteLock().readLock();
    private volatile int word = 1;
    private int failed;

    /** @param arguments {@code stamped_optimistic}, {@code stamped_read}, {@code read_write_lock} or {@code volatile_read} */
    public JdkReads(String... arguments) {
        way = arguments[0];
    }

    @Override
    public void sections(int sections) {
        switch (way) {
            case "stamped_optimistic" -> optimistic(sections);
            case "stamped_read" -> stampedRead(sections);
            case "read_write_lock" -> readLock(sections);
            case "volatile_read" -> volatileRead(sections);
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

    private void volatileRead(int sections) {
        int sum = 0;
        for (int i = 0; i < sections; i++) {
            sum += word;
        }
        failed += sum == 0 ? 1 : 0;
    }
}
