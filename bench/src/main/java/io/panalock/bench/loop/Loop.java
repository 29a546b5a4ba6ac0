// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.loop;

import io.panalock.bench.contend.LockLoop;

/** What the loops have in common apart from the loop itself, which each lock spells out. */
abstract class Loop implements LockLoop {
    final Section section = new Section();

    @Override
    public final long protectedCount() {
        return section.count();
    }

    @Override
    public final long handovers() {
        return section.handovers();
    }

    @Override
    public final void reset() {
        section.reset();
    }

    @Override
    public final double stepNs() {
        return Work.stepNs(section);
    }

    @Override
    public final long work(long seed, int steps) {
        return Work.steps(seed, steps);
    }
}
