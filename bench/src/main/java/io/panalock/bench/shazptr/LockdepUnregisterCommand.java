// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.shazptr;

import io.panalock.bench.Experiment;
import io.panalock.bench.Progress;
import io.panalock.bench.peer.Readers;
import io.panalock.bench.result.Result;
import io.panalock.bench.result.Results;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code lockdep-unregister}. */
@Command(
        name = "lockdep-unregister",
        mixinStandardHelpOptions = true,
        description = {
            "Unregistering many lock class keys while readers look keys up: waiting for the readers of one hash bucket (hazard"
                    + " pointers) against waiting for all readers (liburcu)."
        })
public final class LockdepUnregisterCommand extends Experiment {
    private static final String EXPERIMENT = "lockdep-unregister";
    private static final List<String> MODES = List.of("shazptr", "urcu_memb", "urcu_mb", "urcu_qsbr", "urcu_bp");

    private List<String> modes = List.of("shazptr", "urcu_memb");
    private List<Integer> readers = List.of(0, 1, 2, 4, 8, 16, 32, 96);
    private int keys = 500;
    private int rounds = 3;

    @Option(names = "--mode", paramLabel = "LIST",
            description = "Of shazptr, urcu_memb, urcu_mb, urcu_qsbr, urcu_bp (default: shazptr,urcu_memb).")
    void setModes(String list) {
        modes = words("--mode", list, MODES);
    }

    @Option(names = "--readers", paramLabel = "LIST", description = "Numbers of readers (default: 0,1,2,4,8,16,32,96).")
    void setReaders(String list) {
        readers = numbers("--readers", list, 0, 1000);
    }

    @Option(names = "--keys", paramLabel = "N", description = "Keys to unregister (default: 500; --quick: 20).")
    void setKeys(String n) {
        keys = number("--keys", n, 1, 1_000_000);
    }

    @Option(names = "--rounds", paramLabel = "N", description = "How often everything is measured (default: 3).")
    void setRounds(String n) {
        rounds = number("--rounds", n, 1, 100);
    }

    @Override
    protected void measure(Run run) {
        int k = quick() ? Math.min(keys, 20) : keys;
        int times = quick() ? 1 : rounds;
        List<Integer> some = quick() && readers.size() > 3 ? readers.subList(0, 3) : readers;
        try (Progress progress = Progress.start(run.out(), EXPERIMENT, times * modes.size() * some.size())) {
            for (int i = 0; i < times; i++) {
                for (int n : some) {
                    for (String mode : modes) {
                        progress.at(mode + ", " + n + " readers");
                        if (Readers.present(mode)) {
                            run.recorder().record(EXPERIMENT, params(mode, n, k), "elapsed", "s",
                                    Readers.unregister(mode, n, k) / 1e9);
                        }
                        progress.step();
                    }
                }
            }
        }
    }

    private static Map<String, Object> params(String mode, int n, int k) {
        Map<String, Object> params = new LinkedHashMap<>();
        params.put("mode", mode);
        params.put("readers", n);
        params.put("keys", k);
        if (!mode.equals("shazptr")) {
            params.put("peer", true);
        }
        return params;
    }

    @Override
    protected String text(Results results) {
        StringBuilder text = new StringBuilder(System.lineSeparator());
        for (Result r : results.all()) {
            if (r.experiment().equals(EXPERIMENT)) {
                text.append(String.format(Locale.ROOT, "%s, %s readers, %s keys: real %.4f s%n", r.params().get("mode"),
                        r.params().get("readers"), r.params().get("keys"), r.metrics().get("elapsed").value()));
            }
        }
        return text.append(System.lineSeparator()).toString();
    }
}
