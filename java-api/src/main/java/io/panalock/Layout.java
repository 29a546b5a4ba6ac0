// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.internal.Layouts;

/** How a lock lies in memory. All users of one word must name the same layout. */
public enum Layout {
    /** 4 bytes, 32-bit operations only: the portable default for locks placed in shared memory. */
    WORD(Layouts.LAYOUT_WORD, 4),

    /**
     * 4 bytes, the kernel's small layout: C releases with an 8-bit operation. Java has no atomic 8-bit
     * read-modify-write on off-heap memory, so its releases are 32-bit ones, which mix with C's.
     */
    BYTE(Layouts.LAYOUT_BYTE, 4),

    /**
     * 8 bytes, the fastest: releasing is a plain store, then a look at the other half. The memory must outlive the
     * <em>return</em> of the last unlock.
     */
    WIDE(Layouts.LAYOUT_WIDE, 8);

    final int number;
    private final int bytes;

    Layout(int number, int bytes) {
        this.number = number;
        this.bytes = bytes;
    }

    /** {@return the size of a lock and the alignment that it needs, in bytes} */
    public int bytes() {
        return bytes;
    }
}
