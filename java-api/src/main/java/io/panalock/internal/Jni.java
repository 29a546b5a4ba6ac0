// SPDX-License-Identifier: Apache-2.0
package io.panalock.internal;

/**
 * The native functions over JNI; native/src/jni.c binds them when {@link Library} loads the library. No static
 * initializer here: loading the library initialises this class.
 */
public final class Jni {
    private Jni() {}

    public static native int wordTry(long lock);

    public static native int byteTry(long lock);

    public static native int wideTry(long lock);

    public static native int wordRelease(long lock);

    public static native int byteRelease(long lock);

    public static native int wideRelease(long lock);

    public static native int lockWait(long self, long lock, int layout, int flags, long timeoutNanos);

    public static native int rqLockWait(long self, long lock, int layout, int flags, long timeoutNanos, long report);

    public static native int kick(long self, long lock, int layout);

    public static native long hazardAcquire(long self, long name);

    public static native int hazardClear(long self, long guard);

    public static native int hazardSynchronize(long self, long name, int flags);

    public static native boolean isLocked(long lock, int layout);

    public static native boolean isContended(long lock, int layout);

    public static native int mutexTry(long self, long mutex);

    public static native int mutexRelease(long self, long mutex);

    public static native int mutexWait(long self, long mutex, int flags, long timeoutNanos);

    public static native int mutexKick(long self, long mutex);

    public static native int osqTry(long self, long queue);

    public static native int osqWait(long self, long queue, int flags, long timeoutNanos);

    public static native int osqUnlock(long self, long queue);

    public static native long ringReserve(long self, long ring, int bytes);

    public static native long ringReserveLocked(long ring, int bytes);

    public static native int ringFinish(long ring, long offset, int discard, int flags);

    public static native int pipe(
            long self, long pipe, long buffer, int bytes, boolean writing, int flags, long timeoutNanos);
}
