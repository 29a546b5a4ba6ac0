// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.report;

import java.util.Locale;

/** Names as HTML ids. */
final class Ids {
    private Ids() {}

    static String of(String text) {
        String id = text.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]+", "-").replaceAll("^-|-$", "");
        // Names that differ only in other characters must not share an id.
        return id.equals(text) ? id : "x-" + id + "-" + Integer.toHexString(text.hashCode());
    }
}
