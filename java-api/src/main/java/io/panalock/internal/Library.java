// SPDX-License-Identifier: Apache-2.0
package io.panalock.internal;

import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Loads libpanalock for this class loader, once, when first asked. Looked for in this order:
 *
 * <ol>
 *   <li>{@code -Dpanalock.library.path}: the file, or the directory that holds it;
 *   <li>{@code System.loadLibrary("panalock")}, that is {@code java.library.path};
 *   <li>{@code META-INF/native/linux-<arch>/libpanalock.so} beside these classes, copied into a private directory under
 *       {@code -Dpanalock.extract.dir} (else {@code java.io.tmpdir}) that is removed right after.
 * </ol>
 *
 * <p>{@code -Dpanalock.library=none} loads nothing. A file that another class loader of this JVM has loaded already is
 * copied and loaded from there: each class loader has its own instance, with its own default domain.
 */
public final class Library {
    private static final String PATH_PROPERTY = "panalock.library.path";
    private static final String EXTRACT_PROPERTY = "panalock.extract.dir";
    private static final String SWITCH_PROPERTY = "panalock.library";
    private static final String FILE_NAME = "libpanalock.so";
    private static final String PURE_HINT = " (The pure Java backend is available: Backend.PURE.)";
    private static final Pattern ELSEWHERE =
            Pattern.compile("Native Library (.*) already loaded in another classloader");

    private static final String ORIGIN;
    private static final UnsatisfiedLinkError PROBLEM;

    static {
        String origin = null;
        UnsatisfiedLinkError problem = null;
        try {
            origin = load();
            checkVersion(origin);
        } catch (IllegalCallerException e) {
            String module = Library.class.getModule().getName();
            problem = error("native access is denied to " + (module == null ? "the class path" : "module " + module)
                    + ". Start java with --enable-native-access=" + (module == null ? "ALL-UNNAMED" : module) + ".");
            problem.initCause(e);
        } catch (UnsatisfiedLinkError e) {
            problem = e;
        }
        ORIGIN = problem == null ? origin : null;
        PROBLEM = problem;
    }

    private Library() {}

    /** Whether the library is there; never throws. */
    public static boolean isLoaded() {
        return PROBLEM == null;
    }

    /** Where it was found; null without a library. */
    public static String origin() {
        return ORIGIN;
    }

    /** Why there is no library, in words for the user; null when there is one. */
    public static String problem() {
        return PROBLEM == null ? null : PROBLEM.getMessage();
    }

    /**
     * Returns if the library is there.
     *
     * @throws UnsatisfiedLinkError saying why it is not, and what to do
     */
    public static void require() {
        if (PROBLEM != null) {
            UnsatisfiedLinkError e = new UnsatisfiedLinkError(PROBLEM.getMessage());
            e.initCause(PROBLEM);
            throw e;
        }
    }

    private static String load() {
        String wanted = System.getProperty(SWITCH_PROPERTY);
        if (wanted != null && !wanted.isEmpty()) {
            if (wanted.equals("none")) {
                throw error("libpanalock is switched off by -D" + SWITCH_PROPERTY + "=none.");
            }
            throw error("-D" + SWITCH_PROPERTY + "=" + wanted + ": the only value is \"none\". To name a file use -D"
                    + PATH_PROPERTY + ".");
        }
        String path = System.getProperty(PATH_PROPERTY);
        if (path != null && !path.isEmpty()) {
            return loadConfigured(path);
        }
        try {
            System.loadLibrary("panalock");
            return "java.library.path";
        } catch (UnsatisfiedLinkError e) {
            Matcher m = ELSEWHERE.matcher(String.valueOf(e.getMessage()));
            if (m.matches()) {
                return loadCopyOf(Path.of(m.group(1)));
            }
            return loadExtracted(); // not on java.library.path, or not for this machine
        }
    }

    private static String loadConfigured(String configured) {
        Path file = Path.of(configured).toAbsolutePath();
        if (Files.isDirectory(file)) {
            file = file.resolve(FILE_NAME);
        }
        if (!Files.isReadable(file)) {
            throw error("-D" + PATH_PROPERTY + "=" + configured + ": there is no readable " + file
                    + ". Name libpanalock.so or the directory that holds it, or leave the property out.");
        }
        try {
            System.load(file.toString());
            return file.toString();
        } catch (UnsatisfiedLinkError e) {
            if (ELSEWHERE.matcher(String.valueOf(e.getMessage())).matches()) {
                return loadCopyOf(file);
            }
            throw explain(e, file);
        }
    }

