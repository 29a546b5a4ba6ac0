// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.compare;

import io.panalock.bench.result.Result;
import java.util.Map;
import java.util.Set;

/** Tells ours from what stands beside it in the same run only to be compared with. */
public final class Peers {
    private static final Set<String> LOCKS = Set.of("reentrantlock", "stampedlock", "synchronized", "bare");
    private static final Set<String> OTHER_CALLS =
            Set.of("java", "nothing", "jni", "jni_copy", "jna_direct", "jna_interface", "jnr");
    private static final String[] PREFIXES = {"reentrantlock-", "pthread-", "ck-"};

    /** In front of an owner's name. */
    static final String IN_C = "C ";

    private Peers() {}

    /** True when nothing in Panalock can make this figure better or worse. */
    public static boolean isPeer(Result result) {
        return Boolean.TRUE.equals(result.params().get("peer")) || switch (result.experiment()) {
            case "floor" -> true;
            case "call", "call-gc", "call-safepoint" -> OTHER_CALLS.contains(String.valueOf(result.params().get("via")));
            case "claim-point" -> result.params().entrySet().stream()
                    .anyMatch(e -> Set.of("pair", "contended", "allocation").contains(e.getKey())
                            && isPeerLock(String.valueOf(e.getValue())));
            default -> isPeerLock(String.valueOf(result.params().get("lock")));
        };
    }

    private static boolean isPeerLock(String id) {
        String lock = id.startsWith("c-") ? id.substring(2) : id;
        if (LOCKS.contains(lock)) {
            return true;
        }
        for (String prefix : PREFIXES) {
            if (lock.startsWith(prefix)) {
                return true;
            }
        }
        return false;
    }

    /** Whose lock this is: the parameters that name the thing measured, without those that say how it was measured. */
    public static String owner(Result result) {
        Map<String, Object> params = result.params();
        for (String key : new String[] {"via", "backend", "pair", "contended", "allocation", "variant", "lock"}) {
            if (params.containsKey(key)) {
                String side = "c".equals(params.get("side")) ? IN_C : "";
                return side + params.get(key);
            }
        }
        return result.experiment();
    }
}
