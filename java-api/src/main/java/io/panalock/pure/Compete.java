// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import io.panalock.internal.Layouts;

/** Getting the lock while awake: the twins of brief() and compete() in qspinlock.c. */
final class Compete {
    private Compete() {}

    /** Results beside negative errors. */
    static final int TAKEN = 0;

    static final int SLEEP = 1;

    private static final int BRIEF_LOOKS = 6; // looks of a newcomer before it stands by or parks
    private static final int CONFIRM_LOOKS = 8; // looks in a row that must find a hot lock free before it counts as idle
    static final int SPIN_GAP_NS = 800; // longest distance of looks under SPIN
    private static final int CHECK_NS = 1_600; // distance of looks from which it is worth asking whether an owner sleeps
    private static final int HOPELESS_NS = 100_000; // standing by, always found held: park
    private static final int VIRTUAL_HOPELESS_NS = 20_000; // the same for a virtual thread, which is cheap to park
    private static final int HOT_NS = 600; // contended again so soon after a contended acquisition: back-to-back use
    private static final int HOT_MAX = 16; // highest heat
    private static final int HOT_FROM = 4; // heat from which the owner is left alone for its slice
    private static final int SPIN_RESERVE_NS = 20_000; // SPIN, timed: reserve after this long

    /** Notes whether this thread contends back to back. */
    static void warm(Wait w, long now) {
        boolean soon = now - w.memory.getLong(w.slotAddress + Shape.THREAD_ACQUIRED) < HOT_NS;
        int heat = w.heat();
        if (soon && heat < HOT_MAX) {
            w.heat(heat + 1);
        } else if (!soon && heat > 0) {
            w.heat(heat - 1);
        }
    }

    /** A newcomer's few looks: most critical sections are over by then. */
    static boolean brief(Wait w) {
        if (w.heat() >= HOT_FROM) {
            return false;
        }
        LockWord v = w.lock;
        for (int i = 0; i < BRIEF_LOOKS; i++) {
            int seen = v.bits();
            if ((seen & (Layouts.Q_PENDING | Layouts.Q_DEAD)) != 0) {
                return false;
            }
            if ((seen & Layouts.Q_LOCKED) == 0 && w.take(seen, 0)) {
                return true;
            }
            w.domain.pacer.delay(Wait.LOOK_NS);
        }
        return false;
    }

    /**
     * Competes for the lock without parking. An owner that takes the lock back to back is left alone until its slice is
     * over, with few looks, for each look costs it a cache miss; a lock that proves idle is taken at once.
     *
     * @return TAKEN; SLEEP (spin-then-park only: the lock is held for long); or why to leave
     */
    static int compete(Wait w) {
        LockWord v = w.lock;
        boolean spin = w.spinning();
        long now = w.domain.pacer.now();
        long freeSeen = now;
        long patience = spin ? SPIN_RESERVE_NS : Shape.SLICE_NS;
        long hopeless = w.virtual ? VIRTUAL_HOPELESS_NS : HOPELESS_NS;
        int widest = spin ? SPIN_GAP_NS : Wait.SPARSE_NS;
        int gap = Wait.LOOK_NS;
        int confirmed = 0;
        if (w.role == 0) {
            w.role = now;
        }
        for (; ; ) {
            int seen = v.bits();
            int err = w.mustLeave(seen, now);
            if (err != 0) {
                return err;
            }
            if (w.reserved && (seen & Layouts.Q_PENDING) == 0) {
                w.reserved = v.reserve(); // declared void while we did not run
            }
            boolean idle = w.mayTake(seen, now);
            if ((seen & Layouts.Q_LOCKED) == 0) {
                freeSeen = now;
            }
            confirmed = idle ? confirmed + 1 : 0;
            int needed = w.reserved || spin || w.heat() < HOT_FROM ? 1 : CONFIRM_LOOKS;
            if (idle && confirmed >= needed && w.take(seen, w.myBits())) {
                if (needed > 1) {
                    w.heat(0);
                }
                return TAKEN;
            }
            if (!w.reserved && !w.steal && (w.blocking() || now - w.role >= patience)) {
                w.reserved = v.reserve();
            }
            boolean held = (seen & Layouts.Q_LOCKED) != 0;
            if (!spin && (w.blocking() || held && gap >= CHECK_NS && w.ownerSleeps())) {
                return SLEEP;
            }
            boolean alone = v.mutex() && !w.virtual && (seen & Layouts.Q_PARKED) == 0; // see mutex.c
            if (!spin && now - freeSeen >= (alone ? Shape.SLICE_NS + hopeless : hopeless)) {
                return SLEEP;
            }
            if (w.reserved || w.steal) {
                gap = w.virtual ? Math.min(gap * 2, widest) : Wait.LOOK_NS;
            } else if (confirmed == 0) {
                gap = Math.min(gap * 2, widest);
            }
            w.delay(confirmed != 0 ? Wait.LOOK_NS : gap);
            now = w.domain.pacer.now();
        }
    }
}
