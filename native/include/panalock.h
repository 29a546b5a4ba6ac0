/* SPDX-License-Identifier: Apache-2.0 */
/** @file Everything public, in one include. */
#ifndef PANALOCK_H
#define PANALOCK_H

#include <panalock/version.h>
#include <panalock/base.h>
#include <panalock/machine.h>
#include <panalock/layout.h>
#include <panalock/domain.h>
#include <panalock/thread.h>
#include <panalock/futex.h>
#include <panalock/waitq.h>
#include <panalock/qspinlock.h>
#include <panalock/shazptr.h>
#include <panalock/ringbuf.h>
#include <panalock/pipe.h>
#include <panalock/osq.h>
#include <panalock/mutex.h>
#include <panalock/rqspinlock.h>
#include <panalock/locktable.h>
#include <panalock/lockdep.h>
#include <panalock/bridge.h>

#endif
