// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.claim;

import io.panalock.bench.claim.Claim.Need;
import io.panalock.bench.claim.Point.Quantity;
import io.panalock.bench.contend.Locks;
import io.panalock.bench.ringbuf.RingClaims;
import java.util.ArrayList;
import java.util.List;

/** Group {@code rqspinlock}: what the record of held locks costs, and how soon deadlocks and limits are noticed. */
public final class RqspinlockClaims implements ClaimGroup {
    private final List<Claim> claims = new ArrayList<>();

    public RqspinlockClaims() {
        pair("c-word", "c-rq-word", "c-word", 1.35, "C inline, WORD");
        pair("c-wide", "c-rq-wide", "c-wide", 1.35, "C inline, WIDE");
        pair("handle-word", Locks.rqspinlock("word", true), Locks.panalock("hybrid", "word", "pool"), 1.4, "HYBRID, explicit handle, WORD");
        pair("handle-wide", Locks.rqspinlock("wide", true), Locks.panalock("hybrid", "wide", "pool"), 2.0, "HYBRID, explicit handle, WIDE");
        pair("looked-up-wide", Locks.rqspinlock("wide", false), Locks.panalock("hybrid", "wide", "pool"), 2.5,
                "HYBRID, handle looked up, WIDE");
        noticed("own-lock", RqspinlockPoints.Kind.OWN_LOCK, 0.05, "a thread that locks its own lock is told in less than 50 us (99th percentile)");
        noticed("two-threads", RqspinlockPoints.Kind.TWO_THREADS, 3,
                "a deadlock of two threads is told within 3 ms of the call that closes it (99th percentile)");
        noticed("five-threads", RqspinlockPoints.Kind.FIVE_THREADS, 3,
                "a deadlock of five threads is told within 3 ms of the call that closes it (99th percentile)");
        noticed("limit", RqspinlockPoints.Kind.LIMIT, 10, "a limit of 20 ms passes at most 10 ms late (99th percentile)");
        claims.addAll(RingClaims.claims());
    }

    @Override
    public String name() {
        return "rqspinlock";
    }

    @Override
    public List<Claim> claims() {
        return List.copyOf(claims);
    }

    private void pair(String id, String subject, String peer, double most, String what) {
        Need need = subject.contains("wide") ? Need.MEMBARRIER : Need.NOTHING;
        claims.add(new Claim("pair-" + id, "uncontended pair against qspinlock's, " + what,
                new Quantity(new LockPoints.Pair(subject), "time"), new Quantity(new LockPoints.Pair(peer), "time"),
                Bound.atMost(most), need, true));
    }

    private void noticed(String id, RqspinlockPoints.Kind kind, double mostMs, String sentence) {
        claims.add(new Claim("noticed-" + id, sentence, new Quantity(new RqspinlockPoints.Noticed(kind), "p99"), null,
                Bound.atMost(mostMs), Need.NOTHING, true));
    }
}
