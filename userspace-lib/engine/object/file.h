/* SPDX-License-Identifier: MIT */
/* Properties of files: see file.c. */
#ifndef ENGINE_FILE_H
#define ENGINE_FILE_H

#include <stdbool.h>
#include <stdint.h>

struct stat;

/* Return: true if /proc shows the file by this name. */
bool file_is_named(int fd, const char *name);
/*
 * Return: true if calls that use the file's position take turns, so that a call that does not end
 * holds up the others. @st: result of fstat() of @fd.
 */
bool file_has_lock(int fd, const struct stat *st);
/* Return: kind of the file: VGPU_OBJECT_DEVICE or another one. @st: result of fstat() of @fd. */
uint32_t file_kind(int fd, const struct stat *st);
/* Return: VGPU_FOP_* of the operations that the file's driver has, except VGPU_FOP_FASYNC. */
uint32_t file_operations(int fd);
/*
 * Return: true if the driver can signal processes (->fasync). Only then can O_ASYNC be set, as the
 * driver sets this flag by fasync_helper().
 */
bool file_signals(int fd);
/* Open the file's node again. Return: the file, or a negative errno. */
int file_reopen(int file, int flags);

#endif /* ENGINE_FILE_H */
