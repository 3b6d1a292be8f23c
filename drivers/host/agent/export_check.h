/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Checks of exports and grants that an agent asks for.
 */
#ifndef _VGPU_HOST_EXPORT_CHECK_H
#define _VGPU_HOST_EXPORT_CHECK_H

#include <linux/types.h>

struct vgpu_grant;
struct vgpu_host_export_add;
struct vgpuh_export;

/* Check everything but the file of an export. Return: 0, -EOPNOTSUPP or -EINVAL. */
int vgpu_export_check(const struct vgpu_host_export_add *args);
/* Return true if a guest that has @old need not notice that @new takes its place. */
bool vgpu_export_is_same(const struct vgpuh_export *old, const struct vgpuh_export *new);
bool vgpu_grant_is_same(const struct vgpu_grant *old, const struct vgpu_grant *new);

#endif /* _VGPU_HOST_EXPORT_CHECK_H */
