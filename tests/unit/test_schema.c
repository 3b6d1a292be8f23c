// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the tables themselves: each ioctl that a header declares is in a table
 * or listed as left to demand paging; sizes are the header's; entries are in order;
 * and all places that fields refer to lie inside their structs.
 */
#include <stdio.h>

#include "argument/schema.h"
#include "argument/schema_uapi.h"
#include "tests/mock/vgpu_mock.h"
#include "schema_all.h"
#include "tap.h"

/* The ioctls that the headers declare; the Makefile makes ioctls.h. */
struct declared {
	u32 cmd;
	const char *name;
};

#define IOCTL(c)	{ c, #c },
static const struct declared declared[] = {
#include "ioctls.h"
};
#undef IOCTL

/* The first fitting prefix counts: a driver's own ioctls are not in DRM core's table. */
static const struct {
	const char *prefix;
	const struct vgpu_schema *schema;
} prefixes[] = {
	{ "DRM_IOCTL_VIRTGPU_", &vgpu_schema_virtgpu },
	{ "DRM_IOCTL_VGEM_", &vgpu_schema_vgem },
	{ "DRM_IOCTL_NOUVEAU_", &vgpu_schema_nouveau },
	{ "VGPU_NOUVEAU_", &vgpu_schema_nouveau },
	{ "DRM_IOCTL_AMDGPU_", &vgpu_schema_amdgpu },
	{ "DRM_IOCTL_I915_", &vgpu_schema_i915 },
	{ "I915_PERF_IOCTL_", &vgpu_schema_i915 },
	{ "DRM_IOCTL_XE_", &vgpu_schema_xe },
	{ "DRM_XE_OBSERVATION_IOCTL_", &vgpu_schema_xe },
	{ "DRM_IOCTL_PANFROST_", &vgpu_schema_panfrost },
	{ "DRM_IOCTL_PANTHOR_", &vgpu_schema_panthor },
	{ "VIDIOC_", &vgpu_schema_v4l2 },
	{ "MEDIA_", &vgpu_schema_media },
	{ "DRM_IOCTL_", &vgpu_schema_drm },
	{ "DMA_BUF_", &vgpu_schema_dma_buf },
	{ "DMA_HEAP_", &vgpu_schema_dma_heap },
	{ "UDMABUF_", &vgpu_schema_udmabuf },
	{ "SYNC_IOC_", &vgpu_schema_sync_file },
	{ "SNDRV_PCM_IOCTL_", &vgpu_schema_sound },
	{ "SNDRV_CTL_IOCTL_", &vgpu_schema_sound_control },
	{ "VGPU_MOCK_IOC_", &vgpu_schema_mock },
};

static const struct vgpu_schema *schema_of(const char *name)
{
	size_t i = 0;

	while (strncmp(name, prefixes[i].prefix, strlen(prefixes[i].prefix)))
		i++;
	return prefixes[i].schema;
}

/* Ioctls that no table describes, on purpose. */
static const char *const left[] = {
	"DRM_IOCTL_MAP_BUFS",		/* maps memory */
	"VGPU_MOCK_IOC_STRING",		/* a string without a length */
	"VGPU_MOCK_IOC_PIN",		/* pins memory */
	"VGPU_MOCK_IOC_REACH",		/* an address that must not be converted */
	/* No #ifdef can tell whether a header has these, as they are no macros. */
	"DRM_IOCTL_PANTHOR_BO_QUERY_INFO",
	"DRM_IOCTL_PANTHOR_BO_SET_LABEL",
	"DRM_IOCTL_PANTHOR_BO_SYNC",
	"DRM_IOCTL_PANTHOR_SET_USER_MMIO_OFFSET",
	/* Their sizes depend on the driver's frames. */
	"SNDRV_PCM_IOCTL_READI_FRAMES",
	"SNDRV_PCM_IOCTL_READN_FRAMES",
	/* The command's size and direction are enough for these: their structs have no pointers. */
	"SNDRV_PCM_IOCTL_PVERSION",
	"SNDRV_PCM_IOCTL_INFO",
	"SNDRV_PCM_IOCTL_TSTAMP",
	"SNDRV_PCM_IOCTL_USER_PVERSION",
	"SNDRV_PCM_IOCTL_HW_REFINE",
	"SNDRV_PCM_IOCTL_HW_PARAMS",
	"SNDRV_PCM_IOCTL_HW_FREE",
	"SNDRV_PCM_IOCTL_DELAY",
	"SNDRV_PCM_IOCTL_HWSYNC",
	"SNDRV_PCM_IOCTL_CHANNEL_INFO",
	"SNDRV_PCM_IOCTL_PREPARE",
	"SNDRV_PCM_IOCTL_RESET",
	"SNDRV_PCM_IOCTL_START",
	"SNDRV_PCM_IOCTL_DROP",
	"SNDRV_PCM_IOCTL_DRAIN",
	"SNDRV_PCM_IOCTL_RESUME",
	"SNDRV_PCM_IOCTL_XRUN",
	"SNDRV_PCM_IOCTL_UNLINK",
};

