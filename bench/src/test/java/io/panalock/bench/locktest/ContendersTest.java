// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.locktest;

import static org.assertj.core.api.Assertions.assertThat;

import io.panalock.bench.contend.Locks;
import org.junit.jupiter.api.Test;

class ContendersTest {
    @Test
    void whatIsOfferedCanBeOpened() {
        for (String name : Contenders.names()) {
            String id = Contenders.id(name, "cond");
            assertThat(Locks.open(id).id()).as(name).isEqualTo(id);
        }
    }

    @Test
    void theResilientLockIsAmongThem() {
        assertThat(Contenders.names()).contains("rqspinlock", "java-rqspinlock", "java-rqspinlock-pure");
    }
}
