// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.compare;

/** What a change amounts to. */
public enum Verdict {
    FASTER("better, faster"),
    SLOWER("worse, slower"),
    FEWER_BYTES("better, fewer bytes"),
    MORE_BYTES("worse, more bytes"),
    WITHIN_NOISE("within noise"),
    /** Measured only to be compared with. */
    PEER("peer"),
    /** Neither way is better, or one odd repeat decides the figure, or it was measured on an emulated machine. */
    NOT_JUDGED("not judged");

    private final String words;

    Verdict(String words) {
        this.words = words;
    }

    public boolean worse() {
        return this == SLOWER || this == MORE_BYTES;
    }

    public boolean better() {
        return this == FASTER || this == FEWER_BYTES;
    }

    @Override
    public String toString() {
        return words;
    }
}
