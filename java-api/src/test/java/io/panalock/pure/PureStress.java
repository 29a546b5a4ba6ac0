// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import io.panalock.internal.Layouts;
import java.lang.foreign.Arena;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * The pure twins on real memory as the JIT compilers make them: what jcstress runs, started by {@link PureStressTest}. Each
 * object has a lock of its own, guarding a plain counter; increments that are lost show in the results, and the last one
 * shows the bits that were left in the words.
 */
public class PureStress {
    private static final int SLOTS = 1000;
    private static final int WORDS = 1 << 18; // more than objects that jcstress has in use at a time
    private static final int ROOM = 16; // bytes: a lock, a queue or a line
    private static final long LIMIT_NS = 60_000_000_000L;
    private static final PureDomain DOMAIN = PureDomain.create(Arena.global(), SLOTS, 1, 0, Waker.NONE);
    private static final Memory MEMORY = Memory.whole();
    private static final long FIRST = Arena.global().allocate((long) WORDS * ROOM, Long.BYTES).address();
    private static final AtomicInteger NEXT = new AtomicInteger();
    private static final ThreadLocal<Integer> SLOT = ThreadLocal.withInitial(() -> Crew.slot(DOMAIN));

    private PureStress() {}

    private static long words() {
        return FIRST + (long) (NEXT.getAndIncrement() & (WORDS - 1)) * ROOM;
    }

    private static void check(int result) {
        if (result != 0) {
            throw new AssertionError(result);
        }
    }

    /** A lock and what it guards. */
    public abstract static class Guarded {
        private final LockWord lock;
        private final int flags;
        private int counter; // plain

        Guarded(int layout, int flags) {
            this.lock = LockWord.at(MEMORY, words(), layout);
            this.flags = flags;
        }

        int next() {
            int slot = SLOT.get();
            check(QSpin.lock(DOMAIN, lock, flags, -1, slot));
            int value = ++counter;
            QSpin.unlock(DOMAIN, lock, slot);
            return value;
        }

        int nextIfFree() {
            if (!QSpin.tryLock(lock)) {
                return 0;
            }
            int value = ++counter;
            QSpin.unlock(DOMAIN, lock, SLOT.get());
            return value;
        }

        int left() {
            return lock.bits();
        }
    }

    /** Two that wait. */
    @JCStressTest
    @State
    @Outcome(id = {"1, 2, 0", "2, 1, 0"}, expect = ACCEPTABLE, desc = "one after the other")
    @Outcome(expect = FORBIDDEN, desc = "lost increment, or bits left behind")
    public static class Word extends Guarded {
        public Word() {
            super(Layouts.LAYOUT_WORD, 0);
        }

        @Actor
        public void one(III_Result r) {
            r.r1 = next();
        }

        @Actor
        public void other(III_Result r) {
            r.r2 = next();
        }

        @Arbiter
        public void end(III_Result r) {
            r.r3 = left();
        }
    }

    /** One that waits and one that does not. */
    @JCStressTest
    @State
    @Outcome(id = {"1, 2, 0", "2, 1, 0"}, expect = ACCEPTABLE, desc = "one after the other")
    @Outcome(id = "1, 0, 0", expect = ACCEPTABLE, desc = "was held")
    @Outcome(expect = FORBIDDEN, desc = "lost increment, or bits left behind")
    public static class Byte extends Guarded {
        public Byte() {
            super(Layouts.LAYOUT_BYTE, 0);
        }

        @Actor
        public void one(III_Result r) {
            r.r1 = next();
        }

        @Actor
        public void other(III_Result r) {
            r.r2 = nextIfFree();
        }

        @Arbiter
        public void end(III_Result r) {
            r.r3 = left();
        }
    }

    /** Two that wait, on two words. */
    @JCStressTest
    @State
    @Outcome(id = {"1, 2, 0", "2, 1, 0"}, expect = ACCEPTABLE, desc = "one after the other")
    @Outcome(expect = FORBIDDEN, desc = "lost increment, or bits left behind")
    public static class Wide extends Guarded {
        public Wide() {
            super(Layouts.LAYOUT_WIDE, 0);
        }

        @Actor
        public void one(III_Result r) {
            r.r1 = next();
        }

        @Actor
        public void other(III_Result r) {
            r.r2 = next();
        }

