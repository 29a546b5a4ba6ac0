// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.panalock.internal.Layouts;
import java.lang.foreign.MemorySegment;

/**
 * Token pipe: the twin of pipe.c, over the same bytes, for threads that park in Java. What each step is for stands there.
 *
 * <p>Everything in the pipe but the two hints changes only under its mutex, whose critical sections are short and block
 * nowhere.
 */
public final class PurePipe {
    private static final int RECORD_HEADER = 4; // bytes: a record's length
    private static final int HINT_MAX = 8;
    private static final int SHORT_LOOK_NS = 2_000;
    private static final int SHORT_GRACE_NS = 2_000;
    private static final int OWN_CPU_NS = 20_000;
    private static final int PROBE_EVERY = 32;
    private static final int TRIES = 1000;

    /** Results of one step. */
    private enum Step {
        DONE,
        LOOK,
        SLEEP
    }

    final PureDomain domain;
    final Memory nodes;
    final Memory memory;
    final long base;
    private final MemorySegment data;
    private final int capacity;
    private final int flags;
    private final int header; // bytes before each piece of data

    private PurePipe(PureDomain domain, MemorySegment pipe, Memory memory) {
        this.domain = domain;
        this.nodes = domain.memory;
        this.memory = memory;
        this.base = pipe.address();
        capacity = memory.get(base + PipeShape.CAPACITY);
        flags = memory.get(base + PipeShape.FLAGS);
        header = (flags & PipeShape.RECORDS) != 0 ? RECORD_HEADER : 0;
        data = pipe.asSlice(PipeShape.PIPE, capacity);
    }

    /** Bytes of memory for a pipe of this capacity, or 0 when that is not one. */
    public static long size(int capacity) {
        return isCapacity(capacity) ? PipeShape.PIPE + capacity : 0;
    }

    private static boolean isCapacity(int c) {
        return c >= PipeShape.MIN_CAPACITY && c <= PipeShape.MAX_CAPACITY && Integer.bitCount(c) == 1;
    }

    /** Makes a pipe without open ends; the caller has checked the arguments. */
    public static PurePipe create(PureDomain domain, MemorySegment memory, int capacity, int flags) {
        Memory m = Memory.of(memory);
        long base = memory.address();
        memory.asSlice(0, PipeShape.PIPE).fill((byte) 0);
        m.set(base + PipeShape.FLAGS, flags);
        m.set(base + PipeShape.CAPACITY, capacity);
        m.setRelease(base + PipeShape.MAGIC, PipeShape.MAGIC_VALUE); // D1
        return new PurePipe(domain, memory, m);
    }

    /** The pipe in memory, or null if there is none, or a damaged one. */
    public static PurePipe at(PureDomain domain, MemorySegment memory) {
        Memory m = Memory.of(memory);
        long base = memory.address();
        if (memory.byteSize() < PipeShape.PIPE
                || m.getAcquire(base + PipeShape.MAGIC) != PipeShape.MAGIC_VALUE) { // D2
            return null;
        }
        int capacity = m.get(base + PipeShape.CAPACITY);
        if (!isCapacity(capacity) || memory.byteSize() < size(capacity)) {
            return null;
        }
        PurePipe p = new PurePipe(domain, memory, m);
        return p.usedAtOnce() < 0 ? null : p;
    }

    /** Bytes in it, or -1 when the positions cannot be. Exact under the mutex; else a hint. */
    private int used() {
        int used = memory.get(base + PipeShape.TAIL) - memory.get(base + PipeShape.HEAD);
        return used < 0 || used > capacity ? -1 : used;
    }

    /** The same without the mutex, exact as of some moment, unless the pipe is too busy for it. */
    public int usedAtOnce() {
        for (int i = 0; ; i++) {
            int head = memory.getAcquire(base + PipeShape.HEAD); // A1J: acquire, pairs with A2, A2J
            int used = memory.getAcquire(base + PipeShape.TAIL) - head; // A1J
            if (memory.get(base + PipeShape.HEAD) == head || i == TRIES) {
                return used < 0 || used > capacity ? -1 : used;
            }
        }
    }

    public int capacity() {
        return capacity;
    }

    /** The longest piece that can be written. */
    public int longest() {
        return capacity - header;
    }

    public int flags() {
        return flags;
    }

    // ---- ends ----

    /** Opens ends. */
    public void open(int slot, int readers, int writers) {
        lock(slot);
        try {
            addOpen(PipeShape.READER, readers);
            addOpen(PipeShape.WRITER, writers);
        } finally {
            unlock();
        }
    }

