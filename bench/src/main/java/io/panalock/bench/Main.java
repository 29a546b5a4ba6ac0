// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** The command line of the benchmarks. */
@Command(name = "panalock", mixinStandardHelpOptions = true, description = "Benchmarks of the kernel's queued locks.")
public final class Main implements Runnable {
    @Override
    public void run() {
        CommandLine.usage(this, System.out);
    }

    /**
     * Runs the main job.
     *
     * @param quick shorter windows
     * @return the exit code
     */
    @Command(description = "Runs the main job.")
    int run(@Option(names = "--quick") boolean quick) {
        return 0;
    }

    public static void main(String[] args) {
        System.exit(new CommandLine(new Main()).execute(args));
    }
}
