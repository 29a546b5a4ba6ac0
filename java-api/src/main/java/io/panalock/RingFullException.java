// SPDX-License-Identifier: Apache-2.0
package io.panalock;

/**
 * A record was to be reserved in a ring buffer that has no room for it now. Has no stack trace, so that a producer can
 * afford it.
 */
public final class RingFullException extends IllegalStateException {
    private static final long serialVersionUID = 1;

    RingFullException(String message) {
        super(message);
    }

    @Override
    public synchronized Throwable fillInStackTrace() {
        return this;
    }
}
