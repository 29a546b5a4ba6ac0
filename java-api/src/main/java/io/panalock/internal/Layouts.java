// SPDX-License-Identifier: Apache-2.0
package io.panalock.internal;

/**
 * The numbers of native/include/panalock/layout.h and qspinlock.h that Java code needs as compile-time constants, also
 * where there is no native library. A test compares each of them with the generated bindings.
 */
public final class Layouts {
    private Layouts() {}

    public static final String VERSION = "0.1.0";
    public static final int LAYOUT_VERSION = 2;
    public static final int CACHE_LINE = 64;
    public static final int NESTING = 4;
    public static final int DEFAULT_SLOTS = 1024;
    public static final int DEFAULT_POOL = 1024;
    public static final int MIN_SLOTS = 2;
    public static final int MAX_SLOTS = 16384;
    public static final int MAX_POOL = 1048576;
    public static final int NAME_BYTES = 32;

    public static final int DOMAIN_SHARED = 1;
    public static final int DOMAIN_CHECKS = 2;

    public static final int NODE_IDLE = 0;
    public static final int NODE_SLEEPING = 1;
    public static final int NODE_PARKED = 2;
    public static final int NODE_CHOSEN = 3;
    public static final int NODE_REARM = 4;
    public static final int NODE_INTERRUPTED = 5;

    public static final int WAIT_SPIN = 1;
    public static final int WAIT_INTERRUPTIBLE = 2;
    public static final int WAIT_RESUME = 4;
    public static final int WAIT_BLOCK = 8;
    public static final int WAIT_POLL = 16;
    public static final int OSQ_RUNNING = 32;

    public static final int LIMITS = -2;
    public static final int LIMIT_FIRST_NS = 250_000_000;
    public static final int LIMIT_BEHIND_NS = 500_000_000;
    public static final int CYCLE_MAX = 64;

    public static final int LAYOUT_WORD = 0;
    public static final int LAYOUT_BYTE = 1;
    public static final int LAYOUT_WIDE = 2;
    public static final int LAYOUT_MUTEX = 3;

    public static final int M_NAMED = 0x40;
    public static final int M_OWNER_SHIFT = 10;

    public static final int Q_LOCKED = 0x1;
    public static final int Q_BROKEN = 0x2;
    public static final int Q_STANDBY = 0x4;
    public static final int Q_BYTE_PARKED = 0x80;
    public static final int Q_PENDING = 0x100;
    public static final int Q_POISON = 0x200;
    public static final int Q_PARKED = 0x80000000;
    public static final int Q_DEAD = 0x202;

    public static final int RING_VERSION = 1;
    public static final int RING_MAGIC_LO = 0x474e4952;
    public static final int RING_MAGIC_HI = 0x4b4c4150;
    public static final int RING_MIN_BYTES = 4096;
    public static final int RING_MAX_BYTES = 0x40000000;
    public static final int RING_RECORD_HEADER = 8;
    public static final int RING_BUSY = 0x80000000;
    public static final int RING_DISCARD = 0x40000000;
    public static final int RING_OVERWRITE = 1;
    public static final int RING_PADDED = 2;
    public static final int RING_NO_WAKEUP = 1;
    public static final int RING_FORCE_WAKEUP = 2;
    public static final int RING_LOCK_QSPIN = 0;
    public static final int RING_LOCK_MUTEX = 1;
    public static final int RING_LOCK_JAVA = 2;
    public static final int RING_LOCK_RQSPIN = 3;
    public static final int RING_LOCK_OSQ = 4;
    public static final int RING_REAP_NS = 20000000;
    public static final int RING_REGION = 1;
    public static final int RING_SLOTS = 256;
    public static final int WAITQ_ALL = 0x7fffffff;

    /** Negative errno values that the native functions return (Linux, the same on x86-64 and arm64). */
    public static final int EPERM = 1;

    public static final int ENOENT = 2;
    public static final int EINTR = 4;
    public static final int E2BIG = 7;
    public static final int EAGAIN = 11;
    public static final int ENOMEM = 12;
    public static final int EACCES = 13;
    public static final int EBUSY = 16;
    public static final int EEXIST = 17;
    public static final int EXDEV = 18;
    public static final int EINVAL = 22;
    public static final int ENOSPC = 28;
    public static final int ECANCELED = 125;
    public static final int EDEADLK = 35;
    public static final int EPROTO = 71;
    public static final int EBADMSG = 74;
    public static final int EBADFD = 77;
    public static final int EUSERS = 87;
    public static final int ESHUTDOWN = 108;
    public static final int ETIMEDOUT = 110;
}
