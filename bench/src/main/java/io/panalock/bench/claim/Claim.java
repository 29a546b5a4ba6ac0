// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.claim;

import io.panalock.bench.claim.Point.Quantity;
import java.util.Objects;

/**
 * One statement about performance or size that the project makes anywhere, and how to check it.
 *
 * @param id short and unique within its group
 * @param sentence what is claimed, bound included
 * @param subject what the claim is about
 * @param peer what it is measured against, or null: the figure then is the subject itself, not a ratio
 * @param bound what the figure must keep to
 * @param need what the machine must have for this to be judged
 * @param quick whether {@code --quick} checks it
 */
public record Claim(String id, String sentence, Quantity subject, Quantity peer, Bound bound, Need need, boolean quick) {
    /** What a claim takes for granted. */
    public enum Need {
        NOTHING,
        /** membarrier(2): without it a WIDE release carries a full fence. */
        MEMBARRIER,
        /** Contention needs two CPUs. */
        TWO_CPUS,
        MEMBARRIER_AND_TWO_CPUS,
        /** A checkout of the sources, with what is needed to build them. */
        SOURCES
    }

    public Claim {
        Objects.requireNonNull(id);
        Objects.requireNonNull(bound);
        if (peer != null && !peer.point().batch().equals(subject.point().batch())) {
            throw new IllegalArgumentException(id + ": " + subject + " and " + peer + " would not be measured in turns");
        }
    }

    public String batch() {
        return subject.point().batch();
    }

    /** What the figure is counted in. */
    public String unit() {
        return peer != null ? "×" : subject.unit();
    }
}
