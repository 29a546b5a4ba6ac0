// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import io.panalock.internal.Jni;
import java.lang.ref.Reference;

/** Backend JNI, layout WORD. */
final class JniWord extends QSpinLock {
    JniWord(Plan p) {
        super(p);
    }

    private int take() {
        int result = Jni.wordTry(open());
        Reference.reachabilityFence(this); // keeps the memory mapped
        return result;
    }

    private int release() {
        int result = Jni.wordRelease(open());
        Reference.reachabilityFence(this);
        return result;
    }

    @Override
    public void lock() {
        if (take() != 0) {
            contended();
        }
    }

    @Override
    public boolean tryLock() {
        return take() == 0 || refused();
    }

    @Override
    public void unlock() {
        int result = release();
        if (result != 0) {
            afterRelease(result);
        }
    }
}
