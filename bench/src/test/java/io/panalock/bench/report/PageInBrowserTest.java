// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.report;

import static org.assertj.core.api.Assertions.assertThat;

import io.panalock.bench.result.Results;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.jr.ob.JSON;

@Timeout(value = 600, unit = TimeUnit.SECONDS)
class PageInBrowserTest {
    private static final Pattern CHECK = Pattern.compile("data-check=\"([^\"]*)\"");
    private static final Pattern PDF_PAGE = Pattern.compile("/Type\\s*/Page\\b");

    @TempDir
    private Path directory;

    static Stream<Arguments> pages() {
        return Stream.of(1280, 360).flatMap(width -> Stream.of(
                Arguments.of("three machines, one emulated", width, List.of(Fixtures.few(), Fixtures.arm(), Fixtures.emulated())),
                Arguments.of("unknown experiments, published figures, hostile names", width,
                        List.of(Fixtures.unknown(), Fixtures.hostile()))));
    }

    @ParameterizedTest(name = "{0}, {1} px")
    @MethodSource("pages")
    void everyChartIsDrawnAndNothingSticksOut(String name, int width, List<Results> results) throws Exception {
        Map<String, Object> check = check(Fixtures.page(results.toArray(Results[]::new)), width);
        assertThat((List<?>) check.get("wrong")).isEmpty();
        assertThat(check.get("width")).isEqualTo(width);
        assertThat((Integer) check.get("charts")).isGreaterThan(5);
        assertThat(check.get("elsewhere")).as("things loaded from elsewhere").isEqualTo(0);
    }

    @Test
    void thePageAsItIsLogsNothingAndPrints() throws Exception {
        Path page = directory.resolve("page.html");
        Path pdf = directory.resolve("page.pdf");
        Files.writeString(page, Fixtures.page(Fixtures.quiet()));
        Chromium.Ran ran = new Chromium(directory).run(page, "--no-pdf-header-footer", "--print-to-pdf=" + pdf);
        assertThat(ran.err()).doesNotContain("CONSOLE");
        byte[] bytes = Files.readAllBytes(pdf);
        assertThat(new String(bytes, 0, 5, StandardCharsets.ISO_8859_1)).isEqualTo("%PDF-");
        assertThat(PDF_PAGE.matcher(new String(bytes, StandardCharsets.ISO_8859_1)).results().count()).isGreaterThan(4);
    }

    @Test
    void aBrokenPageIsNoticed() throws Exception {
        String page = Fixtures.page(Fixtures.few());
        assertThat((List<?>) check(page.replace("charts.push(...own);", ""), 1280).get("wrong")).isNotEmpty();
        assertThat((List<?>) check(page.replace("drawAll();\n}());", "drawAll();\nnothing.there;\n}());"), 1280).get("wrong"))
                .anyMatch(w -> w.toString().contains("nothing is not defined"));
        Path file = directory.resolve("broken.html");
        Files.writeString(file, "<script>console.error('oops')</script>");
        assertThat(new Chromium(directory).run(file, "--dump-dom").err()).contains("CONSOLE");
    }

    /** Runs check.js in a copy of the page. */
    private Map<String, Object> check(String page, int width) throws IOException, InterruptedException {
        Path file = Files.createTempFile(directory, "page", ".html");
        Files.writeString(file, page.replaceFirst("<head>", Matcher.quoteReplacement("<head><script>" + script("errors.js") + "</script>"))
                .replace("</body>\n</html>", "<script>" + script("check.js") + "</script></body></html>"));
        Path frame = Files.createTempFile(directory, "frame", ".html");
        Files.writeString(frame, script("frame.html").replace("{{page}}", file.toUri().toString()).replace("{{width}}", "" + width));
        Chromium.Ran ran = new Chromium(Files.createTempDirectory(directory, "chromium")).run(
                frame, "--window-size=1400,1000", "--virtual-time-budget=20000", "--dump-dom");
        Matcher check = CHECK.matcher(ran.out());
        assertThat(check.find()).as("check.js came to its end; Chromium said: " + ran.err()).isTrue();
        return JSON.std.mapFrom(check.group(1).replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">")
                .replace("&nbsp;", " ").replace("&amp;", "&"));
    }

    private static String script(String name) throws IOException {
        try (InputStream in = PageInBrowserTest.class.getResourceAsStream(name)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
