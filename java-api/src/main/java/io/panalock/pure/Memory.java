// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import java.lang.foreign.MemorySegment;

/**
 * The words that the pure twins work on, by absolute address. A seam: the algorithms are written once, and run on real
 * memory or, for model checking, on an atomic array (testers do not interleave at accesses to a segment).
 *
 * <p>Orders as in native/include/panalock/atomic.h: plain {@code get} and {@code set} are opaque (C: relaxed), the
 * read-modify-writes are both acquire and release unless the name says otherwise.
 *
 * <p>32-bit operations only, on the BYTE layout too: segments have no 8- or 16-bit compare-and-swap. They mix with the
 * byte and half-word operations that C uses on the same word, because both sides are atomic read-modify-writes of the
 * bytes that they change, and a 32-bit one keeps the bytes that it does not mean to change.
 */
public interface Memory {
    /** All memory of the process: fastest, one constant. Needs native access for this module. */
    static Memory whole() {
        return WholeMemory.INSTANCE;
    }

    /** A segment, still named by absolute addresses; once its arena is closed every access throws IllegalStateException. */
    static Memory of(MemorySegment segment) {
        return new SegmentMemory(segment);
    }

    int get(long address);

    int getAcquire(long address);

    void set(long address, int value);

    void setRelease(long address, int value);

    boolean cas(long address, int expected, int desired);

    boolean casAcquire(long address, int expected, int desired);

    int getAndSet(long address, int value);

    int getAndAdd(long address, int delta);

    int getAndAddRelease(long address, int delta);

    int getAndOr(long address, int bits);

    int getAndAnd(long address, int bits);

    /** Opaque; atomic in real memory, two halves in a model's array (every user has the word to itself or a lock). */
    long getLong(long address);

    void setLong(long address, long value);

    /** As {@link #getLong}, acquire. */
    long getLongAcquire(long address);

    /** As {@link #setLong}, release. */
    void setLongRelease(long address, long value);

    /** An addition, acquire and release; the value before. Not in a model. */
    long getAndAddLong(long address, long delta);

    /** Only the debug checks need it; not in a model. */
    boolean casLong(long address, long expected, long desired);
}
