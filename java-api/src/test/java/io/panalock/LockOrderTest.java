// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static org.assertj.core.api.Assertions.assertThat;

import io.panalock.LockOrderReport.Kind;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The lock-order validator's engine, by programs in a small language: what each thread does, one thread after the other. */
class LockOrderTest {
    private final List<LockOrderReport> reports = Collections.synchronizedList(new ArrayList<>());
    private final LockOrder order = new LockOrder(reports::add);
    private final ExecutorService[] threads = new ExecutorService[4];

    LockOrderTest() {
        for (int i = 0; i < threads.length; i++) {
            threads[i] = Executors.newSingleThreadExecutor();
        }
    }

    @AfterEach
    void stop() {
        for (ExecutorService e : threads) {
            e.shutdownNow();
        }
    }

    private Lock watched(String name) {
        return new WatchedLock(new ReentrantLock(), LockClass.of(name), order);
    }

    /**
     * Words: {@code A} locks, {@code a} unlocks, {@code ?A} tries, {@code ~A} tries with a limit, {@code !A} locks interruptibly,
     * {@code |} goes on on the next thread.
     */
    private void run(String program) throws Exception {
        Lock[] locks = new Lock[26];
        for (int i = 0; i < locks.length; i++) {
            locks[i] = watched(String.valueOf((char) ('A' + i)));
        }
        int t = 0;
        for (String part : program.split("\\|")) {
            String words = part.strip();
            threads[t++ % threads.length].submit(() -> {
                for (String w : words.split(" +")) {
                    Lock lock = locks[Character.toUpperCase(w.charAt(w.length() - 1)) - 'A'];
                    switch (w.charAt(0)) {
                        case '?' -> assertThat(lock.tryLock()).isTrue();
                        case '~' -> assertThat(lock.tryLock(1, TimeUnit.SECONDS)).isTrue();
                        case '!' -> lock.lockInterruptibly();
                        default -> {
                            if (Character.isUpperCase(w.charAt(0))) {
                                lock.lock();
                            } else {
                                lock.unlock();
                            }
                        }
                    }
                }
                return null;
            }).get();
        }
    }

    /** Each could deadlock, though here, one thread after the other, none does. */
    static Stream<String> inversions() {
        return Stream.of(
                "A B b a | B A a b",
                "A B a b | B A b a",
                "A B b a | B !A a b",
                "A !B b a | B A a b",
                "A B b a | B C c b | C A a c",
                "A B b a | B C c b | C D d c | D A a d",
                "A B b a | B C c b | C D d c | D E e d | E A a e",
                "A B C c b a | C A a c",
                "A B C c b a | C B b c",
                "A B C D d c b a | D B b d",
                "A B C D E e d c b a | E A a e",
                "?A B b a | B A a b", // what is held by a try is waited for by others all the same
                "?A B b a | ?B A a b",
                "~A B b a | B A a b",
                "A ?B C c b a | C B b c",
                "A ?B C c b a | C A a c",
                "A B b C c a | C D d c | D A a d",
                "A B b a B A a b",
                "A B b a A C c a | B D d b | D C c d | C B b c",
                "A B a C b c | C A a c");
    }

    @ParameterizedTest
    @MethodSource("inversions")
    void everyInversionIsFound(String program) throws Exception {
        run(program);
        assertThat(reports).extracting(LockOrderReport::kind).contains(Kind.INVERSION).containsOnly(Kind.INVERSION);
        LockOrderReport r = reports.getFirst();
        assertThat(r.orders()).hasSizeGreaterThanOrEqualTo(2);
        for (int i = 0; i < r.orders().size(); i++) {
            // A circle, each order with the two places where it was seen.
            var here = r.orders().get(i);
            var next = r.orders().get((i + 1) % r.orders().size());
            assertThat(here.second()).isEqualTo(next.first());
            assertThat(here.held()).isNotEmpty();
            assertThat(here.acquired()).isNotEmpty();
            assertThat(here.acquired().getFirst().getClassName()).startsWith("io.panalock.LockOrderTest");
            assertThat(r.message()).contains("\"" + here.first().name() + "\" before \"" + here.second().name() + "\"");
        }
        assertThat(r.message()).contains("LockOrderTest.java");
    }

