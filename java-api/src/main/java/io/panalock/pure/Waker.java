// SPDX-License-Identifier: Apache-2.0
package io.panalock.pure;

import java.lang.invoke.VarHandle;

/**
 * What the pure twins need of native code in order to share words with it: waking its sleepers, and the heavy half of
 * the asymmetric fence, and seeing to what killed processes leave behind. None of these calls waits, and none may be made while a line's lock is held.
 */
public interface Waker {
    /**
     * Wakes up to {@code count} threads that sleep on the 32-bit word in a futex call.
     *
     * @param shared the word lies in memory shared between processes
     */
    void futexWake(long address, int count, boolean shared);

    /** A full fence on every CPU that runs a thread of this process ({@code shared}: of any registered process). */
    void heavyFence(boolean shared);

    /** True when a release must be followed by a full fence, since heavyFence does not stand in for it. */
    boolean releaseNeedsFence();

    /**
     * If the process that holds the line's lock was killed: takes it over, makes the line anew, lets go.
     *
     * @return whether it did
     */
    boolean recoverLine(long domain, long line);

    /**
     * Frees the slots of threads and processes that have ended.
     *
     * @return how many; negative: the domain is this process's alone, and nobody but the caller can tell
     */
    int recoverSlots(long domain);

    /**
     * Without the native library: no native sleepers, and every release fences for itself. A domain with this waker must
     * not be shared with native code.
     */
    Waker NONE = new Waker() {
        @Override
        public void futexWake(long address, int count, boolean shared) {}

        @Override
        public void heavyFence(boolean shared) {
            VarHandle.fullFence();
        }

        @Override
        public boolean releaseNeedsFence() {
            return true;
        }

        @Override
        public boolean recoverLine(long domain, long line) {
            return false;
        }

        @Override
        public int recoverSlots(long domain) {
            return -1;
        }
    };
}
