/* SPDX-License-Identifier: Apache-2.0 */
#include "arch/arch.h"

#include <panalock/machine.h>

const char *pl_wait_method(void) { return pl_cpu_wait_name(); }

const char *pl_relax_method(void) { return pl_cpu_relax_name(); }
