/* SPDX-License-Identifier: Apache-2.0 */
#include <panalock/version.h>

const char *pl_version(void) { return PL_VERSION_STRING; }
