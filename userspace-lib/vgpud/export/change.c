// SPDX-License-Identifier: MIT
/* Changes of exported devices: their files are read, and guests are notified. */
#include <string.h>

#include <linux/vgpu_wire.h>

#include "export/change.h"
#include "export/export.h"
#include "guest/peer.h"
#include "host/hostdev.h"
#include "shared/log.h"

static bool export_has_files(const struct export *export)
{
	return export->number && (export->device.kind == VGPU_EXPORT_DRM_PRIMARY ||
				  export->device.kind == VGPU_EXPORT_NVIDIA);
}

void exports_files_next(void)
{
	struct export *export;

	TAILQ_FOREACH(export, &exports, node) {
		if (!export->files_due || !export_has_files(export))
			continue;
		if (files_ask(export->number, &export->device, export->files_due))
			export->files_due = FILES_NONE;
		return;
	}
}

static void files_expired(struct timer *timer)
{
	struct export *export;
	bool any = false;

	TAILQ_FOREACH(export, &exports, node) {
		if (!export_has_files(export))
			continue;
		any = true;
		if (!LIST_EMPTY(&peers) && !export->files_due)
			export->files_due = FILES_QUICK;
	}
	exports_files_next();
	if (any)
		timer_set(timer, EXPORT_FILES_MS);
}

static struct timer files_again = { .expired = files_expired };

void export_files_begin(struct export *export)
{
	export->files_due = FILES_ALL;
	exports_files_next();
	timer_set(&files_again, EXPORT_FILES_MS);
}

static void export_tell(struct export *export)
{
	int ret;

	export->asked = false;
	export->change.export = export->number;
	ret = hostdev_export_change(&export->change);
	if (ret)
		log_warning("export %s: cannot tell guests of a change of the device: %s",
			    export->spec.name, strerror(-ret));
	memset(&export->change, 0, sizeof(export->change));
	timer_set(&export->told, EXPORT_CHANGE_MS);
}

/* Read the export's files before guests are notified of a change, which shows in the files. */
static void export_note(struct export *export)
{
	export->asked = true;
	export->files_due = FILES_ALL;
	timer_set(&export->told, EXPORT_FILES_WAIT_MS);
	exports_files_next();
}

void export_told(struct timer *timer)
{
	struct export *export = container_of(timer, struct export, told);

	if (!export->change.flags)
		return;
	if (export->asked)
		export_tell(export);
	else
		export_note(export);
}

void exports_files_told(uint32_t number)
{
	struct export *export;

	TAILQ_FOREACH(export, &exports, node)
		/*
		 * If files are due once more, the read began before the change: wait for the
		 * next one.
		 */
		if (export->number == number && export->asked && !export->files_due)
			export_tell(export);
	exports_files_next();
}

/*
 * Merge two changes. Hotplugs of two different connectors become a hotplug of any connector
 * (0), and changes of two properties one of any property.
 */
static void change_merge(struct vgpu_host_export_change *change,
			 const struct vgpu_host_export_change *more)
{
	uint32_t both = change->flags & more->flags;

	if (!(both & VGPU_CHANGE_HOTPLUG)) {
		change->connector |= more->connector;
		change->property |= more->property;
	} else if (change->connector != more->connector) {
		change->connector = 0;
		change->property = 0;
	} else if (change->property != more->property) {
		change->property = 0;
	}
	change->wedged |= more->wedged;
	change->flags |= more->flags;
}

void exports_change(dev_t rdev, const struct vgpu_host_export_change *change)
{
	struct export *export;

	TAILQ_FOREACH(export, &exports, node) {
		if (!export->number || export->device.kind != VGPU_EXPORT_DRM_PRIMARY ||
		    (rdev && export->device.rdev != rdev))
			continue;
		change_merge(&export->change, change);
		if (!export->told.set)
			export_note(export);
	}
}
