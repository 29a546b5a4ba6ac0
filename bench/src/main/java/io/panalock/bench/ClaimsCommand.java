// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import io.panalock.bench.claim.Claim;
import io.panalock.bench.claim.ClaimRunner;
import io.panalock.bench.claim.Claims;
import io.panalock.bench.claim.Judgement;
import io.panalock.bench.claim.Verdict;
import io.panalock.bench.result.Recorder;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code claims}. */
@Command(
        name = "claims",
        mixinStandardHelpOptions = true,
        description = {
            "Checks what the project claims, on this machine: each claim measures two things in turns and compares them.",
            "A claim is judged by the median; where the bound lies within the spread it is measured again, up to three"
                    + " times. Exit code 1 if one falls short."
        })
public final class ClaimsCommand implements SubCommand {
    @Mixin
    private Output output;

    @Parameters(arity = "0..1", paramLabel = "GROUP", description = "Only this group; all of them if absent.")
    private String group;

    @Option(names = "--quick", description = "A choice of claims with short windows: under 45 seconds a group.")
    private boolean quick;

    @Option(names = "--list", description = "Only list the claims.")
    private boolean list;

    private Pattern only = Pattern.compile("");

    @Spec
    private CommandSpec spec;

    @Option(names = "--only", paramLabel = "REGEX", description = "Only claims whose id contains a match.")
    void setOnly(String regex) {
        try {
            only = Pattern.compile(regex);
        } catch (PatternSyntaxException e) {
            throw new ParameterException(
                    spec.commandLine(), "--only: \"" + regex + "\" is not a regular expression: " + e.getDescription());
        }
    }

    @Override
    public Integer call() {
        Map<String, List<Claim>> groups = Claims.groups();
        if (group != null && !groups.containsKey(group)) {
            String id = group.substring(group.indexOf('/') + 1);
            boolean isId = groups.values().stream().flatMap(List::stream).anyMatch(claim -> claim.id().equals(id));
            throw new ParameterException(spec.commandLine(), "\"" + group + "\" is not a group of claims; there are "
                    + String.join(", ", groups.keySet()) + (isId ? ". A single claim: claims --only '^" + id + "$'" : ""));
        }
        PrintStream out = System.out;
        if (list) {
            groups.forEach((name, claims) -> chosen(name, claims).forEach(claim -> out.printf(
                    "%s  %-34s %-8s %s%n", name, claim.id(), claim.bound(), claim.sentence())));
            return Main.FINE;
        }
        if (groups.entrySet().stream().allMatch(e -> chosen(e.getKey(), e.getValue()).isEmpty())) {
            throw new ParameterException(spec.commandLine(),
                    "--only: no claim matches \"" + only + "\"" + (quick ? " with --quick" : "") + "; the nearest are "
                            + String.join(", ", Choice.nearest(only.pattern(), ids(groups))) + "; --list shows all");
        }
        int shortfalls = 0;
        try (Session session = new Session(Map.of("command", "claims", "quick", quick), output.json(), System.err)) {
            for (Map.Entry<String, List<Claim>> each : groups.entrySet()) {
                List<Claim> claims = chosen(each.getKey(), each.getValue());
                if (!claims.isEmpty()) {
                    shortfalls += check(session, each.getKey(), claims, out);
                }
            }
            session.finish();
            out.println(session.end(null));
        }
        return shortfalls == 0 ? Main.FINE : Main.FELL_SHORT;
    }

    private List<String> ids(Map<String, List<Claim>> groups) {
        return groups.entrySet().stream()
                .filter(e -> group == null || group.equals(e.getKey()))
                .flatMap(e -> e.getValue().stream())
                .filter(claim -> claim.quick() || !quick)
                .map(Claim::id)
                .toList();
    }

    private List<Claim> chosen(String name, List<Claim> claims) {
        return group != null && !group.equals(name)
                ? List.of()
                : claims.stream()
                        .filter(claim -> (claim.quick() || !quick) && only.matcher(claim.id()).find())
                        .toList();
    }

    private int check(Session session, String name, List<Claim> claims, PrintStream out) {
        Recorder recorder = new Recorder(session.results());
        Map<String, Object> machine = session.results().machine();
        ClaimRunner runner = quick ? ClaimRunner.quick(machine, recorder) : ClaimRunner.full(machine, recorder);
        session.whenStopped(() -> runner.soFar().forEach(judgement -> session.results().put(judgement.toResult(name))));
        List<Judgement> judged;
        try (Progress progress = Progress.start(out, name, ClaimRunner.steps(claims))) {
            judged = runner.check(claims, progress);
        }
        session.whenStopped(() -> {});
        judged.forEach(judgement -> session.results().put(judgement.toResult(name)));
        out.println();
        judged.forEach(judgement -> out.println(judgement.line()));
        List<String> counts = new ArrayList<>();
        for (Verdict verdict : Verdict.values()) {
            counts.add(judged.stream().filter(j -> j.verdict() == verdict).count() + " " + verdict);
        }
        out.println(name + ": " + String.join(", ", counts));
        return (int) judged.stream().filter(j -> j.verdict() == Verdict.FALLS_SHORT).count();
    }
}
