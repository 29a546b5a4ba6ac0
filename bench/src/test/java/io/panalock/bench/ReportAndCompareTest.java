// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import static org.assertj.core.api.Assertions.assertThat;

import io.panalock.bench.result.ResultsJson;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReportAndCompareTest {
    private record Ran(int code, String out, String err) {}

    @TempDir
    private Path directory;

    private Path before;
    private Path after;
    private Path slow;

    private static Ran run(Object... arguments) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        String[] words = java.util.Arrays.stream(arguments).map(String::valueOf).toArray(String[]::new);
        int code = Main.commandLine().setOut(new PrintWriter(out, true)).setErr(new PrintWriter(err, true)).execute(words);
        return new Ran(code, out.toString(), err.toString());
    }

    @BeforeEach
    void measure() throws IOException {
        before = save("before.json", new Synthetic(1));
        after = save("after.json", new Synthetic(2));
        slow = save("slow.json", new Synthetic(3).slow("hybrid", 1.2));
    }

    private Path save(String name, Synthetic synthetic) throws IOException {
        Path file = directory.resolve(name);
        ResultsJson.save(synthetic.results(), file);
        return file;
    }

    @Test
    void theReportStandsBesideTheResults() {
        Ran ran = run("report", before);
        assertThat(ran.code()).isZero();
        assertThat(ran.out()).contains("report: " + directory.resolve("before.html"));
        assertThat(directory.resolve("before.html")).content().startsWith("<!DOCTYPE html>");
    }

    @Test
    void theReportGoesWhereItIsTold() {
        Path page = directory.resolve("deep/er/page.html");
        assertThat(run("report", before, after, "--out", page).code()).isZero();
        assertThat(page).content().contains("A \u00b7 Example CPU 9000", "B \u00b7 Example CPU 9000");
    }

    @Test
    void theReportNeedsResults() throws IOException {
        Path other = Files.writeString(directory.resolve("other.json"), "{\"schema\": \"something/1\"}");
        assertThat(run("report").code()).isEqualTo(2);
        assertThat(run("report", directory.resolve("missing.json"))).satisfies(ran -> {
            assertThat(ran.code()).isEqualTo(2);
            assertThat(ran.err()).contains("missing.json\" is not a file", "--help");
        });
        assertThat(run("report", other)).satisfies(ran -> {
            assertThat(ran.code()).isEqualTo(2);
            assertThat(ran.err()).contains("other.json: schema is something/1");
        });
        assertThat(run("report", before, "--out", directory).code()).isEqualTo(2);
    }

    @Test
    void compareExitsWithOneOnlyForARegression() {
        Ran same = run("compare", before, after);
        assertThat(same.code()).as(same.out()).isZero();
        assertThat(same.out()).contains("no regression beyond 10 %");
        Ran slower = run("compare", before, slow);
        assertThat(slower.code()).isEqualTo(1);
        assertThat(slower.out()).contains("HYBRID became worse, slower", "REGRESSION");
        assertThat(run("compare", before, slow, "--threshold", "40").code()).isZero();
    }

    @Test
    void compareWritesJson() throws IOException {
        Path json = directory.resolve("compared.json");
        run("compare", before, slow, "--json", json);
        assertThat(json).content().contains("\"panalock-comparison/1\"", "\"regressed\" : true");
    }

    @Test
    void compareRefusesWhatItCannotCompare() throws IOException {
        Path empty = save("empty.json", new Synthetic(1));
        Files.writeString(empty, Files.readString(empty).replace("\"experiment\" : \"", "\"experiment\" : \"other "));
        assertThat(run("compare", before).code()).isEqualTo(2);
        assertThat(run("compare", before, empty)).satisfies(ran -> {
            assertThat(ran.code()).isEqualTo(2);
            assertThat(ran.err()).contains("no figure in common");
        });
        assertThat(run("compare", before, after, "--threshold", "-1").code()).isEqualTo(2);
        assertThat(run("compare", before, after, "--threshold", "many").code()).isEqualTo(2);
    }
}
