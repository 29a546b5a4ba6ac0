// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import io.panalock.internal.Layouts;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/**
 * The ring buffer's algorithm in Java: the twin of native/src/ringbuf.c, over the same bytes, which docs/ringbuf.md
 * explains. Whoever reserves holds the ring's lock; one thread at a time consumes.
 *
 * <p>Every method takes the memory as an argument. All of them are small, so that with a constant segment (all memory of
 * the process) the compiler folds bounds and liveness checks away. Positions and results are 64-bit; results below zero are
 * negative errno values.
 */
public final class Ring {
    private static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();
    private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();

    private static final int BUSY = Layouts.RING_BUSY;
    private static final int DISCARD = Layouts.RING_DISCARD;
    private static final int LENGTH = ~(BUSY | DISCARD);
    private static final int RECORD_HEADER = Layouts.RING_RECORD_HEADER;
    private static final int WALK_BATCH = 64;

    /** {@link #look}: nothing is ready; the producers' position, or an open record. */
    public static final int NOTHING = -1;

    public static final int OPEN = -2;
    public static final int DAMAGED = -3;

    // Offsets in pl_ring_header and pl_ring_producer.
    public static final long HEADER_LOCK = 128;
    public static final long HEADER_LINE = 192;
    private static final long PENDING = 8;
    private static final long CONSUMED = 16;
    private static final long OLDEST = 24;
    private static final long LOST = 32;
    private static final long OWNER = 4;

    public final int maxRecord;
    public final long bytes;
    private final long line;
    private final long consumer;
    private final long producer;
    private final long data;
    private final int flags;
    private final int owner;
    private final boolean releaseNeedsFence;

    /**
     * @param header where the ring begins in the segment that is passed to all other methods
     * @param pageBytes the distance of its pages
     * @param owner what is written into records as their process
     * @param releaseNeedsFence a sleeping consumer does not put up the heavy half of the fence
     */
    public Ring(long header, int pageBytes, long bytes, int flags, int owner, boolean releaseNeedsFence) {
        this.line = header + HEADER_LINE;
        this.consumer = header + pageBytes;
        this.producer = header + 2L * pageBytes;
        this.data = header + 3L * pageBytes;
        this.bytes = bytes;
        this.flags = flags;
        this.owner = owner;
        this.maxRecord = maxRecord(bytes, flags);
        this.releaseNeedsFence = releaseNeedsFence;
    }

    /** The longest record of a ring of this size. */
    public static int maxRecord(long bytes, int flags) {
        return (int) ((flags & Layouts.RING_PADDED) != 0 ? bytes / 2 : bytes - 8) - RECORD_HEADER;
    }

    private static long step(int length) {
        return length + (RECORD_HEADER + 7L) & ~7L;
    }

    private long header(long position) {
        return data + (position & bytes - 1);
    }

    /** Where the bytes of the record at a position are, as an offset in the data. */
    public long offsetAt(long position) {
        return (position & bytes - 1) + RECORD_HEADER;
    }

    /** Where the data begins in the segment. */
    public long data() {
        return data;
    }

    public boolean overwrites() {
        return (flags & Layouts.RING_OVERWRITE) != 0;
    }

    // ---- producing ----

    /** Reserves; the caller holds the lock. Where in the data the record's bytes go, or {@code -EAGAIN}, {@code -EBADMSG}. */
    public long reserve(MemorySegment m, int length) {
        long position = (long) LONG.getOpaque(m, producer);
        long step = step(length);
        long pad = 0;
        if ((flags & Layouts.RING_PADDED) != 0) {
            long left = bytes - (position & bytes - 1);
            pad = step > left ? left : 0;
        }
        long end = position + pad + step;
        long from = (long) LONG.getOpaque(m, producer + (overwrites() ? OLDEST : CONSUMED));
        long pending = (long) LONG.getOpaque(m, producer + PENDING);
        if (exceeds(end - from) || exceeds(end - pending)) {
            int err = makeRoom(m, position, end);
            if (err != 0) {
                return err;
            }
        }
        if (pad != 0) {
            INT.setOpaque(m, header(position), DISCARD | (int) (pad - RECORD_HEADER));
            INT.setOpaque(m, header(position) + OWNER, 0);
        }
        INT.setOpaque(m, header(position + pad), BUSY | length);
        INT.setOpaque(m, header(position + pad) + OWNER, owner);
        LONG.setRelease(m, producer, end); // X3J: release, the headers before the position that shows them; pairs with X4, X4J
        return (position + pad & bytes - 1) + RECORD_HEADER;
    }

    /** As in C, more than a full ring, or negative: a position from nowhere. */
    private boolean exceeds(long used) {
        return used < 0 || used > bytes - 1;
    }

    private int makeRoom(MemorySegment m, long position, long end) {
        if (!overwrites() && exceeds(end - (long) LONG.getOpaque(m, producer + CONSUMED))) {
            long consumed = (long) LONG.getAcquire(m, consumer); // X6J: acquire, pairs with X5, X5J
            if (consumed < 0 || consumed > position || exceeds(end - consumed)) {
                return -Layouts.EAGAIN;
            }
            LONG.setOpaque(m, producer + CONSUMED, consumed);
        }
        if (exceeds(end - (long) LONG.getOpaque(m, producer + PENDING))) {
            int err = passCommitted(m, position, end);
            if (err != 0) {
                return err;
            }
        }
        return overwrites() && exceeds(end - (long) LONG.getOpaque(m, producer + OLDEST)) ? giveUpOldest(m, end) : 0;
    }

