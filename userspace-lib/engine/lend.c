// SPDX-License-Identifier: MIT
/*
 * Files that others may map: a hypervisor that shows a guest what its programs have mapped
 * may go on showing it when they have ended, as nobody can make sure that it does not. So of
 * drivers whose mappings keep their memory, whoever maps it, the object's own file is
 * lent; one whose mappings do not needs memory that belongs to the engine. All else goes
 * by copy.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "lend.h"

/**
 * struct lender - how a driver's memory is lent
 * @fits: it is that driver's object
 * @lend: as lend()
 */
struct lender {
	bool (*fits)(const struct object *object);
	int (*lend)(const struct object *object, uint64_t file_offset, uint64_t len,
		    struct lent *lent);
};

static int lend_own_file(const struct object *object, uint64_t file_offset, uint64_t len,
			 struct lent *lent)
{
	(void)len;
	lent->fd = fcntl(object->fd, F_DUPFD_CLOEXEC, 0);
	lent->file_offset = file_offset;
	return lent->fd < 0 ? -errno : 0;
}

static int lend_memory(const struct object *object, uint64_t file_offset, uint64_t len,
		       struct lent *lent)
{
	int ret = owner_take(object, file_offset, len, &lent->owned);

	if (ret)
		return ret;
	lent->fd = lent->owned.fd;
	lent->owns = true;
	return 0;
}

/* KVM of older kernels stops a machine that touches pages of which it can have no reference. */
static bool kvm_takes_raw_pages(void)
{
	unsigned int major = 0, minor = 0;
	struct utsname name;

	if (uname(&name) || sscanf(name.release, "%u.%u", &major, &minor) != 2)
		return false;
	return major > 6 || (major == 6 && minor >= 13);
}

/* A VMA has a reference of the GEM object, or of the dma-buf. */
static bool is_gem(const struct object *object)
{
	if (!kvm_takes_raw_pages())
		return false;
	if (object->kind == VGPU_OBJECT_DMABUF)
		return true;
	return object->kind == VGPU_OBJECT_DEVICE && object->grant &&
	       (object->grant->policy.kind == VGPU_EXPORT_DRM_PRIMARY ||
		object->grant->policy.kind == VGPU_EXPORT_DRM_RENDER);
}

/* The tests' driver: likewise of its buffers. */
static bool is_mock(const struct object *object)
{
	return object->kind == VGPU_OBJECT_DEVICE && object->grant &&
	       !strcmp(object->grant->driver, "vgpu-mock");
}

static const struct lender lenders[] = {
	{ .fits = is_gem, .lend = lend_own_file },
	{ .fits = is_mock, .lend = lend_own_file },
	{ .fits = owner_knows, .lend = lend_memory },
};

int lend(const struct object *object, uint64_t file_offset, uint64_t len, struct lent *lent)
{
	size_t i;

	*lent = (struct lent) { .fd = -1 };
	for (i = 0; i < sizeof(lenders) / sizeof(lenders[0]); i++)
		if (lenders[i].fits(object))
			return lenders[i].lend(object, file_offset, len, lent);
	return -EOPNOTSUPP;
}

void lend_over(const struct lent *lent)
{
	if (lent->owns)
		owner_give_back(&lent->owned);
}
