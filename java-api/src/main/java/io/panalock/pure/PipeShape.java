// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

/** Sizes, offsets and numbers of a pipe, as {@link Shape} has them of a domain: those of native/include/panalock/pipe.h. */
final class PipeShape {
    private PipeShape() {}

    static final long PIPE = 192;
    static final long MAGIC = 0;
    static final long FLAGS = 4;
    static final long CAPACITY = 8;
    static final long HEAD = 12;
    static final long TAIL = 16;
    static final long MUTEX = 24;
    static final long READER = 40;
    static final long WRITER = 88;

    static final long SIDE_OPEN = 0;
    static final long SIDE_NEXT = 4;
    static final long SIDE_AFTER = 8;
    static final long SIDE_LOOK = 12;
    static final long SIDE_MISSES = 16;
    static final long SIDE_ROTATED = 24;
    static final long SIDE_LINE = 32;

    static final int MAGIC_VALUE = 0x45504950;
    static final int RECORDS = 1;
    static final int WAKE_ALL = 2;
    static final int GREEDY = 4;
    static final int MIN_CAPACITY = 8;
    static final int MAX_CAPACITY = 0x40000000;
    static final int PATIENCE_NS = 100_000;
    static final int SLICE_NS = 1_000_000;
    static final int GRACE_NS = 20_000;
    static final int LOOK_NS = 20_000;

    static final int EPIPE = 32;
    static final int EMSGSIZE = 90;
}
