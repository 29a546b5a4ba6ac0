// SPDX-License-Identifier: Apache-2.0
package io.panalock;

import org.junit.jupiter.api.Tag;

/** The same without the native library. */
@Tag("pure")
class TokenPipePureTest extends TokenPipeTest {}
