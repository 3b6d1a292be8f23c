// SPDX-License-Identifier: MIT
/*
 * Files that others may map. A hypervisor that shows a guest what its programs have mapped may go
 * on showing it when they have ended, and nobody can make sure that it does not. And where it finds
 * no page in its mapping KVM stops the guest's machine, which a program of the guest must not be
 * able to bring about. So a driver's own file is lent only where
 *
 * - a mapping keeps its memory, whoever has it, and
 * - its fault handler finds a page at each address, whatever programs ask the driver for.
 *
 * A driver whose mappings don't keep their memory has to let the engine own that (owner.h). The
 * mappings of all others go by copy.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lend.h"

/* Longest text of /proc/PID/fdinfo that is read: what is wanted is at its beginning. */
#define FDINFO_MAX	512

/**
 * struct lender - a way to lend memory
 * @fits: tells whether the object's memory is lent so
 * @lend: lends it, as lend() does
 */
struct lender {
	bool (*fits)(const struct object *object);
	int (*lend)(struct object *object, uint64_t file_offset, uint64_t len, struct lent *lent);
};

/*
 * The driver releases the file when the last one has let go of it, and nobody tells when the
 * hypervisor has: so memory of the guest that the driver keeps until then could not be given back.
 */
static int lend_own_file(struct object *object, uint64_t file_offset, uint64_t len,
			 struct lent *lent)
{
	(void)len;
	if (object->keeps)
		return -EOPNOTSUPP;
	object->lent = true;
	lent->fd = fcntl(object->fd, F_DUPFD_CLOEXEC, 0);
	lent->file_offset = file_offset;
	return lent->fd < 0 ? -errno : 0;
}

static int lend_memory(struct object *object, uint64_t file_offset, uint64_t len,
		       struct lent *lent)
{
	int ret = owner_take(object, file_offset, len, &lent->owned);

	if (ret)
		return ret;
	lent->fd = lent->owned.fd;
	lent->owns = true;
	return 0;
}

/*
 * KVM before Linux 6.13 stops a machine that touches pages of which it can have no reference, and
 * which pages a driver gives cannot be known beforehand.
 */
static bool kvm_takes_raw_pages(void)
{
	unsigned int major = 0, minor = 0;
	struct utsname name;

	if (uname(&name) || sscanf(name.release, "%u.%u", &major, &minor) != 2)
		return false;
	return major > 6 || (major == 6 && minor >= 13);
}

/* A shadow may say that another device came from an export, whose rules are not that device's. */
static bool is_of_export(const struct object *object)
{
	return object->kind == VGPU_OBJECT_DEVICE && object->grant &&
	       object->rdev == object->grant->rdev;
}

/**
 * struct gem_driver - a DRM driver whose mappings always have their pages
 * @name: the driver's name
 * @maps_imports: its files also map dma-bufs of other drivers, whose fault handlers serve those
 */
struct gem_driver {
	const char *name;
	bool maps_imports;
};

/*
 * Both have all pages of a buffer from mmap() on until the last reference goes, and no call of
 * theirs takes any away. Drivers that are not here either have such a call (MADV of panfrost,
 * i915, msm, vc4 and others), or move buffers in the fault handler, which fails where other
 * buffers of the program are in the way (those with TTM: amdgpu, nouveau, radeon, vmwgfx, xe), or
 * were not read.
 */
static const struct gem_driver gem_drivers[] = {
	{ .name = "vgem", .maps_imports = true },
	{ .name = "virtio_gpu" },
};

/*
 * Makers of dma-bufs of which the same holds, by the name that the kernel gives them. It is the
 * same for all DRM drivers that have no exporting of their own.
 */
static const char *const dmabuf_makers[] = { "virtio_gpu", "udmabuf", "system" };
#define DRM_MAKER	"drm"

/* The guest has had a device that may make dma-bufs for which this does not hold. */
static bool has_other_maker;

static const struct gem_driver *gem_driver(const struct grant *grant)
{
	size_t i;

	for (i = 0; i < sizeof(gem_drivers) / sizeof(gem_drivers[0]); i++)
		if (!strcmp(grant->driver, gem_drivers[i].name))
			return &gem_drivers[i];
	return NULL;
}

static bool is_mock_grant(const struct grant *grant)
{
	return !strcmp(grant->driver, "vgpu-mock");
}

static bool is_drm(const struct grant *grant)
{
	return grant->policy.kind == VGPU_EXPORT_DRM_PRIMARY ||
		grant->policy.kind == VGPU_EXPORT_DRM_RENDER;
}

/*
 * Drivers of gem_drivers, of cameras, which map all of a buffer at once, of sound, which
 * make none, and the tests' one.
 */
static bool makes_no_others(const struct grant *grant)
{
	if (is_drm(grant))
		return gem_driver(grant);
	return (grant->policy.kind >= VGPU_EXPORT_VIDEO &&
		grant->policy.kind <= VGPU_EXPORT_MEDIA) || is_mock_grant(grant);
}

void lend_learn(const struct grant *grant)
{
	if (!makes_no_others(grant))
		has_other_maker = true;
}

static bool is_gem(const struct object *object)
{
	const struct gem_driver *driver;

	if (!kvm_takes_raw_pages() || !is_of_export(object) || !is_drm(object->grant))
		return false;
	driver = gem_driver(object->grant);
	return driver && !(driver->maps_imports && has_other_maker);
}

/* The dma-buf's maker, as the kernel says: the name that a program has given it comes later. */
static bool dmabuf_maker(int fd, char maker[32])
{
	char path[32], text[FDINFO_MAX + 1], *line;
	ssize_t len;
	int info;

	snprintf(path, sizeof(path), "self/fdinfo/%d", fd);
	info = openat(ENGINE_FD_PROC, path, O_RDONLY | O_CLOEXEC);
	if (info < 0)
		return false;
	len = read(info, text, FDINFO_MAX);
	close(info);
	if (len < 0)
		return false;
	text[len] = '\0';
	line = strstr(text, "\nexp_name:");
	return line && sscanf(line, "\nexp_name:\t%31[^\n]\n", maker) == 1;
}

static bool is_dmabuf(const struct object *object)
{
	char maker[32];
	size_t i;

	if (!kvm_takes_raw_pages() || object->kind != VGPU_OBJECT_DMABUF ||
	    !dmabuf_maker(object->fd, maker))
		return false;
	for (i = 0; i < sizeof(dmabuf_makers) / sizeof(dmabuf_makers[0]); i++)
		if (!strcmp(maker, dmabuf_makers[i]))
			return true;
	return !strcmp(maker, DRM_MAKER) && !has_other_maker;
}

/*
 * The driver of the tests, whose mappings keep their memory. It refuses pages where a program asks
 * it to, which is what tests are for: it is no driver to give to a guest otherwise.
 */
static bool is_mock(const struct object *object)
{
	return is_of_export(object) && is_mock_grant(object->grant);
}

static const struct lender lenders[] = {
	{ .fits = is_gem, .lend = lend_own_file },
	{ .fits = is_dmabuf, .lend = lend_own_file },
	{ .fits = is_mock, .lend = lend_own_file },
	{ .fits = owner_knows, .lend = lend_memory },
};

int lend(struct object *object, uint64_t file_offset, uint64_t len, struct lent *lent)
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
