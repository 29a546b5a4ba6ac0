// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class VersionTest {
    /** The number in pom.xml is the source of truth; the header repeats it without "-SNAPSHOT". */
    @Test
    void headerAndPomNameTheSameVersion() throws Exception {
        String pom = System.getProperty("panalock.test.version").replaceFirst("-SNAPSHOT$", "");
        var abi = Files.readAllLines(Path.of(System.getProperty("panalock.test.abi")));
        assertThat(abi.stream().filter(line -> line.startsWith("constant PL_VERSION_STRING")))
                .containsExactly("constant PL_VERSION_STRING string " + pom);
    }
}
