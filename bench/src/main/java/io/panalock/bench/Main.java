// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.ServiceLoader;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.UnmatchedArgumentException;

/**
 * The command line. Exit codes: 0 fine, 1 a bound fell short or a measurement failed, 2 wrong usage; 128 + the signal's number,
 * as of every program, when it was stopped.
 */
@Command(
        name = "panalock",
        mixinStandardHelpOptions = true,
        versionProvider = Main.Version.class,
        description = "Measures Panalock's locks, and what a call from Java to C costs, on this machine.",
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:fine",
            "1:a bound fell short, or a measurement failed",
            "2:wrong usage",
            "130, 143:stopped by Ctrl-C, by SIGTERM; what was measured is kept"
        })
public final class Main implements Runnable {
    static final int FINE = 0;
    static final int FELL_SHORT = 1;
    static final int WRONG_USAGE = 2;

    @Spec
    private CommandSpec spec;

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "name a command: " + commands(spec.commandLine()));
    }

    static CommandLine commandLine() {
        CommandLine line = new CommandLine(new Main());
        ServiceLoader.load(SubCommand.class).forEach(line::addSubcommand);
        return line.setCaseInsensitiveEnumValuesAllowed(true)
                .setParameterExceptionHandler(Main::wrongUsage)
                .setExecutionStrategy(Main::withLibraries)
                .setExecutionExceptionHandler(Main::failed);
    }

    private static String commands(CommandLine root) {
        return String.join(", ", root.getSubcommands().keySet());
    }

    private static int wrongUsage(ParameterException e, String[] arguments) {
        CommandLine at = e.getCommandLine();
        PrintWriter err = at.getErr();
        String message = e.getMessage();
        if (e instanceof UnmatchedArgumentException unmatched) {
            String first = unmatched.getUnmatched().getFirst();
            message = first.startsWith("-")
                    ? first + ": there is no such option"
                    : at.getParent() == null
                            ? "\"" + first + "\" is not a command; there are " + commands(at)
                            : "\"" + first + "\": this command takes no such argument";
        }
        err.println(message);
        err.println("Try: " + asStarted(at.getCommandSpec().qualifiedName()) + " --help");
        return WRONG_USAGE;
    }

    /** {@code panalock run}, or what was typed to get there. */
    private static String asStarted(String command) {
        String jar = System.getProperty("sun.java.command", "").split(" ")[0];
        return jar.endsWith(".jar") && jar.contains("panalock-bench")
                ? "java -jar " + jar + command.substring(command.indexOf(' ') < 0 ? command.length() : command.indexOf(' '))
                : command;
    }

    /** A library that is not to be had is something to say, not a stack trace. */
    private static int withLibraries(CommandLine.ParseResult parsed) {
        try {
            return new CommandLine.RunLast().execute(parsed);
        } catch (LinkageError e) {
            Throwable why = e;
            while (why.getCause() != null) {
                why = why.getCause();
            }
            throw new CommandLine.ExecutionException(parsed.commandSpec().commandLine(), why.getMessage(), e);
        }
    }

    private static int failed(Exception e, CommandLine at, CommandLine.ParseResult parsed) {
        at.getErr().println(e.getMessage() == null ? e.toString() : e.getMessage());
        if (Boolean.getBoolean("panalock.trace")) {
            e.printStackTrace(at.getErr());
        } else {
            at.getErr().println("(-Dpanalock.trace=true shows where)");
        }
        return FELL_SHORT;
    }

    public static void main(String[] args) {
        // ±, × and µs are part of what is said, whatever the locale.
        System.setOut(utf8(FileDescriptor.out));
        System.setErr(utf8(FileDescriptor.err));
        System.exit(commandLine()
                .setOut(new PrintWriter(System.out, true))
                .setErr(new PrintWriter(System.err, true))
                .execute(args));
    }

    private static PrintStream utf8(FileDescriptor to) {
        return new PrintStream(new FileOutputStream(to), true, StandardCharsets.UTF_8);
    }

    static String version() {
        String version = Main.class.getPackage().getImplementationVersion();
        return version == null ? "(unpackaged)" : version;
    }

    static final class Version implements CommandLine.IVersionProvider {
        @Override
        public String[] getVersion() {
            return new String[] {"panalock " + version()};
        }
    }
}
