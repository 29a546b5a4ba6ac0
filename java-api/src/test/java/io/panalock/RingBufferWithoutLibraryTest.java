// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import org.junit.jupiter.api.Tag;

/** The same where only PURE can be had. */
@Tag("pure")
class RingBufferWithoutLibraryTest extends RingBufferTest {}
