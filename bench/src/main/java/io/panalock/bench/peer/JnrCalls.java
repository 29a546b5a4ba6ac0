// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.peer;

import jnr.ffi.LibraryLoader;
import jnr.ffi.Pointer;
import jnr.ffi.Runtime;
import jnr.ffi.annotations.Delegate;
import jnr.ffi.annotations.In;

/** The measured calls through jnr-ffi, which has no structs by value. */
public interface JnrCalls {
    JnrCalls CALLS = load();

    Runtime RUNTIME = Runtime.getRuntime(CALLS);

    /** Loaded by BenchLibrary already; the dynamic linker finds it by its soname. */
    private static JnrCalls load() {
        BenchLibrary.require();
        return LibraryLoader.create(JnrCalls.class).failImmediately().load("libpanalock_bench.so");
    }

    /** A function pointer. */
    @FunctionalInterface
    interface IntCall {
        @Delegate
        int call(int value);
    }

    static Pointer pointerTo(long address) {
        return Pointer.wrap(RUNTIME, address);
    }

    void plb_blank();

    int plb_int1(int a);

    int plb_int4(int a, int b, int c, int d);

    int plb_int10(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j);

    int plb_pointer(Pointer p);

    double plb_mix(long a, double b, long c, double d);

    long plb_string(String text);

    /** The errno that the call leaves is the run-time's last error. */
    int plb_errno(int value);

    int plb_upcall(IntCall call, int value);

    int plb_array(@In int[] array, int length);
}
