// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import static io.panalock.internal.Words.LONG;

import io.panalock.internal.Critical;
import io.panalock.internal.Jni;
import io.panalock.internal.Layouts;
import io.panalock.internal.Words;
import io.panalock.internal.ffm.panalock_h;
import io.panalock.pure.Hazards;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.lang.ref.Reference;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * Simple hazard pointers: readers say what they read, and whoever has made an object unreachable waits until nobody does.
 *
 * <pre>{@code
 * HazardDomain hazards = HazardDomain.ofDefault();
 *
 * try (var guard = hazards.protectPointer(root, 0)) {       // reader: no fence, no allocation, never waits
 *     read(guard.name());                                   // the address that root holds
 * }
 *
 * MemorySegment old = swap(root, fresh);                    // writer: first make it unreachable
 * hazards.retire(old, s -> free(s));                        // reclaimed when no reader is left
 * }</pre>
 *
 * <p>Protect first and look for the object afterwards: what was looked up before may have been reclaimed. A guard inside
 * another one of the same thread protects <em>everything</em>, as long as it lasts. Java and C code, and in a shared domain
 * several processes, see each other's guards ({@code pl_shazptr_*} in {@code panalock/shazptr.h}).
 *
 * <p>A platform thread that ends inside a guard no longer protects anything. A virtual thread may unmount inside a guard:
 * it stays protected, and keeps its thread slot, of which the domain has a limited number; if it ends inside a guard
 * without closing it, what it protects is never reclaimed.
 *
 * <p>Cost: a guard two stores with an explicit {@link LockThread}; {@link #synchronize} a system call and a look
 * at the threads that have ever protected something.
 */
public final class HazardDomain {
    private static final long SPIN_NANOS = 20_000;
    private static final long FIRST_NAP_NANOS = 50_000;
    private static final long LONGEST_NAP_NANOS = 2_000_000;
    private static final int RECENT = 1024;
    private static final long ORPHANS_AFTER_NANOS = 10_000_000;

    private final LockDomain domain;
    private final Backend backend;
    private final boolean inPlace; // guards begin and end in Java, through the constant segment

    /** Readers fence themselves: where writers cannot, or on purpose. */
    private final boolean fenced;

    /** Handles of platform threads, found by thread id; whoever finds another's there looks properly. */
    private final LockThread[] recent = new LockThread[RECENT];

    private HazardDomain(LockDomain domain, Backend backend, boolean fenced) {
        this.domain = domain;
        this.backend = backend;
        this.fenced = fenced || Words.RELEASE_NEEDS_FENCE;
        inPlace = domain.isNative() && (backend == Backend.HYBRID || backend == Backend.PURE);
    }

    /** {@return the hazards of the process's own domain} */
    public static HazardDomain ofDefault() {
        return of(LockDomain.defaultFor(Backend.ofDefault()), Backend.ofDefault());
    }

    /**
     * The hazards of a domain.
     *
     * @param domain where readers and writers meet
     * @return a view: any number of them stand for the same hazards
     */
    public static HazardDomain of(LockDomain domain) {
        return of(domain, domain.isNative() ? Backend.ofDefault() : Backend.PURE);
    }

    /**
     * The hazards of a domain, reached in a certain way.
     *
     * @param domain where readers and writers meet
     * @param backend the way; all of them see each other
     * @return a view
     * @throws UnsatisfiedLinkError the backend needs the native library and there is none
     * @throws IllegalArgumentException the backend needs a native domain
     */
    public static HazardDomain of(LockDomain domain, Backend backend) {
        domain.waiting(backend); // can it be used?
        return new HazardDomain(domain, backend, false);
    }

    /**
     * The same hazards with a full fence in every guard, instead of relying on the writers' asymmetric one: to compare, or on
     * a virtual machine that may reorder a release store and a later read.
     *
     * @return another view
     */
    public HazardDomain withFences() {
        return new HazardDomain(domain, backend, true);
    }

    /** {@return where readers and writers meet} */
    public LockDomain domain() {
        return domain;
    }

    /** {@return how this view reaches the hazards} */
    public Backend backend() {
        return backend;
    }

    // ---- readers ----

    /**
     * The name under which an object is protected: its address, or in a shared domain one that all processes agree on.
     *
     * @param object native memory; its first byte counts
     * @return the name
     * @throws IllegalArgumentException heap memory
     */
    public long nameOf(MemorySegment object) {
        Objects.requireNonNull(object, "object");
        if (!object.isNative()) {
            throw new IllegalArgumentException(
                    "only native memory can be protected; this segment is on the heap. Allocate it from an Arena.");
        }
        return Hazards.name(domain.pure(), object.address());
    }

    /**
     * Begins a guard on an object, which must be found reachable <em>after</em> this call. Full fence between the two, whose
     * heavy half the writers pay for. Never waits (a virtual thread may, for a thread slot).
     *
     * @param object native memory; its first byte counts
     * @return the guard, to be closed
     * @throws IllegalArgumentException heap memory
     * @throws IllegalStateException the domain is closed, or every thread slot is taken
     */
    public HazardGuard protect(MemorySegment object) {
        return protect(nameOf(object));
    }

    /**
     * As {@link #protect(MemorySegment)}, by name: an address, or {@link #nameOf}, or any other number of 2 or more (unsigned)
     * that readers and writers agree on.
     *
     * @param name what to protect
     * @return the guard, to be closed
     */
    public HazardGuard protect(long name) {
        Thread t = Thread.currentThread();
        LockThread self = recent[(int) t.threadId() & RECENT - 1];
        if (self != null && self.thread() == t && (name & -2) != 0) {
            HazardGuard g = self.outermost;
            if (g.begin(this, name) || (fenced && g.beginFenced(this, name))) {
                Reference.reachabilityFence(this); // the domain is mapped as long as this is reachable
                return g;
            }
        }
        return protectSlowly(remember(domain.current()), name);
    }

    private LockThread remember(LockThread self) {
        if (!self.isVirtual()) {
            recent[(int) self.thread().threadId() & RECENT - 1] = self; // safe: its fields that others read are final
        }
        return self;
    }

    /**
     * As {@link #protect(long)} with an explicit handle, which saves looking the thread up.
     *
     * @param self the calling thread's handle in this domain
     * @param name what to protect
     * @return the guard, to be closed
     */
    public HazardGuard protect(LockThread self, long name) {
        if (self.thread() == Thread.currentThread() && (name & -2) != 0) {
            HazardGuard g = self.outermost;
            if (g.begin(this, name) || (fenced && g.beginFenced(this, name))) {
                Reference.reachabilityFence(this); // the domain is mapped as long as this is reachable
                return g;
            }
        }
        return protectSlowly(self, name);
    }

    /**
     * Protects what a pointer in native memory points at: reads it, begins a guard, and reads it again, until both are the
     * same. Acquire: what was written before the pointer was stored is seen. Private domains only.
     *
     * @param source the segment that holds the pointer
     * @param offset where, in bytes, divisible by 8
     * @return the guard, whose {@link HazardGuard#name} is the pointer; null when that is zero
     * @throws IllegalStateException a shared domain, whose names are not addresses; otherwise as {@link #protect(long)}
     */
    public HazardGuard protectPointer(MemorySegment source, long offset) {
        return protectPointer(domain.current(), source, offset);
    }

    /**
     * As {@link #protectPointer(MemorySegment, long)} with an explicit handle.
     *
     * @param self the calling thread's handle in this domain
     * @param source the segment that holds the pointer
     * @param offset where, in bytes, divisible by 8
     * @return the guard, or null
     */
    public HazardGuard protectPointer(LockThread self, MemorySegment source, long offset) {
        if (domain.isShared()) {
            throw new IllegalStateException(
                    "in a shared domain names are not addresses: protect(nameOf(object)), then look for the object again.");
        }
        for (; ; ) {
            long seen = (long) LONG.getOpaque(source, offset);
            if (seen == 0) {
                return null;
            }
            HazardGuard g = protect(self, seen);
            boolean same = false;
            try {
                same = (long) LONG.getAcquire(source, offset) == seen; // G6J: behind G1J; pairs with G5
            } finally {
                if (!same) {
                    g.close();
                }
            }
            if (same) {
                return g;
            }
        }
    }

    boolean isFenced() {
        return fenced;
    }

    /** The fence behind an announcement, where the writers cannot pay for it. */
    private void announced() {
        if (fenced) {
            VarHandle.fullFence(); // G3J: pairs with P3
        }
        Reference.reachabilityFence(this); // the domain is mapped as long as this is reachable
    }

    private HazardGuard protectSlowly(LockThread self, long name) {
        self.check(domain);
        if (Hazards.bad(name) != 0) {
            throw new IllegalArgumentException("0 and 1 name no object; an address or a number of 2 or more does.");
        }
        open();
        int slot = hold(self);
        HazardGuard g = self.guard(self.guardsOpen());
        long token = announce(self, slot, name);
        announced();
        boolean stays = inPlace && token == Hazards.IDLE && !self.isBorrowed();
        g.began(this, name, token, stays ? Hazards.word(domain.pure(), slot) : 0);
        return g;
    }

    private void open() {
        if (domain.isClosed()) {
            throw new IllegalStateException(domain + " is closed.");
        }
    }

    private int hold(LockThread self) {
        int slot = self.hold();
        while (slot == -Layouts.ENOSPC && self.isVirtual()) {
            LockSupport.parkNanos(this, ORPHANS_AFTER_NANOS); // until another virtual thread gives its slot back
            slot = self.hold();
        }
        if (slot > 0) {
            return slot;
        }
        if (slot == -Layouts.ESHUTDOWN) {
            throw new IllegalStateException(domain + " is closed.");
        }
        throw domain.noSlot();
    }

    private long announce(LockThread self, int slot, long name) {
        return switch (backend) {
            case HYBRID, PURE -> Hazards.announce(domain.pure(), slot, name);
            case FFM -> panalock_h.pl_shazptr_acquire(self.segment(slot), name);
            case FFM_CRITICAL -> Critical.hazardAcquire(self.segment(slot), name);
            case JNI -> Jni.hazardAcquire(self.segment(slot).address(), name);
        };
    }

    /** Ends a guard that was not begun in place. */
    void end(LockThread self, long guard) {
        int slot = self.slotIfAny();
        switch (backend) {
            case HYBRID, PURE -> Hazards.clear(domain.pure(), slot, guard);
            case FFM -> panalock_h.pl_shazptr_clear(self.segment(slot), guard);
            case FFM_CRITICAL -> Critical.hazardClear(self.segment(slot), guard);
            case JNI -> Jni.hazardClear(self.segment(slot).address(), guard);
        }
        self.released();
        Reference.reachabilityFence(this);
    }

    // ---- writers ----

    /**
     * Waits until every guard on an object that may have begun before has ended. The object has been made unreachable before.
     *
     * @param object native memory; its first byte counts
     * @throws IllegalStateException this thread would wait for itself: it is inside a guard on the object, or inside a nested
     *     guard; or the domain is closed
     */
    public void synchronize(MemorySegment object) {
        synchronize(nameOf(object));
    }

    /**
     * As {@link #synchronize(MemorySegment)}, by name. May block as long as readers read; a virtual thread parks.
     * Interruption is kept for later.
     *
     * @param name what is not to be read any more
     */
    public void synchronize(long name) {
        synchronize(name, false);
    }

    /**
     * As {@link #synchronize(long)}; native backends can leave the looking to the process's scan thread, which looks once for
     * many callers.
     *
     * @param name what is not to be read any more
     * @param skipSelfScan true: let the scan thread look, even if nobody is in the way
     */
    public void synchronize(long name, boolean skipSelfScan) {
        if (Hazards.bad(name) != 0) {
            throw new IllegalArgumentException("0 and 1 name no object; an address or a number of 2 or more does.");
        }
        open();
        LockThread self = domain.current();
        int slot = self.slotIfAny();
        if (slot != 0 && Hazards.isOwn(domain.pure(), slot, name)) {
            throw new IllegalStateException(self.thread().getName() + " waits for readers of 0x" + Long.toHexString(name)
                    + " inside a guard of its own that is in the way: close it first.");
        }
        if (backend == Backend.PURE || self.isVirtual()) {
            synchronizeInJava(name);
            return;
        }
        int flags = skipSelfScan ? 1 : 0;
        MemorySegment with = slot == 0 ? domain.service() : self.segment(slot);
        int result = backend == Backend.JNI
                ? Jni.hazardSynchronize(with.address(), name, flags)
                : panalock_h.pl_shazptr_synchronize(with, name, flags);
        Reference.reachabilityFence(this);
        if (result != 0) {
            throw new IllegalStateException("unexpected error " + result + " while waiting for readers");
        }
    }

    private void synchronizeInJava(long name) {
        Hazards.heavyFence(domain.pure());
        Hazards.Wait w = new Hazards.Wait(name);
        if (!Hazards.look(domain.pure(), w, false)) {
            await(w);
        }
        Reference.reachabilityFence(this);
    }

    private void await(Hazards.Wait w) {
        long start = System.nanoTime();
        long orphans = start + ORPHANS_AFTER_NANOS;
        long nap = FIRST_NAP_NANOS;
        boolean interrupted = false;
        for (boolean look = false; !Hazards.look(domain.pure(), w, look); ) {
            long now = System.nanoTime();
            look = now - orphans >= 0;
            if (look) {
                orphans = now + ORPHANS_AFTER_NANOS;
            }
            if (now - start < SPIN_NANOS) {
                Thread.onSpinWait();
                continue;
            }
            LockSupport.parkNanos(this, nap);
            interrupted |= Thread.interrupted();
            nap = Math.min(nap * 2, LONGEST_NAP_NANOS);
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Has an object reclaimed, on a thread of its own, once no guard that may have begun before is left. What the reclaimer
     * throws is logged and does no other harm. Waits while 4,096 objects of this JVM wait already.
     *
     * @param object native memory, made unreachable before; its first byte counts
     * @param reclaim frees it; may retire others
     * @throws IllegalStateException 4,096 objects wait, and this thread is inside a guard, which may be what they wait for: the
     *     object was not taken
     */
    public void retire(MemorySegment object, Consumer<MemorySegment> reclaim) {
        Objects.requireNonNull(reclaim, "reclaim");
        retire(nameOf(object), () -> reclaim.accept(object));
    }

    /**
     * As {@link #retire(MemorySegment, Consumer)}, by name.
     *
     * @param name what is not to be read any more
     * @param reclaim runs once it is not
     */
    public void retire(long name, Runnable reclaim) {
        Objects.requireNonNull(reclaim, "reclaim");
        if (Hazards.bad(name) != 0) {
            throw new IllegalArgumentException("0 and 1 name no object; an address or a number of 2 or more does.");
        }
        open();
        HazardReclaimer.retire(this, name, reclaim);
    }

    /**
     * Waits until everything that was retired before this call in this JVM has been reclaimed.
     *
     * @throws IllegalStateException inside a guard of this thread, or inside a reclaimer: it would wait for itself
     */
    public void drain() {
        if (insideGuard() || HazardReclaimer.isReclaimer()) {
            throw new IllegalStateException("drain() inside a guard or a reclaimer would wait for itself.");
        }
        HazardReclaimer.drain();
    }

    boolean insideGuard() {
        return domain.current().guardsOpen() != 0;
    }

    /**
     * Whether a guard on this name, or a nested guard, exists now: a hint.
     *
     * @param name what may be protected
     * @return true if somebody protects it
     */
    public boolean isProtected(long name) {
        return Hazards.isProtected(domain.pure(), name);
    }

    @Override
    public String toString() {
        return "hazards of " + domain + ", " + backend;
    }
}
