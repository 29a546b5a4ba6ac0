// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.internal.Layouts;
import io.panalock.internal.ffm.panalock_h;
import io.panalock.pure.Checks;
import io.panalock.pure.PureDomain;
import java.util.concurrent.locks.LockSupport;

/**
 * Any lock of a domain with debug checks: who holds what is noted in the threads' slots, where C code looks and notes too.
 * A class of its own, so that locks without checks pay nothing.
 */
final class CheckedLock extends QSpinLock {
    private static final long NAP_NANOS = 1_000_000;

    private final QSpinLock lock;

    CheckedLock(Plan p, QSpinLock lock) {
        super(p);
        this.lock = lock;
    }

    @Override
    public void lock() {
        lock(domain.current());
    }

    @Override
    public void lock(LockThread self) {
        self.check(domain);
        int slot = begin(self);
        if (tryLock(self)) {
            note(slot);
        } else {
            super.contended(self);
        }
    }

    @Override
    public boolean tryLock() {
        LockThread self = domain.current();
        int slot = slot(self);
        if (!tryLock(self)) {
            self.released();
            return false;
        }
        note(slot);
        return true;
    }

    /** A virtual thread that is refused keeps no slot. */
    private boolean tryLock(LockThread self) {
        try {
            return lock.tryLock();
        } catch (RuntimeException e) {
            self.released();
            throw e;
        }
    }

    @Override
    public void unlock() {
        LockThread self = domain.current();
        // A virtual thread without a slot holds nothing; a platform thread's may have been used from C only.
        int slot = self.isVirtual() ? self.slotIfAny() : slot(self);
        int err = slot == 0 ? -Layouts.EPERM : Checks.unlocked(pure(), slot, address);
        if (err != 0) {
            throw new IllegalMonitorStateException(
                    self.thread().getName() + " unlocks \"" + name() + "\", which " + holder() + ".");
        }
        try {
            lock.unlock();
        } finally {
            self.released();
        }
    }

    /** Every wait comes through here; the note must be made whoever waits and however it ends. */
    @Override
    int waitFor(LockThread self, int flags, long nanos) {
        LockThread me = self != null ? self : domain.current();
        int slot = begin(me);
        int result = lock.waitFor(me, flags, nanos);
        if (result != 0) {
            me.released();
        } else if (!lock.notesInC(me)) {
            note(slot);
        }
        return result;
    }

    private int begin(LockThread self) {
        int slot = slot(self);
        int err = Checks.locking(pure(), slot, address);
        if (err == 0 && domain.isNative()) {
            err = panalock_h.pl_note_locking(self.segment(slot), word);
        }
        if (err != 0) {
            self.released();
            throw failure(err);
        }
        return slot;
    }

    private int slot(LockThread self) {
        int slot = self.hold();
        while (slot == -Layouts.ENOSPC && self.isVirtual()) {
            LockSupport.parkNanos(this, NAP_NANOS); // until another virtual thread gives its slot back
            slot = self.hold();
        }
        if (slot < 0) {
            throw failure(slot);
        }
        return slot;
    }

    private void note(int slot) {
        Checks.locked(pure(), slot, address);
    }

    private String holder() {
        int slot = Checks.holder(pure(), address);
        return slot == 0 ? (lock.isLocked() ? "another thread holds" : "nobody holds") : Checks.name(pure(), slot) + " holds";
    }

    private PureDomain pure() {
        return domain.pure();
    }
}
