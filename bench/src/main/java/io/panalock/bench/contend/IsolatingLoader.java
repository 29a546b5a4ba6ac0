// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.contend;

import java.io.File;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * Gives one lock under test its own copy of the measuring loops and of Panalock itself. The JIT compiler keeps one
 * profile per method of a loaded class; a method that several locks share shows it several receiver types and call
 * targets, and what it then compiles is slower than what a program with one kind of lock gets (seen: less than half the
 * throughput). With a copy each, every lock is compiled as if it were alone.
 *
 * <p>Not copied are the JDK, the libraries, the few classes of this program through which the copies are driven, and
 * Panalock's internal package: it holds the native library, which a process has once, and calls whose targets are
 * constants.
 */
final class IsolatingLoader extends URLClassLoader {
    private static final String LOOPS = "io.panalock.bench.loop.";
    private static final String PROGRAM = "io.panalock.bench.";
    private static final String PANALOCK = "io.panalock.";
    private static final String PANALOCK_SHARED = "io.panalock.internal.";

    static {
        registerAsParallelCapable();
    }

    IsolatingLoader(String name) {
        super(name, classPath(), IsolatingLoader.class.getClassLoader());
    }

    static boolean isolated(String className) {
        return className.startsWith(LOOPS)
                || (className.startsWith(PANALOCK)
                        && !className.startsWith(PROGRAM)
                        && !className.startsWith(PANALOCK_SHARED));
    }

    @Override
    protected Class<?> loadClass(String className, boolean resolve) throws ClassNotFoundException {
        if (!isolated(className)) {
            return super.loadClass(className, resolve);
        }
        synchronized (getClassLoadingLock(className)) {
            Class<?> loaded = findLoadedClass(className);
            return loaded != null ? loaded : findClass(className);
        }
    }

    private static URL[] classPath() {
        return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(entry -> !entry.isEmpty())
                .map(IsolatingLoader::url)
                .toArray(URL[]::new);
    }

    private static URL url(String entry) {
        try {
            return Path.of(entry).toUri().toURL();
        } catch (MalformedURLException e) {
            throw new IllegalStateException("class path entry " + entry, e);
        }
    }
}
