/* SPDX-License-Identifier: Apache-2.0 */
/* What a broadcast to many waiters costs. */
#ifndef PLB_BROADCAST_H
#define PLB_BROADCAST_H

#include "bench.h"

/**
 * @p waiters threads wait on one condition of a mutex; one broadcast; until the last of them has had the mutex and given it
 * back. @p switches: context switches of the process meanwhile, voluntary and not.
 * @return 0; -EINVAL (no waiters, or more than 16,000); -EAGAIN (no threads to be had); -ENOMEM.
 */
PLB_API int plb_broadcast(uint32_t waiters, uint64_t *switches);

#endif
