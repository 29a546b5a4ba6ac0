// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.loop;

import java.util.Arrays;

/**
 * What the lock protects: a counter, who came last, how often it changed hands; in the middle of 384 bytes that nothing
 * else uses, so that no other object shares its cache lines.
 */
final class Section {
    private static final int COUNT = 20;
    private static final int LAST = 21;
    private static final int HANDOVERS = 22;
    private static final int SINK = 40;

    private final long[] words = new long[48];

    /** Only while holding the lock. */
    void enter(long id) {
        words[COUNT]++;
        if (words[LAST] != id) {
            words[LAST] = id;
            words[HANDOVERS]++;
        }
    }

    long count() {
        return words[COUNT];
    }

    long handovers() {
        return words[HANDOVERS];
    }

    void sink(long value) {
        words[SINK] = value;
    }

    void reset() {
        Arrays.fill(words, 0);
    }
}
