// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks of exports and grants that an agent asks for: whether they are valid, and whether they are
 * those that an earlier agent has left.
 */
#include <linux/ctype.h>
#include <linux/mount.h>
#include <linux/path.h>
#include <linux/string.h>

#include "agent/export_check.h"
#include "peer/grant.h"

#include <uapi/linux/vgpu_host.h>

static bool export_name_ok(const char *name, size_t size)
{
	size_t len = strnlen(name, size);
	size_t i;

	if (!len || len == size)
		return false;
	for (i = 0; i < len; i++)
		if (!isalnum(name[i]) && !strchr("._+-", name[i]))
			return false;
	return true;
}

/* Check that @s is NUL-terminated and printable; it may be empty. */
static bool export_string_ok(const char *s, size_t size)
{
	size_t len = strnlen(s, size);
	size_t i;

	if (len == size)
		return false;
	for (i = 0; i < len; i++)
		if (s[i] < ' ' || s[i] > '~')
			return false;
	return true;
}

int vgpu_export_check(const struct vgpu_host_export_add *args)
{
	if ((args->flags & ~(VGPU_HOST_EXPORT_MASTER | VGPU_HOST_EXPORT_NO_DEMAND |
			     VGPU_HOST_EXPORT_ADOPT)) ||
	    args->reserved || args->reserved2 || args->reserved3)
		return -EOPNOTSUPP;
	if (args->nr_submits > VGPU_HOST_SUBMITS_MAX || args->kind > VGPU_EXPORT_LAST ||
	    !export_name_ok(args->name, sizeof(args->name)) ||
	    !export_string_ok(args->driver, sizeof(args->driver)) ||
	    !export_string_ok(args->path, sizeof(args->path)) ||
	    args->bus > VGPU_BUS_FAUX || !args->bus != !args->bus_id[0] ||
	    !export_string_ok(args->bus_id, sizeof(args->bus_id)) ||
	    (args->bus != VGPU_BUS_PCI &&
	     memchr_inv(args->pci_header, 0, sizeof(args->pci_header))) ||
	    !export_string_ok(args->title, sizeof(args->title)) ||
	    (args->kind < VGPU_EXPORT_VIDEO && args->title[0]))
		return -EINVAL;
	return 0;
}

/*
 * Check whether two paths lead to one file of one file system. The mounts differ if the next agent
 * has another mount namespace, as a service manager may give one to each process that it starts.
 */
static bool export_path_is_same(const struct path *old, const struct path *new)
{
	return old->dentry == new->dentry && old->mnt->mnt_sb == new->mnt->mnt_sb;
}

bool vgpu_export_is_same(const struct vgpuh_export *old, const struct vgpuh_export *new)
{
	return old->flags == new->flags && old->kind == new->kind && old->rdev == new->rdev &&
	       export_path_is_same(&old->path, &new->path) && old->admin == new->admin &&
	       !memcmp(&old->msg, &new->msg, sizeof(old->msg)) && old->device == new->device &&
	       old->nr_submits == new->nr_submits &&
	       (!old->nr_submits ||
		!memcmp(old->submits, new->submits, old->nr_submits * sizeof(u32)));
}

bool vgpu_grant_is_same(const struct vgpu_grant *old, const struct vgpu_grant *new)
{
	const struct vgpu_policy *had = &old->policy, *has = &new->policy;

	return old->export == new->export && had->kind == has->kind &&
	       had->master == has->master && had->read_only == has->read_only &&
	       had->audit == has->audit && had->deny == has->deny &&
	       had->nr_ioctls == has->nr_ioctls &&
	       !memcmp(old->ioctls, new->ioctls, had->nr_ioctls * sizeof(u32));
}
