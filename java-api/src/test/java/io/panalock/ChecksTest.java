// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.panalock.internal.ffm.panalock_h;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Debug checks: recursion and unlocking what another thread holds, in whatever language it was locked. */
class ChecksTest {
    private static final int EPERM = 1;
    private static final int EDEADLK = 35;

    private final LockDomain domain = LockDomain.builder().checks(true).create();

    private QSpinLock make(Backend backend) {
        return QSpinLock.builder().domain(domain).backend(backend).name("orders").allocate();
    }

    private static Throwable thrownIn(Thread.Builder kind, String name, Eventually.Body body) {
        return Eventually.thrownIn(kind.name(name), body);
    }

    @ParameterizedTest
    @EnumSource(Backend.class)
    void recursion(Backend backend) {
        for (boolean virtual : new boolean[] {false, true}) {
            QSpinLock lock = make(backend);
            Eventually.Body[] again = {
                lock::lock,
                lock::lockInterruptibly,
                () -> lock.tryLock(1, TimeUnit.MINUTES),
                () -> lock.lock(LockThread.current(domain)),
                () -> make(backend, lock).lock()
            };
            for (Eventually.Body body : again) {
                Thread.Builder kind = virtual ? Thread.ofVirtual() : Thread.ofPlatform();
                Throwable e = thrownIn(kind, "worker-3", () -> {
                    lock.lock();
                    try {
                        assertThat(lock.tryLock()).isFalse();
                        body.run();
                    } finally {
                        lock.unlock();
                    }
                });
                assertThat(e)
                        .isInstanceOf(IllegalMonitorStateException.class)
                        .hasMessage("worker-3 locks \"orders\", which it already holds: a spinlock is not recursive.");
                assertThat(lock.isLocked()).isFalse();
            }
        }
    }

    private QSpinLock make(Backend backend, QSpinLock same) {
        return QSpinLock.builder().domain(domain).backend(backend).name("orders").existing(same.poolIndex());
    }

