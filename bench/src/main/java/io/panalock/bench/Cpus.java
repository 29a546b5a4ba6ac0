// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import io.panalock.bench.peer.CPeers;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Where threads run; both options are recorded with the results. */
final class Cpus {
    private static final int MOST = 1024;
    private static final Pattern RANGE = Pattern.compile("(\\d{1,4})(?:-(\\d{1,4}))?");

    @Spec(Spec.Target.MIXEE)
    private CommandSpec mixee;

    private String list;

    private int[] cpus;

    @Option(names = "--pin", description = "Contending threads stay on CPUs of their own, as far as there are enough.")
    private boolean pin;

    @Option(names = "--cpus", paramLabel = "LIST", description = "Use these CPUs only, for example 0-3,6.")
    void setCpus(String text) {
        try {
            cpus = parse(text);
            list = text;
        } catch (IllegalArgumentException e) {
            throw new ParameterException(mixee.commandLine(), "--cpus: " + e.getMessage());
        }
    }

    static int[] parse(String text) {
        TreeSet<Integer> all = new TreeSet<>();
        for (String part : text.split(",", -1)) {
            Matcher range = RANGE.matcher(part.strip());
            if (!range.matches()) {
                throw new IllegalArgumentException("\"" + part + "\" is neither a CPU nor a range such as 0-3");
            }
            int from = Integer.parseInt(range.group(1));
            int to = range.group(2) == null ? from : Integer.parseInt(range.group(2));
            if (to < from || to >= MOST) {
                throw new IllegalArgumentException("\"" + part + "\" is not a range of CPUs from 0 to " + (MOST - 1));
            }
            for (int cpu = from; cpu <= to; cpu++) {
                all.add(cpu);
            }
        }
        return all.stream().mapToInt(Integer::intValue).toArray();
    }

    boolean pin() {
        return pin;
    }

    /** Restricts this process, before anything else looks at the machine; adds both options to those to record. */
    void apply(Map<String, Object> run) {
        if (cpus != null) {
            if (!CPeers.useCpus(cpus)) {
                throw new ParameterException(mixee.commandLine(),
                        "--cpus: this process may not use " + list + "; see \"affinity\" of the command info");
            }
            run.put("cpus", list);
        }
        run.put("pin", pin);
    }
}
