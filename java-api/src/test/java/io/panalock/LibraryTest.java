// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Where the native library comes from, and what the user reads when it does not. Each case in a JVM of its own. */
class LibraryTest {
    @TempDir
    Path directory;

    /** Locks with every backend that is to be had, and says where the library came from. */
    static final class Probe {
        public static void main(String[] arguments) {
            System.out.println(Panalock.nativeLibrary());
            for (Backend b : Backend.values()) {
                try {
                    QSpinLock lock = QSpinLock.builder().backend(b).allocate();
                    lock.lock();
                    lock.unlock();
                    System.out.println(b + " works");
                } catch (UnsatisfiedLinkError e) {
                    System.out.println(b + " fails: " + e.getMessage());
                }
            }
        }
    }

    private static void assertAllWork(Child.Result r, String origin) {
        assertThat(r.output()).startsWith(origin);
        for (Backend b : Backend.values()) {
            assertThat(r.output()).contains(b + " works");
        }
        assertThat(r.exitCode()).isZero();
    }

    private static void assertOnlyPureWorks(Child.Result r, String... reason) {
        assertThat(r.output()).contains(reason).contains("PURE works").contains("Backend.PURE");
        for (String b : List.of("HYBRID", "FFM", "FFM_CRITICAL", "JNI")) {
            assertThat(r.output()).contains(b + " fails: ");
        }
        assertThat(r.exitCode()).isZero();
    }

    private Path copy() throws Exception {
        return Files.copy(Child.library(), directory.resolve("libpanalock.so"));
    }

    @Test
    void namedByPath() throws Exception {
        Path file = copy();
        assertAllWork(
                Child.running(Probe.class).with("-Dpanalock.library.path=" + file).run(), file.toString());
        assertAllWork(
                Child.running(Probe.class)
                        .with("-Dpanalock.library.path=" + directory)
                        .run(),
                file.toString());
    }

    @Test
    void onTheLibraryPath() throws Exception {
        copy();
        assertAllWork(
                Child.running(Probe.class).with("-Djava.library.path=" + directory).run(), "java.library.path");
    }

    @Test
    void unpackedAndRemoved() throws Exception {
        assertAllWork(
                Child.running(Probe.class).with("-Dpanalock.extract.dir=" + directory).run(), "the jar's");
        try (Stream<Path> left = Files.list(directory)) {
            assertThat(left).isEmpty();
        }
    }

    @Test
    void aBrokenPath() throws Exception {
        assertOnlyPureWorks(
                Child.running(Probe.class).with("-Dpanalock.library.path=/no/where.so").run(),
                "-Dpanalock.library.path=/no/where.so",
                "no readable");
        Path garbage = Files.writeString(directory.resolve("garbage.so"), "not a library");
        assertOnlyPureWorks(
                Child.running(Probe.class).with("-Dpanalock.library.path=" + garbage).run(),
                "cannot load libpanalock from " + garbage);
    }

    @Test
    void aPlaceToUnpackThatIsNotThere() throws Exception {
        assertOnlyPureWorks(
                Child.running(Probe.class).with("-Dpanalock.extract.dir=/no/where").run(),
                "cannot put libpanalock into /no/where",
                "-Dpanalock.extract.dir",
                "-Dpanalock.library.path");
    }

    /** In a mount namespace of the child's own, where the directory is a noexec tmpfs. An emulator only reads what it executes. */
    @Test
    @Tag("hardware")
    void aPlaceToUnpackThatForbidsExecution() throws Exception {
        assertOnlyPureWorks(
                Child.running(Probe.class)
                        .inside("unshare", "-rm", "sh", "-c", "mount -t tmpfs -o noexec tmpfs \"$0\" && exec \"$@\"",
                                directory.toString())
                        .with("-Dpanalock.extract.dir=" + directory)
                        .run(),
                "cannot load libpanalock from " + directory,
                "mounted noexec. Set -Dpanalock.extract.dir");
    }

    @Test
    void anUnsupportedPlatform() throws Exception {
        assertOnlyPureWorks(
                Child.running(Probe.class).with("-Dos.arch=riscv64").run(),
                "no libpanalock for linux-riscv64",
                "Build it from native/");
    }

    @Test
    void anotherVersion() throws Exception {
        byte[] bytes = Files.readAllBytes(Child.library());
        byte[] version = "0.1.0\0".getBytes(StandardCharsets.US_ASCII);
        for (int i = 0; i < bytes.length - version.length; i++) {
            if (Arrays.equals(bytes, i, i + version.length, version, 0, version.length)) {
                bytes[i] = '9';
            }
        }
        Path other = Files.write(directory.resolve("libpanalock.so"), bytes);
        assertOnlyPureWorks(
                Child.running(Probe.class).with("-Dpanalock.library.path=" + other).run(),
                "libpanalock from " + other + " is version 9.1.0, these classes are 0.1.0",
                "-Dpanalock.library.path");
    }

    @Test
    void nativeAccessDenied() throws Exception {
        assertOnlyPureWorks(
                Child.running(Probe.class).withoutNativeAccess().run(),
                "native access is denied to the class path",
                "--enable-native-access=ALL-UNNAMED");
    }

    @Test
    void switchedOff() throws Exception {
        assertOnlyPureWorks(
                Child.running(Probe.class).with("-Dpanalock.library=none").run(),
                "switched off by -Dpanalock.library=none");
        assertOnlyPureWorks(Child.running(Probe.class).with("-Dpanalock.library=off").run(), "the only value is \"none\"");
    }

    /** Uses the default backend, which a property chooses. */
    static final class DefaultBackend {
        public static void main(String[] arguments) {
            System.out.println(QSpinLock.allocate());
        }
    }

    @Test
    void theDefaultBackendCanBeChosen() throws Exception {
        Child.Result r = Child.running(DefaultBackend.class)
                .with("-Dpanalock.library=none", "-Dpanalock.backend=pure")
                .run();
        assertThat(r.output()).contains("WIDE, PURE, free");
    }

    /** Every backend in each of several class loaders, all alive at once. */
    static final class Loaders {
        public static void main(String[] arguments) throws Exception {
            URL[] urls = {Child.classes().toUri().toURL(), Child.testClasses().toUri().toURL()};
            for (int i = 0; i < 3; i++) {
                @SuppressWarnings("resource") // stays open: its classes stay in use
                URLClassLoader loader = new URLClassLoader(urls, ClassLoader.getPlatformClassLoader());
                try {
                    Method main = loader.loadClass(Probe.class.getName()).getMethod("main", String[].class);
                    main.setAccessible(true);
                    main.invoke(null, (Object) new String[0]);
                } catch (InvocationTargetException e) {
                    throw new AssertionError(e.getCause());
                }
            }
        }
    }

    private void assertThreeLoadersWork(String... options) throws Exception {
        Child.Result r = Child.running(Loaders.class)
                .with(options)
                .with("-Dpanalock.test.classes=" + Child.classes())
                .run();
        assertThat(r.output()).doesNotContain("fails");
        for (Backend b : Backend.values()) {
            assertThat(r.output().lines().filter(line -> line.equals(b + " works"))).hasSize(3);
        }
        assertThat(r.exitCode()).isZero();
    }

    @Test
    void severalClassLoaders() throws Exception {
        assertThreeLoadersWork();
        Path file = copy();
        assertThreeLoadersWork("-Dpanalock.library.path=" + file);
        assertThreeLoadersWork("-Djava.library.path=" + directory);
    }
}
