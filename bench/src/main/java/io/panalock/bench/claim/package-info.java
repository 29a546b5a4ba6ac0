// SPDX-License-Identifier: Apache-2.0

/** Every performance and size statement of the project, with its bound. */
package io.panalock.bench.claim;