        @Arbiter
        public void end(III_Result r) {
            r.r3 = left();
        }
    }

    /** A lock that finds deadlocks, and what it guards. */
    @JCStressTest
    @State
    @Outcome(id = {"1, 2, 0", "2, 1, 0"}, expect = ACCEPTABLE, desc = "one after the other")
    @Outcome(expect = FORBIDDEN, desc = "lost increment, a deadlock of one, or bits left behind")
    public static class Resilient {
        private final LockWord lock = LockWord.at(MEMORY, words(), Layouts.LAYOUT_WORD);
        private int counter; // plain

        private int next() {
            int slot = SLOT.get();
            check(RqSpin.lock(DOMAIN, lock, 0, -1, slot, null));
            int value = ++counter;
            check(RqSpin.unlock(DOMAIN, lock, slot));
            return value;
        }

        @Actor
        public void one(III_Result r) {
            r.r1 = next();
        }

        @Actor
        public void other(III_Result r) {
            r.r2 = next();
        }

        @Arbiter
        public void end(III_Result r) {
            r.r3 = lock.bits();
        }
    }

    /** Two locks, taken in either order: who is told of the deadlock gives way, and the other goes on. */
    @JCStressTest
    @State
    @Outcome(id = {"1, 2, 0", "2, 1, 0"}, expect = ACCEPTABLE, desc = "one after the other")
    @Outcome(id = {"0, 1, 0", "1, 0, 0"}, expect = ACCEPTABLE, desc = "a deadlock, and one was told")
    @Outcome(expect = FORBIDDEN, desc = "both were told, lost increment, or bits left behind")
    public static class ResilientCrosswise {
        private final LockWord here = LockWord.at(MEMORY, words(), Layouts.LAYOUT_WORD);
        private final LockWord there = LockWord.at(MEMORY, words(), Layouts.LAYOUT_BYTE);
        private int counter; // plain

        private int next(LockWord first, LockWord second) {
            int slot = SLOT.get();
            check(RqSpin.lock(DOMAIN, first, 0, -1, slot, null));
            int result = RqSpin.lock(DOMAIN, second, 0, -1, slot, null);
            int value = 0;
            if (result != -Layouts.EDEADLK) {
                check(result);
                value = ++counter;
                check(RqSpin.unlock(DOMAIN, second, slot));
            }
            check(RqSpin.unlock(DOMAIN, first, slot));
            return value;
        }

        @Actor
        public void one(III_Result r) {
            r.r1 = next(here, there);
        }

        @Actor
        public void other(III_Result r) {
            r.r2 = next(there, here);
        }

        @Arbiter
        public void end(III_Result r) {
            r.r3 = here.bits() | there.bits();
        }
    }

    /** A mutex and what it guards. */
    public abstract static class Mutexed {
        private final LockWord lock = PureMutex.at(MEMORY, words());
        private final int flags;
        private int counter; // plain

        Mutexed(int flags) {
            this.flags = flags;
        }

        int next() {
            int slot = SLOT.get();
            check(PureMutex.lock(DOMAIN, lock, flags, -1, slot));
            int value = ++counter;
            check(PureMutex.unlock(DOMAIN, lock, slot));
            return value;
        }

        int left() {
            return lock.bits() | PureMutex.owner(lock);
        }
    }

    /** The mutex, spinning. */
    @JCStressTest
    @State
    @Outcome(id = {"1, 2, 0", "2, 1, 0"}, expect = ACCEPTABLE, desc = "one after the other")
    @Outcome(expect = FORBIDDEN, desc = "lost increment, or bits left behind")
    public static class Mutex extends Mutexed {
        public Mutex() {
            super(0);
        }

        @Actor
        public void one(III_Result r) {
            r.r1 = next();
        }

        @Actor
        public void other(III_Result r) {
            r.r2 = next();
        }

        @Arbiter
        public void end(III_Result r) {
            r.r3 = left();
        }
    }

    /** The mutex without optimistic spinning: sleeps, hand-off, pick-up. */
    @JCStressTest
    @State
    @Outcome(id = {"1, 2, 0", "2, 1, 0"}, expect = ACCEPTABLE, desc = "one after the other")
    @Outcome(expect = FORBIDDEN, desc = "lost increment, or bits left behind")
    public static class MutexBlocking extends Mutexed {
        public MutexBlocking() {
            super(Layouts.WAIT_BLOCK);
        }

