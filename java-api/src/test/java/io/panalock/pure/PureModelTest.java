// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Lincheck's model checker runs the real algorithm over array memory: increments under the lock are linearizable, and no
 * interleaving that it tries ends with everybody asleep. Each faulty variant must be caught, or this would prove nothing.
 *
 * <p>It interleaves as sequential consistency allows; weaker orders are left to the litmus tests.
 */
@Tag("model")
class PureModelTest {
    private static final int FEW = 150;
    private static final int MANY = 20_000;

    private static void check(Class<?> model, int threads, int actors, int invocations) {
        new ModelCheckingOptions()
                .threads(threads)
                .actorsPerThread(actors)
                .actorsBefore(0)
                .actorsAfter(0)
                .iterations(1)
                .invocationsPerIteration(invocations)
                .minimizeFailedScenario(false)
                .check(model);
    }

    @ParameterizedTest
    @ValueSource(
            classes = {
                LockModel.Word.class,
                LockModel.Wide.class,
                LockModel.HastyWord.class,
                LockModel.HastyWide.class,
                LockModel.Leaving.class,
                LockModel.SpinWord.class,
                LockModel.MixedWide.class
            })
    void excludesAndWakes(Class<?> model) {
        check(model, 3, 2, FEW);
    }

    @Tag("soak")
    @ParameterizedTest
    @ValueSource(
            classes = {
                LockModel.Word.class,
                LockModel.Wide.class,
                LockModel.HastyWide.class,
                LockModel.Leaving.class,
                LockModel.MixedWide.class,
                MutexModel.Mutex.class,
                MutexModel.Condition.class,
                MutexModel.Leavers.class,
                GateModel.class
            })
    void searchesLong(Class<?> model) {
        check(model, 3, 1, MANY * Integer.getInteger("panalock.soak.percent", 1) / 100);
    }

    @Test
    void queueWakesForEveryTicket() {
        check(GateModel.class, 3, 2, FEW);
    }

    @ParameterizedTest
    @ValueSource(
            classes = {
                MutexModel.Mutex.class,
                MutexModel.Hasty.class,
                MutexModel.Blocking.class,
                MutexModel.Condition.class,
                MutexModel.Leavers.class
            })
    void mutexConditionAndOsq(Class<?> model) {
        check(model, 3, 2, FEW);
    }

    /** Bug row 16, with three leavers. */
    @Test
    void readingInsteadOfTakingTheSuccessorIsCaught() {
        assertThatThrownBy(() -> check(MutexModel.LeaversThatOnlyRead.class, 3, 2, 10 * FEW)).isInstanceOf(Throwable.class);
    }

    @Test
    void tornTakeIsCaught() {
        assertThatThrownBy(() -> check(LockModel.TornTake.class, 2, 3, FEW))
                .hasMessageContaining("Invalid execution results");
    }

    @ParameterizedTest
    @ValueSource(classes = {LockModel.NoKick.class, LockModel.NoLook.class})
    void lostWakeUpIsCaught(Class<?> model) {
        assertThatThrownBy(() -> check(model, 2, 3, FEW)).hasMessageContaining("has hung");
    }
}
