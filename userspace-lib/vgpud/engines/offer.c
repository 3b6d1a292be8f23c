// SPDX-License-Identifier: MIT
/*
 * Offers: exports and the small files of their devices, of which vgpud tells engines. Also grants,
 * by which guests get exports.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "engines/engine.h"
#include "engines/lasting.h"
#include "engines/master.h"
#include "engines/node.h"
#include "engines/offer.h"
#include "engines/patience.h"
#include "policy.h"
#include "shared/log.h"

#define DRM_MAJOR	226

/* Limits of the files of one export: the same as the host module's. */
#define FILES_MAX	512
#define FILES_BYTES_MAX	(1U << 20)

/*
 * Copy a string into an array that was zeroed. Guests accept only zeros after the end of a string,
 * and the bytes after the end of @from need not be 0, so they are not copied.
 */
#define SET_STRING(to, from) snprintf((char *)(to), sizeof(to), "%s", (const char *)(from))

struct offer_list offers = LIST_HEAD_INITIALIZER(offers);

static struct offer *offer_find(uint32_t number)
{
	struct offer *offer;

	LIST_FOREACH(offer, &offers, node)
		if (offer->number == number)
			return offer;
	return NULL;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void take_submits(struct offer *offer, const struct vgpu_host_export_add *arg)
{
	const uint32_t *submits = (const uint32_t *)(uintptr_t)arg->submits;
	uint32_t i;

	offer->nr_submits = arg->nr_submits;
	for (i = 0; i < arg->nr_submits; i++)
		offer->submits[i] = vgpu_ioctl_key(submits[i]);
	qsort(offer->submits, offer->nr_submits, sizeof(offer->submits[0]), compare);
}

int engine_export_add(struct vgpu_host_export_add *arg)
{
	struct offer *offer;
	struct stat st;

	if (fstat(arg->path_fd, &st) || !S_ISCHR(st.st_mode))
		return -ENODEV;
	if (arg->nr_submits > VGPU_HOST_SUBMITS_MAX)
		return -EINVAL;
	LIST_FOREACH(offer, &offers, node)
		if (!strcmp((const char *)offer->add.name, arg->name))
			return -EEXIST;
	offer = calloc(1, sizeof(*offer));
	if (!offer)
		return -ENOMEM;
	offer->master = arg->flags & VGPU_HOST_EXPORT_MASTER;
	offer->no_demand = arg->flags & VGPU_HOST_EXPORT_NO_DEMAND;
	offer->rdev = st.st_rdev;
	take_submits(offer, arg);
	offer->add.kind = cpu_to_le32(arg->kind);
	offer->add.device = cpu_to_le64(arg->device);
	offer->add.rdev_major = cpu_to_le32(major(st.st_rdev));
	offer->add.rdev_minor = cpu_to_le32(minor(st.st_rdev));
	offer->add.bus = cpu_to_le32(arg->bus);
	SET_STRING(offer->add.name, arg->name);
	SET_STRING(offer->add.driver, arg->driver);
	SET_STRING(offer->add.path, arg->path);
	SET_STRING(offer->add.bus_id, arg->bus_id);
	memcpy(offer->add.pci_header, arg->pci_header, sizeof(offer->add.pci_header));
	SET_STRING(offer->add.title, arg->title);
	lasting_offer(offer);
	LIST_INSERT_HEAD(&offers, offer, node);
	arg->out_export = offer->number;
	return 0;
}

static void offer_file_free(struct offer_file *file)
{
	LIST_REMOVE(file, node);
	free(file);
}

int engine_revoke(uint32_t peer, uint32_t export, bool now)
{
	const struct engine_number msg = {
		.type = ENGINE_REVOKE,
		.flags = now ? ENGINE_REVOKE_NOW : 0,
		.number = export,
	};
	struct engine *engine = engine_find(peer);

	if (!engine)
		return -ENOENT;
	node_remove(engine->nodes_fd, export);
	masters_end(peer, export);
	denials_forget(&engine->denied, export);
	engine->all_denied_call = 0;
	return engine_tell(engine, &msg, sizeof(msg), -1);
}

int engine_export_del(uint32_t export)
{
	struct offer *offer = offer_find(export);
	struct offer_file *file;
	struct engine *engine;

	if (!offer)
		return -ENOENT;
	LIST_FOREACH(engine, &all_engines, node)
		engine_revoke(engine->number, export, false);
	while ((file = LIST_FIRST(&offer->files)))
		offer_file_free(file);
	lasting_offer_gone(export);
	LIST_REMOVE(offer, node);
	free(offer);
	return 0;
}

int engine_export_change(const struct vgpu_host_export_change *change)
{
	const struct engine_change msg = {
		.type = ENGINE_CHANGE,
		.export = change->export,
		.flags = change->flags,
		.connector = change->connector,
		.property = change->property,
		.wedged = change->wedged,
	};
	struct engine *engine;

	LIST_FOREACH(engine, &all_engines, node)
		engine_tell(engine, &msg, sizeof(msg), -1);
	return 0;
}

/*
 * Send a file of an export with its content, or without if the file is @gone. Return: 0 or a
 * negative errno.
 */
static int file_tell(struct engine *engine, const struct offer *offer,
		     const struct offer_file *file, bool gone)
{
	static struct engine_file msg;

	msg.type = ENGINE_FILE;
	msg.export = offer->number;
	msg.flags = gone ? VGPU_FILE_GONE : 0;
	msg.len = gone ? 0 : file->len;
	memcpy(msg.name, file->name, sizeof(msg.name));
	memcpy(msg.data, file->data, msg.len);
	return engine_tell(engine, &msg, offsetof(struct engine_file, data) + msg.len, -1);
}

static void file_tell_all(const struct offer *offer, const struct offer_file *file, bool gone)
{
	struct engine *engine;

	LIST_FOREACH(engine, &all_engines, node)
		if (node_exists(engine->nodes_fd, offer->number))
			file_tell(engine, offer, file, gone);
}

/* Handle the end of a list of files: files that were not reported since the last end are gone. */
static int files_end(struct offer *offer)
{
	struct offer_file *file, *next;

	for (file = LIST_FIRST(&offer->files); file; file = next) {
		next = LIST_NEXT(file, node);
		if (!file->told) {
			file_tell_all(offer, file, true);
			offer_file_free(file);
			continue;
		}
		file->told = false;
	}
	return 0;
}

int engine_export_file(const struct vgpu_host_export_file *arg)
{
	struct offer *offer = offer_find(arg->export);
	struct offer_file *file, *old = NULL;
	uint32_t nr = 0, bytes = arg->len;
	const void *data = (const void *)(uintptr_t)arg->data;

	if (!offer)
		return -ENOENT;
	if (arg->flags & VGPU_HOST_FILE_LAST)
		return files_end(offer);
	if (arg->len > VGPU_FILE_MAX || !vgpu_wire_file_name_ok((const uint8_t *)arg->name))
		return -EINVAL;
	LIST_FOREACH(file, &offer->files, node) {
		if (!strcmp(file->name, arg->name)) {
			old = file;
			continue;
		}
		nr++;
		bytes += file->len;
	}
	/* The file exists, also if its new contents cannot be taken: guests keep the old ones. */
	if (old)
		old->told = true;
	if (nr >= FILES_MAX || bytes > FILES_BYTES_MAX)
		return -ENOSPC;
	if (old && old->len == arg->len && !memcmp(old->data, data, arg->len))
		return 0;
	file = calloc(1, sizeof(*file) + arg->len);
	if (!file)
		return -ENOMEM;
	file->told = true;
	file->len = arg->len;
	SET_STRING(file->name, arg->name);
	memcpy(file->data, data, arg->len);
	if (old)
		offer_file_free(old);
	LIST_INSERT_HEAD(&offer->files, file, node);
	file_tell_all(offer, file, false);
	return 0;
}

/*
 * Start the process that makes programs of the guest DRM masters, if the export allows masters.
 * A program that has CAP_SYS_ADMIN in the guest becomes master through this process. Without
 * the process, a file becomes master only if the kernel needs no CAP_SYS_ADMIN for that.
 */
static int master_make(struct engine *engine, const struct offer *offer)
{
	const struct engine_number msg = { .type = ENGINE_MASTER, .number = offer->number };
	int fd, ret;

	if (!offer->master || le32_to_cpu(offer->add.kind) != VGPU_EXPORT_DRM_PRIMARY ||
	    major(offer->rdev) != DRM_MAJOR)
		return 0;
	fd = master_start(engine, offer);
	if (fd < 0) {
		log_guest(engine->cid, engine->port,
			  "the guest's programs cannot become DRM master by CAP_SYS_ADMIN: %s",
			  strerror(-fd));
		return 0;
	}
	ret = engine_tell(engine, &msg, sizeof(msg), fd);
	close(fd);
	return ret;
}

int engine_grant(struct vgpu_host_grant *arg)
{
	const uint32_t *ioctls = (const uint32_t *)(uintptr_t)arg->ioctls;
	struct engine *engine = engine_find(arg->peer);
	struct offer *offer = offer_find(arg->export);
	static struct engine_grant msg;
	struct offer_file *file;
	uint32_t i;
	int ret;

	if (!engine || !offer)
		return -ENOENT;
	if (arg->nr_ioctls > VGPU_POLICY_IOCTLS_MAX)
		return -EINVAL;
	msg.device = 0;
	if (offer->nr_submits) {
		ret = submissions_grant(engine, le64_to_cpu(offer->add.device), offer->rdev);
		if (ret < 0)
			return ret;
		msg.device = ret;
		lasting_hold_device(engine, ret, le64_to_cpu(offer->add.device), offer->rdev);
	}
	/* Only a parent can keep the number of a process that NVIDIA's driver knows from others. */
	if (le32_to_cpu(offer->add.kind) == VGPU_EXPORT_NVIDIA)
		lasting_stop(engine);
	lasting_granted(engine, offer->number);
	ret = node_make(engine->nodes_fd, offer->number, offer->rdev,
			arg->flags & VGPU_HOST_GRANT_READ_ONLY);
	/*
	 * The guest cannot use the export before ENGINE_GRANT, so its programs do not miss the
	 * process that makes masters. master_make() fails only if the engine has ended.
	 */
	if (!ret)
		ret = master_make(engine, offer);
	if (ret)
		return ret;
	share_grant(&engine->share, offer->rdev);
	msg.type = ENGINE_GRANT;
	msg.export = offer->number;
	msg.flags = arg->flags;
	msg.master = offer->master;
	msg.no_demand = offer->no_demand;
	msg.add = offer->add;
	msg.deny = arg->ioctls_deny;
	msg.nr_ioctls = arg->nr_ioctls;
	msg.nr_submits = offer->nr_submits;
	tallies_name(&engine->guest->totals, offer->number, (const char *)offer->add.name);
	for (i = 0; i < arg->nr_ioctls; i++)
		msg.ioctls[i] = vgpu_policy_key(ioctls[i]);
	qsort(msg.ioctls, arg->nr_ioctls, sizeof(msg.ioctls[0]), compare);
	memcpy(msg.ioctls + msg.nr_ioctls, offer->submits, offer->nr_submits * sizeof(uint32_t));
	ret = engine_tell(engine, &msg, offsetof(struct engine_grant, ioctls) +
			  (msg.nr_ioctls + msg.nr_submits) * sizeof(msg.ioctls[0]), -1);
	LIST_FOREACH(file, &offer->files, node)
		if (!ret)
			ret = file_tell(engine, offer, file, false);
	return ret;
}
