// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.call;

import static org.assertj.core.api.Assertions.assertThat;

import io.panalock.bench.peer.FfmCalls;
import io.panalock.bench.result.Recorder;
import io.panalock.bench.result.Results;
import java.util.Map;
import org.junit.jupiter.api.Test;

class GcEffectTest {
    @Test
    void everyPointIsRecorded() {
        Results results = new Results(Map.of(), Map.of());
        new GcEffect(new Recorder(results), 1).measure();
        for (String via : new String[] {"jni", "ffm", "critical"}) {
            for (String target : new String[] {"blank", "array1024"}) {
                for (String collector : new String[] {"idle", "busy"}) {
                    assertThat(results.metric(
                                    "call-gc", Map.of("target", target, "via", via, "collector", collector), "time"))
                            .isPresent();
                }
            }
            assertThat(results.metric("call-safepoint", Map.of("via", via), "safepoint")).isPresent();
        }
    }

    /** Not a matter of speed: a critical call holds a safepoint up until it returns. */
    @Test
    void aCriticalCallThatWaitsHoldsEverybodyUp() {
        long most = 0;
        for (int i = 0; i < 20 && most < GcEffect.WAIT_MS * 250_000L; i++) {
            most = Math.max(most, GcEffect.safepointWhile(FfmCalls::sleepCritical));
        }
        assertThat(most).isGreaterThanOrEqualTo(GcEffect.WAIT_MS * 250_000L);
    }
}
