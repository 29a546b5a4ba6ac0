// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.concurrent.ConcurrentHashMap;

/** What the locks of a domain are called: names belong to lock objects of this JVM, and others know locks by their keys. */
final class LockNames {
    private final ConcurrentHashMap<Long, Entry> byKey = new ConcurrentHashMap<>();
    private final ReferenceQueue<QSpinLock> gone = new ReferenceQueue<>();

    private static final class Entry extends WeakReference<QSpinLock> {
        final long key;

        Entry(long key, QSpinLock lock, ReferenceQueue<QSpinLock> gone) {
            super(lock, gone);
            this.key = key;
        }
    }

    /** Called for each new lock object; the last one names the word. */
    void add(long key, QSpinLock lock) {
        for (Entry e = (Entry) gone.poll(); e != null; e = (Entry) gone.poll()) {
            byKey.remove(e.key, e);
        }
        byKey.put(key, new Entry(key, lock, gone));
    }

    String of(long key) {
        Entry e = byKey.get(key);
        QSpinLock lock = e == null ? null : e.get();
        return lock != null ? lock.name() : "lock " + Long.toHexString(key);
    }
}
