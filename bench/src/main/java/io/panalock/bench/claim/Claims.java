// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.claim;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** All claims of the project, by group. A figure that is printed anywhere belongs here. */
public final class Claims {
    private Claims() {}

    public static Map<String, List<Claim>> groups() {
        Map<String, List<Claim>> groups = new LinkedHashMap<>();
        groups.put("bridge", BridgeClaims.all());
        groups.put("measure", MeasureClaims.all());
        return groups;
    }
}
