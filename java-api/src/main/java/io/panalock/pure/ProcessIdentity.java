// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** Who a process is: the twin of the functions of that name in os/linux.c. Elsewhere than on Linux all answers are 0. */
final class ProcessIdentity {
    /** {@link #incarnation}: cannot tell. */
    static final long UNKNOWN = -1;

    static final int PID = (int) ProcessHandle.current().pid();

    private ProcessIdentity() {}

    /** True if two start times may be one process's. */
    static boolean same(long incarnation, long recorded) {
        return incarnation == recorded || incarnation == UNKNOWN || recorded == UNKNOWN;
    }

    /** Start time in clock ticks since boot; 0 when there is no such process (a zombie counts as none); or UNKNOWN. */
    static long incarnation(int pid) {
        String text;
        try {
            String number = Integer.toUnsignedString(pid);
            // The first thread's entry says the same; emulators make up /proc/PID/stat of the process itself.
            Path stat = Path.of("/proc", number, "task", number, "stat");
            text = Files.readString(stat, StandardCharsets.ISO_8859_1);
        } catch (NoSuchFileException e) {
            return 0;
        } catch (IOException e) {
            return UNKNOWN;
        }
        // The command, in parentheses, may hold anything: count from its end. State is field 3, the start time field 22.
        String[] fields = text.substring(text.lastIndexOf(')') + 1).trim().split(" ");
        if (fields.length < 20) {
            return UNKNOWN;
        }
        boolean zombie = fields[0].equals("Z") || fields[0].equals("X");
        if (zombie && Integer.parseInt(fields[17]) <= 1) { // else the first thread has ended before the others
            return 0;
        }
        return Long.parseLong(fields[19]);
    }

    static boolean threadAlive(int pid, int tid) {
        return Files.exists(
                Path.of("/proc/" + Integer.toUnsignedString(pid) + "/task/" + Integer.toUnsignedString(tid)));
    }
}
