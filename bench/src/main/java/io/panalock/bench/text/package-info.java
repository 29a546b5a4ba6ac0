// SPDX-License-Identifier: Apache-2.0

/** Tables and sentences for people. */
package io.panalock.bench.text;
