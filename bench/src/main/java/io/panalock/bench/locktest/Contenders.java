// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.locktest;

import io.panalock.bench.contend.Locks;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What locktest calls the locks, and what they are elsewhere in this program. */
final class Contenders {
    /** How an OSQ mutex waits: by conditional loads, or polling. */
    static final List<String> WAITS = List.of("cond", "poll");

    private static final String OSQ = "osq-mutex";
    private static final Map<String, String> IDS = new LinkedHashMap<>();

    static {
        IDS.put(OSQ, "c-osq-mutex");
        IDS.put("osq-mutex-block", "c-osq-mutex-block");
        IDS.put("qspinlock", "c-wide");
        IDS.put("rqspinlock", "c-rq-wide");
        IDS.put("pthread-mutex", "c-pthread-mutex");
        IDS.put("pthread-adaptive", "c-pthread-adaptive");
        IDS.put("java-osq-mutex", Locks.OSQ_MUTEX);
        IDS.put("java-osq-mutex-block", Locks.OSQ_MUTEX + "-block");
        IDS.put("java-osq-mutex-pure", Locks.OSQ_MUTEX + "-pure");
        IDS.put("java-qspinlock", Locks.panalock("hybrid", "wide", "pool"));
        IDS.put("java-qspinlock-pure", Locks.panalock("pure", "wide", "pool"));
        IDS.put("java-rqspinlock", Locks.rqspinlock("wide", false));
        IDS.put("java-rqspinlock-pure", Locks.rqspinlock("wide", false) + "-pure");
        IDS.put("reentrantlock", Locks.REENTRANT_LOCK);
        IDS.put("synchronized", Locks.SYNCHRONIZED);
    }

    private Contenders() {}

    /** Those that there are here. */
    static List<String> names() {
        List<String> absent = Locks.notBuilt();
        return IDS.entrySet().stream()
                .filter(e -> !absent.contains(e.getValue()))
                .map(Map.Entry::getKey)
                .toList();
    }

    /** As {@link Locks#open} knows it. */
    static String id(String name, String wait) {
        return name.equals(OSQ) && wait.equals("poll") ? "c-osq-mutex-poll" : IDS.get(name);
    }

    /** How it waits, as results say. */
    static String variant(String name, String wait) {
        return name.equals(OSQ) ? wait : name.endsWith("-block") ? "block" : "own";
    }
}