        @Actor
        public void one(III_Result r) {
            r.r1 = next();
        }

        @Actor
        public void other(III_Result r) {
            r.r2 = next();
        }

        @Arbiter
        public void end(III_Result r) {
            r.r3 = left();
        }
    }

    /** An OSQ and what its head counts. */
    public abstract static class Queued {
        private final long queue = words();
        private int counter; // plain

        private int head(BooleanSupplier leave) {
            int slot = SLOT.get();
            if (PureOsq.lock(DOMAIN, MEMORY, queue, slot, Layouts.WAIT_POLL, -1, leave) != 0) {
                return 0;
            }
            int value = ++counter;
            check(PureOsq.unlock(DOMAIN, MEMORY, queue, slot));
            return value;
        }

        int next() {
            return head(null);
        }

        int nextUnlessItHasToWait() {
            return head(() -> true);
        }

        int left() {
            return MEMORY.get(queue);
        }
    }

    /** One that waits to be head, and one that leaves at its first look. */
    @JCStressTest
    @State
    @Outcome(id = {"1, 2, 0", "2, 1, 0"}, expect = ACCEPTABLE, desc = "one after the other")
    @Outcome(id = "1, 0, 0", expect = ACCEPTABLE, desc = "left")
    @Outcome(expect = FORBIDDEN, desc = "two heads, or a queue that is not empty")
    public static class Osq extends Queued {
        @Actor
        public void one(III_Result r) {
            r.r1 = next();
        }

        @Actor
        public void leaver(III_Result r) {
            r.r2 = nextUnlessItHasToWait();
        }

        @Arbiter
        public void end(III_Result r) {
            r.r3 = left();
        }
    }

    /** Two that wait, and one that leaves from between them or beside. jcstress wants three CPUs for it. */
    @JCStressTest
    @State
    @Outcome(id = {"1, 2, 0", "2, 1, 0", "1, 3, 0", "3, 1, 0", "2, 3, 0", "3, 2, 0"}, expect = ACCEPTABLE, desc = "in turn")
    @Outcome(expect = FORBIDDEN, desc = "two heads, or a queue that is not empty")
    public static class OsqOfThree extends Queued {
        @Actor
        public void one(III_Result r) {
            r.r1 = next();
        }

        @Actor
        public void other(III_Result r) {
            r.r2 = next();
        }

        @Actor
        public void leaver() {
            nextUnlessItHasToWait();
        }

        @Arbiter
        public void end(III_Result r) {
            r.r3 = left();
        }
    }

    /** A wait queue: who is in line before it looks at the condition either sees it or is woken. */
    @JCStressTest
    @State
    @Outcome(id = {"0, 0", "1, 0"}, expect = ACCEPTABLE, desc = "saw the condition, or was woken")
    @Outcome(expect = FORBIDDEN, desc = "a wake-up was lost, or the line is not empty")
    public static class WaitQueue {
        private final long line = words();
        private final PureWaitQueue queue = new PureWaitQueue(DOMAIN, MEMORY, line);
        private final AtomicInteger condition = new AtomicInteger();

        @Actor
        public void sleeper(II_Result r) {
            int slot = SLOT.get();
            int place = queue.enter(slot, true);
            boolean there = condition.getOpaque() != 0;
            r.r1 = there ? 1 : queue.sleep(slot, place, LIMIT_NS, false);
            queue.leave(slot, place, !there);
        }

        @Actor
        public void waker() {
            condition.setOpaque(1);
            queue.wake(SLOT.get(), 1);
        }

        @Arbiter
        public void end(II_Result r) {
            r.r2 = MEMORY.get(line) | MEMORY.get(line + Integer.BYTES);
        }
    }

    /** What must be found out: the counter without a lock. Not among the tests that have to pass. */
    @JCStressTest
    @State
    @Outcome(id = {"1, 2, 0", "2, 1, 0"}, expect = ACCEPTABLE, desc = "one after the other")
    @Outcome(expect = FORBIDDEN, desc = "lost increment")
    public static class Broken {
        private int counter; // plain

        @Actor
        public void one(III_Result r) {
            r.r1 = ++counter;
        }

        @Actor
        public void other(III_Result r) {
            r.r2 = ++counter;
        }
    }
}
