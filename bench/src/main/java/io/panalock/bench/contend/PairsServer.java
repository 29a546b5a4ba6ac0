// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.contend;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

/** What {@link OwnJvmLock} starts: measures one lock, whose id is the argument, on request, until its input ends. */
public final class PairsServer {
    static final String READY = "ready";
    static final String WARM_UP = "warm-up";
    static final String PAIRS = "pairs";
    static final String ALLOCATED = "allocated";

    private PairsServer() {}

    public static void main(String[] args) throws IOException {
        Lock lock = Locks.open(args[0]);
        System.out.println(READY);
        var requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            String[] words = line.split(" ");
            System.out.println(switch (words[0]) {
                case WARM_UP -> {
                    lock.warmUp();
                    yield READY;
                }
                case PAIRS -> lock.pairs(Integer.parseInt(words[1]));
                case ALLOCATED -> lock.allocatedByPairs(Integer.parseInt(words[1]));
                default -> throw new IllegalArgumentException(line);
            });
        }
    }
}
