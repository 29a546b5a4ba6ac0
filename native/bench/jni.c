/* SPDX-License-Identifier: Apache-2.0 */
/* The JNI side of io.panalock.bench.peer.JniCalls. */
#include <errno.h>
#include <jni.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "bench.h"

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
NATIVE(jdouble, mix, jlong a, jdouble b, jlong c, jdouble d) { return (jdouble)(a + c) + b + d; }

/* JNI has no structs: a program passes the fields. */
NATIVE(jlong, structFields, jlong a, jlong b) { return a + b; }

NATIVE(jlong, string, jstring text)
{
	const char *chars = (*env)->GetStringUTFChars(env, text, NULL);
	if (!chars)
		return -1;
	jlong length = (jlong)strlen(chars);
	(*env)->ReleaseStringUTFChars(env, text, chars);
	return length;
}

/* A program reads errno before it returns to Java, where it would be lost. */
NATIVE(jint, errnoOf, jint value) { return plb_errno(value) < 0 ? errno : 0; }

static jmethodID called_back;

NATIVE(void, prepareUpcall) { called_back = (*env)->GetStaticMethodID(env, type, "calledBack", "(I)I"); }
NATIVE(jint, upcall, jint value) { return (*env)->CallStaticIntMethod(env, type, called_back, value) + 1; }

NATIVE(jint, arrayCritical, jintArray array, jint length)
{
	jint *elements = (*env)->GetPrimitiveArrayCritical(env, array, NULL);
	if (!elements)
		return -1;
	jint sum = elements[0] + elements[length - 1];
	(*env)->ReleasePrimitiveArrayCritical(env, array, elements, JNI_ABORT);
	return sum;
}

NATIVE(jint, arrayCopy, jintArray array, jint length)
{
	jint elements[1024];
	if (length > 1024)
		return -1;
	(*env)->GetIntArrayRegion(env, array, 0, length, elements);
	return elements[0] + elements[length - 1];
}

NATIVE(void, sleep, jlong ns) { plb_sleep((uint64_t)ns); }
