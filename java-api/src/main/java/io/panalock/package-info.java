// SPDX-License-Identifier: Apache-2.0

/**
 * Queued locks that Java and C code can share. Begin with {@link io.panalock.QSpinLock}.
 *
 * <p>The native library needs {@code --enable-native-access=io.panalock} (on the class path: {@code ALL-UNNAMED}). System
 * properties, all optional:
 *
 * <table>
 *   <caption>System properties</caption>
 *   <tr><td>{@code panalock.library.path}</td><td>libpanalock.so, or the directory that holds it; otherwise it is looked for
 *       on {@code java.library.path} and then in the jar</td></tr>
 *   <tr><td>{@code panalock.extract.dir}</td><td>where the jar's copy is unpacked for a moment; must allow execution; default
 *       {@code java.io.tmpdir}</td></tr>
 *   <tr><td>{@code panalock.library}</td><td>{@code none}: do without the native library</td></tr>
 *   <tr><td>{@code panalock.backend}</td><td>the backend of locks that choose none, for example {@code pure}</td></tr>
 *   <tr><td>{@code panalock.checks}</td><td>{@code true}: report recursion and foreign unlocks</td></tr>
 *   <tr><td>{@code panalock.slots}</td><td>threads that the default domain has slots for, and one more, see
 *       {@link io.panalock.LockDomain#ofDefault}</td></tr>
 * </table>
 */
package io.panalock;
