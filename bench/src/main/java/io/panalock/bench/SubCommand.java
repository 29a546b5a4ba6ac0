// SPDX-License-Identifier: Apache-2.0
package io.panalock.bench;

import java.util.concurrent.Callable;

/**
 * A command of the program: a class with picocli's {@code @Command}, found by its line in
 * {@code META-INF/services/io.panalock.bench.SubCommand}. Returns an exit code.
 */
public interface SubCommand extends Callable<Integer> {}