    private int passCommitted(MemorySegment m, long position, long end) {
        long at = (long) LONG.getOpaque(m, producer + PENDING);
        int err = 0;
        for (int n = 0; at < position && (n < WALK_BATCH || exceeds(end - at)); n++) {
            int word = (int) INT.getAcquire(m, header(at)); // X2J: acquire, its writer is done with the memory; pairs with X1, X1J
            if ((word & BUSY) != 0) {
                break;
            }
            if (step(word & LENGTH) > position - at) {
                err = -Layouts.EBADMSG;
                break;
            }
            at += step(word & LENGTH);
        }
        LONG.setOpaque(m, producer + PENDING, at);
        return err != 0 ? err : exceeds(end - at) ? -Layouts.EAGAIN : 0;
    }

    private int giveUpOldest(MemorySegment m, long end) {
        long at = (long) LONG.getOpaque(m, producer + OLDEST);
        long consumed = (long) LONG.getAcquire(m, consumer); // X6J
        long pending = (long) LONG.getOpaque(m, producer + PENDING);
        long lost = 0;
        while (exceeds(end - at)) {
            int word = (int) INT.getOpaque(m, header(at));
            if (step(word & LENGTH) > pending - at) {
                return -Layouts.EBADMSG;
            }
            if (at >= consumed && (word & DISCARD) == 0) {
                lost++;
            }
            at += step(word & LENGTH);
        }
        LONG.setOpaque(m, producer + LOST, (long) LONG.getOpaque(m, producer + LOST) + lost);
        LONG.setOpaque(m, producer + OLDEST, at);
        VarHandle.fullFence(); // X12J: full fence, `oldest` before the new record's bytes; pairs with X13, X13J
        return 0;
    }

    /** Commits or discards an open record: 0, 1 (wake the consumer), {@code -EINVAL} (it is not open). */
    public int finish(MemorySegment m, long offset, boolean discard, int wake) {
        long position = offset - RECORD_HEADER;
        long header = header(position);
        int word = (int) INT.getOpaque(m, header);
        if ((word & BUSY) == 0) {
            return -Layouts.EINVAL;
        }
        INT.setRelease(m, header, word & LENGTH | (discard ? DISCARD : 0)); // X1J: release, pairs with X2, X2J
        // As X9 in C: a relaxed load of the line behind X1J; the sleeper's heavy fence orders the processor, and HotSpot keeps the two
        // accesses in program order, as at the unlock of WIDE locks (Words.RELEASE_NEEDS_FENCE).
        if (releaseNeedsFence) {
            VarHandle.fullFence(); // X11J: full fence, pairs with X10, X10J
        }
        if ((int) INT.getOpaque(m, line + Shape.WAITQ_HEAD) == 0 || (wake & Layouts.RING_NO_WAKEUP) != 0) {
            return 0;
        }
        boolean stands = ((long) LONG.getOpaque(m, consumer) & bytes - 1) == (position & bytes - 1);
        return stands || overwrites() || (wake & Layouts.RING_FORCE_WAKEUP) != 0 ? 1 : 0;
    }

    /** Whether a consumer stands in the line; a hint. */
    public boolean hasWaiter(MemorySegment m) {
        return (int) INT.getOpaque(m, line + Shape.WAITQ_HEAD) != 0;
    }

    // ---- consuming ----

    public long consumed(MemorySegment m) {
        return (long) LONG.getOpaque(m, consumer);
    }

    public long produced(MemorySegment m) {
        return (long) LONG.getAcquire(m, producer); // X4J: acquire, pairs with X3, X3J
    }

    public long lost(MemorySegment m) {
        return (long) LONG.getOpaque(m, producer + LOST);
    }

    /** Bytes between the two positions, headers included; a hint while others work. */
    public long available(MemorySegment m) {
        long from = wholeFrom(m, consumed(m));
        return Math.max(0, produced(m) - from);
    }

    /** Where the consumer goes on: at its position, or at the first record that is whole. */
    public long wholeFrom(MemorySegment m, long at) {
        if (!overwrites()) {
            return at;
        }
        long oldest = (long) LONG.getAcquire(m, producer + OLDEST); // X4J: what is older is being overwritten
        return Math.max(at, oldest);
    }

    /** False if what was read at this position may have been overwritten meanwhile. */
    public boolean stillThere(MemorySegment m, long at) {
        if (!overwrites()) {
            return true;
        }
        VarHandle.fullFence(); // X13J: full fence, the reads before the look at `oldest`; pairs with X12, X12J
        return (long) LONG.getOpaque(m, producer + OLDEST) <= at;
    }

    /**
     * The length word of the record at a position at which something begins, or {@link #NOTHING}, {@link #OPEN},
     * {@link #DAMAGED}; no length word of a finished record is negative.
     *
     * @param known the producers' position
     */
    public int look(MemorySegment m, long at, long known) {
        if (at >= known) {
            return at == known ? NOTHING : DAMAGED;
        }
        int word = (int) INT.getAcquire(m, header(at)); // X2J
        if (word < 0) {
            return OPEN;
        }
        boolean tooLong = (word & DISCARD) == 0 && word > maxRecord;
        return tooLong || step(word & LENGTH) > known - at ? DAMAGED : word;
    }

    /** The position behind a record with this length word. */
    public static long behind(long at, int word) {
        return at + step(word & LENGTH);
    }

    public void publish(MemorySegment m, long at) {
        LONG.setRelease(m, consumer, at); // X5J: release, our reads before the room is given back; pairs with X6, X6J
    }
}
