// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.internal.Layouts;
import io.panalock.internal.Library;
import io.panalock.internal.ffm.panalock_h;
import io.panalock.internal.ffm.pl_futex_waiter;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;

/**
 * A 32-bit word of native memory on which threads sleep and are woken, by the kernel's futex system call: the raw material
 * of locks, for protocols that this library does not have, or to talk to C code that has its own.
 *
 * {@snippet :
 * Futex door = Futex.at(segment, 0);
 * door.await(0);                       // sleeps while the word holds 0
 *
 * segment.set(JAVA_INT, 0, 1);         // change the word first
 * door.wake(1);                        // then wake
 * }
 *
 * <p>A sleeping thread is asleep in native code: a virtual one keeps its carrier. Any await may return without a cause. The
 * word may lie in memory that cannot be read or written: that is an {@link IllegalStateException}, not a crash.
 *
 * <p>Needs the native library. Source: Franke, Russell, Kirkwood, "Fuss, Futexes and Furwocks" (2002); futex(2).
 */
public final class Futex {
    private static final int SHARED = 1;
    private static final int MAX_WORDS = 128;
    private static final int ENOSYS = 38;
    private static final int EFAULT = 14;

    /** Thread.interrupt does not end the system call, so it ends this often to look. */
    private static final long SLICE_NANOS = 10_000_000;

    /** What {@link Futex#update} does: {@code new = old OP argument}. */
    public enum Op {
        /** The argument. */
        SET,
        /** Sum. */
        ADD,
        /** Bitwise or. */
        OR,
        /** Bitwise and with the complement. */
        ANDN,
        /** Bitwise exclusive or. */
        XOR
    }

    /** How the old value is compared, signed. */
    public enum Compare {
        /** Equal. */
        EQ,
        /** Not equal. */
        NE,
        /** Less. */
        LT,
        /** Less or equal. */
        LE,
        /** Greater. */
        GT,
        /** Greater or equal. */
        GE
    }

    private final MemorySegment word;
    private final int flags;

    private Futex(MemorySegment word, int flags) {
        this.word = word;
        this.flags = flags;
    }

    /**
     * The word at an offset, for the threads of this process.
     *
     * @param segment native memory, which stays open while a thread sleeps
     * @param offset in bytes, so that the address is divisible by 4
     * @return the futex
     * @throws IllegalArgumentException the segment has no such word
     * @throws UnsatisfiedLinkError there is no native library
     */
    public static Futex at(MemorySegment segment, long offset) {
        return at(segment, offset, false);
    }

    /**
     * The word at an offset.
     *
     * @param segment native memory
     * @param offset in bytes, so that the address is divisible by 4
     * @param shared the memory is shared with other processes, and some of them use the word
     * @return the futex
     * @throws IllegalArgumentException the segment has no such word
     */
    public static Futex at(MemorySegment segment, long offset, boolean shared) {
        Library.require();
        if (!segment.isNative()) {
            throw new IllegalArgumentException(
                    "a futex needs native memory; this segment is on the heap. Allocate it from an Arena.");
        }
        if (offset < 0 || offset > segment.byteSize() - Integer.BYTES) {
            throw new IllegalArgumentException("no 4 bytes at offset " + offset + " of a segment of "
                    + segment.byteSize() + " bytes.");
        }
        MemorySegment w = segment.asSlice(offset, Integer.BYTES);
        if (w.address() == 0 || w.address() % Integer.BYTES != 0) {
            throw new IllegalArgumentException(
                    "a futex needs an address divisible by 4, not 0x" + Long.toHexString(w.address()) + ".");
        }
        return new Futex(w, shared ? SHARED : 0);
    }

    /**
     * Sleeps while the word holds {@code expected}. A full fence comes before the look at the word.
     *
     * @param expected what the word must hold to sleep
     * @throws InterruptedException the thread was interrupted
     */
    public void await(int expected) throws InterruptedException {
        await(expected, Long.MAX_VALUE);
    }

    /**
     * Sleeps while the word holds {@code expected}, at most {@code limit}.
     *
     * @param expected what the word must hold to sleep
     * @param limit nothing or less: does not sleep
     * @return false if time was up
     * @throws InterruptedException the thread was interrupted
     */
    public boolean await(int expected, Duration limit) throws InterruptedException {
        return await(expected, Math.max(0, TimeUnit.NANOSECONDS.convert(limit)));
    }

    private boolean await(int expected, long nanos) throws InterruptedException {
        int result = inSlices(nanos, slice -> panalock_h.pl_futex_wait(word, expected, slice, flags));
        if (result == -Layouts.ETIMEDOUT) {
            return false;
        }
        check(result == -Layouts.EAGAIN || result == -Layouts.EINTR ? 0 : result);
        return true;
    }

    /** For what only passes the address on: the segment must be open, and this thread's. */
    private void checkReachable() {
        if (!word.scope().isAlive()) {
            throw new IllegalStateException("the arena of this futex is closed.");
        }
        if (!word.isAccessibleBy(Thread.currentThread())) {
            throw new WrongThreadException("the arena of this futex is another thread's.");
        }
    }

    private void checkWritable() {
        if (word.isReadOnly()) {
            throw new IllegalStateException("this segment is read-only; its memory cannot be both read and written.");
        }
    }

    private void checkPartner(Futex target) {
        if (flags != target.flags) {
            throw new IllegalArgumentException("both words must be shared with other processes, or neither.");
        }
    }

    private interface Wait {
        int sleep(long nanos);
    }