/* Ioctls with an integer argument that are declared with a size. */
static const char *const values[] = {
	"SNDRV_PCM_IOCTL_PAUSE",
};

/* Older forms of ioctls with the same number: a shorter struct or another direction. */
static const char *const forms[] = {
	"DRM_IOCTL_I915_GEM_CONTEXT_CREATE",
	"DRM_IOCTL_I915_GEM_EXECBUFFER2",
	"DRM_IOCTL_I915_GEM_MMAP_GTT",
};

static bool is_one_of(const char *const *names, size_t nr, const char *name)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* Return: @name is NAME32, the name of 32-bit programs' form of NAME. */
static bool is_compat(const char *name)
{
	size_t len = strlen(name);

	return len > 2 && !strcmp(name + len - 2, "32");
}

static void declared_check(const struct declared *d)
{
	const struct vgpu_schema *schema = schema_of(d->name);
	const struct vgpu_schema_ioctl *ioctl = vgpu_schema_find(schema, d->cmd,
								 is_compat(d->name));
	char name[96];

	if (is_one_of(left, ARRAY_SIZE(left), d->name)) {
		tap_expect(!ioctl, "no entry");
		snprintf(name, sizeof(name), "%s: left to demand paging", d->name);
		tap_subject(name);
		return;
	}
	if (tap_expect(ioctl, "has an entry") && ioctl->arg != VGPU_ARG_STRING) {
		if (is_one_of(forms, ARRAY_SIZE(forms), d->name))
			tap_expect(_IOC_SIZE(d->cmd) <= _IOC_SIZE(ioctl->cmd), "a form of it");
		else
			tap_expect(ioctl->cmd == d->cmd, "command %#x, declared as %#x",
				   ioctl->cmd, d->cmd);
		/* An older header's struct may end before the table's. */
		tap_expect(ioctl->size || ioctl->arg == VGPU_ARG_VALUE ||
			   ioctl->arg == VGPU_ARG_FD ||
			   _IOC_SIZE(ioctl->cmd) == ioctl->body.size ||
			   ((schema == &vgpu_schema_virtgpu || schema == &vgpu_schema_drm) &&
			    _IOC_SIZE(ioctl->cmd) < ioctl->body.size),
			   "size %u, declared as %u", ioctl->body.size, _IOC_SIZE(d->cmd));
		tap_expect(ioctl->arg != VGPU_ARG_VALUE || !_IOC_SIZE(d->cmd) ||
			   is_one_of(values, ARRAY_SIZE(values), d->name),
			   "an integer has no size");
	}
	tap_subject(d->name);
}

static void ref_check(const struct vgpu_schema_struct *body, const struct vgpu_schema_ref *ref,
		      u32 before, const char *what)
{
	const struct vgpu_schema_field *field = body->fields;
	u32 i;

	switch (ref->kind) {
	case VGPU_REF_FIELD:
		tap_expect(ref->size == 1 || ref->size == 2 || ref->size == 4 || ref->size == 8,
			   "%s: width %u", what, ref->size);
		if (!ref->up)
			tap_expect(ref->offset + ref->size <= body->size, "%s: inside", what);
		break;
	case VGPU_REF_BESIDE:
		tap_expect(ref->up == 1 && ref->size, "%s: beside this array", what);
		break;
	case VGPU_REF_TARGET:
	case VGPU_REF_SUM:
		for (i = 0; i < before; i++, field++)
			if (field->offset == ref->via && field->type == VGPU_FIELD_PTR)
				break;
		tap_expect(i < before && (field->dir & VGPU_IN),
			   "%s: by way of an earlier pointer to what is read", what);
		break;
	}
}

