// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import static io.panalock.pure.SegmentMemory.INT;
import static io.panalock.pure.SegmentMemory.LONG;

import java.lang.foreign.MemorySegment;

/** Everything, through one constant segment: the compiler folds its bounds and its liveness away. */
final class WholeMemory implements Memory {
    static final WholeMemory INSTANCE = new WholeMemory();

    private static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    private WholeMemory() {}

    @Override
    public int get(long address) {
        return (int) INT.getOpaque(ALL, address);
    }

    @Override
    public int getAcquire(long address) {
        return (int) INT.getAcquire(ALL, address);
    }

    @Override
    public void set(long address, int value) {
        INT.setOpaque(ALL, address, value);
    }

    @Override
    public void setRelease(long address, int value) {
        INT.setRelease(ALL, address, value);
    }

    @Override
    public boolean cas(long address, int expected, int desired) {
        return INT.compareAndSet(ALL, address, expected, desired);
    }

    @Override
    public boolean casAcquire(long address, int expected, int desired) {
        return (int) INT.compareAndExchangeAcquire(ALL, address, expected, desired) == expected;
    }

    @Override
    public int getAndSet(long address, int value) {
        return (int) INT.getAndSet(ALL, address, value);
    }

    @Override
    public int getAndAdd(long address, int delta) {
        return (int) INT.getAndAdd(ALL, address, delta);
    }

    @Override
    public int getAndAddRelease(long address, int delta) {
        return (int) INT.getAndAddRelease(ALL, address, delta);
    }

    @Override
    public int getAndOr(long address, int bits) {
        return (int) INT.getAndBitwiseOr(ALL, address, bits);
    }

    @Override
    public int getAndAnd(long address, int bits) {
        return (int) INT.getAndBitwiseAnd(ALL, address, bits);
    }

    @Override
    public long getLong(long address) {
        return (long) LONG.getOpaque(ALL, address);
    }

    @Override
    public void setLong(long address, long value) {
        LONG.setOpaque(ALL, address, value);
    }

    @Override
    public long getLongAcquire(long address) {
        return (long) LONG.getAcquire(ALL, address);
    }

    @Override
    public void setLongRelease(long address, long value) {
        LONG.setRelease(ALL, address, value);
    }

    @Override
    public long getAndAddLong(long address, long delta) {
        return (long) LONG.getAndAdd(ALL, address, delta);
    }

    @Override
    public boolean casLong(long address, long expected, long desired) {
        return LONG.compareAndSet(ALL, address, expected, desired);
    }
}
