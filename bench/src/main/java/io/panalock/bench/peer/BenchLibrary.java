// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.peer;

import io.panalock.internal.Library;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Optional;

/**
 * Loads libpanalock_bench.so from this program's jar, by way of a private directory that is deleted right after. It uses
 * the libpanalock that Java uses: that one is loaded before and the dynamic linker finds it by its soname.
 */
public final class BenchLibrary {
    /** Of native/bench/bench.h. */
    static final int VERSION = 3;

    static final String EXTRACT_PROPERTY = "panalock.extract.dir";
    private static final int RTLD_NOW = 2;
    private static final int RTLD_GLOBAL = 0x100;
    private static final Linker LINKER = Linker.nativeLinker();
    private static final SymbolLookup LOOKUP;
    private static final String WHY_NOT;
    private static final String ORIGIN;

    static {
        SymbolLookup lookup = null;
        String whyNot = null;
        String origin = null;
        try {
            origin = load();
            lookup = SymbolLookup.loaderLookup();
        } catch (IOException | UnsatisfiedLinkError | IllegalStateException | IllegalCallerException e) {
            whyNot = e.getMessage();
        }
        LOOKUP = lookup;
        WHY_NOT = whyNot;
        ORIGIN = origin;
    }

    private BenchLibrary() {}

    public static boolean available() {
        return LOOKUP != null;
    }

    /** @throws UnsatisfiedLinkError saying why it is not available */
    public static void require() {
        if (!available()) {
            throw new UnsatisfiedLinkError("the C benchmarks are not available: " + WHY_NOT);
        }
    }

    /** The reason when it is not available. */
    public static String whyNot() {
        return WHY_NOT;
    }

    /** Where the libpanalock that C measures comes from. */
    public static String panalockOrigin() {
        return ORIGIN;
    }

    public static String panalockVersion() {
        try {
            MemorySegment text = (MemorySegment)
                    handle("pl_version", FunctionDescriptor.of(ValueLayout.ADDRESS)).invokeExact();
            return text.reinterpret(64).getString(0);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    /** A downcall to a function of libpanalock_bench, libpanalock or the C library. */
    public static MethodHandle handle(String name, FunctionDescriptor type, Linker.Option... options) {
        require();
        Optional<MemorySegment> found = LOOKUP.find(name).or(() -> LINKER.defaultLookup().find(name));
        return LINKER.downcallHandle(
                found.orElseThrow(() -> new UnsatisfiedLinkError("no function " + name)), type, options);
    }

    /** For the catch block around {@code invokeExact}. */
    public static RuntimeException rethrow(Throwable e) {
        if (e instanceof RuntimeException unchecked) {
            throw unchecked;
        }
        if (e instanceof Error error) {
            throw error;
        }
        return new IllegalStateException("a downcall threw", e);
    }

    /** Where files of this program's jar are unpacked for a moment: the same place as for the library. */
    static Path directory() {
        String configured = System.getProperty(EXTRACT_PROPERTY);
        Path directory = Path.of(configured != null && !configured.isEmpty() ? configured : System.getProperty("java.io.tmpdir"))
                .toAbsolutePath();
        if (!Files.isDirectory(directory)) {
            throw new IllegalStateException("-D" + EXTRACT_PROPERTY + ": there is no directory " + directory + "; create it,"
                    + " or name one that allows execution");
        }
        return directory;
    }

    private static String load() throws IOException {
        Library.require();
        openUrcu();
        Path dir = Files.createTempDirectory(
                directory(), "panalock-bench-", PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        Path file = dir.resolve("libpanalock_bench.so");
        try {
            unpack(resource("libpanalock_bench.so"), file);
            System.load(file.toString());
            checkVersion();
            return Library.origin();
        } finally {
            Files.deleteIfExists(file);
            Files.deleteIfExists(dir);
        }
    }

    /** liburcu, if it is there, before our library looks for it: it is not linked, so that all else works without. */
    private static void openUrcu() {
        try (Arena arena = Arena.ofConfined()) {
            MethodHandle open = LINKER.downcallHandle(
                    LINKER.defaultLookup().findOrThrow("dlopen"),
                    FunctionDescriptor.of(ValueLayout.ADDRESS, ValueLayout.ADDRESS, ValueLayout.JAVA_INT));
            for (String flavour : List.of("memb", "mb", "qsbr", "bp")) {
                MemorySegment unused = (MemorySegment)
                        open.invokeExact(arena.allocateFrom("liburcu-" + flavour + ".so.8"), RTLD_NOW | RTLD_GLOBAL);
            }
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    /** Where a native file of this platform lies in a jar. */
    static String resource(String name) {
        String arch = System.getProperty("os.arch");
        return "/META-INF/native/linux-" + (arch.equals("amd64") ? "x86_64" : arch) + "/" + name;
    }

    static void unpack(String resource, Path to) throws IOException {
        try (InputStream in = BenchLibrary.class.getResourceAsStream(resource)) {
            if (in == null) {
                throw new IOException("no " + resource + " in the program: not built for this platform");
            }
            Files.copy(in, to);
        }
    }

    private static void checkVersion() {
        try {
            int version = (int) LINKER.downcallHandle(
                            SymbolLookup.loaderLookup().find("plb_version").orElseThrow(),
                            FunctionDescriptor.of(ValueLayout.JAVA_INT))
                    .invokeExact();
            if (version != VERSION) {
                throw new IllegalStateException(
                        "libpanalock_bench is version " + version + ", this program wants " + VERSION);
            }
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    /** Native memory for as long as the program runs. */
    static Arena forever() {
        return Arena.global();
    }
}
