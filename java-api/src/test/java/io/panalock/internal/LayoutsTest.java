// SPDX-License-Identifier: Apache-2.0
package io.panalock.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.panalock.internal.ffm.panalock_h;
import java.lang.reflect.Field;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class LayoutsTest {
    @BeforeAll
    static void load() {
        Library.require();
    }

    /** The headers' constant of the same name, as far as there is one: errno values come from the C library. */
    @Test
    void constantsAreThoseOfTheHeaders() throws Exception {
        int compared = 0;
        for (Field f : Layouts.class.getFields()) {
            if (f.getType() != int.class || f.getName().startsWith("E")) {
                continue;
            }
            Object header = panalock_h.class.getMethod("PL_" + f.getName()).invoke(null);
            assertThat(f.getInt(null)).as(f.getName()).isEqualTo(header);
            compared++;
        }
        assertThat(compared).isGreaterThan(20);
        assertThat(Layouts.VERSION).isEqualTo(panalock_h.PL_VERSION_STRING().getString(0));
    }
}
