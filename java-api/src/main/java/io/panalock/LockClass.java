// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import java.util.Objects;

/**
 * What the lock-order validator ({@link Lockdep}) tells apart: all locks that play the same role are of one class, and
 * orders are learned between classes. One for each place that makes locks, usually in a static final field.
 *
 * <p>A class that is made and dropped again and again, with a module or a data set, is {@linkplain #close closed} when its
 * last lock is gone: then the validator forgets it and every order that it was part of.
 */
public final class LockClass implements AutoCloseable {
    private final String name;
    private final int subclass;
    private final LockClass base;
    private volatile boolean closed;

    private LockClass(String name, int subclass, LockClass base) {
        this.name = name;
        this.subclass = subclass;
        this.base = base;
    }

    /**
     * A new class; two with the same name are two classes.
     *
     * @param name for reports
     * @return the class
     */
    public static LockClass of(String name) {
        return new LockClass(Objects.requireNonNull(name, "name"), 0, null);
    }

    /**
     * A class for locks of this one that are taken while another of it is held, in an order that the program knows (parent
     * before child, lower address before higher). Nesting without it is reported.
     *
     * @param level 1 or more
     * @return the class
     */
    public LockClass nested(int level) {
        if (level < 1) {
            throw new IllegalArgumentException("level: " + level + " is not a number of 1 or more");
        }
        return new LockClass(name, level, this);
    }

    /** {@return the name} */
    public String name() {
        return subclass == 0 ? name : name + "/" + subclass;
    }

    /** The validator forgets the class; its locks are not used any more. Idempotent. */
    @Override
    public void close() {
        closed = true;
        Lockdep.forget(this);
    }

    boolean isClosed() {
        return closed || (base != null && base.isClosed());
    }

    /** Whether it is the given class, or one nested in it. */
    boolean belongsTo(LockClass c) {
        return this == c || (base != null && base.belongsTo(c));
    }

    // Two objects for one nesting level of one class are the same.

    @Override
    public boolean equals(Object o) {
        return o == this || (o instanceof LockClass c && base != null && base.equals(c.base) && subclass == c.subclass);
    }

    @Override
    public int hashCode() {
        return base == null ? System.identityHashCode(this) : base.hashCode() * 31 + subclass;
    }

    @Override
    public String toString() {
        return "LockClass[" + name() + "]";
    }
}
