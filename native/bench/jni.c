/* SPDX-License-Identifier: Apache-2.0 */
/* The JNI side of io.panalock.bench.peer.JniCalls. */
#include <jni.h>
#include <pthread.h>
#include <stdint.h>

/* Declares and defines one static native method. */
#define NATIVE(result, name, ...)                                                                                   \
	JNIEXPORT result JNICALL Java_io_panalock_bench_peer_JniCalls_##name(JNIEnv *env, jclass type, ##__VA_ARGS__); \
	JNIEXPORT result JNICALL Java_io_panalock_bench_peer_JniCalls_##name(                                       \
		__attribute__((unused)) JNIEnv *env, __attribute__((unused)) jclass type, ##__VA_ARGS__)

/* The bodies stand here, not behind another call: the native side of a call must weigh the same in JNI and in FFM. */
NATIVE(void, blank) {}
NATIVE(jint, int1, jint a) { return a; }
NATIVE(jint, int4, jint a, jint b, jint c, jint d) { return a + b + c + d; }
NATIVE(jint, int10, jint a, jint b, jint c, jint d, jint e, jint f, jint g, jint h, jint i, jint j)
{
	return a + b + c + d + e + f + g + h + i + j;
}
NATIVE(jint, pointer, jlong address) { return *(const int *)(uintptr_t)address; }
NATIVE(jint, mutexLock, jlong address) { return pthread_mutex_lock((pthread_mutex_t *)(uintptr_t)address); }
NATIVE(jint, mutexUnlock, jlong address) { return pthread_mutex_unlock((pthread_mutex_t *)(uintptr_t)address); }
