// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * The bytes of one record in a {@link RingBuffer}. The object is used again for the next record: do not keep it, nor
 * anything that {@link #segment} gave, beyond the record's end.
 */
public abstract sealed class RingRecord permits RingBuffer.Reservation, RingBuffer.Entry {
    MemorySegment memory; // the ring's, or a copy
    long offset; // of the record's first byte
    int size;

    RingRecord() {}

    abstract void check();

    /** {@return the record's bytes, 8-aligned; a new view object unless the JIT compiler can do without} */
    public final MemorySegment segment() {
        check();
        return memory.asSlice(offset, size);
    }

    /** {@return how many bytes it has} */
    public final int size() {
        return size;
    }

    private long at(int index, int bytes) {
        check();
        Objects.checkFromIndexSize(index, bytes, size);
        return offset + index;
    }

    /**
     * {@return the byte at an index} Plain access, no allocation.
     *
     * @param index of the byte
     */
    public final byte getByte(int index) {
        return memory.get(JAVA_BYTE, at(index, Byte.BYTES));
    }

    /**
     * {@return the int at an index, in the machine's byte order} Plain access, no allocation.
     *
     * @param index of its first byte
     */
    public final int getInt(int index) {
        return memory.get(JAVA_INT_UNALIGNED, at(index, Integer.BYTES));
    }

    /**
     * {@return the long at an index, in the machine's byte order} Plain access, no allocation.
     *
     * @param index of its first byte
     */
    public final long getLong(int index) {
        return memory.get(JAVA_LONG_UNALIGNED, at(index, Long.BYTES));
    }

    final void putByte(int index, byte value) {
        memory.set(JAVA_BYTE, at(index, Byte.BYTES), value);
    }

    final void putInt(int index, int value) {
        memory.set(JAVA_INT_UNALIGNED, at(index, Integer.BYTES), value);
    }

    final void putLong(int index, long value) {
        memory.set(JAVA_LONG_UNALIGNED, at(index, Long.BYTES), value);
    }
}