    /** The same shapes in one order. */
    static Stream<String> clean() {
        return Stream.of(
                "A B b a | A B a b",
                "A B a b | A B b a",
                "A B b a | !A B b a",
                "A !B b a | A B b a",
                "A B b a | B C c b | A C c a",
                "A B b a | B C c b | C D d c | A D d a",
                "A B b a | B C c b | C D d c | D E e d | A E e a",
                "A B C c b a | A C c a",
                "A B C c b a | B C c b",
                "A B C D d c b a | B D d b",
                "A B C D E e d c b a | A E e a",
                "A B b a | B ?A a b", // a try never waits
                "?A ?B b a | ?B ?A a b",
                "A B b a | B ~A a b",
                "A ?B b a | B A a b", // an order by a try only
                "A ?B C c b a | A C c a | B C c b",
                "A B b C c a | C D d c | A D d a",
                "A a B b A a B b",
                "A B b a A C c a | B D d b | D C c d | B C c b",
                "A a | B b | C c");
    }

    @ParameterizedTest
    @MethodSource("clean")
    void cleanProgramsGetNoReport(String program) throws Exception {
        run(program);
        assertThat(reports).isEmpty();
    }

    @Test
    void thereAreTwentyOfEach() {
        assertThat(inversions().distinct().count()).isEqualTo(20);
        assertThat(clean().distinct().count()).isEqualTo(20);
    }

    /** Programs at random, against an oracle: is the relation "waited for while held" without circles? */
    @Test
    void agreesWithACycleOracleOnGeneratedPrograms() {
        Random random = new Random(4711);
        int circles = 0;
        for (int program = 0; program < 10_000; program++) {
            List<LockOrderReport> found = new ArrayList<>();
            LockOrder engine = new LockOrder(found::add);
            int n = 2 + random.nextInt(6);
            LockClass[] types = new LockClass[n];
            for (int i = 0; i < n; i++) {
                types[i] = LockClass.of("lock " + i);
            }
            BitSet[] edges = new BitSet[n];
            for (int i = 0; i < n; i++) {
                edges[i] = new BitSet();
            }
            boolean upwards = random.nextInt(3) == 0; // a third of them keep to one order, so that both answers occur
            int sections = 1 + random.nextInt(6);
            for (int s = 0; s < sections; s++) {
                List<Integer> held = new ArrayList<>();
                for (int step = 0; step < 8; step++) {
                    int next = random.nextInt(n);
                    boolean attempt = random.nextInt(4) == 0;
                    boolean ordered = held.stream().allMatch(h -> h < next);
                    if (!held.contains(next) && held.size() < 5 && (!upwards || ordered)) {
                        if (!attempt) {
                            engine.acquiring(types[next], types[next]);
                            held.forEach(h -> edges[h].set(next));
                        }
                        engine.acquired(types[next], types[next]);
                        held.add(next);
                    } else if (!held.isEmpty()) {
                        engine.releasing(types[held.getFirst()], types[held.removeFirst()]);
                    }
                }
                for (int h : held) {
                    engine.releasing(types[h], types[h]);
                }
            }
            boolean circle = hasCircle(edges);
            circles += circle ? 1 : 0;
            assertThat(!found.isEmpty()).as("program " + program).isEqualTo(circle);
            assertThat(found).allMatch(r -> r.kind() == Kind.INVERSION);
        }
        assertThat(circles).isBetween(1_000, 9_000);
    }

