// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.contend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The rule that no two locks share a profile of the JIT compiler. */
class IsolationTest {
    private static Object fieldOf(Object object, String name) throws ReflectiveOperationException {
        Field field = object.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(object);
    }

    @Test
    void everyLockHasItsOwnLoopClasses() {
        List<String> ids = List.of(
                Locks.REENTRANT_LOCK, Locks.SYNCHRONIZED, Locks.MUTEX_FFM, Locks.MUTEX_JNI, "hybrid-wide-pool",
                "hybrid-word-pool", "pure-wide-pool", "hybrid-wide-pool");
        Set<Class<?>> loops = new HashSet<>();
        Set<Class<?>> works = new HashSet<>();
        for (String id : ids) {
            LockLoop loop = ((JavaLock) Locks.open(id)).loop();
            loops.add(loop.getClass());
            works.add(loadedBeside(loop, "io.panalock.bench.loop.Work"));
        }
        assertThat(loops).hasSameSizeAs(ids);
        assertThat(works).hasSameSizeAs(ids);
    }

    private static Class<?> loadedBeside(Object object, String name) {
        try {
            return Class.forName(name, false, object.getClass().getClassLoader());
        } catch (ClassNotFoundException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void everyBackendHasItsOwnCopyOfPanalock() throws ReflectiveOperationException {
        Object hybrid = fieldOf(((JavaLock) Locks.open("hybrid-wide-pool")).loop(), "lock");
        Object pure = fieldOf(((JavaLock) Locks.open("pure-wide-pool")).loop(), "lock");
        assertThat(hybrid.getClass().getClassLoader()).isNotSameAs(pure.getClass().getClassLoader());
        assertThat(hybrid.getClass().getSuperclass().getName()).isEqualTo("io.panalock.QSpinLock");
        assertThat(hybrid.getClass().getSuperclass()).isNotSameAs(pure.getClass().getSuperclass());
    }

    /** The code that the JDK makes for calls cannot be copied. */
    @Test
    void pairsOverFfmRunInAJvmOfTheirOwn() {
        for (String id : List.of("ffm_critical-wide-pool", "ffm-word-pool", Locks.MUTEX_FFM)) {
            Lock lock = Locks.openForPairs(id);
            assertThat(lock).isInstanceOf(OwnJvmLock.class);
            assertThat(lock.params()).isEqualTo(Locks.open(id).params());
            long before = ProcessHandle.current().descendants().filter(p -> commandLine(p).contains(id)).count();
            lock.warmUp();
            assertThat(ProcessHandle.current().descendants().filter(p -> commandLine(p).contains(id)).count()).isEqualTo(before + 1);
            assertThat(lock.pairs(1000)).isPositive();
            assertThat(lock.allocatedByPairs(10_000)).as("bytes").isLessThan(10_000);
        }
        for (String id : List.of("hybrid-wide-pool", "jni-wide-pool", Locks.REENTRANT_LOCK)) {
            assertThat(Locks.openForPairs(id)).isInstanceOf(JavaLock.class);
        }
    }

    private static String commandLine(ProcessHandle process) {
        return process.info().commandLine().orElse("");
    }

    @Test
    void aMeasuringJvmThatFailsNamesItsLock() {
        Lock lock = new OwnJvmLock((JavaLock) Locks.open("ffm-wide-pool"));
        assertThat(lock.pairs(100)).isPositive();
        ProcessHandle.current().descendants().filter(p -> commandLine(p).contains("ffm-wide-pool")).forEach(ProcessHandle::destroyForcibly);
        assertThatThrownBy(() -> lock.pairs(100)).hasMessageContaining("the JVM that measures ffm-wide-pool");
    }

    @Test
    void theProgramAndTheNativeLibraryAreShared() {
        for (String shared : List.of("io.panalock.bench.contend.Control", "io.panalock.bench.contend.Worker",
                "io.panalock.bench.peer.FfmCalls", "io.panalock.internal.Library", "java.lang.String")) {
            assertThat(IsolatingLoader.isolated(shared)).as(shared).isFalse();
        }
        for (String own : List.of("io.panalock.QSpinLock", "io.panalock.pure.QSpin", "io.panalock.bench.loop.Work")) {
            assertThat(IsolatingLoader.isolated(own)).as(own).isTrue();
        }
    }

    /** A lock is called directly, by its own class; an interface of the loops would be one profile for all. */
    @Test
    void loopsNameTheirLockByItsClass() throws ReflectiveOperationException {
        for (String id : List.of(Locks.REENTRANT_LOCK, "hybrid-wide-pool")) {
            LockLoop loop = ((JavaLock) Locks.open(id)).loop();
            Class<?> type = loop.getClass().getDeclaredField("lock").getType();
            assertThat(type.isInterface()).as(id).isFalse();
        }
    }

    @Test
    void anUnknownLockNamesThoseThereAre() {
        assertThatThrownBy(() -> Locks.open("hybrid-wide-heap"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("hybrid")
                .hasMessageContaining("arena")
                .hasMessageContaining("pthread-mutex");
        assertThatThrownBy(() -> Locks.open("c-nothing")).hasMessageContaining("c-nothing".substring(2));
    }

    @Test
    void everyLockOfTheProgramOpens() {
        for (String id : Locks.allPanalock()) {
            assertThat(Locks.open(id).id()).isEqualTo(id);
        }
        assertThat(Locks.open("hybrid-word-pool-spin").params()).containsEntry("policy", "spin");
        assertThat(Arrays.asList(CLock.names().toArray())).contains("word", "byte", "wide", "pthread-mutex", "bare");
    }
}
