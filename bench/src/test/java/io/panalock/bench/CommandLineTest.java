// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import static org.assertj.core.api.Assertions.assertThat;

import io.panalock.bench.result.Results;
import io.panalock.bench.result.ResultsJson;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

class CommandLineTest {
    private record Ran(int code, String out, String err) {}

    private static Ran run(String... arguments) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        CommandLine line = Main.commandLine().setOut(new PrintWriter(out, true)).setErr(new PrintWriter(err, true));
        return new Ran(line.execute(arguments), out.toString(), err.toString());
    }

    private static void assertWrongUsage(Ran ran, String... says) {
        assertThat(ran.code()).isEqualTo(2);
        assertThat(ran.err()).contains(says).contains("--help").doesNotContain("Exception");
    }

    @Test
    void noCommandNamesTheCommands() {
        assertWrongUsage(run(), "info", "run", "claims");
    }

    @Test
    void anUnknownCommandNamesTheCommands() {
        assertWrongUsage(run("rum"), "\"rum\" is not a command", "info", "run", "claims");
    }

    @Test
    void anUnknownOptionIsNamed() {
        assertWrongUsage(run("run", "--fast"), "--fast: there is no such option", "panalock run --help");
    }

    @Test
    void aSurplusArgumentIsNamed() {
        assertWrongUsage(run("run", "everything"), "\"everything\": this command takes no such argument");
    }

    @Test
    void anUnknownGroupOfClaimsNamesTheGroups() {
        assertWrongUsage(run("claims", "bridges"), "\"bridges\" is not a group of claims; there are ", "bridge, ");
        assertWrongUsage(run("claims", "bridge/c-wide-mutex"), "claims --only '^c-wide-mutex$'");
    }

    @Test
    void claimsThatMatchNothingAreNotAPass() {
        assertWrongUsage(run("claims", "--only", "c-wide-mutexx"), "no claim matches", "the nearest are c-wide-mutex, ", "--list");
        assertThat(run("claims", "--only", "no-such-claim").err().length()).as("no list of all claims").isLessThan(300);
        assertWrongUsage(run("claims", "--only", "*"), "\"*\" is not a regular expression");
    }

    @Test
    void aFileThatCannotBeWrittenIsFoundBeforeAnythingIsMeasured(@TempDir Path dir) throws IOException {
        assertWrongUsage(run("run", "--json", dir.toString()), "is a directory");
        Path plain = Files.writeString(dir.resolve("plain"), "");
        assertWrongUsage(run("run", "--json", plain.resolve("x.json").toString()), "is not a directory");
        assertWrongUsage(run("run", "--json", plain.resolve("a").resolve("x.json").toString()), "is not a directory");
        assertWrongUsage(run("run", "--json", "/dev/full"), "is a device, not a file to write");
        assertWrongUsage(run("run", "--json", "/proc/x/y.json"), "is not a directory that can be written");
        assertWrongUsage(run("run", "--json"), "--json");
    }

    @Test
    void wrongValuesNameWhatIsAllowed() {
        assertWrongUsage(run("locks", "--threads", "2,0"), "--threads: \"0\" is not a number from 1 to 1024");
        assertWrongUsage(run("locks", "--backend", "native"), "--backend: \"native\" is not one of hybrid, ffm");
        assertWrongUsage(run("locks", "--lock", "c-pthread-mutx"), "--lock: \"c-pthread-mutx\" is not one of the ",
                "the nearest are c-pthread-mutex,");
        assertWrongUsage(run("locks", "--part", "pairs,", "--inside", "5"), "--part: \"\" is not one of pairs");
        assertWrongUsage(run("locks", "--inside", "-1"), "--inside: \"-1\" is not a number from 0");
        assertWrongUsage(run("locks", "--lock", "c-bare", "--part", "throughput"), "one thread only", "--part pairs");
        assertWrongUsage(run("calls", "--via", "jni,jnx"), "--via: \"jnx\" is not one of jni");
        assertWrongUsage(run("calls", "--target", "upcall", "--via", "critical"), "critical calls do not call back");
        assertWrongUsage(run("tokens", "--processes", "1"), "--processes: \"1\" is not a number from 2 to 1000");
        assertWrongUsage(run("run", "--cpus", "0-x"), "--cpus: \"0-x\" is neither a CPU nor a range");
        assertWrongUsage(run("run", "--cpus", "3-1"), "--cpus: \"3-1\" is not a range of CPUs");
        assertWrongUsage(run("run", "--cpus", "1023"), "--cpus: this process may not use 1023", "affinity");
    }

    @Test
    void listsOfCpusAreSetsInOrder() {
        assertThat(Cpus.parse("6, 0-2,1")).containsExactly(0, 1, 2, 6);
        assertThat(Cpus.parse("5")).containsExactly(5);
    }

    @Test
    void locksAreListedById() {
        PrintStream before = System.out;
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        System.setOut(new PrintStream(bytes, true, StandardCharsets.UTF_8));
        try {
            assertThat(run("locks", "--list").code()).isZero();
        } finally {
            System.setOut(before);
        }
        assertThat(bytes.toString(StandardCharsets.UTF_8)).contains("hybrid-wide-pool-spin", "stampedlock", "c-pthread-spin");
    }

    @Test
    void helpExplainsEveryCommand() {
        for (String command : List.of("info", "calls", "locks", "run", "claims")) {
            Ran ran = run(command, "--help");
            assertThat(ran.code()).isZero();
            assertThat(ran.out()).contains("--json").contains("Usage: panalock " + command);
        }
        assertThat(run("--help").out()).contains("0", "1", "2", "wrong usage");
        assertThat(run("--version").out()).startsWith("panalock ");
    }

    /** In processes of their own, as they are started, in a locale that has no ± of its own. */
    @Test
    @Timeout(value = 120, unit = TimeUnit.SECONDS)
    void outputIsUtf8InEveryLocale() throws IOException, InterruptedException {
        assertThat(inPosixLocale(System.getProperty("java.io.tmpdir"), "claims", "--list")).contains("≤ 0.75");
        assertThat(inPosixLocale("/no/where", "locks", "--list")).contains("/no/where", "Set -Dpanalock.extract.dir")
                .doesNotContain("at io.panalock");
    }

    private static String inPosixLocale(String extractTo, String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED", "-Dpanalock.extract.dir=" + extractTo, "-cp",
                System.getProperty("java.class.path"), Main.class.getName()));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().put("LC_ALL", "POSIX");
        Process process = builder.start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        process.waitFor();
        return output;
    }

    @Test
    void resultsCreateTheirDirectories(@TempDir Path dir) throws IOException {
        Path file = dir.resolve("a").resolve("b").resolve("info.json");
        assertThat(run("info", "--json", file.toString()).code()).isZero();
        assertThat(file).exists();
    }

    @Test
    void infoWritesTheMachineAsJson(@TempDir Path dir) throws IOException {
        Path file = dir.resolve("info.json");
        Ran ran = run("info", "--json", file.toString());
        assertThat(ran.code()).isZero();
        assertThat(ran.out()).contains("cpu", "caches", "kernel", "jdk", "relax", "membarrier", "library", "affinity");
        assertThat(Files.readString(file)).contains(Results.SCHEMA, "\"machine\"", "\"relax\"");
    }

    @Test
    @Timeout(value = 120, unit = TimeUnit.SECONDS)
    void aStopKeepsWhatWasMeasured(@TempDir Path dir) throws IOException, InterruptedException {
        Path file = dir.resolve("partial.json");
        assertThat(stopped("INT", "calls:", file, "run", "--quick")).as("exit code").isEqualTo(130);
        Results results = ResultsJson.load(file);
        assertThat(results.run()).containsEntry("complete", false).containsEntry("command", "run");
        assertThat(results.all()).anyMatch(r -> r.experiment().equals("floor"));
    }

    @Test
    @Timeout(value = 120, unit = TimeUnit.SECONDS)
    void aStopOfClaimsKeepsGroupsThatWereChecked(@TempDir Path dir) throws IOException, InterruptedException {
        Path file = dir.resolve("partial.json");
        assertThat(stopped("TERM", "measure:", file, "claims", "--quick", "--only", "bytes|compare")).as("exit code").isEqualTo(143);
        Results results = ResultsJson.load(file);
        assertThat(results.run()).containsEntry("complete", false).containsEntry("command", "claims");
        assertThat(results.all()).anyMatch(r -> r.matches("claim", Map.of("group", "bridge", "verdict", "holds")));
    }

    /** Runs until a line begins so, then sends the signal, INT being what Ctrl-C does; the exit code. */
    private static int stopped(String signal, String atLine, Path file, String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                "env",
                "--default-signal=INT", // a build in the background is started with it ignored
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                Main.class.getName()));
        command.addAll(List.of(arguments));
        command.addAll(List.of("--json", file.toString()));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        try (var out = process.inputReader(StandardCharsets.UTF_8)) {
            String line;
            do {
                line = out.readLine();
            } while (line != null && !line.startsWith(atLine));
            assertThat(line).as("progress begins").isNotNull();
            new ProcessBuilder("kill", "-" + signal, String.valueOf(process.pid())).start().waitFor();
            assertThat(out.lines().toList()).anyMatch(l -> l.contains("stopped; what was measured so far is in"));
        }
        return process.waitFor();
    }
}
