// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.tokens;

import com.sun.management.OperatingSystemMXBean;
import io.panalock.Backend;
import io.panalock.bench.peer.CPeers;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;

/** A game between threads of this JVM. */
final class JavaGame {
    private final String via;
    private final Backend backend;
    private final int players;
    private final boolean virtual;
    private final int passes;

    private final long[] counts;
    private final long[] selves;
    private final CountDownLatch ready;
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private int last = -1; // who wrote the token; touched by who holds it

    JavaGame(String via, Backend backend, int players, boolean virtual, int passes) {
        this.via = via;
        this.backend = backend;
        this.players = players;
        this.virtual = virtual;
        this.passes = passes;
        counts = new long[players];
        selves = new long[players];
        ready = new CountDownLatch(players);
    }

    /** A virtual thread that reads from the kernel's pipe keeps its carrier, and all wait for ever. */
    static boolean possible(String via, boolean virtual) {
        return !(virtual && via.equals("pipe"));
    }

    Outcome play() {
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        try (TokenWay way = TokenWay.open(via, backend)) {
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < players; i++) {
                int me = i;
                threads.add((virtual ? Thread.ofVirtual() : Thread.ofPlatform()).start(() -> run(me, way)));
            }
            ready.await();
            long cpu = system.getProcessCpuTime();
            long switches = switches();
            long start = System.nanoTime();
            way.hand().put(0, true);
            for (Thread t : threads) {
                t.join();
            }
            long elapsed = System.nanoTime() - start;
            if (failure.get() != null) {
                throw new IllegalStateException(via + ": a player failed", failure.get());
            }
            long self = 0;
            for (long s : selves) {
                self += s;
            }
            return Outcome.of(counts, self, elapsed, system.getProcessCpuTime() - cpu, switches() - switches);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static long switches() {
        CPeers.Switches s = CPeers.switches();
        return s.voluntary() + s.involuntary();
    }

    private void run(int me, TokenWay way) {
        try {
            TokenWay.Hand hand = way.hand();
            ready.countDown();
            long count = 0;
            long self = 0;
            while (true) {
                int token = hand.take();
                if (token == TokenWay.IGNORED) {
                    continue;
                }
                if (token >= passes) {
                    hand.put(token, false); // for the next one to see that it is over
                    break;
                }
                count++;
                self += last == me ? 1 : 0;
                last = me;
                hand.put(token + 1, token % 2 == 1);
            }
            counts[me] = count;
            selves[me] = self;
        } catch (InterruptedException | RuntimeException | Error e) {
            failure.compareAndSet(null, e);
        }
    }
}
