// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.claim;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;

/** All claims of the project, by group. A figure that is printed anywhere belongs here. */
public final class Claims {
    private Claims() {}

    public static Map<String, List<Claim>> groups() {
        Map<String, List<Claim>> groups = new LinkedHashMap<>();
        for (ClaimGroup group : ServiceLoader.load(ClaimGroup.class)) {
            if (groups.put(group.name(), List.copyOf(group.claims())) != null) {
                throw new IllegalStateException("two groups of claims are called " + group.name());
            }
        }
        return groups;
    }
}
