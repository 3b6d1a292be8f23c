// SPDX-License-Identifier: MIT
/*
 * Files that a hypervisor may map.
 *
 * A hypervisor shows a guest what the guest's programs have mapped. It may go on doing so when
 * these programs have ended, and the engine cannot make sure that it stops. If KVM finds no page
 * in the hypervisor's mapping, it stops the guest's machine, and a program of the guest must not be
 * able to cause that. So a driver's own file is lent only if
 *
 * - a mapping keeps its memory, whatever process has the mapping, and
 * - the fault handler finds a page at each address, whatever programs ask the driver for.
 *
 * If the mappings of a driver do not keep their memory, the engine has to own the memory
 * (owner.h). All other mappings go by copy.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "engine/base/agent.h"
#include "engine/guest/grant.h"
#include "engine/memory/lend.h"
#include "engine/object/object.h"
#include "shared/proto.h"

/* Largest length of /proc/PID/fdinfo that is read; the lines of interest come first. */
#define FDINFO_MAX	512

/*
 * Lend the object's own file. The driver releases the file when its last reference is dropped,
 * and nothing tells when the hypervisor drops its reference. So memory of the guest that the
 * driver keeps until the release could not be given back.
 */
static int lend_own_file(struct object *object, uint64_t file_offset, struct lent *lent)
{
	if (object->keeps)
		return -EOPNOTSUPP;
	object->lent = true;
	lent->fd = fcntl(object->fd, F_DUPFD_CLOEXEC, 0);
	lent->file_offset = file_offset;
	return lent->fd < 0 ? -errno : 0;
}

/*
 * Return: true if KVM can map pages of which it can take no reference. Before Linux 6.13 KVM stops
 * a machine that touches such a page, and which pages a driver inserts is not known beforehand.
 */
static bool kvm_takes_raw_pages(void)
{
	unsigned int major = 0, minor = 0;
	struct utsname name;

	if (uname(&name) || sscanf(name.release, "%u.%u", &major, &minor) != 2)
		return false;
	return major > 6 || (major == 6 && minor >= 13);
}

/*
 * Check that the object is a file of its export's device: a malicious shadow may report a file of
 * another device, for which the export's rules do not hold.
 */
static bool is_of_export(const struct object *object)
{
	return object->kind == VGPU_OBJECT_DEVICE && object->grant &&
	       object->rdev == object->grant->rdev;
}

/**
 * struct gem_driver - a DRM driver whose mappings always have their pages
 * @name: name of the driver
 * @maps_imports: true if its files also map dma-bufs of other drivers, whose fault handlers then
 *	serve the faults
 */
struct gem_driver {
	const char *name;
	bool maps_imports;
};

/*
 * Drivers that have all pages of a buffer from mmap() until the last reference is dropped, and
 * that have no call which takes pages away. Some drivers are missing because they have such a
 * call (MADV of panfrost, i915, msm, vc4 and others). Drivers with TTM (amdgpu, nouveau, radeon,
 * vmwgfx, xe) are missing because they move buffers in the fault handler, and this fails if other
 * buffers of the program are in the way. All other drivers are missing because their code was not
 * checked.
 */
static const struct gem_driver gem_drivers[] = {
	{ .name = "vgem", .maps_imports = true },
	{ .name = "virtio_gpu" },
};

/*
 * Makers of dma-bufs whose pages stay like those of gem_drivers, by the name that the kernel gives
 * them. All DRM drivers without exporting code of their own have one name, DRM_MAKER.
 */
static const char *const dmabuf_makers[] = { "virtio_gpu", "udmabuf", "system" };
#define DRM_MAKER	"drm"

/* True if the guest has had a device that may make dma-bufs whose pages may go away. */
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
 * Return: true if the device makes only dma-bufs whose pages stay: drivers of gem_drivers, cameras,
 * which map all of a buffer at once, sound devices, which make no dma-bufs, and the driver of the
 * tests.
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

/*
 * Read the kernel's name of the dma-buf's maker. The name that a program gave the dma-buf comes
 * later.
 */
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
 * Return: true for the driver of the tests, whose mappings keep their memory. It fails faults
 * when a program asks for that, so it must not be given to guests otherwise.
 */
static bool is_mock(const struct object *object)
{
	return is_of_export(object) && is_mock_grant(object->grant);
}

int lend(struct object *object, uint64_t file_offset, uint64_t len, struct lent *lent)
{
	int ret;

	*lent = (struct lent) { .fd = -1 };
	if (is_gem(object) || is_dmabuf(object) || is_mock(object))
		return lend_own_file(object, file_offset, lent);
	ret = owner_take(object, file_offset, len, &lent->owned);
	if (ret)
		return ret;
	lent->fd = lent->owned.fd;
	lent->owns = true;
	return 0;
}

void lend_over(const struct lent *lent)
{
	if (lent->owns)
		owner_give_back(&lent->owned);
}

/* --- memory that may still be visible in a window that is gone --------------------------- */

/**
 * struct leftover - a mapping that may still be visible in a window that is gone
 * @node: list entry of leftovers
 * @tag: tag of the mapping's binding
 * @lent: memory that is shown
 */
struct leftover {
	SLIST_ENTRY(leftover) node;
	uint64_t tag;
	struct lent lent;
};

static SLIST_HEAD(, leftover) leftovers = SLIST_HEAD_INITIALIZER(leftovers);
/* Largest tag of a binding whose memory the engine owns until the engine ends; 0: none. */
static uint64_t last_stuck;

void leftover_add(uint64_t tag, const struct lent *lent)
{
	struct leftover *leftover;

	if (!lent->owns)
		return;
	/*
	 * Memory of a card counts against the guest's limits until no process has the memory
	 * mapped. owner.c finds that out without a keeper.
	 */
	if (lent->owned.leaving) {
		lend_over(lent);
		return;
	}
	leftover = malloc(sizeof(*leftover));
	if (!leftover)
		engine_end("out of memory");
	leftover->tag = tag;
	leftover->lent = *lent;
	SLIST_INSERT_HEAD(&leftovers, leftover, node);
}

void leftovers_end(bool hidden)
{
	struct leftover *leftover;

	while ((leftover = SLIST_FIRST(&leftovers))) {
		SLIST_REMOVE_HEAD(&leftovers, node);
		if (hidden)
			lend_over(&leftover->lent);
		else if (last_stuck < leftover->tag)
			last_stuck = leftover->tag;
		free(leftover);
	}
	progress_notify();
}

bool leftovers_since(uint64_t tag)
{
	const struct leftover *leftover;

	if (last_stuck > tag)
		return true;
	SLIST_FOREACH(leftover, &leftovers, node)
		if (leftover->tag > tag)
			return true;
	return false;
}