    /** Closes ends; false, and nothing was closed, if so many are not open. */
    public boolean close(int slot, int readers, int writers) {
        boolean lastReader;
        boolean lastWriter;
        lock(slot);
        try {
            if (open(PipeShape.READER) < readers || open(PipeShape.WRITER) < writers) {
                return false;
            }
            addOpen(PipeShape.READER, -readers);
            addOpen(PipeShape.WRITER, -writers);
            lastReader = readers > 0 && open(PipeShape.READER) == 0;
            lastWriter = writers > 0 && open(PipeShape.WRITER) == 0;
        } finally {
            unlock();
        }
        if (lastReader) {
            wakeAll(slot, PipeShape.WRITER);
        }
        if (lastWriter) {
            wakeAll(slot, PipeShape.READER);
        }
        return true;
    }

    private int open(long side) {
        return memory.get(base + side + PipeShape.SIDE_OPEN);
    }

    private void addOpen(long side, int n) {
        memory.set(base + side + PipeShape.SIDE_OPEN, open(side) + n);
    }

    // ---- one call ----

    /**
     * Reads; as pl_pipe_read(). Blocks unless the time-out is 0.
     *
     * @param slot the caller's
     * @param nonBlocking {@code -EAGAIN} instead of waiting
     * @return bytes; 0 (empty, and no writer is open); {@code -EAGAIN}, {@code -ETIMEDOUT}, {@code -EINTR},
     *     {@code -EMSGSIZE}, {@code -EBADMSG}, {@code -ENOSPC}
     */
    public int read(int slot, MemorySegment to, boolean nonBlocking, boolean interruptible, long timeoutNanos) {
        return call(slot, to, false, nonBlocking, interruptible, timeoutNanos);
    }

    /** Writes all of it; as pl_pipe_write(). */
    public int write(int slot, MemorySegment from, boolean nonBlocking, boolean interruptible, long timeoutNanos) {
        return call(slot, from, true, nonBlocking, interruptible, timeoutNanos);
    }

    private int call(
            int slot, MemorySegment buffer, boolean writing, boolean nonBlocking, boolean interruptible, long nanos) {
        long depth = domain.slotAt(slot) + Shape.THREAD_DEPTH;
        int level = nodes.get(depth);
        if (level >= Layouts.NESTING) {
            return -Layouts.ENOSPC;
        }
        nodes.set(depth, level + 1);
        PipeVisit v = new PipeVisit(this, slot, level, buffer, writing, nonBlocking, interruptible, nanos);
        try {
            return takePart(v);
        } finally {
            v.wait.end();
            nodes.set(depth, level);
        }
    }

    private int takePart(PipeVisit v) {
        for (; ; ) {
            Step next;
            lock(v.slot);
            try {
                next = decide(v);
            } finally {
                unlock();
            }
            v.wakeChosen();
            if (next == Step.DONE) {
                break;
            } else if (next == Step.LOOK) {
                lookOn(v);
            } else {
                sleepInLine(v);
            }
        }
        if ((flags & PipeShape.WAKE_ALL) != 0) {
            if (v.result > 0) {
                wakeAll(v.slot, v.other);
            }
            return v.result;
        }
        if (v.seesToOther) {
            seeTo(v, v.other);
        }
        if (v.seesToSide) { // passes on what is left, also a turn that was not used
            seeTo(v, v.side);
        }
        return v.result;
    }

    private Step decide(PipeVisit v) {
        if (used() < 0) { // a stranger has written here
            if (v.inLine) {
                withdraw(v);
            }
            return leave(v, -Layouts.EBADMSG);
        }
        if (v.inLine && sleepsOn(v)) {
            return Step.SLEEP;
        }
        // Two awake on one CPU: one of them sleeps, so that its next wake-up finds a CPU that is free.
        boolean twoHere = v.crowded && isMine(v) && after(v.side) != 0;
        v.crowded = false;
        if (twoHere) {
            join(v);
            return Step.SLEEP;
        }
        if (isReady(v)) {
            if (letsAnotherGoFirst(v)) {
                if (v.wait.until != 0 && domain.pacer.now() >= v.wait.until) {
                    return leave(v, -Layouts.ETIMEDOUT);
                }
                if (!sleepsMeanwhile(v)) {
                    return Step.LOOK;
                }
                join(v);
                return Step.SLEEP;
            }
            if (v.looking != 0) {
                looked(v.side, true);
            }
            return leave(v, transfer(v));
        }
        int why = mustLeave(v);
        if (why != 0) {
            return leave(v, why);
        }
        return looks(v) ? Step.LOOK : Step.SLEEP;
    }

