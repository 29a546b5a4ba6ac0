// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** Who a process is: the twin of the functions of that name in os/linux.c. Elsewhere than on Linux all answers are 0. */
final class ProcessIdentity {
    private ProcessIdentity() {}

    static final int PID = (int) ProcessHandle.current().pid();

    /** Start time in clock ticks since boot; 0 when there is no such process (a zombie counts as none). */
    static long incarnation(int pid) {
        String text;
        try {
            String number = Integer.toUnsignedString(pid);
            // The first thread's entry says the same; emulators make up /proc/PID/stat of the process itself.
            Path stat = Path.of("/proc", number, "task", number, "stat");
            text = Files.readString(stat, StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            return 0;
        }
        // The command, in parentheses, may hold anything: count from its end. State is field 3, the start time field 22.
        String[] fields = text.substring(text.lastIndexOf(')') + 1).trim().split(" ");
        if (fields.length < 20 || fields[0].equals("Z") || fields[0].equals("X")) {
            return 0;
        }
        return Long.parseLong(fields[19]);
    }

    static boolean threadAlive(int pid, int tid) {
        return Files.exists(
                Path.of("/proc/" + Integer.toUnsignedString(pid) + "/task/" + Integer.toUnsignedString(tid)));
    }
}
