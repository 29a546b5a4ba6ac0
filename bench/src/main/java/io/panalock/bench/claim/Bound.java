// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.claim;

/**
 * What a figure must keep to.
 *
 * @param atMost true: at most the limit; false: at least
 * @param limit the limit itself still holds
 */
public record Bound(boolean atMost, double limit) {
    public static Bound atMost(double limit) {
        return new Bound(true, limit);
    }

    public static Bound atLeast(double limit) {
        return new Bound(false, limit);
    }

    public boolean holds(double figure) {
        return atMost ? figure <= limit : figure >= limit;
    }

    @Override
    public String toString() {
        return (atMost ? "≤ " : "≥ ") + (limit == Math.rint(limit) ? String.valueOf((long) limit) : String.valueOf(limit));
    }
}
