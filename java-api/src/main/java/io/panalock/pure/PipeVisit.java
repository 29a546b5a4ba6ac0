// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import io.panalock.internal.Layouts;
import java.lang.foreign.MemorySegment;

/** One call on a pipe under way; touched by its thread only. */
final class PipeVisit {
    private static final int MOST_CHOSEN = 4;

    final PureDomain domain;
    final int slot;
    final int number;
    final long node;
    final Wait wait; // deadline, interruption, how to pass time
    final MemorySegment buffer;
    final int bytes;
    final boolean writing;
    final boolean nonBlocking;
    final long side; // offsets of our side and the other one
    final long other;

    int result;
    boolean inLine;
    boolean crowded; // the one that went before us ran on our CPU when we let it
    boolean seesToSide; // a sleeper there may have to be woken
    boolean seesToOther;
    long patient; // since when it is another's turn; 0: it is not
    long looking; // since when it is our turn and we look; 0: we do not
    int head; // positions when we left
    int tail;
    int watchedHead; // and as the watch timer saw them last
    int watchedTail;
    int watchedNext;

    private final int[] chosen = new int[MOST_CHOSEN];
    private int count;

    PipeVisit(
            PurePipe pipe,
            int slot,
            int level,
            MemorySegment buffer,
            boolean writing,
            boolean nonBlocking,
            boolean interruptible,
            long nanos) {
        domain = pipe.domain;
        this.slot = slot;
        this.buffer = buffer;
        this.bytes = (int) Math.min(buffer.byteSize(), Integer.MAX_VALUE);
        this.writing = writing;
        this.nonBlocking = nonBlocking;
        number = PureDomain.nodeNumber(slot, level);
        node = domain.nodeAt(number);
        side = writing ? PipeShape.WRITER : PipeShape.READER;
        other = writing ? PipeShape.READER : PipeShape.WRITER;
        wait = domain.waitOf(slot, level);
        wait.begin(interruptible ? Layouts.WAIT_INTERRUPTIBLE : 0, nanos);
    }

    /** True if an interruption waits to be noticed. */
    boolean isCalledAway() {
        return wait.interruptible()
                && (Thread.currentThread().isInterrupted()
                        || domain.memory.get(domain.slotAt(slot) + Shape.THREAD_INTERRUPTED) != 0);
    }

    /** Remembers whom to wake when the mutex is free; 0 is nobody. */
    void chose(int token) {
        if (token != 0) {
            chosen[count++] = token;
        }
    }

    void wakeChosen() {
        for (int i = 0; i < count; i++) {
            domain.wake(chosen[i]);
        }
        count = 0;
    }
}
