// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.claim;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Every figure in ns, × or Mops/s that README.md or docs/ prints is a claim's, or a constant of the design. Which one it
 * is stands behind it, where a reader of the page does not see it:
 *
 * <pre>
 *   0.51 × &lt;!-- claim: bridge/pool-wide-reentrant --&gt;      the claim exists; a ratio keeps to the claim's bound
 *   100 ns &lt;!-- constant --&gt;                                chosen, not measured
 *   &lt;!-- constants --&gt;                                      at the start of a paragraph: all that follow up to a blank line
 * </pre>
 */
class PrintedFiguresTest {
    /** "256 × `pl_bucket`" multiplies; it is not a figure. */
    private static final Pattern FIGURE = Pattern.compile("(\\d[\\d.,]*) ?(ns\\b|Mops/s|×(?! ?[`\\d]))");

    private static final Pattern MARK = Pattern.compile("<!-- (?:(constant)|claim: ([\\w-]+)/([\\w-]+)) -->");
    private static final String CONSTANTS = "<!-- constants -->";

    private static Optional<Claim> claim(String group, String id) {
        return Claims.groups().getOrDefault(group, List.of()).stream()
                .filter(c -> c.id().equals(id))
                .findFirst();
    }

    static List<String> problems(String name, String text) {
        List<String> problems = new ArrayList<>();
        boolean constants = false;
        int number = 0;
        for (String line : text.lines().toList()) {
            number++;
            constants = !line.isBlank() && (constants || line.contains(CONSTANTS));
            if (constants) {
                continue;
            }
            Matcher figure = FIGURE.matcher(line);
            for (int at = 0; figure.find(at); at = figure.end()) {
                String where = name + ":" + number + ": \"" + figure.group() + "\"";
                Matcher next = FIGURE.matcher(line);
                int end = next.find(figure.end()) ? next.start() : line.length();
                Matcher mark = MARK.matcher(line).region(figure.end(), end);
                if (!mark.find()) {
                    problems.add(where + " is neither marked as a claim's nor as a constant");
                } else if (mark.group(1) == null) {
                    check(where, figure, claim(mark.group(2), mark.group(3))).ifPresent(problems::add);
                }
            }
        }
        return problems;
    }

    private static Optional<String> check(String where, Matcher figure, Optional<Claim> claim) {
        if (claim.isEmpty()) {
            return Optional.of(where + " names a claim that there is not");
        }
        boolean ratio = figure.group(2).equals("×");
        double value = Double.parseDouble(figure.group(1).replace(",", ""));
        return ratio && claim.get().unit().equals("×") && !claim.get().bound().holds(value)
                ? Optional.of(where + " does not keep to its claim, " + claim.get().bound())
                : Optional.empty();
    }

    @Test
    void everyFigureOfTheDocumentationIsAClaimsOrAConstant() throws IOException {
        Path root = Path.of("").toAbsolutePath().getParent();
        List<String> problems = new ArrayList<>();
        try (Stream<Path> docs = Files.list(root.resolve("docs"))) {
            for (Path page : Stream.concat(Stream.of(root.resolve("README.md")), docs).toList()) {
                if (page.toString().endsWith(".md")) {
                    problems.addAll(problems(root.relativize(page).toString(), Files.readString(page)));
                }
            }
        }
        assertThat(problems).isEmpty();
    }

    @Test
    void anUnmarkedFigureIsFound() {
        for (String line : List.of("costs 2.5 ns", "is 0.5 × a mutex", "| a | 0.51 × |", "does 120 Mops/s", "1,200ns", "5 ns/call")) {
            assertThat(problems("x", line)).as(line).hasSize(1);
        }
        assertThat(problems("x", "0.5 × <!-- claim: bridge/pool-wide-reentrant -->, and 3 ns"))
                .hasSize(1)
                .allMatch(p -> p.contains("\"3 ns\""));
        assertThat(problems("x", "<!-- constants -->\n100 ns\n\n100 ns")).hasSize(1).allMatch(p -> p.startsWith("x:4:"));
    }

    @Test
    void aMarkIsChecked() {
        assertThat(problems("x", "0.5 × <!-- claim: bridge/no-such -->")).hasSize(1).allMatch(p -> p.contains("there is not"));
        assertThat(problems("x", "9.5 × <!-- claim: bridge/pool-wide-reentrant -->"))
                .hasSize(1)
                .allMatch(p -> p.contains("does not keep to its claim"));
    }

    @Test
    void whatIsNoFigureOrMarkedPasses() {
        for (String line : List.of("256 × `pl_bucket`", "32-bit, 16 threads", "100 ns <!-- constant --> apart", "answers",
                "0.5 × <!-- claim: bridge/pool-wide-reentrant --> and 2.2 ns <!-- claim: bridge/c-wide-bare -->")) {
            assertThat(problems("x", line)).as(line).isEmpty();
        }
    }
}
