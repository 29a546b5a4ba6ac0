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
import java.util.OptionalDouble;

/** libpanalock_bench for Java: one call measures one point. See native/bench/bench.h. */
public final class CPeers {
    /** plb_point.mode and flags. */
    public static final int THROUGHPUT = 0;

    public static final int LATENCY = 1;
    public static final int PIN = 1;

    /** plb_lock_flags. */
    public static final int CONTENDED_OK = 1;

    public static final int ABSENT = 4;

    static final int SUB_BITS = 8;
    static final int TOP = 40;
    static final int BUCKETS = (TOP - SUB_BITS + 1) << SUB_BITS;

    private static final long POINT_BYTES = 4 * 4 + 5 * 8;
    private static final long RESULT_BYTES = 8 * 8;

    private static final MethodHandle LOCK_NAME = BenchLibrary.handle("plb_lock_name", FunctionDescriptor.of(ADDRESS, JAVA_INT));
    private static final MethodHandle LOCK_FLAGS = BenchLibrary.handle("plb_lock_flags", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
    private static final MethodHandle CALIBRATE = BenchLibrary.handle("plb_calibrate", FunctionDescriptor.of(JAVA_DOUBLE));
    private static final MethodHandle WORK = BenchLibrary.handle("plb_work", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG));
    private static final MethodHandle PAIRS = BenchLibrary.handle("plb_pairs", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS));
    private static final MethodHandle CONTENDED = BenchLibrary.handle("plb_contended", FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS, ADDRESS));
    private static final MethodHandle BUCKET_OF = BenchLibrary.handle("plb_bucket_of", FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    private static final MethodHandle BUCKET_FLOOR = BenchLibrary.handle("plb_bucket_floor", FunctionDescriptor.of(JAVA_LONG, JAVA_INT));
    private static final MethodHandle PING_PONG = BenchLibrary.handle("plb_ping_pong", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS));
    private static final MethodHandle FLOORS = BenchLibrary.handle("plb_floors", FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS));
    private static final MethodHandle MEMBARRIER = BenchLibrary.handle("plb_membarrier", FunctionDescriptor.of(JAVA_INT));
    private static final MethodHandle RELAX_NAME = BenchLibrary.handle("plb_relax_name", FunctionDescriptor.of(ADDRESS));
    private static final MethodHandle WAIT_NAME = BenchLibrary.handle("plb_wait_name", FunctionDescriptor.of(ADDRESS));
    private static final MethodHandle LOCK_BYTES = BenchLibrary.handle("plb_lock_bytes", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
    private static final MethodHandle DOMAIN_BYTES = BenchLibrary.handle("plb_domain_bytes", FunctionDescriptor.of(JAVA_LONG, JAVA_INT));

    private static final MethodHandle SWITCHES = BenchLibrary.handle("plb_switches", FunctionDescriptor.ofVoid(ADDRESS, ADDRESS));
    private static final MethodHandle PIN_SELF = BenchLibrary.handle("plb_pin_self", FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    private static final MethodHandle USE_CPUS = BenchLibrary.handle("plb_use_cpus", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT));
    private static final MethodHandle INIT_ADAPTIVE = BenchLibrary.handle("plb_init_adaptive", FunctionDescriptor.of(JAVA_INT, ADDRESS));

    private CPeers() {}

    /** Names of the locks, by index. */
    public static List<String> lockNames() {
        List<String> names = new ArrayList<>();
        try {
            for (int i = 0; ; i++) {
                MemorySegment name = (MemorySegment) LOCK_NAME.invokeExact(i);
                if (name.address() == 0) {
                    return names;
                }
                names.add(name.reinterpret(64).getString(0));
            }
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    public static int lockFlags(int lock) {
        try {
            return (int) LOCK_FLAGS.invokeExact(lock);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    /** Nanoseconds of one step of work in C; also sets it for all later points. */
    public static double calibrate() {
        try {
            return (double) CALIBRATE.invokeExact();
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    public static long work(long seed, long steps) {
        try {
            return (long) WORK.invokeExact(seed, steps);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    /** Nanoseconds that so many uncontended pairs took. */
    public static long pairs(int lock, long pairs) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment elapsed = arena.allocate(JAVA_LONG);
            check("plb_pairs", (int) PAIRS.invokeExact(lock, pairs, elapsed));
            return elapsed.get(JAVA_LONG, 0);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    /** One contended point. */
    public record Contended(
            long windowNs,
            long total,
            long all,
            long handovers,
            long longestNs,
            long timed,
            long voluntarySwitches,
            long involuntarySwitches,
            long[] counts,
            long[] buckets) {}

    public static Contended contended(
            int lock, int threads, int mode, int flags, long insideNs, long insidePauses, long outsideNs, long warmNs, long windowNs) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment point = arena.allocate(POINT_BYTES, 8);
            point.set(JAVA_INT, 0, lock);
            point.set(JAVA_INT, 4, threads);
            point.set(JAVA_INT, 8, mode);
            point.set(JAVA_INT, 12, flags);
            point.set(JAVA_LONG, 16, insideNs);
            point.set(JAVA_LONG, 24, outsideNs);
            point.set(JAVA_LONG, 32, warmNs);
            point.set(JAVA_LONG, 40, windowNs);
            point.set(JAVA_LONG, 48, insidePauses);
            MemorySegment result = arena.allocate(RESULT_BYTES, 8);
            MemorySegment counts = arena.allocate(JAVA_LONG, Math.max(threads, 1));
            MemorySegment buckets = mode == LATENCY ? arena.allocate(JAVA_LONG, BUCKETS) : MemorySegment.NULL;
            check("plb_contended", (int) CONTENDED.invokeExact(point, result, counts, buckets));
            long[] r = result.toArray(JAVA_LONG);
            return new Contended(r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], counts.toArray(JAVA_LONG),
                    mode == LATENCY ? buckets.toArray(JAVA_LONG) : new long[0]);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    public static int bucketOf(long ns) {
        try {
            return (int) BUCKET_OF.invokeExact(ns);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    public static long bucketFloor(int bucket) {
        try {
            return (long) BUCKET_FLOOR.invokeExact(bucket);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    /** Nanoseconds for a cache line to travel from one CPU to the other; empty when one of them is not ours to use. */
    public static OptionalDouble pingPong(int cpuA, int cpuB, long windowNs) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment ns = arena.allocate(JAVA_DOUBLE);
            int error = (int) PING_PONG.invokeExact(cpuA, cpuB, windowNs, ns);
            return error == 0 ? OptionalDouble.of(ns.get(JAVA_DOUBLE, 0)) : OptionalDouble.empty();
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    /**
     * Nanoseconds of the two floors that need one thread.
     *
     * @param atomicNs one atomic add
     * @param clockNs one look at the clock
     */
    public record Floors(double atomicNs, double clockNs) {}

    public static Floors floors() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment both = arena.allocate(JAVA_DOUBLE, 2);
            check("plb_floors", (int) FLOORS.invokeExact(both, both.asSlice(8)));
            return new Floors(both.get(JAVA_DOUBLE, 0), both.get(JAVA_DOUBLE, 8));
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    /** Set of membarrier commands, or a negative errno. */
    public static int membarrier() {
        try {
            return (int) MEMBARRIER.invokeExact();
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    public static String relaxName() {
        try {
            return ((MemorySegment) RELAX_NAME.invokeExact()).reinterpret(16).getString(0);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    public static String waitName() {
        try {
            return ((MemorySegment) WAIT_NAME.invokeExact()).reinterpret(16).getString(0);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    /** Bytes of a lock: 0 WORD, 1 BYTE, 2 WIDE. */
    public static int lockBytes(int layout) {
        try {
            return (int) LOCK_BYTES.invokeExact(layout);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    public static long domainBytes(int slots) {
        try {
            return (long) DOMAIN_BYTES.invokeExact(slots);
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    /**
     * Context switches of this process so far.
     *
     * @param voluntary threads that went to sleep
     * @param involuntary threads that lost their CPU
     */
    public record Switches(long voluntary, long involuntary) {}

    public static Switches switches() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment both = arena.allocate(JAVA_LONG, 2);
            SWITCHES.invokeExact(both, both.asSlice(8));
            return new Switches(both.get(JAVA_LONG, 0), both.get(JAVA_LONG, 8));
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    /** The calling thread stays on the n-th CPU that it may use, modulo their number. */
    public static void pinSelf(long n) {
        try {
            check("plb_pin_self", (int) PIN_SELF.invokeExact(n));
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    /** Restricts this process and its children to these CPUs; false when the kernel refuses. */
    public static boolean useCpus(int[] cpus) {
        try (Arena arena = Arena.ofConfined()) {
            return (int) USE_CPUS.invokeExact(arena.allocateFrom(JAVA_INT, cpus), cpus.length) == 0;
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    /** Makes zeroed memory an adaptive pthread_mutex_t. */
    static void initAdaptive(MemorySegment mutex) {
        try {
            check("plb_init_adaptive", (int) INIT_ADAPTIVE.invokeExact(mutex));
        } catch (Throwable e) {
            throw BenchLibrary.rethrow(e);
        }
    }

    private static void check(String function, int result) {
        if (result != 0) {
            throw new IllegalStateException(function + ": " + switch (-result) {
                case 11 -> "threads could not be created: lower the number of threads or raise ulimit -u";
                case 22 -> "an argument is out of range";
                case 28 -> "no thread slot left in the domain";
                case 38 -> "this lock was not built: its library was absent";
                case 84 -> "THE LOCK DID NOT EXCLUDE: the protected counter differs from the number of acquisitions";
                default -> "errno " + -result;
            });
        }
    }
}