    /** The end of the visit: what others must be woken for is our business from here on. */
    private Step leave(PipeVisit v, int result) {
        v.result = result;
        giveUpTurns(v);
        v.seesToSide = mustChoose(v.side);
        v.seesToOther = mustChoose(v.other);
        v.head = memory.get(base + PipeShape.HEAD);
        v.tail = memory.get(base + PipeShape.TAIL);
        return Step.DONE;
    }

    private int mustLeave(PipeVisit v) {
        if (v.nonBlocking) {
            return -Layouts.EAGAIN;
        }
        return v.wait.mustLeave(0, v.wait.until != 0 ? domain.pacer.now() : 0);
    }

    // ---- bytes; the mutex is held ----

    private boolean otherSideGone(PipeVisit v) {
        return open(v.other) == 0;
    }

    /** May be called without the mutex. */
    private boolean isReady(PipeVisit v) {
        int used = used();
        return otherSideGone(v) || (v.writing ? capacity - used >= v.bytes + header : used > 0);
    }

    private int transfer(PipeVisit v) {
        if (v.writing) {
            if (otherSideGone(v)) {
                return -PipeShape.EPIPE;
            }
            int tail = memory.get(base + PipeShape.TAIL);
            if (header != 0) {
                putLength(tail, v.bytes);
            }
            copyIn(v.buffer, tail + header, v.bytes);
            memory.setRelease(base + PipeShape.TAIL, tail + header + v.bytes); // A2J: release, pairs with A1, A1J
            return v.bytes;
        }
        int there = used();
        if (there == 0) {
            return 0; // and no writer
        }
        int head = memory.get(base + PipeShape.HEAD);
        int length = Math.min(there, v.bytes);
        if (header != 0) {
            length = there < header ? -1 : getLength(head);
            if (length < 0 || length > there - header) {
                return -Layouts.EBADMSG;
            }
            if (length > v.bytes) {
                return -PipeShape.EMSGSIZE;
            }
        }
        copyOut(head + header, v.buffer, length);
        memory.setRelease(base + PipeShape.HEAD, head + header + length); // A2J
        return length;
    }

    private void copyIn(MemorySegment from, int at, int bytes) {
        int start = at & capacity - 1;
        int first = Math.min(capacity - start, bytes);
        MemorySegment.copy(from, 0, data, start, first);
        MemorySegment.copy(from, first, data, 0, bytes - first);
    }

    private void copyOut(int at, MemorySegment to, int bytes) {
        int start = at & capacity - 1;
        int first = Math.min(capacity - start, bytes);
        MemorySegment.copy(data, start, to, 0, first);
        MemorySegment.copy(data, 0, to, first, bytes - first);
    }

    private void putLength(int at, int length) {
        for (int i = 0; i < RECORD_HEADER; i++) {
            data.set(JAVA_BYTE, at + i & capacity - 1, (byte) (length >> i * Byte.SIZE));
        }
    }

    private int getLength(int at) {
        int length = 0;
        for (int i = 0; i < RECORD_HEADER; i++) {
            length |= Byte.toUnsignedInt(data.get(JAVA_BYTE, at + i & capacity - 1))
                    << i * Byte.SIZE;
        }
        return length;
    }

    // ---- turns; the mutex is held ----

    private int next(long side) {
        return memory.get(base + side + PipeShape.SIDE_NEXT);
    }

    private void setNext(long side, int number) {
        memory.set(base + side + PipeShape.SIDE_NEXT, number);
    }

    private int after(long side) {
        return memory.get(base + side + PipeShape.SIDE_AFTER);
    }

    private void setAfter(long side, int number) {
        memory.set(base + side + PipeShape.SIDE_AFTER, number);
    }

    private boolean isMine(PipeVisit v) {
        return next(v.side) == v.number;
    }

    private boolean takesTurns() {
        return (flags & (PipeShape.WAKE_ALL | PipeShape.GREEDY)) == 0;
    }

    private void giveUpTurns(PipeVisit v) {
        if (after(v.side) == v.number) {
            setAfter(v.side, 0);
        }
        if (isMine(v)) {
            setNext(v.side, after(v.side));
            setAfter(v.side, 0);
        }
    }

    /** The pipe is ready but it is another's turn: true if we leave the data to it. */
    private boolean letsAnotherGoFirst(PipeVisit v) {
        if (!takesTurns() || next(v.side) == 0 || isMine(v) || v.nonBlocking || otherSideGone(v)) {
            return false;
        }
        if (after(v.side) == 0) {
            setAfter(v.side, v.number);
        }
        return true;
    }

