// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.claim;

import io.panalock.bench.claim.Claim.Need;
import io.panalock.bench.claim.Point.Quantity;
import io.panalock.bench.contend.Locks;
import io.panalock.bench.locktest.LocktestPoint;
import java.util.ArrayList;
import java.util.List;

/** Group {@code osq}: the mutex with optimistic spinning. */
public final class OsqClaims implements ClaimGroup {
    private static final String MUTEX = "c-pthread-mutex";
    private static final String REENTRANT = Locks.REENTRANT_LOCK;
    private static final String OURS = "c-osq-mutex";
    private static final String JAVA = Locks.OSQ_MUTEX;
    private static final int[] THREADS = {2, 4, 16, 64, 224};
    private static final int MANY = 224;
    private static final int WAITERS = 1000;

    private final List<Claim> claims = new ArrayList<>();

    public OsqClaims() {
        pair("c-pair", OURS, MUTEX, 0.75, "C inline against pthread_mutex");
        pair("handle-pair", JAVA + "-handle", REENTRANT, 0.85, "Java with an explicit handle against ReentrantLock");
        pair("java-pair", JAVA, REENTRANT, 1.2, "Java, looked up, against ReentrantLock");
        for (int threads : THREADS) {
            rate("c-" + threads, OURS, MUTEX, threads, threads == 2 ? 1.1 : 2);
            rate("java-" + threads, JAVA, REENTRANT, threads, 1);
        }
        rate("spin-c-2", OURS, OURS + "-block", 2, 1.2);
        rate("spin-java-2", JAVA, JAVA + "-block", 2, 1.2);
        for (String lock : List.of(OURS, JAVA)) {
            String side = lock.equals(OURS) ? "c" : "java";
            LocktestPoint longRun = new LocktestPoint(lock, MANY, 1, true);
            claims.add(new Claim(side + "-least", "acquisitions of the thread with the fewest, 224 threads, 10 s",
                    new Quantity(longRun, "min"), null, Bound.atLeast(1), Need.MEMBARRIER_AND_TWO_CPUS, false));
            claims.add(new Claim(side + "-most", "the thread with the most against the mean, 224 threads, 10 s",
                    new Quantity(longRun, "max_over_mean"), null, Bound.atMost(4), Need.MEMBARRIER_AND_TWO_CPUS, false));
        }
        claims.add(new Claim("broadcast", "context switches per woken thread, a broadcast to 1,000 waiters",
                new Quantity(new LocktestPoint.Broadcast(WAITERS), "per_thread"), null, Bound.atMost(1.3), Need.NOTHING, true));
    }

    @Override
    public String name() {
        return "osq";
    }

    @Override
    public List<Claim> claims() {
        return List.copyOf(claims);
    }

    private void pair(String id, String subject, String peer, double limit, String what) {
        claims.add(new Claim(id, "uncontended pair, " + what, new Quantity(new LockPoints.Pair(subject), "time"),
                new Quantity(new LockPoints.Pair(peer), "time"), Bound.atMost(limit), Need.MEMBARRIER, true));
    }

    /** Total rate of locktest, load 1. */
    private void rate(String id, String subject, String peer, int threads, double least) {
        claims.add(new Claim("rate-" + id, "locktest, total rate against " + peer + ", " + threads + " threads, load 1",
                new Quantity(new LocktestPoint(subject, threads, 1, false), "total"),
                new Quantity(new LocktestPoint(peer, threads, 1, false), "total"), Bound.atLeast(least),
                Need.MEMBARRIER_AND_TWO_CPUS, threads == 2 || threads == 16));
    }
}
