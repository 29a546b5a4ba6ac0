// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.contend;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** All locks under test, by id. */
public final class Locks {
    public static final List<String> BACKENDS = List.of("hybrid", "ffm", "ffm_critical", "jni", "pure");
    public static final List<String> LAYOUTS = List.of("word", "byte", "wide");
    public static final List<String> PLACES = List.of("pool", "arena");
    public static final List<String> POLICIES = List.of("spin_then_park", "spin");

    public static final String REENTRANT_LOCK = "reentrantlock";
    public static final String SYNCHRONIZED = "synchronized";
    public static final String MUTEX_FFM = "pthread-mutex-ffm";
    public static final String MUTEX_JNI = "pthread-mutex-jni";

    public static final String REENTRANT_LOCK_FAIR = "reentrantlock-fair";
    public static final String STAMPED_LOCK = "stampedlock";
    public static final String ADAPTIVE_FFM = "pthread-adaptive-ffm";
    public static final String SPIN_FFM = "pthread-spin-ffm";

    /** Ours too: with -block (no spinning), -handle (pairs with an explicit one) and, for other backends, their name behind. */
    public static final String OSQ_MUTEX = "osq-mutex";

    private static final String C_PREFIX = "c-";
    /** Class of the loop, then its arguments. */
    private static final Map<String, List<String>> PEERS = new LinkedHashMap<>();

    static {
        PEERS.put(REENTRANT_LOCK, List.of("ReentrantLockLoop"));
        PEERS.put(REENTRANT_LOCK_FAIR, List.of("ReentrantLockLoop", "fair"));
        PEERS.put(STAMPED_LOCK, List.of("StampedLockLoop"));
        PEERS.put(SYNCHRONIZED, List.of("SynchronizedLoop"));
        PEERS.put(MUTEX_FFM, List.of("FfmMutexLoop"));
        PEERS.put(MUTEX_JNI, List.of("JniMutexLoop"));
        PEERS.put(ADAPTIVE_FFM, List.of("FfmMutexLoop", "adaptive"));
        PEERS.put(SPIN_FFM, List.of("FfmSpinLoop"));
    }

    /** Backend and options of the mutexes. */
    private static final Map<String, List<String>> MUTEXES = new LinkedHashMap<>();

    static {
        MUTEXES.put(OSQ_MUTEX, List.of("hybrid"));
        MUTEXES.put(OSQ_MUTEX + "-handle", List.of("hybrid", "handle"));
        MUTEXES.put(OSQ_MUTEX + "-block", List.of("hybrid", "block"));
        for (String backend : List.of("ffm", "ffm_critical", "jni", "pure")) {
            MUTEXES.put(OSQ_MUTEX + "-" + backend, List.of(backend));
        }
    }
    private static final String RQ_PREFIX = "rqspinlock-";

    private Locks() {}

    /** The id of a resilient lock in backend HYBRID, in the pool; another backend's name may stand behind. */
    public static String rqspinlock(String layout, boolean explicitHandle) {
        return RQ_PREFIX + layout + (explicitHandle ? "-handle" : "-lookup");
    }

    /** The id of one of ours: backend, layout, place, and {@code spin} when that is the policy. */
    public static String panalock(String backend, String layout, String place) {
        return backend + "-" + layout + "-" + place;
    }

    /**
     * A new copy of the lock's loops.
     *
     * @throws IllegalArgumentException there is no such lock
     */
    public static Lock open(String id) {
        if (id.startsWith(C_PREFIX)) {
            return CLock.of(id.substring(C_PREFIX.length()));
        }
        if (id.startsWith(RQ_PREFIX)) {
            String[] words = id.split("-");
            return new JavaLock(id, Map.of("lock", id), "RqSpinLoop", words[1], words[2], words.length > 3 ? words[3] : "hybrid");
        }
        if (PEERS.containsKey(id)) {
            List<String> loop = PEERS.get(id);
            return new JavaLock(
                    id, Map.of("lock", id), loop.getFirst(), loop.subList(1, loop.size()).toArray(String[]::new));
        }
        if (MUTEXES.containsKey(id)) {
            List<String> options = MUTEXES.get(id);
            Map<String, Object> params = new LinkedHashMap<>();
            params.put("lock", id);
            params.put("backend", options.getFirst());
            return new JavaLock(id, params, "OsqMutexLoop", options.toArray(String[]::new));
        }
        String[] parts = id.split("-");
        boolean known = (parts.length == 3 || (parts.length == 4 && parts[3].equals("spin")))
                && BACKENDS.contains(parts[0])
                && LAYOUTS.contains(parts[1])
                && PLACES.contains(parts[2]);
        if (!known) {
            throw new IllegalArgumentException("\"" + id + "\" is not a lock; there are " + PEERS.keySet()
                    + ", BACKEND-LAYOUT-PLACE[-spin] of " + BACKENDS + " " + LAYOUTS + " " + PLACES
                    + ", and in C c-NAME of " + CLock.names());
        }
        String policy = parts.length == 4 ? "spin" : "spin_then_park";
        Map<String, Object> params = new LinkedHashMap<>();
        params.putAll(panalockParams(parts[0], parts[1], parts[2]));
        params.put("policy", policy);
        return new JavaLock(id, params, "QSpinLoop", parts[0], parts[1], parts[2], policy);
    }

    /** As {@link #open}, for uncontended pairs: in a JVM of its own where it takes one to be measured as if alone. */
    public static Lock openForPairs(String id) {
        Lock lock = open(id);
        return lock instanceof JavaLock java && overFfm(java) ? new OwnJvmLock(java) : lock;
    }

    private static boolean overFfm(Lock lock) {
        return lock.id().endsWith("-ffm") || String.valueOf(lock.params().get("backend")).startsWith("ffm");
    }

    /** What identifies one of ours in results, apart from its policy. */
    public static Map<String, Object> panalockParams(String backend, String layout, String place) {
        Map<String, Object> params = new LinkedHashMap<>();
        params.put("side", "java");
        params.put("lock", "qspinlock");
        params.put("backend", backend);
        params.put("layout", layout);
        params.put("place", place);
        return params;
    }

    /** Ids of the Java locks that are not ours. */
    public static List<String> javaPeers() {
        return List.copyOf(PEERS.keySet());
    }

    /** Ids of the locks in C that are built, ours and others. */
    public static List<String> inC() {
        return CLock.names().stream()
                .filter(CLock::built)
                .map(name -> C_PREFIX + name)
                .toList();
    }

    /** Ids of the locks in C that are not, because their library was absent. */
    public static List<String> notBuilt() {
        return CLock.names().stream()
                .filter(name -> !CLock.built(name))
                .map(name -> C_PREFIX + name)
                .toList();
    }

    /** Ids of our mutexes in Java. */
    public static List<String> mutexes() {
        return List.copyOf(MUTEXES.keySet());
    }

    /** False for those that only one thread may use. */
    public static boolean forSeveralThreads(String id) {
        return !id.startsWith(C_PREFIX) || CLock.forSeveralThreads(id.substring(C_PREFIX.length()));
    }

    /** Every Java lock of ours in the default policy. */
    public static List<String> allPanalock() {
        List<String> ids = new ArrayList<>();
        for (String backend : BACKENDS) {
            for (String layout : LAYOUTS) {
                for (String place : PLACES) {
                    ids.add(panalock(backend, layout, place));
                }
            }
        }
        return ids;
    }
}
