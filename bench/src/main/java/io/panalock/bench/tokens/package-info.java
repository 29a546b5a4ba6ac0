// SPDX-License-Identifier: Apache-2.0
/** The token test: one token that many players pass on, through one channel or another. */
package io.panalock.bench.tokens;
