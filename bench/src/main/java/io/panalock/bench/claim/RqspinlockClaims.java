// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.claim;

import io.panalock.bench.ringbuf.RingClaims;
import java.util.ArrayList;
import java.util.List;

/** Group {@code rqspinlock}: what the resilient lock costs. */
public final class RqspinlockClaims implements ClaimGroup {
    @Override
    public String name() {
        return "rqspinlock";
    }

    @Override
    public List<Claim> claims() {
        List<Claim> claims = new ArrayList<>();
        claims.addAll(RingClaims.claims());
        return claims;
    }
}
