// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.shazptr;

import io.panalock.bench.peer.Readers;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Phaser;
import java.util.concurrent.locks.StampedLock;

/** Durations of waiting for readers, in the ways that {@code rcuscale} knows. */
final class Grace {
    /** Mode as in the published figures, and what measures it: way in C and flags. */
    private record InC(String way, int flags) {}

    private static final Map<String, InC> IN_C = new LinkedHashMap<>();

    static {
        IN_C.put("shazptr", new InC("shazptr", 0));
        IN_C.put("shazptr_skip_self_scan", new InC("shazptr", Readers.SKIP_SELF_SCAN));
        IN_C.put("shazptr_wildcard", new InC("shazptr", Readers.WILDCARD));
        IN_C.put("shazptr_wildcard_skip_self_scan", new InC("shazptr", Readers.WILDCARD | Readers.SKIP_SELF_SCAN));
        for (String flavour : List.of("urcu_memb", "urcu_mb", "urcu_qsbr", "urcu_bp", "pthread_rwlock")) {
            IN_C.put(flavour, new InC(flavour, 0));
        }
    }

    static final List<String> IN_JAVA = List.of("stamped_lock", "phaser");

    private Grace() {}

    static List<String> modes() {
        List<String> all = new ArrayList<>(IN_C.keySet());
        all.addAll(IN_JAVA);
        return all;
    }

    static boolean present(String mode) {
        InC c = IN_C.get(mode);
        return c == null || Readers.present(c.way);
    }

    static boolean isPeer(String mode) {
        return !mode.startsWith("shazptr");
    }

    /** Nanoseconds of each wait; sections of readers last {@code holdNs}. */
    static double[] measure(String mode, int readers, int idle, long holdNs, long windowNs) {
        InC c = IN_C.get(mode);
        return c != null
                ? Readers.gracePeriods(c.way, readers, c.flags, idle, holdNs, windowNs)
                : inJava(mode, readers, holdNs, windowNs);
    }

    private static double[] inJava(String mode, int readers, long holdNs, long windowNs) {
        StampedLock stamped = new StampedLock();
        Phaser phaser = new Phaser(1);
        boolean[] stop = new boolean[1];
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < readers; i++) {
            if (mode.equals("phaser")) {
                phaser.register();
            }
            threads.add(Thread.ofPlatform().daemon().start(() -> {
                int seen = -1;
                while (!stopped(stop)) {
                    if (mode.equals("phaser")) {
                        hold(holdNs);
                        int phase = phaser.getPhase();
                        if (phase != seen) { // between two sections: arrive once a phase
                            seen = phaser.arrive();
                        }
                    } else {
                        long stamp = stamped.readLock();
                        hold(holdNs);
                        stamped.unlockRead(stamp);
                    }
                }
                if (mode.equals("phaser")) {
                    phaser.arriveAndDeregister();
                }
            }));
        }
        List<Double> ns = new ArrayList<>();
        long end = System.nanoTime() + windowNs;
        for (long from = System.nanoTime(); from < end; from = System.nanoTime()) {
            if (mode.equals("phaser")) {
                phaser.awaitAdvance(phaser.arrive());
            } else {
                stamped.unlockWrite(stamped.writeLock());
            }
            ns.add((double) (System.nanoTime() - from));
        }
        synchronized (stop) {
            stop[0] = true;
        }
        if (mode.equals("phaser")) {
            phaser.arriveAndDeregister();
        }
        for (Thread t : threads) {
            try {
                t.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
        return ns.stream().mapToDouble(Double::doubleValue).toArray();
    }

    private static boolean stopped(boolean[] stop) {
        return (boolean) STOP.getAcquire(stop, 0);
    }

    private static final java.lang.invoke.VarHandle STOP =
            java.lang.invoke.MethodHandles.arrayElementVarHandle(boolean[].class);

    private static void hold(long ns) {
        if (ns > 0) {
            long end = System.nanoTime() + ns;
            while (System.nanoTime() < end) {
                Thread.onSpinWait();
            }
        }
    }

    /** As the published experiment reports it: microseconds. The n-th percentile is the value at n per cent of the sorted list. */
    static Map<String, Double> summary(double[] ns) {
        double[] sorted = ns.clone();
        Arrays.sort(sorted);
        Map<String, Double> all = new LinkedHashMap<>();
        all.put("average", Arrays.stream(sorted).average().orElseThrow() / 1000);
        all.put("min", sorted[0] / 1000);
        for (int percent : new int[] {50, 90, 99}) {
            int at = Math.max(Math.min(1, sorted.length - 1), (int) ((long) sorted.length * percent / 100));
            all.put("p" + percent, sorted[at] / 1000);
        }
        all.put("max", sorted[sorted.length - 1] / 1000);
        return all;
    }
}
