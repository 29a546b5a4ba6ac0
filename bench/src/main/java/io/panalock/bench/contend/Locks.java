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

    private static final String C_PREFIX = "c-";
    private static final Map<String, String> PEERS = Map.of(
            REENTRANT_LOCK, "ReentrantLockLoop",
            SYNCHRONIZED, "SynchronizedLoop",
            MUTEX_FFM, "FfmMutexLoop",
            MUTEX_JNI, "JniMutexLoop");

    private Locks() {}

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
        if (PEERS.containsKey(id)) {
            return new JavaLock(id, Map.of("lock", id), PEERS.get(id));
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
        params.put("lock", "qspinlock");
        params.put("backend", parts[0]);
        params.put("layout", parts[1]);
        params.put("place", parts[2]);
        params.put("policy", policy);
        return new JavaLock(id, params, "QSpinLoop", parts[0], parts[1], parts[2], policy);
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
