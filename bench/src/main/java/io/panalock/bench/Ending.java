// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import io.panalock.bench.text.RunReport;
import io.panalock.bench.text.RunSummary;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.Map;

/** How a command ends that has measured: tables, words, the page, where everything is. */
final class Ending {
    private Ending() {}

    static void print(Session session, PrintStream out) throws IOException {
        out.print(new RunReport(session.results()));
        out.println();
        out.println(new RunSummary(session.results()));
        Path page = ReportCommand.beside(session.file());
        ReportCommand.write(Map.of(session.file().toString(), session.results()), page);
        out.println("report: " + page + "   data: " + session.file());
    }
}