    private boolean sleepsMeanwhile(PipeVisit v) {
        long now = domain.pacer.now();
        if (v.patient == 0) {
            v.patient = now;
        }
        return after(v.side) != v.number || now - v.patient >= PipeShape.PATIENCE_NS;
    }

    /** The pipe is not ready: true if it is our turn, and worth to look; else we stand in the line. */
    private boolean looks(PipeVisit v) {
        long now = domain.pacer.now();
        boolean othersSleep = lineHead(v.side) != 0;
        long rotated = base + v.side + PipeShape.SIDE_ROTATED;
        boolean sliceOver = othersSleep && now - memory.getLong(rotated) >= PipeShape.SLICE_NS;
        v.patient = 0;
        if (takesTurns() && (next(v.side) == 0 || isMine(v))) {
            boolean tired = v.looking != 0 && now - v.looking >= lookNanos(v.side);
            if (!tired && !sliceOver) {
                if (v.looking == 0) {
                    v.looking = now;
                }
                setNext(v.side, v.number);
                return true;
            }
            if (tired) {
                looked(v.side, false);
            }
        }
        join(v);
        if (takesTurns() && sliceOver) {
            memory.setLong(rotated, now);
        }
        return false;
    }

    // ---- hints ----

    private int lookNanos(long side) {
        return memory.get(base + side + PipeShape.SIDE_LOOK) != 0 ? PipeShape.LOOK_NS : SHORT_LOOK_NS;
    }

    private void looked(long side, boolean found) {
        long hint = base + side + PipeShape.SIDE_LOOK;
        int look = memory.get(hint);
        memory.set(hint, found ? Math.min(look + 1, HINT_MAX) : look / 2);
    }

    /** A sleeper should be woken. Without the mutex: true if somebody awake came instead, within the grace. */
    private boolean somebodyComes(PipeVisit v, long side) {
        boolean reading = side == PipeShape.READER;
        long position = base + (reading ? PipeShape.HEAD : PipeShape.TAIL);
        int before = reading ? v.head : v.tail;
        long hint = base + side + PipeShape.SIDE_MISSES;
        int misses = memory.get(hint);
        if (misses == HINT_MAX && Integer.remainderUnsigned(memory.get(base + PipeShape.TAIL) >>> 2, PROBE_EVERY) != 0) {
            return false;
        }
        long start = domain.pacer.now();
        int grace = misses == 0 ? PipeShape.GRACE_NS : SHORT_GRACE_NS;
        boolean came;
        while (!(came = memory.get(position) != before || !mustChoose(side)) && domain.pacer.now() - start < grace) {
            Thread.onSpinWait();
        }
        memory.set(hint, came ? misses / 2 : Math.min(misses + 1, HINT_MAX));
        return came;
    }

    private void lookOn(PipeVisit v) {
        int next = next(v.side);
        boolean turn = next == v.number;
        long start = domain.pacer.now();
        long limit = turn ? lookNanos(v.side) : PipeShape.PATIENCE_NS;
        boolean gaveWay = turn;
        while (next(v.side) == next && !(turn && isReady(v))) {
            long now = domain.pacer.now();
            if (!gaveWay && now - start >= OWN_CPU_NS) {
                domain.pacer.giveWay();
                v.crowded = next(v.side) != next;
                gaveWay = true;
            }
            if (now - start >= limit || v.wait.until != 0 && now >= v.wait.until || v.isCalledAway()) {
                return;
            }
            v.wait.delay(Wait.LOOK_NS);
        }
    }

    // ---- lines ----

    private long line(long side) {
        return base + side + PipeShape.SIDE_LINE;
    }

    private int lineHead(long side) {
        return memory.get(line(side) + Shape.WAITQ_HEAD);
    }

    private void lock(int slot) {
        Line.lock(domain, memory, base + PipeShape.MUTEX);
    }

    private void unlock() {
        Line.unlock(domain, memory, base + PipeShape.MUTEX);
    }

    /** Joins; the mutex is held. */
    private void join(PipeVisit v) {
        nodes.set(v.node + Shape.NODE_KIND, Shape.NODE_AT_QUEUE);
        nodes.setLong(v.node + Shape.NODE_KEY, domain.key(line(v.side)));
        nodes.setLong(v.node + Shape.NODE_ARRIVAL, domain.pacer.now());
        domain.parking.register(v.number, Thread.currentThread());
        Line.lock(domain, memory, line(v.side));
        try {
            Line.insert(domain, memory, line(v.side), v.number);
        } finally {
            Line.unlock(domain, memory, line(v.side));
        }
        giveUpTurns(v);
        v.watchedNext = next(v.side);
        v.watchedHead = memory.get(base + PipeShape.HEAD);
        v.watchedTail = memory.get(base + PipeShape.TAIL);
        v.inLine = true;
    }

