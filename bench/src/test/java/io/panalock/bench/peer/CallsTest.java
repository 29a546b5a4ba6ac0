// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.peer;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

/** Every way of calling reaches the same function with the same arguments. */
class CallsTest {
    @Test
    void argumentsArriveThroughEveryWay() {
        JniCalls.blank();
        FfmCalls.blank();
        FfmCalls.blankCritical();
        assertThat(new int[] {JniCalls.int1(7), FfmCalls.int1(7), FfmCalls.int1Critical(7)}).containsOnly(7);
        assertThat(new int[] {
                    JniCalls.int4(1, 20, 300, 4000), FfmCalls.int4(1, 20, 300, 4000), FfmCalls.int4Critical(1, 20, 300, 4000)
                })
                .containsOnly(4321);
        assertThat(new int[] {
                    JniCalls.int10(1, 2, 4, 8, 16, 32, 64, 128, 256, 512),
                    FfmCalls.int10(1, 2, 4, 8, 16, 32, 64, 128, 256, 512),
                    FfmCalls.int10Critical(1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
                })
                .containsOnly(1023);
        try (Arena arena = Arena.ofConfined()) {
            var number = arena.allocateFrom(ValueLayout.JAVA_INT, 42);
            assertThat(new int[] {
                        JniCalls.pointer(number.address()), FfmCalls.pointer(number), FfmCalls.pointerCritical(number)
                    })
                    .containsOnly(42);
        }
    }

    @Test
    void aMutexIsLockedAndUnlockedThroughBothWays() {
        var mutex = FfmCalls.newMutex();
        assertThat(FfmCalls.mutexLock(mutex)).isZero();
        assertThat(JniCalls.mutexUnlock(mutex.address())).isZero();
        assertThat(JniCalls.mutexLock(mutex.address())).isZero();
        assertThat(FfmCalls.mutexUnlock(mutex)).isZero();
    }

    @Test
    void sizesAndFactsComeFromTheLibrary() {
        assertThat(BenchLibrary.available()).as(BenchLibrary.whyNot()).isTrue();
        assertThat(CPeers.lockBytes(2)).isEqualTo(8);
        assertThat(CPeers.lockBytes(9)).isZero();
        assertThat(CPeers.domainBytes(1024)).isPositive();
        assertThat(CPeers.relaxName()).isNotEmpty();
        assertThat(CPeers.lockNames()).doesNotHaveDuplicates().contains("pthread_mutex");
        assertThat(CPeers.pingPong(0, 0, 1)).isEmpty();
    }
}