    @ParameterizedTest
    @EnumSource(Backend.class)
    void anotherThreadsLock(Backend backend) throws Exception {
        for (boolean virtual : new boolean[] {false, true}) {
            QSpinLock lock = make(backend);
            CountDownLatch held = new CountDownLatch(1);
            CountDownLatch release = new CountDownLatch(1);
            Thread.Builder kind = virtual ? Thread.ofVirtual() : Thread.ofPlatform();
            Thread holder = kind.name("worker-3").start(() -> {
                lock.lock();
                held.countDown();
                try {
                    release.await();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
                lock.unlock();
            });
            held.await();
            for (Thread.Builder other : new Thread.Builder[] {Thread.ofPlatform(), Thread.ofVirtual()}) {
                assertThat(thrownIn(other, "worker-7", lock::unlock))
                        .isInstanceOf(IllegalMonitorStateException.class)
                        .hasMessage("worker-7 unlocks \"orders\", which worker-3 holds.");
            }
            assertThat(lock.isLocked()).isTrue();
            release.countDown();
            Eventually.join(holder);
            assertThat(lock.isLocked()).isFalse();
            assertThat(thrownIn(Thread.ofPlatform(), "worker-7", lock::unlock))
                    .hasMessage("worker-7 unlocks \"orders\", which nobody holds.");
        }
    }

    @ParameterizedTest
    @EnumSource(Backend.class)
    void cAndJavaAgree(Backend backend) {
        Eventually.inNewThread(() -> agree(backend));
    }

    private void agree(Backend backend) {
        QSpinLock lock = make(backend);
        // Locked in C, by the slot that this thread has in C and in Java.
        MemorySegment self = panalock_h.pl_self_in(domain.memory());
        assertThat(panalock_h.pl_qspin_wide_lock(self, lock.word)).isZero();
        assertThatThrownBy(lock::lock).isInstanceOf(IllegalMonitorStateException.class);
        assertThat(thrownIn(Thread.ofPlatform(), "worker-7", lock::unlock))
                .isInstanceOf(IllegalMonitorStateException.class)
                .hasMessage("worker-7 unlocks \"orders\", which " + Thread.currentThread().getName() + " holds.");
        lock.unlock();
        assertThat(lock.isLocked()).isFalse();
        // Locked in Java: C knows.
        lock.lock();
        assertThat(panalock_h.pl_qspin_wide_lock(self, lock.word)).isEqualTo(-EDEADLK);
        assertThat(panalock_h.pl_domain_holder(domain.memory(), lock.word).address()).isEqualTo(self.address());
        MemorySegment other = io.panalock.internal.Natives.made(
                        (arena, out) -> panalock_h.pl_thread_register(domain.memory(), 0, out))
                .at();
        assertThat(panalock_h.pl_qspin_wide_unlock(other, lock.word)).isEqualTo(-EPERM);
        assertThat(panalock_h.pl_qspin_wide_unlock(self, lock.word)).isZero();
        assertThat(lock.isLocked()).isFalse();
    }

    @Test
    void aThreadThatJavaHasNotSeenBeforeUnlocksWhatItLockedInC() {
        QSpinLock lock = make(Backend.HYBRID);
        assertThat(thrownIn(Thread.ofPlatform(), "newcomer", () -> {
                    MemorySegment self = panalock_h.pl_self_in(domain.memory());
                    assertThat(panalock_h.pl_qspin_wide_lock(self, lock.word)).isZero();
                    lock.unlock();
                }))
                .isNull();
        assertThat(lock.isLocked()).isFalse();
    }

    @ParameterizedTest
    @EnumSource(Backend.class)
    void contendedAcquisitionsAreNotedToo(Backend backend) {
        for (boolean virtual : new boolean[] {false, true}) {
            QSpinLock lock = make(backend);
            lock.lock();
            Thread.Builder kind = virtual ? Thread.ofVirtual() : Thread.ofPlatform();
            Thread waiter = kind.start(() -> {
                lock.lock();
                lock.unlock();
            });
            Eventually.asleep(lock);
            lock.unlock();
            Eventually.join(waiter);
            assertThat(lock.isLocked()).isFalse();
            assertThat(panalock_h.pl_domain_holder(domain.memory(), lock.word).address()).isZero();
        }
    }

    /** A virtual thread keeps its slot from lock to unlock, whatever carriers it sees meanwhile, and no longer. */
    @Test
    void virtualThreadsGiveTheirSlotsBack() {
        LockDomain small = LockDomain.builder().checks(true).slots(3).create();
        QSpinLock a = QSpinLock.builder().domain(small).allocate();
        QSpinLock b = QSpinLock.builder().domain(small).allocate();
        for (int i = 0; i < 50; i++) {
            assertThat(thrownIn(Thread.ofVirtual(), "v", () -> {
                        a.lock();
                        b.lock();
                        Thread.sleep(0, 10_000);
                        a.unlock();
                        assertThat(b.isLocked()).isTrue();
                        b.unlock();
                    }))
                    .isNull();
        }
        Thread[] many = new Thread[50];
        for (int i = 0; i < many.length; i++) {
            many[i] = Thread.ofVirtual().start(() -> {
                a.lock();
                Thread.yield();
                a.unlock();
            });
        }
        Eventually.join(many);
    }

    @Test
    void oneWordWithTwoDomains() {
        LockDomain another = LockDomain.builder().checks(true).create();
        var memory = java.lang.foreign.Arena.ofAuto().allocate(64);
        QSpinLock one = QSpinLock.builder().domain(domain).name("orders").at(memory, 0);
        QSpinLock two = QSpinLock.builder().domain(another).name("orders").at(memory, 0);
        one.lock();
        assertThatThrownBy(two::lock)
                .isInstanceOf(IllegalMonitorStateException.class)
                .hasMessageContaining("held with another domain");
        one.unlock();
    }

    /** With the property, in the default domain. */
    static final class ByProperty {
        public static void main(String[] arguments) {
            for (Backend b : Backend.values()) {
                if (!b.isAvailable()) {
                    continue;
                }
                QSpinLock lock = QSpinLock.builder().backend(b).name("orders").allocate();
                lock.lock();
                try {
                    lock.lock();
                } catch (IllegalMonitorStateException e) {
                    System.out.println(b + ": " + e.getMessage());
                }
                lock.unlock();
                try {
                    lock.unlock();
                } catch (IllegalMonitorStateException e) {
                    System.out.println(b + ": " + e.getMessage());
                }
            }
        }
    }

    @Test
    void switchedOnByAProperty() throws Exception {
        Child.Result r = Child.running(ByProperty.class).with("-Dpanalock.checks=true").run();
        for (Backend b : Backend.values()) {
            assertThat(r.output())
                    .contains(b + ": main locks \"orders\", which it already holds")
                    .contains(b + ": main unlocks \"orders\", which nobody holds");
        }
        Child.Result alone = Child.running(ByProperty.class)
                .with("-Dpanalock.checks=true", "-Dpanalock.library=none")
                .run();
        assertThat(alone.output()).contains("PURE: main locks", "PURE: main unlocks");
    }
}
