// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.peer;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;

/** Readers and writers in C, ours and liburcu's: native/bench/shaz.h. */
public final class Readers {
    /** plb_grace.flags. */
    public static final int WILDCARD = 1;

    public static final int SKIP_SELF_SCAN = 2;

    private static final int ROOM = 200_000;
    private static final long GRACE_BYTES = 32;

    private static final MethodHandle NAME = BenchLibrary.handle("plb_reader_name", FunctionDescriptor.of(ADDRESS, JAVA_INT));
    private static final MethodHandle PRESENT =
            BenchLibrary.handle("plb_reader_present", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
    private static final MethodHandle SECTIONS =
            BenchLibrary.handle("plb_sections", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS));
    private static final MethodHandle SECTIONS_ON = BenchLibrary.handle(
            "plb_sections_on", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS));
    private static final MethodHandle GRACE = BenchLibrary.handle(
            "plb_grace_periods", FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_INT, ADDRESS));
    private static final MethodHandle UNREGISTER = BenchLibrary.handle(
            "plb_unregister", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS));

    private static final List<String> NAMES = names();

    private Readers() {}

    private static List<String> names() {
        List<String> names = new ArrayList<>();
        try {
            for (int i = 0; ; i++) {
                MemorySegment name = (MemorySegment) NAME.invokeExact(i);
                if (name.address() == 0) {
                    return List.copyOf(names);
                }
                names.add(name.reinterpret(64).getString(0));
            }
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    /** Whether this machine has a way of reading. */
    public static boolean present(String way) {
        int index = NAMES.indexOf(way);
        try {
            return index >= 0 && (int) PRESENT.invokeExact(index) != 0;
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    private static int index(String way) {
        int index = NAMES.indexOf(way);
        if (index < 0) {
            throw new IllegalArgumentException("no way of reading in C is called " + way + ": " + NAMES);
        }
        return index;
    }

    private static void check(int result, String what) {
        if (result != 0) {
            throw new IllegalStateException(what + ": error " + result);
        }
    }

    /** Nanoseconds of one empty read section on this thread. */
    public static double section(String way, int sections) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment ns = arena.allocate(JAVA_LONG);
            check((int) SECTIONS.invokeExact(index(way), (long) sections, ns), way);
            return (double) ns.get(JAVA_LONG, 0) / sections;
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    /** Nanoseconds of one empty read section with so many threads at once. */
    public static double sectionOn(String way, int threads, long windowNs) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment ns = arena.allocate(JAVA_DOUBLE);
            check((int) SECTIONS_ON.invokeExact(index(way), threads, windowNs, ns), way);
            return ns.get(JAVA_DOUBLE, 0);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    /** Nanoseconds of each wait of one writer, in order. */
    public static double[] gracePeriods(String way, int readers, int flags, int idle, long holdNs, long windowNs) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment g = arena.allocate(GRACE_BYTES, 8);
            g.set(JAVA_INT, 0, index(way));
            g.set(JAVA_INT, 4, readers);
            g.set(JAVA_INT, 8, flags);
            g.set(JAVA_INT, 12, idle);
            g.set(JAVA_LONG, 16, holdNs);
            g.set(JAVA_LONG, 24, windowNs);
            MemorySegment samples = arena.allocate(JAVA_LONG, ROOM);
            MemorySegment count = arena.allocate(JAVA_INT);
            check((int) GRACE.invokeExact(g, samples, ROOM, count), way);
            double[] ns = new double[count.get(JAVA_INT, 0)];
            for (int i = 0; i < ns.length; i++) {
                ns[i] = samples.getAtIndex(JAVA_LONG, i);
            }
            return ns;
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    /** Nanoseconds for unregistering so many keys that readers look up meanwhile. */
    public static long unregister(String way, int readers, int keys) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment ns = arena.allocate(JAVA_LONG);
            check((int) UNREGISTER.invokeExact(index(way), readers, keys, ns), way);
            return ns.get(JAVA_LONG, 0);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }
}