    private void withdraw(PipeVisit v) {
        Line.lock(domain, memory, line(v.side));
        try {
            if (Line.holds(domain, v.node)) {
                Line.remove(domain, memory, line(v.side), v.number);
                v.chose(Line.newWatch(domain, memory, line(v.side), nodes.getLong(v.node + Shape.NODE_KEY), v.number));
            }
            nodes.set(v.node + Shape.NODE_STATE, Layouts.NODE_IDLE);
        } finally {
            Line.unlock(domain, memory, line(v.side));
        }
        domain.parking.unregister(v.number);
        v.inLine = false;
        v.patient = v.looking = 0;
    }

    private void sleepInLine(PipeVisit v) {
        long until = v.wait.until;
        if ((nodes.get(v.node + Shape.NODE_KIND) & Shape.NODE_WATCH) != 0) {
            long watch = domain.pacer.now() + Shape.WATCH_NS;
            until = until == 0 ? watch : Math.min(until, watch);
        }
        int state = v.wait.sleep(until);
        if (state == Layouts.NODE_REARM || state == Layouts.NODE_INTERRUPTED) {
            nodes.cas(v.node + Shape.NODE_STATE, state, Layouts.NODE_PARKED); // S6J: fails if chosen meanwhile
        }
    }

    /** Awake again, the mutex is held: true if we go on sleeping. */
    private boolean sleepsOn(PipeVisit v) {
        boolean chosen = !Line.holds(domain, v.node);
        boolean stuck = !chosen && isBearerStuck(v);
        boolean late = v.wait.until != 0 && domain.pacer.now() >= v.wait.until;
        if (!chosen && !stuck && !late && !v.isCalledAway()) {
            return true;
        }
        if (stuck && takesTurns()) {
            setNext(v.side, v.number);
        }
        withdraw(v);
        return false;
    }

    /** The one that goes next has not moved since the last time, though it could. */
    private boolean isBearerStuck(PipeVisit v) {
        int next = next(v.side);
        int head = memory.get(base + PipeShape.HEAD);
        int tail = memory.get(base + PipeShape.TAIL);
        boolean stuck = isReady(v)
                && (next == 0 || next == v.watchedNext && head == v.watchedHead && tail == v.watchedTail);
        v.watchedNext = next;
        v.watchedHead = head;
        v.watchedTail = tail;
        return stuck;
    }

    // ---- waking ----

    private boolean hasWork(long side) {
        return side == PipeShape.READER
                ? used() > 0 || open(PipeShape.WRITER) == 0
                : used() < capacity || open(PipeShape.READER) == 0;
    }

    private boolean mustChoose(long side) {
        return next(side) == 0 && lineHead(side) != 0 && hasWork(side);
    }

    /** After a transfer: a sleeper of the side goes next if there is work and nobody awake does it. */
    private void seeTo(PipeVisit v, long side) {
        if (!mustChoose(side) || somebodyComes(v, side)) {
            return;
        }
        lock(v.slot);
        try {
            if (mustChoose(side)) {
                chooseNext(v, side);
            }
        } finally {
            unlock();
        }
        v.wakeChosen();
    }

    private void chooseNext(PipeVisit v, long side) {
        long line = line(side);
        Line.lock(domain, memory, line);
        try {
            int number = lineHead(side);
            if (number != 0) {
                long key = nodes.getLong(domain.nodeAt(number) + Shape.NODE_KEY);
                setNext(side, number);
                v.chose(Line.choose(domain, memory, line, number));
                v.chose(Line.newWatch(domain, memory, line, key, number));
            }
        } finally {
            Line.unlock(domain, memory, line);
        }
    }

    /** A whole line, one by one: who joins again stands behind those who stood there when we came. */
    private void wakeAll(int slot, long side) {
        long line = line(side);
        long now = domain.pacer.now();
        for (int token; ; ) {
            Line.lock(domain, memory, line);
            try {
                int number = lineHead(side);
                if (number == 0 || nodes.getLong(domain.nodeAt(number) + Shape.NODE_ARRIVAL) - now > 0) {
                    return;
                }
                token = Line.choose(domain, memory, line, number);
            } finally {
                Line.unlock(domain, memory, line);
            }
            domain.wake(token);
        }
    }
}