    /** Takes away what nothing leads to, until nothing more can be: what is left, if anything, is or follows a circle. */
    private static boolean hasCircle(BitSet[] edges) {
        BitSet left = new BitSet();
        left.set(0, edges.length);
        for (boolean again = true; again; ) {
            again = false;
            for (int i = left.nextSetBit(0); i >= 0; i = left.nextSetBit(i + 1)) {
                int at = i;
                if (left.stream().noneMatch(j -> edges[j].get(at))) {
                    left.clear(i);
                    again = true;
                }
            }
        }
        return !left.isEmpty();
    }

    @Test
    void aCircleIsReportedOnceAndEachNewOneAnew() throws Exception {
        Lock a = watched("a");
        Lock b = watched("b");
        for (int i = 0; i < 3; i++) {
            a.lock();
            b.lock();
            b.unlock();
            a.unlock();
            b.lock();
            a.lock();
            a.unlock();
            b.unlock();
        }
        assertThat(reports).hasSize(1);
    }

    @Test
    void recursionSameClassAndStrangersAreReported() throws Exception {
        ReentrantLock inner = new ReentrantLock();
        LockClass type = LockClass.of("tree");
        Lock lock = new WatchedLock(inner, type, order);
        lock.lock();
        lock.lock();
        lock.unlock();
        lock.unlock();
        assertThat(reports).extracting(LockOrderReport::kind).containsExactly(Kind.RECURSION);
        assertThat(reports.getFirst().message()).contains("holds already").contains("acquired at").contains("again at");
        reports.clear();
        Lock second = new WatchedLock(new ReentrantLock(), type, order);
        Lock child = new WatchedLock(new ReentrantLock(), type.nested(1), order);
        lock.lock();
        child.lock();
        child.unlock();
        assertThat(reports).isEmpty();
        second.lock();
        assertThat(reports).extracting(LockOrderReport::kind).containsExactly(Kind.SAME_CLASS);
        second.unlock();
        lock.unlock();
        reports.clear();
        inner.lock(); // not through the view
        lock.unlock();
        assertThat(reports).extracting(LockOrderReport::kind).containsExactly(Kind.NOT_HELD);
        assertThat(reports.getFirst().message()).contains("does not hold").contains("LockOrderTest.java");
    }

    @Test
    void aLockHeldAtThreadExitIsReported() throws Exception {
        Lock lock = watched("left behind");
        Thread.ofPlatform().name("careless").start(lock::lock).join();
        order.findLeftBehind();
        assertThat(reports).hasSize(1);
        assertThat(reports.getFirst().kind()).isEqualTo(Kind.HELD_AT_EXIT);
        assertThat(reports.getFirst().message()).contains("careless").contains("left behind");
        order.findLeftBehind();
        assertThat(reports).hasSize(1);
    }

    @Test
    void aClosedClassTakesItsOrdersAlong() {
        LockClass module = LockClass.of("module");
        LockClass stays = LockClass.of("stays");
        Object m = new Object();
        Object s = new Object();
        order.acquiring(m, module);
        order.acquired(m, module);
        order.acquiring(s, stays);
        order.acquired(s, stays);
        order.releasing(s, stays);
        order.releasing(m, module);
        order.forget(module);
        order.acquiring(s, stays);
        order.acquired(s, stays);
        order.acquiring(m, module);
        order.acquired(m, module);
        order.releasing(m, module);
        order.releasing(s, stays);
        assertThat(reports).isEmpty();
    }

    @Test
    void virtualThreadsHaveTheirOwnLocks() throws Exception {
        Lock a = watched("a");
        Lock b = watched("b");
        Thread.ofVirtual().start(() -> {
            a.lock();
            Thread.yield();
            b.lock();
            b.unlock();
            a.unlock();
        }).join();
        Thread.ofVirtual().start(() -> {
            b.lock();
            Thread.yield();
            a.lock();
            a.unlock();
            b.unlock();
        }).join();
        assertThat(reports).extracting(LockOrderReport::kind).containsExactly(Kind.INVERSION);
    }
}
