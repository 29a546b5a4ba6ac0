/* SPDX-License-Identifier: Apache-2.0 */
/* What atomic.h has where no CPU's flags are read. */
#define PL_SANITIZED
#include "support.h"

int portable_dec_rel(uint32_t *p, uint32_t mute) { return pl_dec_rel(p, mute); }

int portable_dec8_rel(uint8_t *p, uint8_t mute) { return pl_dec8_rel(p, mute); }
