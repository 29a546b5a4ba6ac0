// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import io.panalock.bench.contend.Planted;
import io.panalock.bench.result.Recorder;
import io.panalock.bench.result.Results;
import io.panalock.bench.text.RunReport;
import io.panalock.bench.text.RunSummary;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * A command that measures: has {@code --json}, {@code --quick}, {@code --cpus} and {@code --pin}, keeps what was measured
 * when it is stopped, prints it, and writes results and report. A subclass adds options and says what to measure.
 */
public abstract class Experiment implements SubCommand {
    @Mixin
    private Output output;

    @Mixin
    private Cpus cpus;

    @Spec
    private CommandSpec spec;

    @Option(names = "--quick", description = "Fewer points and shorter windows.")
    private boolean quick;

    /**
     * What a measurement works with.
     *
     * @param results where figures go; {@link #recorder} is the usual way
     * @param out for what is printed meanwhile; {@link Progress} is the usual way
     * @param quick fewer points, shorter windows
     * @param pin threads stay on CPUs of their own
     */
    public record Run(Results results, Recorder recorder, PrintStream out, boolean quick, boolean pin) {}

    /** Looks at the options before anything is measured; throws {@link #wrong} where they make no sense together. */
    protected void check() {}

    /** Measures, and records figures as they come. */
    protected abstract void measure(Run run) throws IOException;

    /** What is printed at the end, in the words of the experiment. */
    protected String text(Results results) {
        return new RunReport(results) + System.lineSeparator() + new RunSummary(results) + System.lineSeparator();
    }

    /** For options that are given but cannot be used. */
    protected final ParameterException wrong(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    /** Words of a list among those allowed. */
    protected final List<String> words(String option, String list, List<String> allowed) {
        return Choice.words(spec.commandLine(), option, list, allowed);
    }

    /** Numbers of a list. */
    protected final List<Integer> numbers(String option, String list, int least, int most) {
        return Choice.numbers(spec.commandLine(), option, list, least, most);
    }

    protected final int number(String option, String text, int least, int most) {
        return Choice.number(spec.commandLine(), option, text, least, most);
    }

    protected final boolean quick() {
        return quick;
    }

    @Override
    public Integer call() throws IOException {
        PrintStream out = System.out;
        check();
        Map<String, Object> run = new LinkedHashMap<>();
        run.put("command", spec.name());
        run.put("quick", quick);
        if (Planted.backend() != null) {
            run.put("planted", Planted.backend());
        }
        cpus.apply(run);
        try (Session session = new Session(run, output.json(), System.err)) {
            Results results = session.results();
            Run measuring = new Run(results, new Recorder(results), out, quick, cpus.pin());
            new Measurements(measuring).floors();
            measure(measuring);
            session.finish();
            out.print(text(results));
            Path page = ReportCommand.beside(session.file());
            ReportCommand.write(Map.of(session.file().toString(), results), page);
            out.println(session.end(page));
        }
        return Main.FINE;
    }
}
