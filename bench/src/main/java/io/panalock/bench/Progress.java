// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import java.io.Console;
import java.io.PrintStream;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;

/** How far a phase has come: a bar on a terminal, a line at the start and at the end elsewhere. */
public abstract sealed class Progress implements AutoCloseable {
    /** Starts a phase of so many steps. */
    public static Progress start(PrintStream out, String title, int steps) {
        Console console = System.console();
        return console != null && console.isTerminal() ? new Bar(title, steps) : new Lines(out, title, steps);
    }

    /** What is being measured now. */
    public abstract void at(String what);

    /** One step is done. */
    public abstract void step();

    /** There is more to do than thought. */
    public abstract void more(int steps);

    @Override
    public abstract void close();

    private static final class Bar extends Progress {
        private final ProgressBar bar;

        Bar(String title, int steps) {
            bar = new ProgressBarBuilder()
                    .setTaskName(title)
                    .setInitialMax(steps)
                    .setStyle(ProgressBarStyle.COLORFUL_UNICODE_BAR)
                    .setUpdateIntervalMillis(500) // its own thread disturbs what is measured: seldom
                    .build();
        }

        @Override
        public void at(String what) {
            bar.setExtraMessage(" " + what);
        }

        @Override
        public void step() {
            bar.step();
        }

        @Override
        public void more(int steps) {
            bar.maxHint(bar.getMax() + steps);
        }

        @Override
        public void close() {
            bar.setExtraMessage("");
            bar.close();
        }
    }

    private static final class Lines extends Progress {
        private final PrintStream out;
        private final String title;
        private final long started = System.nanoTime();
        private int steps;
        private int done;

        Lines(PrintStream out, String title, int steps) {
            this.out = out;
            this.title = title;
            this.steps = steps;
            out.println(title + ": " + steps + " points");
        }

        @Override
        public void at(String what) {}

        @Override
        public void step() {
            done++;
        }

        @Override
        public void more(int more) {
            steps += more;
        }

        @Override
        public void close() {
            out.printf("%s: %d of %d points in %d s%n", title, done, steps, (System.nanoTime() - started) / 1_000_000_000L);
        }
    }
}
