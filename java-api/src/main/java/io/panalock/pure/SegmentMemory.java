// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** One segment; checks bounds and liveness on every access. */
final class SegmentMemory implements Memory {
    static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();
    static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();

    private final MemorySegment segment;
    private final long base;

    SegmentMemory(MemorySegment segment) {
        if (!segment.isNative()) {
            throw new IllegalArgumentException(
                    "a lock needs native memory; this segment is on the heap. Allocate it from an Arena.");
        }
        this.segment = segment;
        this.base = segment.address();
    }

    @Override
    public int get(long address) {
        return (int) INT.getOpaque(segment, address - base);
    }

    @Override
    public int getAcquire(long address) {
        return (int) INT.getAcquire(segment, address - base);
    }

    @Override
    public void set(long address, int value) {
        INT.setOpaque(segment, address - base, value);
    }

    @Override
    public void setRelease(long address, int value) {
        INT.setRelease(segment, address - base, value);
    }

    @Override
    public boolean cas(long address, int expected, int desired) {
        return INT.compareAndSet(segment, address - base, expected, desired);
    }

    @Override
    public boolean casAcquire(long address, int expected, int desired) {
        return (int) INT.compareAndExchangeAcquire(segment, address - base, expected, desired) == expected;
    }

    @Override
    public int getAndSet(long address, int value) {
        return (int) INT.getAndSet(segment, address - base, value);
    }

    @Override
    public int getAndAdd(long address, int delta) {
        return (int) INT.getAndAdd(segment, address - base, delta);
    }

    @Override
    public int getAndAddRelease(long address, int delta) {
        return (int) INT.getAndAddRelease(segment, address - base, delta);
    }

    @Override
    public int getAndOr(long address, int bits) {
        return (int) INT.getAndBitwiseOr(segment, address - base, bits);
    }

    @Override
    public int getAndAnd(long address, int bits) {
        return (int) INT.getAndBitwiseAnd(segment, address - base, bits);
    }

    @Override
    public long getLong(long address) {
        return (long) LONG.getOpaque(segment, address - base);
    }

    @Override
    public void setLong(long address, long value) {
        LONG.setOpaque(segment, address - base, value);
    }

    @Override
    public long getLongAcquire(long address) {
        return (long) LONG.getAcquire(segment, address - base);
    }

    @Override
    public void setLongRelease(long address, long value) {
        LONG.setRelease(segment, address - base, value);
    }

    @Override
    public long getAndAddLong(long address, long delta) {
        return (long) LONG.getAndAdd(segment, address - base, delta);
    }

    @Override
    public boolean casLong(long address, long expected, long desired) {
        return LONG.compareAndSet(segment, address - base, expected, desired);
    }
}
