/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

uint64_t pl_os_page_bytes(void) { return (uint64_t)sysconf(_SC_PAGESIZE); }

int pl_os_anonymous_file(uint64_t bytes, int *fd)
{
	*fd = memfd_create("panalock", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0)
		return -errno;
	int err = pl_os_grow_file(*fd, bytes);
	if (err)
		close(*fd);
	else
		(void)fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK); /* an extra: whoever could shrink it is this process itself */
	return err;
}

/* By statx, since fstat is a newer symbol than the oldest C library that we support. */
int pl_os_file_size(int fd, uint64_t *bytes)
{
	struct statx st;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_SIZE, &st))
		return -errno;
	*bytes = st.stx_size;
	return 0;
}

int pl_os_grow_file(int fd, uint64_t bytes)
{
	uint64_t present;
	int err = pl_os_file_size(fd, &present);
	if (err)
		return err;
	return present < bytes && ftruncate(fd, (off_t)bytes) ? -errno : 0;
}

int pl_os_create_file(const char *path, int *fd)
{
	*fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
	return *fd < 0 ? -errno : 0;
}

int pl_os_open_file(const char *path, int *fd)
{
	*fd = open(path, O_RDWR | O_CLOEXEC);
	return *fd < 0 ? -errno : 0;
}

void pl_os_close_file(int fd) { close(fd); }

void pl_os_delete_file(const char *path) { unlink(path); }

int pl_os_map(int fd, uint64_t offset, uint64_t bytes, void **at)
{
	*at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
	return *at == MAP_FAILED ? -errno : 0;
}

int pl_os_map_ring(int fd, uint64_t front, uint64_t data, bool twice, void **at)
{
	if (!twice)
		return pl_os_map(fd, 0, front + data, at);
	/* The whole range first, so that nothing else gets between the two halves; then the second one over its end. */
	char *base = mmap(NULL, front + 2 * data, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return -errno;
	if (mmap(base, front + data, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED ||
	    mmap(base + front + data, data, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (off_t)front) == MAP_FAILED) {
		int err = -errno;
		munmap(base, front + 2 * data);
		return err;
	}
	*at = base;
	return 0;
}

void pl_os_unmap(void *at, uint64_t bytes) { munmap(at, bytes); }
