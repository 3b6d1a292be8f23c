// SPDX-License-Identifier: MIT
/* Exports: vgpud makes them ready while their devices exist, and takes them back. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/vgpu_wire.h>

#include "device/exporter.h"
#include "device/paths.h"
#include "export/change.h"
#include "export/export.h"
#include "export/grant.h"
#include "export/list.h"
#include "host/hostdev.h"
#include "shared/log.h"

struct export_list exports = TAILQ_HEAD_INITIALIZER(exports);

struct export *export_find(const char *name)
{
	struct export *export;

	TAILQ_FOREACH(export, &exports, node)
		if (!strcmp(export->spec.name, name))
			return export;
	return NULL;
}

struct grant *export_grant(struct export *export, uint32_t cid, uint32_t port)
{
	struct grant *grant;

	TAILQ_FOREACH(grant, &export->grants, node)
		if (grant->cid == cid && grant->port == port)
			return grant;
	return NULL;
}

int export_open(const struct export_spec *spec, struct device *device, struct answer *answer)
{
	int fd = device_open(spec->path, device);

	if (fd == -ENOTTY)
		return answer_say(answer, fd, "%s is not a character device: give a device file, such as /dev/dri/renderD128",
				  spec->path);
	if (fd == -EXDEV)
		return answer_say(answer, fd, "%s belongs to vgpu itself: export the real device",
				  spec->path);
	if (fd == -EOPNOTSUPP)
		return answer_say(answer, -ENOTTY, "%s belongs to VFIO, iommufd or vhost and cannot be exported: such a device can go on using memory that a guest's program has freed",
				  spec->path);
	if (fd < 0)
		return answer_say(answer, fd, "%s: %s%s", spec->path, strerror(-fd), fd == -ENOENT ?
				  ": is the path right, and the device's driver loaded?" : "");
	if (device->kind == VGPU_EXPORT_NVIDIA && nvidia_is_divided(device->title)) {
		close(fd);
		return answer_say(answer, -ENOTTY, "%s is divided into MIG instances, which cannot be exported: remove them with 'nvidia-smi mig -dci' and 'nvidia-smi mig -dgi'",
				  spec->path);
	}
	return fd;
}

int export_up(struct export *export, struct answer *answer)
{
	struct export_spec *spec = &export->spec;
	struct vgpu_host_export_add arg = {
		.flags = (spec->master ? VGPU_HOST_EXPORT_MASTER : 0) |
			 (spec->no_demand ? VGPU_HOST_EXPORT_NO_DEMAND : 0),
	};
	uint32_t submits[VGPU_HOST_SUBMITS_MAX];
	int fd, ret;

	fd = export_open(spec, &export->device, answer);
	if (fd < 0)
		return fd;
	ret = export_list_check(spec, &export->device, answer);
	if (ret) {
		close(fd);
		return ret;
	}

	arg.path_fd = fd;
	arg.kind = export->device.kind;
	arg.device = export->device.device;
	memcpy(arg.name, spec->name, sizeof(arg.name));
	memcpy(arg.driver, export->device.driver, sizeof(arg.driver));
	memcpy(arg.path, spec->path, sizeof(arg.path));
	arg.bus = export->device.identity.bus;
	memcpy(arg.bus_id, export->device.identity.bus_id, sizeof(arg.bus_id));
	memcpy(arg.title, export->device.title, sizeof(arg.title));
	memcpy(arg.pci_header, export->device.identity.pci_header, sizeof(arg.pci_header));
	arg.nr_submits = export_submits(spec, &export->device, submits);
	arg.submits = (uintptr_t)submits;
	ret = hostdev_export_add(&arg);
	close(fd);
	if (ret == -EXDEV)
		return answer_say(answer, ret, "%s belongs to vgpu itself: export the real device",
			   spec->path);
	if (ret)
		return answer_say(answer, ret, "%s: the host module refused the export: %s",
				  spec->path, strerror(-ret));

	export->number = arg.out_export;
	export_files_begin(export);
	log_info("export %s: %s, driver %s", spec->name, spec->path, export->device.driver);
	export_grant_all(export);
	return 0;
}

static void export_down(struct export *export)
{
	if (export->number)
		hostdev_export_del(export->number);
	export->number = 0;
	timer_cancel(&export->told);
	export->asked = false;
	export->files_due = FILES_NONE;
	memset(&export->change, 0, sizeof(export->change));
	exporters_review();
}

void export_free(struct export *export)
{
	struct grant *grant;

	export_down(export);
	while ((grant = TAILQ_FIRST(&export->grants)))
		export_grant_del(export, grant);
	TAILQ_REMOVE(&exports, export, node);
	export_spec_free(&export->spec);
	free(export->origin);
	free(export);
}

struct export *export_new(struct export_spec *spec, const char *origin)
{
	struct export *export = calloc(1, sizeof(*export));

	if (!export)
		return NULL;
	export->origin = origin ? strdup(origin) : NULL;
	if (origin && !export->origin) {
		free(export);
		return NULL;
	}
	TAILQ_INIT(&export->grants);
	export->told.expired = export_told;
	export->spec = *spec;
	export->spec.guests = NULL;
	export->spec.nr_guests = 0;
	spec->ioctls = NULL;
	TAILQ_INSERT_TAIL(&exports, export, node);
	return export;
}

void exports_watch(void)
{
	struct export *export;

	paths_begin();
	TAILQ_FOREACH(export, &exports, node)
		paths_watch(export->spec.path, !export->number);
	/* Paths may have changed between the review of the exports and the new watches. */
	paths_end();
	/* A file may have come before its directory was watched. */
	TAILQ_FOREACH(export, &exports, node)
		if (!export->number && export->error == -ENOENT && !access(export->spec.path, F_OK))
			paths_changed();
}

static void retry_expired(struct timer *timer)
{
	(void)timer;
	exports_rescan();
}

static struct timer retry = { .expired = retry_expired };

void exports_rescan(void)
{
	struct export *export;
	struct device device;
	struct answer answer;
	bool failed = false;
	int fd, error;

	TAILQ_FOREACH(export, &exports, node) {
		if (export->number) {
			fd = device_open(export->spec.path, &device);
			if (fd >= 0)
				close(fd);
			if (fd >= 0 && device.rdev == export->device.rdev &&
			    device.device == export->device.device) {
				export->files_due = FILES_ALL;
				continue;
			}
			log_info("export %s: %s is gone", export->spec.name, export->spec.path);
			export_down(export);
		}
		error = export->error;
		export->error = export_up(export, &answer);
		/* Log an error only when it changes. */
		if (export->error && export->error != -ENOENT && export->error != error)
			log_warning("export %s: %s", export->spec.name, answer.text);
		failed |= export->error && export->error != -ENOENT;
	}
	exports_files_next();
	/*
	 * Nothing reports that a device can be exported at last, so failed exports are retried.
	 */
	timer_cancel(&retry);
	if (failed)
		timer_set(&retry, EXPORT_RETRY_MS);
	exports_watch();
}