    private static int inSlices(long nanos, Wait wait) throws InterruptedException {
        long start = System.nanoTime();
        for (; ; ) {
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            long left = nanos == Long.MAX_VALUE ? Long.MAX_VALUE : nanos - (System.nanoTime() - start);
            int result = wait.sleep(Math.clamp(left, 0, SLICE_NANOS));
            if (result != -Layouts.ETIMEDOUT || left <= SLICE_NANOS) {
                return result;
            }
        }
    }

    /**
     * Wakes up to {@code count} sleepers. The caller has changed the word before.
     *
     * @param count 0 wakes nobody
     * @return how many were woken
     */
    public int wake(int count) {
        return check(panalock_h.pl_futex_wake(word, nonNegative(count), flags));
    }

    /**
     * If the word still holds {@code expected}: wakes some sleepers and moves others to another word, without waking them.
     *
     * @param expected what the word must hold
     * @param wake how many at most to wake
     * @param move how many at most to move
     * @param target where to
     * @return how many were woken or moved; nothing if the word differed
     * @throws IllegalArgumentException a count is negative, or only one of the words is shared
     */
    public OptionalInt requeue(int expected, int wake, int move, Futex target) {
        checkPartner(target);
        int n = panalock_h.pl_futex_requeue(
                word, expected, nonNegative(wake), nonNegative(move), target.word, flags);
        return n == -Layouts.EAGAIN ? OptionalInt.empty() : OptionalInt.of(check(n));
    }

    /**
     * Compare-and-swap that tries both permissions first. Acquire and release.
     *
     * @param expected what it must hold
     * @param desired what it then holds
     * @return what it held: {@code expected} if it was swapped
     * @throws IllegalStateException the word cannot be both read and written
     */
    public int compareAndExchange(int expected, int desired) {
        checkWritable();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment seen = arena.allocate(ValueLayout.JAVA_INT);
            check(panalock_h.pl_futex_cmpxchg(word, expected, desired, seen));
            return seen.get(ValueLayout.JAVA_INT, 0);
        }
    }

    /**
     * Changes the word in one step, trying both permissions first. Acquire and release.
     *
     * @param op what to do
     * @param argument with what
     * @return what it held
     * @throws IllegalStateException the word cannot be both read and written
     */
    public int update(Op op, int argument) {
        checkWritable();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment old = arena.allocate(ValueLayout.JAVA_INT);
            check(panalock_h.pl_futex_op(word, op.ordinal(), argument, 0, 0, old));
            return old.get(ValueLayout.JAVA_INT, 0);
        }
    }

    /**
     * In one step: changes {@code target}; wakes up to {@code count} sleepers of this word; and, if the old value of
     * {@code target} compares so, up to {@code targetCount} of its sleepers.
     *
     * @param count 1 or more
     * @param target the word that is changed
     * @param targetCount 1 or more
     * @param op what to do with it
     * @param argument with what: -2048..2047
     * @param compare how the old value is compared
     * @param with with what: -2048..2047
     * @return how many were woken
     * @throws IllegalArgumentException a number is out of its range, or only one of the words is shared
     * @throws IllegalStateException the target cannot be both read and written
     */
    public int wakeOp(int count, Futex target, int targetCount, Op op, int argument, Compare compare, int with) {
        checkPartner(target);
        target.checkWritable();
        int n = panalock_h.pl_futex_wake_op(
                word, count, target.word, targetCount, op.ordinal(), argument, compare.ordinal(), with, flags);
        if (n == -Layouts.EINVAL) {
            throw new IllegalArgumentException(
                    "the counts must be 1 or more, and argument and with lie within -2048..2047.");
        }
        return check(n);
    }

    /**
     * A word and what it must hold for its sleeper to sleep.
     *
     * @param futex the word
     * @param expected what it must hold
     */
    public record Awaited(Futex futex, int expected) {}

    /**
     * Sleeps while every word holds what is expected of it.
     *
     * @param words 1 to 128 of them, whose arenas stay open meanwhile
     * @param limit how long at most
     * @return the place in the list of a word that was woken; nothing if a word differed or time was up
     * @throws InterruptedException the thread was interrupted
     * @throws UnsupportedOperationException Linux before 5.16
     */
    public static OptionalInt awaitAny(List<Awaited> words, Duration limit) throws InterruptedException {
        if (words.isEmpty() || words.size() > MAX_WORDS) {
            throw new IllegalArgumentException(words.size() + " words: 1 to " + MAX_WORDS + " are possible.");
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment array = pl_futex_waiter.allocateArray(words.size(), arena);
            for (int i = 0; i < words.size(); i++) {
                MemorySegment one = pl_futex_waiter.asSlice(array, i);
                Awaited a = words.get(i);
                a.futex.checkReachable();
                pl_futex_waiter.word(one, a.futex.word);
                pl_futex_waiter.expected(one, a.expected);
                pl_futex_waiter.flags(one, a.futex.flags);
            }
            int result = inSlices(
                    Math.max(0, TimeUnit.NANOSECONDS.convert(limit)),
                    slice -> panalock_h.pl_futex_waitv(array, words.size(), slice, 0));
            if (result == -ENOSYS) {
                throw new UnsupportedOperationException("this kernel has no futex_waitv: Linux 5.16 has it.");
            }
            boolean none = result == -Layouts.EAGAIN || result == -Layouts.ETIMEDOUT || result == -Layouts.EINTR;
            return none ? OptionalInt.empty() : OptionalInt.of(check(result));
        }
    }

    private static int nonNegative(int count) {
        if (count < 0) {
            throw new IllegalArgumentException(count + " threads: 0 or more can be woken or moved.");
        }
        return count;
    }

    private static int check(int result) {
        if (result == -EFAULT) {
            throw new IllegalStateException("this memory cannot be both read and written.");
        }
        if (result < 0) {
            throw new IllegalStateException("the futex call failed: error " + -result + ".");
        }
        return result;
    }
}
