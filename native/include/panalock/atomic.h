/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The few atomic operations that Panalock uses, on plain 32-bit words, with the memory order in the name:
 * `_rlx` relaxed, `_acq` acquire, `_rel` release, `_ar` acquire and release. `pl_fence` is a full fence,
 * `pl_compiler_fence` orders the compiler only.
 *
 * Plain words, not `_Atomic` objects, because the same memory is accessed from Java and from other processes.
 */
#ifndef PANALOCK_ATOMIC_H
#define PANALOCK_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

/* Sanitizers see what the compiler's own atomics do, not what assembler does. */
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define PL_TSAN
#endif
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define PL_SANITIZED
#endif
#endif
#if defined(__SANITIZE_THREAD__) && !defined(PL_TSAN)
#define PL_TSAN
#endif
#if (defined(PL_TSAN) || defined(__SANITIZE_ADDRESS__)) && !defined(PL_SANITIZED)
#define PL_SANITIZED
#endif

static inline uint32_t pl_load_rlx(const uint32_t *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
static inline uint32_t pl_load_acq(const uint32_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
static inline void pl_store_rlx(uint32_t *p, uint32_t v) { __atomic_store_n(p, v, __ATOMIC_RELAXED); }
static inline void pl_store_rel(uint32_t *p, uint32_t v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }

static inline bool pl_cas_acq(uint32_t *p, uint32_t expected, uint32_t desired)
{
	return __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}
static inline bool pl_cas_rlx(uint32_t *p, uint32_t expected, uint32_t desired)
{
	return __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
static inline bool pl_cas_ar(uint32_t *p, uint32_t expected, uint32_t desired)
{
	return __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}
static inline uint32_t pl_swap_ar(uint32_t *p, uint32_t v) { return __atomic_exchange_n(p, v, __ATOMIC_ACQ_REL); }
static inline uint32_t pl_or_ar(uint32_t *p, uint32_t bits) { return __atomic_fetch_or(p, bits, __ATOMIC_ACQ_REL); }
static inline uint32_t pl_and_ar(uint32_t *p, uint32_t bits) { return __atomic_fetch_and(p, bits, __ATOMIC_ACQ_REL); }
static inline uint32_t pl_xor_ar(uint32_t *p, uint32_t bits) { return __atomic_fetch_xor(p, bits, __ATOMIC_ACQ_REL); }
/* Returns the value before: equal to @expected if it was swapped. */
static inline uint32_t pl_cas_value_ar(uint32_t *p, uint32_t expected, uint32_t desired)
{
	__atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	return expected;
}
static inline uint32_t pl_add_ar(uint32_t *p, uint32_t n) { return __atomic_fetch_add(p, n, __ATOMIC_ACQ_REL); }
static inline uint32_t pl_sub_rel(uint32_t *p, uint32_t n) { return __atomic_fetch_sub(p, n, __ATOMIC_RELEASE); }

static inline uint64_t pl_load64_rlx(const uint64_t *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
static inline uint64_t pl_load64_acq(const uint64_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
static inline void pl_store64_rlx(uint64_t *p, uint64_t v) { __atomic_store_n(p, v, __ATOMIC_RELAXED); }
static inline void pl_store64_rel(uint64_t *p, uint64_t v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }
static inline uint64_t pl_add64_ar(uint64_t *p, uint64_t n) { return __atomic_fetch_add(p, n, __ATOMIC_ACQ_REL); }

/*
 * Subtract 1, release, and say what decides an unlock: nothing of the memory may be touched afterwards.
 *
 * The result must have no other bit set in its lowest byte than @mute, and the top bit of the byte itself in the 8-bit form.
 * @return 0; 1 when the result's top bit is set and @mute is clear; -1 when the word (the byte) was zero before.
 *
 * On x86 the flags of one `lock sub` say all that, without a look at the result: sign, the parity of the lowest byte, borrow.
 * A fetch-and-subtract costs more there (claim bridge/c-word-mutex).
 */
#if defined(__x86_64__) && defined(__GCC_ASM_FLAG_OUTPUTS__) && !defined(PL_SANITIZED)
static inline int pl_dec_rel(uint32_t *p, uint32_t mute)
{
	bool top, even, was_zero;
	(void)mute;
	__asm__ volatile("lock subl $1, %0" : "+m"(*p), "=@ccs"(top), "=@ccp"(even), "=@ccc"(was_zero) : : "memory");
	if (__builtin_expect(!top, 1))
		return 0;
	return was_zero ? -1 : even; /* even: none */
}
static inline int pl_dec8_rel(uint8_t *p, uint8_t mute)
{
	bool top, even, was_zero;
	(void)mute;
	__asm__ volatile("lock subb $1, %0" : "+m"(*p), "=@ccs"(top), "=@ccp"(even), "=@ccc"(was_zero) : : "memory");
	if (__builtin_expect(!top, 1))
		return 0;
	return was_zero ? -1 : !even; /* odd: the top bit alone */
}
#else
static inline int pl_dec_rel(uint32_t *p, uint32_t mute)
{
	uint32_t was = __atomic_fetch_sub(p, 1, __ATOMIC_RELEASE);
	return was ? (was - 1) >> 31 && !((was - 1) & mute) : -1;
}
static inline int pl_dec8_rel(uint8_t *p, uint8_t mute)
{
	uint8_t was = __atomic_fetch_sub(p, (uint8_t)1, __ATOMIC_RELEASE);
	return was ? (was - 1) >> 7 && !((was - 1) & mute) : -1;
}
#endif

static inline void pl_compiler_fence(void) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

#ifdef PL_TSAN
/* ThreadSanitizer does not model fences; a read-modify-write on one shared word gives it (and the CPU) the same order. */
static inline void pl_fence(void)
{
	static uint32_t meeting_point;
	__atomic_fetch_add(&meeting_point, 0, __ATOMIC_SEQ_CST);
}
#else
static inline void pl_fence(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
#endif

#endif
