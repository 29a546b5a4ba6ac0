/* SPDX-License-Identifier: Apache-2.0 */
/* Files in memory and mapping them: what os.h is for the rest of the operating system. Results are negative errno values. */
#ifndef PL_OS_MEMORY_H
#define PL_OS_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

uint64_t pl_os_page_bytes(void);

/* A file without a name, of this size, that cannot be made shorter. */
int pl_os_anonymous_file(uint64_t bytes, int *fd);
int pl_os_file_size(int fd, uint64_t *bytes);
int pl_os_grow_file(int fd, uint64_t bytes);
int pl_os_create_file(const char *path, int *fd);
int pl_os_open_file(const char *path, int *fd);
void pl_os_close_file(int fd);
void pl_os_delete_file(const char *path);

/* Maps @bytes of the file from @offset on, shared. */
int pl_os_map(int fd, uint64_t offset, uint64_t bytes, void **at);
/*
 * Maps the file's first @front bytes and, right behind them, its next @data bytes twice in a row (@twice) or once:
 * what is stored through one of the two is there in the other.
 */
int pl_os_map_ring(int fd, uint64_t front, uint64_t data, bool twice, void **at);
void pl_os_unmap(void *at, uint64_t bytes);

#endif
