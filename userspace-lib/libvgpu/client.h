/* SPDX-License-Identifier: MIT */
/* Connection to the host's agent; private to libvgpu. */
#ifndef LIBVGPU_CLIENT_H
#define LIBVGPU_CLIENT_H

#include <assert.h>

#include "vgpu.h"

#define VGPU_PUBLIC __attribute__((visibility("default")))

/* Sizes of the structs that programs fill in, as version 0.1 has them. */
#define EXPORT_REQUEST_0_1	80
#define UNEXPORT_REQUEST_0_1	48
#define LIMIT_REQUEST_0_1	48
#define WINDOW_REQUEST_0_1	32
static_assert(sizeof(struct vgpu_export_request) == EXPORT_REQUEST_0_1, "a new member comes last");
static_assert(sizeof(struct vgpu_unexport_request) == UNEXPORT_REQUEST_0_1, "as above");
static_assert(sizeof(struct vgpu_limit_request) == LIMIT_REQUEST_0_1, "as above");
static_assert(sizeof(struct vgpu_window_request) == WINDOW_REQUEST_0_1, "as above");

/*
 * Copy a struct that a program has filled in, and that begins with its size. @to: struct of @size
 * bytes as the library knows it, in which members that the program does not know become 0. @least:
 * size in version 0.1. Return: 0, -EINVAL (no version has such a size), -E2BIG (the struct has a
 * member that the library does not know), with a message.
 */
int request_copy(struct vgpu_agent *agent, void *to, size_t size, size_t least, const void *from);

/*
 * Make an array of pointers to @nr zeroed structs of @size bytes, each of which begins with its
 * size. Return: NULL: no memory.
 */
void *infos_alloc(size_t nr, size_t size);

/* Free the array and its structs. @infos may be NULL. */
void infos_free(void *infos, size_t nr);

#endif /* LIBVGPU_CLIENT_H */
