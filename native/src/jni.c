/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JNI twin of the public functions, for io.panalock.internal.Jni. Addresses travel as jlong. Bound by
 * RegisterNatives when a class loader loads the library, so that several class loaders, each with its own copy of the
 * library, do not meet. Left out where there is no jni.h.
 */
#if defined __has_include
#if __has_include(<jni.h>)

#define PL_NO_INLINE /* call what FFM calls */
#include <jni.h>
#include <panalock.h>

static void *at(jlong address) { return (void *)(uintptr_t)address; }

static jint word_try(JNIEnv *env, jclass c, jlong lock)
{
	(void)env, (void)c;
	return pl_qspin_trylock(NULL, at(lock));
}

static jint byte_try(JNIEnv *env, jclass c, jlong lock)
{
	(void)env, (void)c;
	return pl_qspin_byte_trylock(NULL, at(lock));
}

static jint wide_try(JNIEnv *env, jclass c, jlong lock)
{
	(void)env, (void)c;
	return pl_qspin_wide_trylock(NULL, at(lock));
}

static jint word_release(JNIEnv *env, jclass c, jlong lock)
{
	(void)env, (void)c;
	return pl_qspin_release(at(lock));
}

static jint byte_release(JNIEnv *env, jclass c, jlong lock)
{
	(void)env, (void)c;
	return pl_qspin_byte_release(at(lock));
}

static jint wide_release(JNIEnv *env, jclass c, jlong lock)
{
	(void)env, (void)c;
	return pl_qspin_wide_release(at(lock));
}

static jint lock_wait(JNIEnv *env, jclass c, jlong self, jlong lock, jint layout, jint flags, jlong timeout_ns)
{
	(void)env, (void)c;
	switch (layout) {
	case PL_LAYOUT_WORD: return pl_qspin_lock_wait(at(self), at(lock), (uint32_t)flags, timeout_ns);
	case PL_LAYOUT_BYTE: return pl_qspin_byte_lock_wait(at(self), at(lock), (uint32_t)flags, timeout_ns);
	default: return pl_qspin_wide_lock_wait(at(self), at(lock), (uint32_t)flags, timeout_ns);
	}
}

static jint rq_lock_wait(JNIEnv *env, jclass c, jlong self, jlong lock, jint layout, jint flags, jlong timeout_ns, jlong report)
{
	(void)env, (void)c;
	switch (layout) {
	case PL_LAYOUT_WORD: return pl_rqspin_lock_wait(at(self), at(lock), (uint32_t)flags, timeout_ns, at(report));
	case PL_LAYOUT_BYTE: return pl_rqspin_byte_lock_wait(at(self), at(lock), (uint32_t)flags, timeout_ns, at(report));
	default: return pl_rqspin_wide_lock_wait(at(self), at(lock), (uint32_t)flags, timeout_ns, at(report));
	}
}

static jint kick(JNIEnv *env, jclass c, jlong self, jlong lock, jint layout)
{
	(void)env, (void)c;
	return pl_qspin_kick(at(self), at(lock), (uint32_t)layout, 0);
}

static jlong hazard_acquire(JNIEnv *env, jclass c, jlong self, jlong name)
{
	(void)env, (void)c;
	return (jlong)pl_shazptr_acquire(at(self), (uint64_t)name);
}

static jint hazard_clear(JNIEnv *env, jclass c, jlong self, jlong guard)
{
	(void)env, (void)c;
	return pl_shazptr_clear(at(self), (uint64_t)guard);
}

static jint hazard_synchronize(JNIEnv *env, jclass c, jlong self, jlong name, jint flags)
{
	(void)env, (void)c;
	return pl_shazptr_synchronize(at(self), (uint64_t)name, (uint32_t)flags);
}

static jboolean is_locked(JNIEnv *env, jclass c, jlong lock, jint layout)
{
	(void)env, (void)c;
	switch (layout) {
	case PL_LAYOUT_WORD: return pl_qspin_is_locked(at(lock)) > 0;
	case PL_LAYOUT_BYTE: return pl_qspin_byte_is_locked(at(lock)) > 0;
	default: return pl_qspin_wide_is_locked(at(lock)) > 0;
	}
}

static jboolean is_contended(JNIEnv *env, jclass c, jlong lock, jint layout)
{
	(void)env, (void)c;
	switch (layout) {
	case PL_LAYOUT_WORD: return pl_qspin_is_contended(at(lock)) > 0;
	case PL_LAYOUT_BYTE: return pl_qspin_byte_is_contended(at(lock)) > 0;
	default: return pl_qspin_wide_is_contended(at(lock)) > 0;
	}
}

static jint mutex_try(JNIEnv *env, jclass c, jlong self, jlong mutex)
{
	(void)env, (void)c;
	return pl_mutex_trylock(at(self), at(mutex));
}

static jint mutex_release(JNIEnv *env, jclass c, jlong self, jlong mutex)
{
	(void)env, (void)c;
	return pl_mutex_release(at(self), at(mutex));
}

