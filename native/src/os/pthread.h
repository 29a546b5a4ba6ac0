/* SPDX-License-Identifier: Apache-2.0 */
/* <pthread.h>, for files that use keys or pthread_once(). */
#ifndef PL_SRC_OS_PTHREAD_H
#define PL_SRC_OS_PTHREAD_H

#include <pthread.h>

/* The old version of these symbols, so that the library also loads where libpthread was a library of its own. */
#if !defined(__GLIBC__) /* another C library: no versions */
#elif defined(__x86_64__)
__asm__(".symver pthread_key_create, pthread_key_create@GLIBC_2.2.5");
__asm__(".symver pthread_setspecific, pthread_setspecific@GLIBC_2.2.5");
__asm__(".symver pthread_once, pthread_once@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver pthread_key_create, pthread_key_create@GLIBC_2.17");
__asm__(".symver pthread_setspecific, pthread_setspecific@GLIBC_2.17");
__asm__(".symver pthread_once, pthread_once@GLIBC_2.17");
#endif

#endif