/* Fields for one place are adjacent, and none follows a field without a condition. */
static void alternatives_check(const struct vgpu_schema_struct *body, u32 nr)
{
	const struct vgpu_schema_field *field = &body->fields[nr];
	u32 i;

	if (field->type > VGPU_FIELD_PLAIN)
		return;
	for (i = 0; i < nr; i++) {
		const struct vgpu_schema_field *other = &body->fields[i];

		if (other->type > VGPU_FIELD_PLAIN || other->offset != field->offset)
			continue;
		tap_expect(body->fields[nr - 1].offset == field->offset,
			   "field %u: next to the others for its place", nr);
		tap_expect(other->when.ref.kind != VGPU_REF_NONE,
			   "field %u: may be reached", nr);
	}
}

static void body_check(const struct vgpu_schema_struct *body, u32 depth)
{
	u32 i, j;

	if (!tap_expect(depth < VGPU_SCHEMA_DEPTH, "nested %u deep", depth))
		return;
	for (i = 0; i < body->nr_fields; i++) {
		const struct vgpu_schema_field *field = &body->fields[i];
		bool fd = field->type == VGPU_FIELD_FD_IN || field->type == VGPU_FIELD_FD_OUT ||
			field->type == VGPU_FIELD_EVENT_IN;

		tap_expect(field->offset + field->size <= body->size, "field %u: inside", i);
		tap_expect(field->size == 8 || field->size == 4 ||
			   (field->size == 16 && field->type == VGPU_FIELD_STAMP && field->unit) ||
			   (field->size == 1 && (field->type == VGPU_FIELD_STRUCT ||
						 field->type == VGPU_FIELD_RESULT_FD)),
			   "field %u: width", i);
		tap_expect(!fd || field->size == 4, "field %u: an fd has 4 bytes", i);
		tap_expect((field->type != VGPU_FIELD_TIME && field->type != VGPU_FIELD_RDEV) ||
			   field->size == 8, "field %u: a time or device number has 8 bytes", i);
		tap_expect(field->type != VGPU_FIELD_STAMP ||
			   (field->size != 4 &&
			    (!field->unit || !(1000000000 % field->unit)) &&
			    field->clock <= VGPU_CLOCK_FILE &&
			    (field->when.ref.kind == VGPU_REF_NONE ||
			     (field->when.ref.kind == VGPU_REF_FIELD && !field->when.ref.up))),
			   "field %u: a time", i);
		tap_expect(field->type != VGPU_FIELD_CLOCK || field->size == 4,
			   "field %u: a choice of a clock", i);
		tap_expect(!(field->offset & min(field->size - 1, 3)), "field %u: aligned", i);
		alternatives_check(body, i);
		tap_expect((field->type != VGPU_FIELD_PTR && field->type != VGPU_FIELD_KEPT) ||
			   (field->dir >= VGPU_IN && field->dir <= VGPU_INOUT),
			   "field %u: direction", i);
		tap_expect(field->out_count.kind == VGPU_REF_NONE || field->dir == VGPU_OUT ||
			   field->type == VGPU_FIELD_PID || field->type == VGPU_FIELD_KEPT,
			   "field %u: counted out", i);
		if (field->type == VGPU_FIELD_KEPT)
			tap_expect(field->out_count.kind == VGPU_REF_NONE ? !field->max :
				   field->out_count.kind == VGPU_REF_FIELD && field->max &&
				   !field->out_count.up && field->out_count.size == 4,
				   "field %u: its status", i);
		if (field->type == VGPU_FIELD_PID)
			tap_expect(field->out_count.kind == VGPU_REF_NONE ? !field->mask :
				   field->out_count.kind == VGPU_REF_FIELD && field->mask &&
				   !field->out_count.up && field->out_count.size == 4,
				   "field %u: whose process id it is", i);
		else if (field->type == VGPU_FIELD_PIDS)
			tap_expect(field->size == 4 && field->unit >= 4 && field->max && !field->mask &&
				   field->offset + (field->max - 1) * field->unit + 4 <= body->size,
				   "field %u: list of process ids", i);
		else if (field->type != VGPU_FIELD_KEPT)
			tap_expect((field->type == VGPU_FIELD_HIDE) == !!field->mask &&
				   (!field->mask || field->size == 4), "field %u: mask", i);
		tap_expect((field->type == VGPU_FIELD_USERPTR || field->type == VGPU_FIELD_LIVE) ==
			   !!field->error || field->type == VGPU_FIELD_KEPT,
			   "field %u: error", i);
		tap_expect(field->type != VGPU_FIELD_UNKNOWN ||
			   (field->count.kind == VGPU_REF_FIELD && field->count.size == 4),
			   "field %u: its class", i);
		ref_check(body, &field->count, i, "count");
		ref_check(body, &field->times, i, "times");
		ref_check(body, &field->stride, i, "stride");
		ref_check(body, &field->out_count, i, "out_count");
		ref_check(body, &field->when.ref, i, "when");
		if (field->elem) {
			tap_expect(field->elem->size, "field %u: elements have a size", i);
			body_check(field->elem, depth + 1);
		}
		tap_expect((field->type == VGPU_FIELD_CHAIN) == !!field->chain,
			   "field %u: chain", i);
		for (j = 0; field->chain && j < field->chain->nr_nodes; j++) {
			tap_expect(field->chain->nodes[j].dir & VGPU_IN, "node %u: read", j);
			tap_expect(field->chain->nodes[j].body.size >= field->chain->head,
				   "node %u: has the head", j);
			tap_expect((field->chain->nodes[j].more.kind == VGPU_REF_FIELD) ==
				   !!field->chain->nodes[j].more_unit, "node %u: more", j);
			ref_check(&field->chain->nodes[j].body, &field->chain->nodes[j].more, 0,
				  "more");
			body_check(&field->chain->nodes[j].body, depth + 1);
		}
	}
	tap_expect(true, "looked at");
}