static jint mutex_wait(JNIEnv *env, jclass c, jlong self, jlong mutex, jint flags, jlong timeout_ns)
{
	(void)env, (void)c;
	return pl_mutex_lock_wait(at(self), at(mutex), (uint32_t)flags, timeout_ns);
}

static jint mutex_kick(JNIEnv *env, jclass c, jlong self, jlong mutex)
{
	(void)env, (void)c;
	return pl_mutex_kick(at(self), at(mutex), 0);
}

static jint osq_try(JNIEnv *env, jclass c, jlong self, jlong queue)
{
	(void)env, (void)c;
	return pl_osq_trylock(at(self), at(queue));
}

static jint osq_wait(JNIEnv *env, jclass c, jlong self, jlong queue, jint flags, jlong timeout_ns)
{
	(void)env, (void)c;
	return pl_osq_lock_wait(at(self), at(queue), (uint32_t)flags, timeout_ns);
}

static jint osq_unlock(JNIEnv *env, jclass c, jlong self, jlong queue)
{
	(void)env, (void)c;
	return pl_osq_unlock(at(self), at(queue));
}

static jlong ring_reserve(JNIEnv *env, jclass c, jlong self, jlong ring, jint bytes)
{
	(void)env, (void)c;
	return pl_ring_reserve_at(at(self), at(ring), (uint32_t)bytes);
}

static jlong ring_reserve_locked(JNIEnv *env, jclass c, jlong ring, jint bytes)
{
	(void)env, (void)c;
	return pl_ring_reserve_locked(at(ring), (uint32_t)bytes);
}

static jint ring_finish(JNIEnv *env, jclass c, jlong ring, jlong offset, jint discard, jint flags)
{
	(void)env, (void)c;
	return pl_ring_finish(at(ring), offset, (uint32_t)discard, (uint32_t)flags);
}

static jint pipe_transfer(JNIEnv *env, jclass c, jlong self, jlong pipe, jlong buffer, jint bytes, jboolean writing,
			  jint flags, jlong timeout_ns)
{
	(void)env, (void)c;
	return (jint)(writing ? pl_pipe_write(at(self), at(pipe), at(buffer), (uint32_t)bytes, (uint32_t)flags, timeout_ns)
			      : pl_pipe_read(at(self), at(pipe), at(buffer), (uint32_t)bytes, (uint32_t)flags, timeout_ns));
}

#define METHOD(name, signature, function) {(char *)(name), (char *)(signature), (void *)(uintptr_t)(function)}

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved);

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved)
{
	static const JNINativeMethod methods[] = {
		METHOD("pipe", "(JJJIZIJ)I", pipe_transfer),
		METHOD("wordTry", "(J)I", word_try),
		METHOD("byteTry", "(J)I", byte_try),
		METHOD("wideTry", "(J)I", wide_try),
		METHOD("wordRelease", "(J)I", word_release),
		METHOD("byteRelease", "(J)I", byte_release),
		METHOD("wideRelease", "(J)I", wide_release),
		METHOD("lockWait", "(JJIIJ)I", lock_wait),
		METHOD("rqLockWait", "(JJIIJJ)I", rq_lock_wait),
		METHOD("kick", "(JJI)I", kick),
		METHOD("hazardAcquire", "(JJ)J", hazard_acquire),
		METHOD("hazardClear", "(JJ)I", hazard_clear),
		METHOD("hazardSynchronize", "(JJI)I", hazard_synchronize),
		METHOD("isLocked", "(JI)Z", is_locked),
		METHOD("isContended", "(JI)Z", is_contended),
		METHOD("mutexTry", "(JJ)I", mutex_try),
		METHOD("mutexRelease", "(JJ)I", mutex_release),
		METHOD("mutexWait", "(JJIJ)I", mutex_wait),
		METHOD("mutexKick", "(JJ)I", mutex_kick),
		METHOD("osqTry", "(JJ)I", osq_try),
		METHOD("osqWait", "(JJIJ)I", osq_wait),
		METHOD("osqUnlock", "(JJ)I", osq_unlock),
		METHOD("ringReserve", "(JJI)J", ring_reserve),
		METHOD("ringReserveLocked", "(JI)J", ring_reserve_locked),
		METHOD("ringFinish", "(JJII)I", ring_finish),
	};
	JNIEnv *env;
	(void)reserved;
	if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_10) != JNI_OK)
		return JNI_ERR;
	/* During JNI_OnLoad, FindClass asks the class loader that loads this library. Where it has no such class the library
	 * was loaded for other reasons, and is of use without. */
	jclass class = (*env)->FindClass(env, "io/panalock/internal/Jni");
	if (!class) {
		(*env)->ExceptionClear(env);
		return JNI_VERSION_10;
	}
	jint failed = (*env)->RegisterNatives(env, class, methods, sizeof methods / sizeof *methods);
	(*env)->DeleteLocalRef(env, class);
	return failed ? JNI_ERR : JNI_VERSION_10; /* a NoSuchMethodError is pending: classes of another version */
}

#endif
#endif
