// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.internal.Jni;
import io.panalock.internal.Layouts;
import io.panalock.internal.Natives;
import io.panalock.internal.ffm.panalock_h;
import io.panalock.pure.QSpin;
import java.lang.foreign.MemorySegment;

/** How a backend waits, wakes and looks: what follows when the fast path does not apply. */
abstract class Waiting {
    static Waiting of(Backend backend) {
        return switch (backend) {
            case HYBRID -> Hybrid.INSTANCE;
            case FFM, FFM_CRITICAL -> Ffm.INSTANCE;
            case JNI -> OverJni.INSTANCE;
            case PURE -> Pure.INSTANCE;
        };
    }

    /** Whether platform threads wait in Java too. */
    boolean inJava() {
        return false;
    }

    /** Waits in native code, pinning a virtual thread's carrier. The segment, not its address, is passed: it stays open. */
    int await(QSpinLock lock, MemorySegment slot, int flags, long nanos) {
        return Natives.lockWait(slot, lock.word, lock.layout.number, flags, nanos);
    }

    /** Wakes the next sleeper; one that is parked in Java right here, without the doorbell. */
    void kick(QSpinLock lock) {
        LockDomain d = lock.domain;
        unpark(d, Natives.kick(d.service(), lock.word, lock.layout.number));
    }

    static void unpark(LockDomain d, int node) {
        if (node > 0) {
            d.parking().unpark(node);
        }
    }

    boolean isLocked(QSpinLock lock) {
        return QSpin.isLocked(lock.pureWord);
    }

    boolean isContended(QSpinLock lock) {
        return QSpin.isContended(lock.pureWord);
    }

    private static final class Hybrid extends Waiting {
        static final Hybrid INSTANCE = new Hybrid();
    }

    private static final class Ffm extends Waiting {
        static final Ffm INSTANCE = new Ffm();

        @Override
        boolean isLocked(QSpinLock lock) {
            MemorySegment w = lock.word;
            return 0
                    < switch (lock.layout) {
                        case WORD -> panalock_h.pl_qspin_is_locked(w);
                        case BYTE -> panalock_h.pl_qspin_byte_is_locked(w);
                        case WIDE -> panalock_h.pl_qspin_wide_is_locked(w);
                    };
        }

        @Override
        boolean isContended(QSpinLock lock) {
            MemorySegment w = lock.word;
            return 0
                    < switch (lock.layout) {
                        case WORD -> panalock_h.pl_qspin_is_contended(w);
                        case BYTE -> panalock_h.pl_qspin_byte_is_contended(w);
                        case WIDE -> panalock_h.pl_qspin_wide_is_contended(w);
                    };
        }
    }

    private static final class OverJni extends Waiting {
        static final OverJni INSTANCE = new OverJni();

        @Override
        int await(QSpinLock lock, MemorySegment slot, int flags, long nanos) {
            return Natives.jniLockWait(
                    slot.address(), lock.word, lock.isCloseable(), lock.layout.number, flags, nanos);
        }

        @Override
        void kick(QSpinLock lock) {
            LockDomain d = lock.domain;
            unpark(d, Natives.jniKick(d.service().address(), lock.word, lock.isCloseable(), lock.layout.number));
        }

        @Override
        boolean isLocked(QSpinLock lock) {
            return Jni.isLocked(lock.open(), lock.layout.number);
        }

        @Override
        boolean isContended(QSpinLock lock) {
            return Jni.isContended(lock.open(), lock.layout.number);
        }
    }

    private static final class Pure extends Waiting {
        static final Pure INSTANCE = new Pure();

        @Override
        boolean inJava() {
            return true;
        }

        @Override
        int await(QSpinLock lock, MemorySegment slot, int flags, long nanos) {
            return -Layouts.EINVAL; // waits in Java, see inJava
        }

        @Override
        void kick(QSpinLock lock) {
            QSpin.kick(lock.domain.pure(), lock.pureWord, 0);
        }
    }
}
