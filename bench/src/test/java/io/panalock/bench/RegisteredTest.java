// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import static org.assertj.core.api.Assertions.assertThat;

import io.panalock.bench.claim.ClaimGroup;
import io.panalock.bench.claim.Claims;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.ServiceLoader;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** A command or a group of claims whose line in META-INF/services was forgotten would be missed by nobody else. */
class RegisteredTest {
    private static List<Class<?>> implementing(Class<?> type) throws IOException {
        Path classes = Path.of("target", "classes");
        try (Stream<Path> files = Files.walk(classes)) {
            return files.filter(f -> f.toString().endsWith(".class"))
                    .map(f -> classes.relativize(f).toString().replace(File.separatorChar, '.'))
                    .filter(name -> name.startsWith("io.panalock.bench.") && !name.contains("jmh_generated"))
                    .<Class<?>>map(name -> load(name.substring(0, name.length() - ".class".length())))
                    .filter(c -> type.isAssignableFrom(c) && !Modifier.isAbstract(c.getModifiers()))
                    .toList();
        }
    }

    private static Class<?> load(String name) {
        try {
            return Class.forName(name, false, RegisteredTest.class.getClassLoader());
        } catch (ClassNotFoundException e) {
            throw new AssertionError(e);
        }
    }

    private static <T> List<Class<?>> registered(Class<T> type) {
        return ServiceLoader.load(type).stream().<Class<?>>map(ServiceLoader.Provider::type).toList();
    }

    @Test
    void everyCommandIsRegisteredOnce() throws IOException {
        List<Class<?>> commands = implementing(SubCommand.class);
        assertThat(commands).hasSizeGreaterThanOrEqualTo(7);
        assertThat(registered(SubCommand.class)).containsExactlyInAnyOrderElementsOf(commands);
        CommandLine root = Main.commandLine();
        assertThat(root.getSubcommands()).hasSameSizeAs(commands);
    }

    @Test
    void everyGroupOfClaimsIsRegisteredOnce() throws IOException {
        List<Class<?>> groups = implementing(ClaimGroup.class);
        assertThat(registered(ClaimGroup.class)).containsExactlyInAnyOrderElementsOf(groups);
        assertThat(Claims.groups()).hasSameSizeAs(groups);
    }
}
