// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.shazptr;

/** Empty read sections of one way of reading, on the calling thread. */
public interface ReadLoop {
    /** So many of them. */
    void sections(int sections);
}
