// SPDX-License-Identifier: GPL-2.0-only
/* Schema of media devices and their requests: media.h. */
#include "argument/schema/tables.h"
#include "argument/schema_macros.h"
#include "argument/schema_uapi.h"

#define TOPOLOGY struct media_v2_topology

/* Entry for an array; programs query the numbers of elements first, without room. */
#define ALL(what, t) \
	VGPU_PTR(TOPOLOGY, ptr_ ## what), .dir = VGPU_INOUT, .unit = sizeof(t), \
	.count = VGPU_FIELD(TOPOLOGY, num_ ## what)

static const struct vgpu_schema_struct a_interface =
	VGPU_STRUCT_ONE(struct media_v2_interface,
			{ VGPU_RDEV(struct media_v2_interface, devnode) });

static const struct vgpu_schema_field topology[] = {
	{ ALL(entities, struct media_v2_entity) },
	{ ALL(interfaces, struct media_v2_interface), .elem = &a_interface },
	{ ALL(pads, struct media_v2_pad) },
	{ ALL(links, struct media_v2_link) },
};

static const struct vgpu_schema_field request_alloc[] = {
	{ .type = VGPU_FIELD_FD_OUT, .size = sizeof(__s32) },
};

static const struct vgpu_schema_ioctl media_ioctls[] = {
	{ VGPU_IOCTL(MEDIA_IOC_DEVICE_INFO), BOOKS },
	{ VGPU_IOCTL_ONE(MEDIA_IOC_ENUM_ENTITIES,
			 { VGPU_RDEV(struct media_entity_desc, dev) }), BOOKS },
	/*
	 * The numbers of pads and links are in the result of ENUM_ENTITIES: left to demand
	 * paging.
	 */
	{ VGPU_IOCTL(MEDIA_IOC_ENUM_LINKS), BOTH },
	{ VGPU_IOCTL(MEDIA_IOC_SETUP_LINK), BOOKS },
	{ VGPU_IOCTL_WITH(MEDIA_IOC_G_TOPOLOGY, topology), BOOKS },
	/* INOUT, because the fields of an OUT struct are not processed. */
	{ VGPU_IOCTL_WITH(MEDIA_IOC_REQUEST_ALLOC, request_alloc), BOOKS, .dir = VGPU_INOUT },
	{ VGPU_IOCTL_NO_ARG(MEDIA_REQUEST_IOC_QUEUE) },
	{ VGPU_IOCTL_NO_ARG(MEDIA_REQUEST_IOC_REINIT) },
};

const struct vgpu_schema vgpu_schema_media = {
	.name = "media",
	VGPU_IOCTLS(media_ioctls),
};