/* All places lie inside the two structs, which are small. */
static void map_ioctl_check(const struct vgpu_schema_ioctl *ioctl)
{
	const struct vgpu_schema_map *map = ioctl->map;
	u32 i, size, place_size;

	if (!tap_expect((ioctl->arg == VGPU_ARG_MAP) == !!map, "%s: maps", ioctl->name) || !map)
		return;
	const struct vgpu_schema_ref *const own[] = {
		&map->handle, &map->offset, &map->size, &map->mode, &map->addr,
	};
	const struct vgpu_schema_ref *const place[] = {
		&map->place_handle, &map->place_mode, &map->place,
	};

	size = _IOC_SIZE(map->cmd);
	place_size = _IOC_SIZE(map->place_cmd);
	tap_expect(map->cmd == ioctl->cmd && size <= 64 && place_size <= 64 && map->nr_modes,
		   "%s: commands", ioctl->name);
	for (i = 0; i < ARRAY_SIZE(own); i++)
		tap_expect(own[i]->kind == VGPU_REF_FIELD && own[i]->offset + own[i]->size <= size,
			   "%s: place %u", ioctl->name, i);
	for (i = 0; i < ARRAY_SIZE(place); i++)
		tap_expect(place[i]->kind == VGPU_REF_FIELD &&
			   place[i]->offset + place[i]->size <= place_size,
			   "%s: place %u of the other", ioctl->name, i);
}

