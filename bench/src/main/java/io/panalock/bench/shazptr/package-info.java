// SPDX-License-Identifier: Apache-2.0
/** Hazard pointers against other ways of waiting for readers: rcuscale, refscale, lockdep-unregister. */
package io.panalock.bench.shazptr;
