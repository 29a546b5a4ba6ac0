// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import io.panalock.internal.Parking;
import java.util.concurrent.atomic.AtomicInteger;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.ThreadIdGen;

/**
 * A gate that lets one through for every ticket, on a pure wait queue: what the model checker runs. Every thread adds a
 * ticket and takes one, so a hang is a lost wake-up.
 */
public class GateModel {
    private static final int SLOTS = 4;

    private final PureDomain domain;
    private final PureWaitQueue queue;
    private final AtomicInteger tickets = new AtomicInteger();

    public GateModel() {
        DomainFormat format = DomainFormat.plan(SLOTS, 1);
        Memory memory = new ArrayMemory(format.size());
        format.format(memory, ArrayMemory.BASE, 0);
        domain = new PureDomain(
                memory, ArrayMemory.BASE, Waker.NONE, new ModelPacer(1), new Parking(SLOTS), 1, 0);
        memory.set(domain.processAt(0) + Shape.PROCESS_PID, 1);
        queue = new PureWaitQueue(domain, memory, Pool.take(domain));
    }

    @Operation
    public void pass(@Param(gen = ThreadIdGen.class) int slot) {
        int place = queue.enter(slot, true);
        tickets.getAndIncrement();
        queue.wake(slot, 1);
        while (!take()) {
            queue.sleep(slot, place, -1, false);
        }
        queue.leave(slot, place, true);
    }

    private boolean take() {
        int t = tickets.get();
        return t > 0 && tickets.compareAndSet(t, t - 1);
    }
}
