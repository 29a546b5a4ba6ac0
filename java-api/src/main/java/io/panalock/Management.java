// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import java.lang.management.ManagementFactory;
import javax.management.InstanceAlreadyExistsException;
import javax.management.JMException;
import javax.management.ObjectName;

/** Apart, so that programs without module java.management can use everything else. */
final class Management implements PanalockMXBean {
    private Management() {}

    static void register() {
        try {
            ManagementFactory.getPlatformMBeanServer().registerMBean(new Management(), new ObjectName("io.panalock:type=Panalock"));
        } catch (InstanceAlreadyExistsException e) {
            // as wanted
        } catch (JMException e) {
            throw new IllegalStateException("the management server refuses io.panalock:type=Panalock", e);
        }
    }

    @Override
    public String getDump() {
        return Panalock.dump();
    }

    @Override
    public long getDeadlocks() {
        return LockFailures.DEADLOCKS.sum();
    }

    @Override
    public long getTimeouts() {
        return LockFailures.TIMEOUTS.sum();
    }

    @Override
    public String getVersion() {
        return Panalock.version();
    }
}
