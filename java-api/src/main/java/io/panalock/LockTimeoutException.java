// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.pure.Checks;

/** A {@link RqSpinLock} was not acquired within its limit; no deadlock was found. */
public final class LockTimeoutException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private LockTimeoutException(String message) {
        super(message);
    }

    static LockTimeoutException of(RqSpinLock lock, LockThread self) {
        int holder = Checks.holder(lock.domain().pure(), lock.word().address);
        return new LockTimeoutException(self.thread().getName() + " waited for \"" + lock.name() + "\" to the limit; "
                + (holder == 0 ? "who holds it is not known." : lock.threadName(holder) + " holds it."));
    }
}