/* All places lie inside the struct, which the driver writes to. */
static void blank_check(const struct vgpu_schema_ioctl *ioctl)
{
	const struct vgpu_schema_blank *blank = ioctl->blank;
	const struct vgpu_schema_ref *ref = &blank->when.ref;

	ref_check(&ioctl->body, &blank->handle, 0, "handle");
	ref_check(&ioctl->body, &blank->offset, 0, "offset");
	ref_check(&ioctl->body, ref, 0, "when");
	tap_expect(ioctl->arg == VGPU_ARG_STRUCT && (_IOC_DIR(ioctl->cmd) & _IOC_READ) &&
		   !(ioctl->flags & VGPU_IOCTL_NATIVE), "%s: one struct, written to", ioctl->name);
	tap_expect(blank->handle.kind == VGPU_REF_FIELD &&
		   (blank->makes || blank->offset.kind == VGPU_REF_FIELD),
		   "%s: tells of a buffer", ioctl->name);
	tap_expect(ref->kind == VGPU_REF_NONE ||
		   (ref->kind == VGPU_REF_FIELD && !blank->when.least && !blank->when.learned),
		   "%s: when", ioctl->name);
}

/* Return: @name is an identifier, and not what a macro expands to. */
static bool is_name(const char *name)
{
	return name && *name && name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == '\0';
}

static void table_check(const struct vgpu_schema_ioctl *ioctl, u32 nr, const char *schema,
			const char *what)
{
	char name[96];
	u32 i;

	/* The table of a driver that is newer than this kernel's headers is empty. */
	if (!nr)
		return;
	for (i = 0; i < nr; i++) {
		tap_expect(is_name(ioctl[i].name), "%s: the name of an ioctl", ioctl[i].name);
		if (i && (ioctl[i - 1].cmd & 0xffff) == (ioctl[i].cmd & 0xffff))
			tap_expect((ioctl[i - 1].flags & ioctl[i].flags & VGPU_IOCTL_EXACT) &&
				   ioctl[i - 1].cmd < ioctl[i].cmd,
				   "%s and %s differ", ioctl[i].name, ioctl[i - 1].name);
		else if (i)
			tap_expect((ioctl[i - 1].cmd & 0xffff) < (ioctl[i].cmd & 0xffff),
				   "%s comes after %s", ioctl[i].name, ioctl[i - 1].name);
		tap_expect(!(ioctl[i].flags & VGPU_IOCTL_RESULT_FD) ||
			   ioctl[i].arg == VGPU_ARG_STRUCT, "%s: result", ioctl[i].name);
		tap_expect(!ioctl[i].body.nr_fields || (ioctl[i].dir & VGPU_IN) ||
			   (!ioctl[i].dir && (_IOC_DIR(ioctl[i].cmd) & _IOC_WRITE)),
			   "%s: its fields are looked at", ioctl[i].name);
		ref_check(&ioctl[i].body, &ioctl[i].size_from, 0, "size_from");
		tap_expect(!(ioctl[i].flags & VGPU_IOCTL_SIZE_BEHIND) ||
			   (ioctl[i].size && ioctl[i].size_from.kind == VGPU_REF_FIELD),
			   "%s: what is behind is counted", ioctl[i].name);
		body_check(&ioctl[i].body, 0);
		map_ioctl_check(&ioctl[i]);
		if (ioctl[i].blank)
			blank_check(&ioctl[i]);
	}
	snprintf(name, sizeof(name), "%s: %s is sound", schema, what);
	tap_subject(name);
}

static void schema_check(const struct vgpu_schema *schema)
{
	table_check(schema->ioctls, schema->nr_ioctls, schema->name, "table");
	if (schema->nr_compat)
		table_check(schema->compat, schema->nr_compat, schema->name, "32-bit table");
}

static void lesson_check(void)
{
	const struct vgpu_schema_ioctl *ioctl =
		vgpu_schema_find(&vgpu_schema_drm, DRM_IOCTL_MODE_GETPROPERTY, false);
	u32 i = 0;

	if (tap_expect(ioctl && ioctl->lesson, "properties have names")) {
		while (ioctl->lesson->names[i])
			i++;
		tap_expect(i && i <= VGPU_LEARNED_MAX, "%u names", i);
		tap_expect(ioctl->lesson->number + 4u <= ioctl->body.size &&
			   ioctl->lesson->name + ioctl->lesson->name_len <= ioctl->body.size,
			   "inside");
	}
	tap_subject("what is to be learned");
}

