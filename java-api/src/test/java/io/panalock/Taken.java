// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import java.util.ArrayList;
import java.util.List;

/** Words of pools that a test takes for itself and others, who know them by their index. */
final class Taken {
    private static final List<QSpinLock> ALL = new ArrayList<>(); // what is collected is given back

    private Taken() {}

    /** Takes the words of a new domain up to an index. */
    static synchronized void upTo(int index, LockDomain domain) {
        for (int i = 0; i <= index; i++) {
            ALL.add(QSpinLock.builder().domain(domain).allocate());
        }
    }
}
