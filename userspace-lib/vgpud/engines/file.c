// SPDX-License-Identifier: MIT
/* Small files of exported devices: vgpud tells engines of them. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "engines/engine.h"
#include "engines/file.h"
#include "engines/node.h"
#include "engines/offer.h"
#include "shared/proto.h"

/* Limits of the files of one export: the same as the host module's. */
#define FILES_MAX	512
#define FILES_BYTES_MAX	(1U << 20)

int file_tell(struct engine *engine, const struct offer *offer, const struct offer_file *file,
	      bool gone)
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
