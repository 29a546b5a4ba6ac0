// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import io.panalock.internal.Words;
import io.panalock.internal.ffm.panalock_h;
import java.lang.foreign.MemorySegment;

/** What the pure twins need of native code, where there is any. Not among the internal classes: those know nothing of the twins. */
public final class NativeWaker implements Waker {
    private static final long RECOVER_INTERVAL_NANOS = 10_000_000;

    @Override
    public void futexWake(long address, int count, boolean shared) {
        panalock_h.pl_futex_wake(MemorySegment.ofAddress(address), count, shared ? 1 : 0);
    }

    @Override
    public void heavyFence(boolean shared) {
        panalock_h.pl_heavy_fence(shared ? 1 : 0);
    }

    @Override
    public boolean releaseNeedsFence() {
        return Words.RELEASE_NEEDS_FENCE;
    }

    @Override
    public boolean recoverLine(long domain, long line) {
        return panalock_h.pl_waitq_recover(MemorySegment.ofAddress(domain), MemorySegment.ofAddress(line)) > 0;
    }

    @Override
    public int recoverSlots(long domain) {
        return panalock_h.pl_domain_recover(MemorySegment.ofAddress(domain), RECOVER_INTERVAL_NANOS);
    }
}
