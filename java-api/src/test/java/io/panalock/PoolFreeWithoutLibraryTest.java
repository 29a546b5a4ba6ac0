// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Where only PURE can be had: a pool of Java's own. */
@Tag("pure")
@Timeout(120)
class PoolFreeWithoutLibraryTest {
    @Test
    void freedLocksSaySoAndTheirWordsAreUsedAgain() {
        LockDomain domain = LockDomain.builder().locks(1).create();
        for (PoolFreeTest.Kind<?> kind : PoolFreeTest.kinds().toList()) {
            assertThat(kind.backend()).isEqualTo(Backend.PURE);
            check(kind, domain);
        }
    }

    private static <L extends Lock> void check(PoolFreeTest.Kind<L> kind, LockDomain domain) {
        for (int i = 0; i < 3; i++) {
            L lock = kind.allocate().apply(domain);
            lock.lock();
            assertThatThrownBy(() -> kind.free().accept(lock)).hasMessageContaining("it is locked or waited for");
            lock.unlock();
            kind.free().accept(lock);
            kind.free().accept(lock);
            assertThatThrownBy(lock::lock).hasMessage("\"orders\" cannot be locked: it was freed.");
            assertThatThrownBy(lock::tryLock).hasMessage("\"orders\" cannot be locked: it was freed.");
        }
    }
}
