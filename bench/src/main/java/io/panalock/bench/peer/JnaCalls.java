// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench.peer;

import com.sun.jna.Callback;
import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;
import com.sun.jna.Structure;

/** The measured calls through JNA: {@link #VIA_INTERFACE} by an interface, {@link Direct} by registered methods. */
public interface JnaCalls extends com.sun.jna.Library {
    JnaCalls VIA_INTERFACE = Native.load(Direct.library().getName(), JnaCalls.class);

    /** A struct passed by value. */
    @Structure.FieldOrder({"a", "b"})
    final class Pair extends Structure implements Structure.ByValue {
        public long a;
        public long b;

        public Pair() {}

        public Pair(long a, long b) {
            this.a = a;
            this.b = b;
        }
    }

    /** A function pointer. */
    @FunctionalInterface
    interface IntCall extends Callback {
        int call(int value);
    }

    void plb_blank();

    int plb_int1(int a);

    int plb_int4(int a, int b, int c, int d);

    int plb_int10(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j);

    int plb_pointer(Pointer p);

    double plb_mix(long a, double b, long c, double d);

    long plb_struct(Pair pair);

    long plb_string(String text);

    /** The errno that the call leaves is in {@link Native#getLastError}. */
    int plb_errno(int value);

    int plb_upcall(IntCall call, int value);

    int plb_array(int[] array, int length);

    /** JNA's direct mapping. */
    final class Direct {
        static {
            Native.register(Direct.class, library());
        }

        private Direct() {}

        /** Loaded by BenchLibrary already; the dynamic linker finds it by its soname. */
        static NativeLibrary library() {
            BenchLibrary.require();
            return NativeLibrary.getInstance("libpanalock_bench.so");
        }

        public static native void plb_blank();

        public static native int plb_int1(int a);

        public static native int plb_int4(int a, int b, int c, int d);

        public static native int plb_int10(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j);

        public static native int plb_pointer(Pointer p);

        public static native double plb_mix(long a, double b, long c, double d);

        public static native long plb_struct(Pair pair);

        public static native long plb_string(String text);

        public static native int plb_errno(int value);

        public static native int plb_upcall(IntCall call, int value);

        public static native int plb_array(int[] array, int length);
    }
}
