// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.claim;

/** What came of a claim. */
public enum Verdict {
    HOLDS("holds"),
    FALLS_SHORT("falls short"),
    /** The machine lacks what the claim is about; noise is never a reason. */
    CANNOT_BE_JUDGED("cannot be judged here");

    private final String words;

    Verdict(String words) {
        this.words = words;
    }

    @Override
    public String toString() {
        return words;
    }
}
