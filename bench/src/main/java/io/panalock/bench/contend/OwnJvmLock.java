// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.contend;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A lock in Java whose uncontended pairs run in a JVM of its own, which is asked for one window after the other, so that
 * windows of several locks still take turns. For locks that are reached by FFM: code that the JDK makes for a call is shared by
 * all calls of the same shape and cannot be copied by a class loader, and what it has learned from others costs a call a
 * fifth (seen: 6.8 ns a critical pair alone, 8.7 after those of other layouts).
 *
 * <p>Contended points run in this JVM: there, cache lines decide.
 */
final class OwnJvmLock implements Lock {
    private static final List<String> NOT_HANDED_DOWN = List.of("-javaagent", "-agentlib", "-agentpath", "-Xrunjdwp", "-Xlog");

    private final JavaLock here;
    private BufferedWriter requests;
    private BufferedReader answers;

    OwnJvmLock(JavaLock here) {
        this.here = here;
    }

    @Override
    public String id() {
        return here.id();
    }

    @Override
    public Map<String, Object> params() {
        return here.params();
    }

    @Override
    public long pairs(int pairs) {
        return Long.parseLong(ask(PairsServer.PAIRS + " " + pairs));
    }

    @Override
    public long allocatedByPairs(int pairs) {
        return Long.parseLong(ask(PairsServer.ALLOCATED + " " + pairs));
    }

    @Override
    public void warmUp() {
        ask(PairsServer.WARM_UP);
    }

    @Override
    public Outcome contend(ContendedPoint point, long warmNs, long windowNs) {
        return here.contend(point, warmNs, windowNs);
    }

    @Override
    public void calibrate() {
        here.calibrate();
    }

    private synchronized String ask(String request) {
        try {
            if (requests == null) {
                start();
            }
            requests.write(request);
            requests.newLine();
            requests.flush();
            return answer();
        } catch (IOException e) {
            throw new UncheckedIOException("the JVM that measures " + id() + ": " + e.getMessage(), e);
        }
    }

    private String answer() throws IOException {
        String answer = answers.readLine();
        if (answer == null) {
            throw new IOException("it ended without an answer");
        }
        return answer;
    }

    /** It ends when its input does, at the latest with this JVM. */
    private void start() throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .filter(argument -> NOT_HANDED_DOWN.stream().noneMatch(argument::startsWith))
                .forEach(command::add);
        command.addAll(List.of(
                "--enable-native-access=ALL-UNNAMED", "-cp", System.getProperty("java.class.path"), PairsServer.class.getName(), id()));
        Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        requests = process.outputWriter();
        answers = process.inputReader();
        String hello = answer();
        if (!hello.equals(PairsServer.READY)) {
            throw new IOException("it says \"" + hello + "\"");
        }
    }
}
