// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import static org.assertj.core.api.Assertions.assertThat;

import io.panalock.internal.ffm.panalock_h;
import io.panalock.internal.ffm.pl_pipe;
import io.panalock.internal.ffm.pl_pipe_side;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Locale;
import org.junit.jupiter.api.Test;

/** Every number in PipeShape is the one in the generated bindings. */
class PipeShapeTest {
    @Test
    void agreesWithTheBindings() throws Exception {
        int compared = 0;
        for (Field f : PipeShape.class.getDeclaredFields()) {
            if (Modifier.isStatic(f.getModifiers()) && !f.isSynthetic()) {
                compared += compare(f.getName(), ((Number) f.get(null)).longValue());
            }
        }
        assertThat(compared).isGreaterThan(25);
    }

    private static int compare(String name, long value) throws Exception {
        String field = name.toLowerCase(Locale.ROOT);
        long bound = switch (name) {
            case "PIPE" -> pl_pipe.sizeof();
            case "MAGIC_VALUE" -> panalock_h.PL_PIPE_MAGIC();
            case "EPIPE", "EMSGSIZE" -> value; // the system's, as in io.panalock.internal.Layouts
            default ->
                name.startsWith("SIDE_")
                        ? offset(pl_pipe_side.class, field.substring("side_".length()))
                        : has(pl_pipe.class, field)
                                ? offset(pl_pipe.class, field)
                                : ((Number) panalock_h.class.getMethod("PL_PIPE_" + name).invoke(null)).longValue();
        };
        assertThat(value).as(name).isEqualTo(bound);
        return 1;
    }

    private static boolean has(Class<?> struct, String field) {
        for (var m : struct.getMethods()) {
            if (m.getName().equals(field + "$offset")) {
                return true;
            }
        }
        return false;
    }

    private static long offset(Class<?> struct, String field) throws Exception {
        return (long) struct.getMethod(field + "$offset").invoke(null);
    }
}
