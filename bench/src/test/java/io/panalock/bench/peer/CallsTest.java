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
    void longsAndDoublesArriveInTheirPlaces() throws Throwable {
        assertThat(new double[] {
                    JniCalls.mix(1, 0.25, 2, 0.5), FfmCalls.mix(1, 0.25, 2, 0.5), FfmCalls.mixCritical(1, 0.25, 2, 0.5),
                    (double) FfmCalls.newHandle("mix").invokeExact(1L, 0.25, 2L, 0.5),
                    JnaCalls.Direct.plb_mix(1, 0.25, 2, 0.5), JnaCalls.VIA_INTERFACE.plb_mix(1, 0.25, 2, 0.5),
                    JnrCalls.CALLS.plb_mix(1, 0.25, 2, 0.5)
                })
                .containsOnly(3.75);
    }

    @Test
    void otherLibrariesReachTheSameFunctions() {
        JnaCalls.Direct.plb_blank();
        JnaCalls.VIA_INTERFACE.plb_blank();
        JnrCalls.CALLS.plb_blank();
        assertThat(new int[] {
                    JnaCalls.Direct.plb_int10(1, 2, 4, 8, 16, 32, 64, 128, 256, 512),
                    JnaCalls.VIA_INTERFACE.plb_int10(1, 2, 4, 8, 16, 32, 64, 128, 256, 512),
                    JnrCalls.CALLS.plb_int10(1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
                })
                .containsOnly(1023);
        try (Arena arena = Arena.ofConfined()) {
            long address = arena.allocateFrom(ValueLayout.JAVA_INT, 42).address();
            assertThat(new int[] {
                        JnaCalls.Direct.plb_pointer(new com.sun.jna.Pointer(address)),
                        JnaCalls.VIA_INTERFACE.plb_pointer(new com.sun.jna.Pointer(address)),
                        JnrCalls.CALLS.plb_pointer(JnrCalls.pointerTo(address))
                    })
                    .containsOnly(42);
        }
    }

    @Test
    void aStructArrivesByValue() {
        assertThat(new long[] {
                    JniCalls.structFields(40, 2), FfmCalls.struct(FfmCalls.newPair(40, 2)),
                    FfmCalls.structCritical(FfmCalls.newPair(40, 2)), JnaCalls.Direct.plb_struct(new JnaCalls.Pair(40, 2)),
                    JnaCalls.VIA_INTERFACE.plb_struct(new JnaCalls.Pair(40, 2))
                })
                .containsOnly(42);
    }

    @Test
    void aStringArrivesWhole() {
        assertThat(new long[] {
                    JniCalls.string("seven.."), FfmCalls.string("seven.."), FfmCalls.stringCritical("seven.."),
                    JnaCalls.Direct.plb_string("seven.."), JnaCalls.VIA_INTERFACE.plb_string("seven.."),
                    JnrCalls.CALLS.plb_string("seven..")
                })
                .containsOnly(7);
    }

    @Test
    void errnoSurvivesTheWayBack() {
        var state = FfmCalls.newState();
        assertThat(JniCalls.errnoOf(11)).isEqualTo(11);
        assertThat(FfmCalls.errnoOf(state, 12)).isEqualTo(12);
        assertThat(FfmCalls.errnoOfCritical(state, 13)).isEqualTo(13);
        assertThat(JnaCalls.Direct.plb_errno(14)).isNegative();
        assertThat(com.sun.jna.Native.getLastError()).isEqualTo(14);
        assertThat(JnaCalls.VIA_INTERFACE.plb_errno(15)).isNegative();
        assertThat(com.sun.jna.Native.getLastError()).isEqualTo(15);
        assertThat(JnrCalls.CALLS.plb_errno(16)).isNegative();
        assertThat(JnrCalls.RUNTIME.getLastError()).isEqualTo(16);
    }

    /** Java adds one, C another. */
    @Test
    void cCallsBack() {
        JnaCalls.IntCall jna = v -> v + 1;
        JnrCalls.IntCall jnr = new JnrCalls.IntCall() {
            @Override
            @jnr.ffi.annotations.Delegate
            public int call(int value) {
                return value + 1;
            }
        };
        assertThat(new int[] {
                    JniCalls.upcall(5), FfmCalls.upcall(FfmCalls.newUpcall(), 5), JnaCalls.Direct.plb_upcall(jna, 5),
                    JnaCalls.VIA_INTERFACE.plb_upcall(jna, 5), JnrCalls.CALLS.plb_upcall(jnr, 5)
                })
                .containsOnly(7);
    }

    @Test
    void anArrayArrivesFromFirstToLast() {
        int[] array = new int[1024];
        array[0] = 40;
        array[1023] = 2;
        assertThat(new int[] {
                    JniCalls.arrayCritical(array, 1024), JniCalls.arrayCopy(array, 1024), FfmCalls.arrayCopy(array),
                    FfmCalls.arrayCritical(array), JnaCalls.Direct.plb_array(array, 1024),
                    JnaCalls.VIA_INTERFACE.plb_array(array, 1024), JnrCalls.CALLS.plb_array(array, 1024)
                })
                .containsOnly(42);
        assertThat(JniCalls.arrayCopy(new int[1025], 1025)).as("more than it has room for").isEqualTo(-1);
    }

    @Test
    void switchesAreCountedAndPinningIsConfinedToTheThread() throws InterruptedException {
        CPeers.Switches before = CPeers.switches();
        Thread pinned = Thread.ofPlatform().start(() -> CPeers.pinSelf(5));
        pinned.join();
        Thread.sleep(1);
        assertThat(CPeers.switches().voluntary()).isGreaterThan(before.voluntary());
        assertThat(CPeers.useCpus(new int[0])).isFalse();
        assertThat(CPeers.useCpus(new int[] {1023})).isFalse();
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
        assertThat(CPeers.waitName()).isNotEmpty();
        assertThat(CPeers.lockNames()).doesNotHaveDuplicates().contains("pthread_mutex");
        assertThat(CPeers.pingPong(0, 0, 1)).isEmpty();
    }
}
