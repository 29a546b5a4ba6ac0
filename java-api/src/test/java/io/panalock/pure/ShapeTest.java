// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemoryLayout;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Locale;
import org.junit.jupiter.api.Test;

/** Every number in Shape is the one in the generated bindings; no list here, the names say which. */
class ShapeTest {
    private static final String BINDINGS = "io.panalock.internal.ffm.";

    @Test
    void agreesWithTheBindings() throws Exception {
        int compared = 0;
        for (Field f : Shape.class.getDeclaredFields()) {
            if (Modifier.isStatic(f.getModifiers()) && !f.isSynthetic()) {
                assertThat(((Number) f.get(null)).longValue()).as(f.getName()).isEqualTo(bound(f.getName()));
                compared++;
            }
        }
        assertThat(compared).isGreaterThan(60);
    }

    /** {@code NODE} is a struct's size, {@code NODE_STATE} a field's offset, {@code NODE_EXCLUSIVE} a number. */
    private static long bound(String name) throws Exception {
        int split = (name + "_").indexOf('_');
        Class<?> struct = find("pl_" + name.substring(0, split).toLowerCase(Locale.ROOT));
        if (struct != null && split == name.length()) {
            return ((MemoryLayout) struct.getMethod("layout").invoke(null)).byteSize();
        }
        if (struct != null) {
            String offset = name.substring(split + 1).toLowerCase(Locale.ROOT) + "$offset";
            for (Method m : struct.getMethods()) {
                if (m.getName().equals(offset)) {
                    return ((Number) m.invoke(null)).longValue();
                }
            }
        }
        return ((Number) find("panalock_h").getMethod("PL_" + name).invoke(null)).longValue();
    }

    private static Class<?> find(String name) {
        try {
            return Class.forName(BINDINGS + name);
        } catch (ClassNotFoundException e) {
            return null;
        }
    }
}
