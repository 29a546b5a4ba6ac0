// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import java.util.concurrent.atomic.AtomicIntegerArray;

/** Memory for model checking: an array, at whose accesses a checker can switch threads. */
class ArrayMemory implements Memory {
    static final long BASE = 4096;

    private final AtomicIntegerArray words;

    ArrayMemory(long bytes) {
        words = new AtomicIntegerArray((int) (bytes / Integer.BYTES));
    }

    private static int index(long address) {
        return (int) (address - BASE >> 2);
    }

    @Override
    public int get(long address) {
        return words.getOpaque(index(address));
    }

    @Override
    public int getAcquire(long address) {
        return words.getAcquire(index(address));
    }

    @Override
    public void set(long address, int value) {
        words.setOpaque(index(address), value);
    }

    @Override
    public void setRelease(long address, int value) {
        words.setRelease(index(address), value);
    }

    @Override
    public boolean cas(long address, int expected, int desired) {
        return words.compareAndSet(index(address), expected, desired);
    }

    @Override
    public boolean casAcquire(long address, int expected, int desired) {
        return words.compareAndSet(index(address), expected, desired);
    }

    @Override
    public int getAndSet(long address, int value) {
        return words.getAndSet(index(address), value);
    }

    @Override
    public int getAndAdd(long address, int delta) {
        return words.getAndAdd(index(address), delta);
    }

    @Override
    public int getAndAddRelease(long address, int delta) {
        return words.getAndAdd(index(address), delta);
    }

    @Override
    public int getAndOr(long address, int bits) {
        int seen;
        do {
            seen = words.get(index(address));
        } while (!words.compareAndSet(index(address), seen, seen | bits));
        return seen;
    }

    @Override
    public int getAndAnd(long address, int bits) {
        int seen;
        do {
            seen = words.get(index(address));
        } while (!words.compareAndSet(index(address), seen, seen & bits));
        return seen;
    }

    @Override
    public long getLong(long address) {
        return words.get(index(address)) & 0xffffffffL | (long) words.get(index(address) + 1) << Integer.SIZE;
    }

    @Override
    public void setLong(long address, long value) {
        words.set(index(address), (int) value);
        words.set(index(address) + 1, (int) (value >>> Integer.SIZE));
    }

    @Override
    public long getLongAcquire(long address) {
        return getLong(address);
    }

    @Override
    public void setLongRelease(long address, long value) {
        setLong(address, value);
    }

    @Override
    public long getAndAddLong(long address, long delta) {
        throw new UnsupportedOperationException();
    }

    @Override
    public boolean casLong(long address, long expected, long desired) {
        throw new UnsupportedOperationException();
    }
}
