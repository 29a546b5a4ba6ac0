// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.claim;

import java.util.List;

/**
 * Claims that belong together, checked by {@code claims NAME}; found by its line in
 * {@code META-INF/services/io.panalock.bench.claim.ClaimGroup}.
 */
public interface ClaimGroup {
    /** As on the command line. */
    String name();

    /** Ids are unique within the group; some are {@link Claim#quick}. */
    List<Claim> claims();
}