    private static String loadExtracted() {
        String os = System.getProperty("os.name");
        String platform = os.toLowerCase(Locale.ROOT) + "-" + arch();
        String resource = "/META-INF/native/" + platform + "/" + FILE_NAME;
        try (InputStream in = Library.class.getResourceAsStream(resource)) {
            if (in == null) {
                throw error("there is no libpanalock for " + platform + " here (" + resource + "). "
                        + (os.equals("Linux")
                                ? "Build it from native/ and name it by -D" + PATH_PROPERTY + "."
                                : "The native library needs Linux."));
            }
            return loadVia(in, "the jar's " + resource);
        } catch (IOException e) {
            throw error("cannot read " + resource + ": " + e);
        }
    }

    private static String loadCopyOf(Path file) {
        try (InputStream in = Files.newInputStream(file)) {
            return loadVia(in, "a copy of " + file);
        } catch (IOException e) {
            throw error("cannot copy " + file + ", which another class loader has loaded: " + e);
        }
    }

    /** Copies into a fresh directory that nobody else can enter, loads, and removes both. */
    private static String loadVia(InputStream in, String origin) {
        String configured = System.getProperty(EXTRACT_PROPERTY);
        Path base = Path.of(configured != null && !configured.isEmpty() ? configured : System.getProperty("java.io.tmpdir"))
                .toAbsolutePath();
        Path directory = null;
        Path file = null;
        try {
            var ownerOnly = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
            directory = Files.createTempDirectory(base, "panalock-", ownerOnly);
            file = directory.resolve("libpanalock-" + version() + ".so");
            try (var out = Files.newOutputStream(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
                in.transferTo(out);
            }
            System.load(file.toString());
            return origin;
        } catch (UnsatisfiedLinkError e) {
            throw explain(e, file);
        } catch (IOException e) {
            throw error("cannot put libpanalock into " + base + ": " + e + ". Set -D" + EXTRACT_PROPERTY
                    + " to a directory that this user can write to, or -D" + PATH_PROPERTY + " to an installed library.");
        } finally {
            // The mapping outlives the file's name.
            delete(file);
            delete(directory);
        }
    }

    private static void delete(Path path) {
        try {
            if (path != null) {
                Files.deleteIfExists(path);
            }
        } catch (IOException e) {
            // A file left over in the temporary directory; nothing depends on it.
        }
    }

    private static UnsatisfiedLinkError explain(UnsatisfiedLinkError e, Path file) {
        String message = String.valueOf(e.getMessage());
        if (message.contains("failed to map segment") || message.contains("Operation not permitted")) {
            return error("cannot load libpanalock from " + file.getParent() + ": mounted noexec. Set -D"
                    + EXTRACT_PROPERTY + " to a directory that allows execution, or -D" + PATH_PROPERTY
                    + " to an installed library.");
        }
        return error("cannot load libpanalock from " + file + ": " + message
                + ". It must be a Linux library for " + arch() + " of version " + version() + ".");
    }

    private static void checkVersion(String origin) {
        String expected = version();
        String found = SymbolLookup.loaderLookup()
                .find("pl_version")
                .map(Library::callForString)
                .orElse("unknown");
        if (!found.equals(expected)) {
            throw error("libpanalock from " + origin + " is version " + found + ", these classes are " + expected
                    + ". Remove it from there, or name the right one by -D" + PATH_PROPERTY + ".");
        }
    }

    private static String callForString(MemorySegment function) {
        try {
            var handle = Linker.nativeLinker().downcallHandle(function, FunctionDescriptor.of(ValueLayout.ADDRESS));
            return ((MemorySegment) handle.invokeExact()).reinterpret(64).getString(0);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static String version() {
        return Layouts.VERSION;
    }

    private static String arch() {
        String arch = System.getProperty("os.arch");
        return arch.equals("amd64") ? "x86_64" : arch;
    }

    private static UnsatisfiedLinkError error(String text) {
        return new UnsatisfiedLinkError(text + PURE_HINT);
    }
}
