// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.claim;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Every time, rate, size, percentage and ratio that README.md or docs/ prints is a claim's, or a constant of the design. Which one it
 * is stands behind it, where a reader of the page does not see it:
 *
 * <pre>
 *   0.51 × &lt;!-- claim: bridge/pool-wide-reentrant --&gt;      the claim exists; a ratio keeps to the claim's bound
 *   100 ns &lt;!-- constant --&gt;                                chosen, not measured
 *   &lt;!-- constants --&gt;                                      at the start of a paragraph: all that follow up to a blank line
 * </pre>
 */
class PrintedFiguresTest {
    /** Times, rates, sizes, percentages, ratios. "256 × `pl_bucket`" multiplies; it is not a figure. */
    private static final Pattern FIGURE = Pattern.compile("(\\d[\\d.,]*)[ \u00a0]?"
            + "((?:ns|µs|us|ms|s|M/s|[kMG]?ops/s|records/s|[KMG]i?B|kB|B|bytes?|per cent)(?![\\w-])|%|×(?! ?[`\\d]))");

    /** Units that figures of claims have, and how many of those one of these is. */
    private static final Map<String, Double> IN_CLAIMS = Map.of("×", 1.0, "%", 1.0, "B", 1.0, "byte", 1.0, "bytes", 1.0,
            "KiB", 1024.0, "MiB", 1024.0 * 1024, "MB", 1e6);

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
        String unit = figure.group(2);
        Double factor = IN_CLAIMS.get(unit);
        double value = Double.parseDouble(figure.group(1).replaceAll("[.,]$", "").replace(",", ""));
        boolean same = factor != null && claim.get().unit().equals(unit.equals("×") || unit.equals("%") ? unit : "B");
        return same && !claim.get().bound().holds(value * factor)
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
        for (String line : List.of("costs 2.5 ns", "is 0.5 × a mutex", "| a | 0.51 × |", "does 120 Mops/s", "1,200ns", "5 ns/call", "4 bytes", "512 KiB",
                "takes 3 µs", "after 10 ms.", "for 2 s", "15 % less", "15 per cent", "3 M/s", "1.5 MB")) {
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
        assertThat(problems("x", "8 bytes <!-- claim: bridge/bytes-word -->")).hasSize(1);
        assertThat(problems("x", "4 bytes <!-- claim: bridge/bytes-word -->, 500 KiB <!-- claim: bridge/bytes-domain -->")).isEmpty();
    }

    @Test
    void whatIsNoFigureOrMarkedPasses() {
        for (String line : List.of("256 × `pl_bucket`", "32-bit, 16 threads", "1,024 slots", "4-byte words", "a 64 B line <!-- constant -->", "100 ns <!-- constant --> apart", "answers",
                "0.5 × <!-- claim: bridge/pool-wide-reentrant --> and 2.2 ns <!-- claim: bridge/c-wide-bare -->")) {
            assertThat(problems("x", line)).as(line).isEmpty();
        }
    }
}