static void find_check(void)
{
	static const char *const drivers[] = {
		"nouveau", "amdgpu", "i915", "xe", "panfrost", "panthor",
	};
	const struct vgpu_schema *drm = &vgpu_schema_drm, *mock = &vgpu_schema_mock;
	size_t i;

	tap_expect(vgpu_schema_find(&vgpu_schema_vgem, DRM_IOCTL_VERSION, false) ==
		   vgpu_schema_find(drm, DRM_IOCTL_VERSION, false), "base of a driver's schema");
	tap_expect(vgpu_schema_find(&vgpu_schema_vgem, DRM_IOCTL_MODE_ATOMIC, false),
		   "base of the base");
	tap_expect(!vgpu_schema_find(NULL, DRM_IOCTL_VERSION, false), "no schema");
	tap_expect(!vgpu_schema_find(drm, DRM_IOCTL_VIRTGPU_MAP, false), "not in DRM core");
	tap_expect(vgpu_schema_find(drm, DRM_IO(0), false), "another size of the same number");
	tap_expect(vgpu_schema_find(drm, DRM_IOCTL_VERSION, true) !=
		   vgpu_schema_find(drm, DRM_IOCTL_VERSION, false), "32-bit layout");
	tap_expect(!vgpu_schema_find(drm, DRM_IOCTL_GET_STATS, true), "longs inside");
	tap_expect(vgpu_schema_find(drm, DRM_IOCTL_GEM_CLOSE, true), "the same for 32 bits");
	tap_expect(vgpu_schema_find(mock, VGPU_MOCK_BARE, false), "bare number");
	tap_expect(!vgpu_schema_find(mock, VGPU_MOCK_BARE | 8 << 16, false),
		   "bare number, with more bits");
	tap_expect(!vgpu_schema_find(mock, VGPU_MOCK_UNDESCRIBED(VGPU_MOCK_IOC_IN), false),
		   "a twin");
	tap_expect(!vgpu_schema_find(&vgpu_schema_v4l2, VIDIOC_QBUF, true),
		   "two 32-bit layouts, and another");
	tap_subject("finding an entry");

	tap_expect(vgpu_schema_for_export(VGPU_EXPORT_DRM_RENDER, "virtio_gpu", "", "") ==
		   &vgpu_schema_virtgpu, "virtio_gpu");
	tap_expect(vgpu_schema_for_export(VGPU_EXPORT_DRM_PRIMARY, "virtio-pci", "", "") == drm,
		   "a transport is no driver");
	tap_expect(vgpu_schema_for_export(VGPU_EXPORT_DRM_PRIMARY, "vgem", "",
					  "/dev/dri/by-path/platform-vgem-card") ==
		   &vgpu_schema_vgem, "vgem");
	tap_expect(vgpu_schema_for_export(VGPU_EXPORT_DRM_PRIMARY, "else", "", "") == drm,
		   "any DRM driver");
	tap_expect(vgpu_schema_for_export(VGPU_EXPORT_PLAIN, "", "", "/dev/vgpu-mock") == mock,
		   "mock");
	tap_expect(vgpu_schema_find(vgpu_schema_for_export(VGPU_EXPORT_PLAIN, "", "",
							   "/dev/vgpu-mock-iter"),
				    VGPU_MOCK_IOC_IN, false) ==
		   vgpu_schema_find(mock, VGPU_MOCK_IOC_IN, false), "each of its devices");
	tap_expect(vgpu_schema_for_export(VGPU_EXPORT_PLAIN, "vgpu-mock", "", "/dev/link") == mock,
		   "mock, by a link");
	tap_expect(vgpu_schema_for_export(VGPU_EXPORT_PLAIN, "udmabuf", "", "/dev/link") ==
		   &vgpu_schema_udmabuf, "udmabuf, by a link");
	for (i = VGPU_EXPORT_VIDEO; i <= VGPU_EXPORT_TOUCH; i++)
		tap_expect(vgpu_schema_for_export(i, "uvcvideo", "A Camera",
						  "/dev/v4l/by-id/usb-A_Camera-video-index0") ==
			   &vgpu_schema_v4l2, "V4L2, by a link");
	tap_expect(vgpu_schema_for_export(VGPU_EXPORT_MEDIA, "uvcvideo", "A Camera", "/dev/link") ==
		   &vgpu_schema_media, "a media device, by a link");
	tap_expect(!vgpu_schema_for_export(VGPU_EXPORT_PLAIN, "", "", "/dev/v4l-subdev0"),
		   "not V4L2's subdevices");
	tap_expect(vgpu_schema_for_export(VGPU_EXPORT_SOUND, "", "pcmC0D0p", "/dev/link") ==
		   &vgpu_schema_sound, "sound, by a link");
	tap_expect(vgpu_schema_for_export(VGPU_EXPORT_SOUND, "", "controlC3",
					  "/dev/snd/by-path/pci-0000:00:1f.3") ==
		   &vgpu_schema_sound_control, "mixer, by a link");
	tap_expect(!vgpu_schema_for_export(VGPU_EXPORT_SOUND, "", "hwC0D0", "/dev/snd/hwC0D0"),
		   "no other node of a sound card");
	tap_expect(!vgpu_schema_for_export(VGPU_EXPORT_PLAIN, "", "", "/dev/snd/seq"),
		   "any device");
	for (i = 0; i < ARRAY_SIZE(drivers); i++)
		tap_expect(vgpu_schema_for_export(VGPU_EXPORT_DRM_RENDER, drivers[i], "", "") !=
			   drm, "%s", drivers[i]);
	tap_expect(vgpu_schema_is_apart(&vgpu_schema_vgem) &&
		   vgpu_schema_is_apart(vgpu_schema_for_export(VGPU_EXPORT_DRM_PRIMARY, "vkms",
							       "", "")) &&
		   vgpu_schema_is_apart(&vgpu_schema_v4l2), "the device and programs take turns");
	tap_expect(!vgpu_schema_is_apart(drm) && !vgpu_schema_is_apart(&vgpu_schema_sound) &&
		   !vgpu_schema_is_apart(&vgpu_schema_dma_buf) && !vgpu_schema_is_apart(mock) &&
		   !vgpu_schema_is_apart(NULL), "they may share a page");
	tap_expect(vgpu_schema_for_object(VGPU_OBJECT_DMABUF, drm) == &vgpu_schema_dma_buf,
		   "dma-buf");
	tap_expect(vgpu_schema_for_object(VGPU_OBJECT_SYNC_FILE, drm) == &vgpu_schema_sync_file,
		   "sync_file");
	tap_expect(vgpu_schema_for_object(VGPU_OBJECT_DEVICE, drm) == drm, "lease");
	tap_expect(vgpu_schema_for_object(VGPU_OBJECT_OTHER, mock) == mock, "a driver's own");
	tap_subject("the schema of a file");
}

static void map_check(void)
{
	const struct vgpu_schema *sound = &vgpu_schema_sound;
	const struct vgpu_schema above = { .name = "above", .base = sound };

	tap_expect(!vgpu_schema_check_map(sound, SNDRV_PCM_MMAP_OFFSET_DATA), "samples");
	tap_expect(vgpu_schema_check_map(sound, SNDRV_PCM_MMAP_OFFSET_STATUS_OLD) == -ENXIO,
		   "status, of old");
	tap_expect(vgpu_schema_check_map(sound, SNDRV_PCM_MMAP_OFFSET_CONTROL_NEW) == -ENXIO,
		   "control");
	tap_expect(vgpu_schema_check_map(&above, SNDRV_PCM_MMAP_OFFSET_STATUS_NEW) == -ENXIO,
		   "status, by the base");
	tap_expect(!vgpu_schema_check_map(NULL, SNDRV_PCM_MMAP_OFFSET_STATUS_NEW), "no schema");
	tap_subject("pages that change with no call");
}

int main(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(declared); i++)
		declared_check(&declared[i]);
	for (i = 0; i < ARRAY_SIZE(all_schemas); i++)
		schema_check(all_schemas[i]);
	lesson_check();
	find_check();
	map_check();
	return tap_done();
}
