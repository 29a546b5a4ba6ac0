// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.contend;

import java.io.File;
import java.lang.reflect.InvocationTargetException;
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
 * constants. Calls by FFM still share code of the JDK; where that shows, {@link OwnJvmLock} helps.
 */
public final class IsolatingLoader extends URLClassLoader {
    private static final String LOOPS = ".loop";
    private static final String PROGRAM = "io.panalock.bench.";
    private static final String PANALOCK = "io.panalock.";
    private static final String PANALOCK_SHARED = "io.panalock.internal.";

    static {
        registerAsParallelCapable();
    }

    private IsolatingLoader(String name) {
        super(name, classPath(), IsolatingLoader.class.getClassLoader());
    }

    /**
     * An object of a class in {@code io.panalock.bench.loop} or {@code io.panalock.bench.EXPERIMENT.loop}, with copies of
     * its own of that package and of Panalock.
     *
     * @param id of what is measured, for messages
     * @param type an interface outside of the package
     * @param arguments for its constructor with {@code String...}
     */
    @SuppressWarnings("resource") // the copy lives as long as the object
    public static <T> T open(String id, Class<T> type, String className, String... arguments) {
        if (!isolated(className)) {
            throw new IllegalArgumentException(className + " is not in a package named loop");
        }
        try {
            return type.cast(new IsolatingLoader(id)
                    .loadClass(className)
                    .getConstructor(String[].class)
                    .newInstance((Object) arguments));
        } catch (InvocationTargetException e) {
            throw new IllegalStateException(id + ": " + e.getCause(), e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(id + ": " + e, e);
        }
    }

    static boolean isolated(String className) {
        int end = className.lastIndexOf('.');
        return (className.startsWith(PROGRAM) && className.substring(0, end).endsWith(LOOPS))
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
