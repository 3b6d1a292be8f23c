// SPDX-License-Identifier: MIT
/* Memory of NVIDIA's driver that files map, which the engine has to know of. */
#include "nvidia_rm.h"
#include "shadow.h"
#include "shadow/keys.h"

/* The argument, in memory that only this call uses; NULL: it has not so many bytes there. */
static void *arg_here(const struct call *call, u32 len)
{
	if (le32_to_cpu(call->view.call->args.ioctl.arg_kind) != VGPU_IOCTL_ARG_SEG ||
	    vgpu_view_seg_len(&call->view, 0) < len ||
	    vgpu_view_seg_is(&call->view, 0, VGPU_SEG_PAGE) || call->scratch_low)
		return NULL;
	return (void *)call->segs[0].addr;
}

/* The file that the driver has let map it. */
static const struct file_entry *mapped_file(const struct call *call)
{
	u32 i;

	for (i = 0; i < le16_to_cpu(call->view.call->nr_fixups); i++) {
		const struct vgpu_fixup *fixup = &call->view.fixups[i];

		if (le16_to_cpu(fixup->type) == VGPU_FIXUP_FD_IN && !fixup->seg &&
		    le32_to_cpu(fixup->offset) == RM_MAP_FD)
			return call->placed[i];
	}
	return NULL;
}

/*
 * The driver reaches memory of the room alone, where the argument of the guest's call is not needed
 * any more. Without keys it is safer where another lane's driver does not find it as easily.
 */
static void share_with(struct call *call, void *arg, struct rm_share *share)
{
	_Static_assert(sizeof(*share) <= sizeof(struct rm_map), "one fits where the other is");
	if (keys_on)
		share = memcpy(arg, share, sizeof(*share));
	sys4_in_room(call->room->key, __NR_ioctl, call->file->fd, RM_IOCTL_SHARE, (long)share, 0);
}

u32 nvidia_owner(struct call *call, u32 cmd)
{
	u32 owner = 0;
	struct request request = {
		.msg = { .type = ESHADOW_OWNER, .object = call->file->object },
		.extra = &owner,
		.room = sizeof(owner),
		.fd = -1,
	};

	if (cmd != RM_IOCTL_MAP || call->file->rdev != (RM_MAJOR << 8 | RM_MINOR_CTL) ||
	    !(shared->features & VGPU_FEATURE_WINDOW) || !mapped_file(call) ||
	    !arg_here(call, sizeof(struct rm_map)) || channel_ask(call->lane, &request) ||
	    request.len != sizeof(owner))
		return 0;
	return owner;
}

void nvidia_mapped(struct call *call, u32 owner)
{
	struct rm_map *map = arg_here(call, sizeof(*map));
	struct eshadow_memory memory;
	struct rm_share share;
	struct request request = {
		.msg = { .type = ESHADOW_MAPS, .object = mapped_file(call)->object },
		.more = &memory,
		.nr_more = sizeof(memory),
		.fd = -1,
	};

	if (map->status)
		return;
	memory = (struct eshadow_memory) {
		.client = map->client,
		.memory = map->memory,
		.flags = map->flags,
		.offset = map->offset,
		.len = map->len,
	};
	share = (struct rm_share) {
		.client = map->client,
		.object = map->memory,
		.rights = RM_SHARE_RIGHT_DUP,
		.with = RM_SHARE_WITH_CLIENT,
		.with_client = owner,
		.how = RM_SHARE_HOW_ADD,
	};
	/*
	 * RM does not ask whose object that is. So nothing that the guest can delay comes before: it
	 * could have the client freed meanwhile, and another guest's get its handle. An object that
	 * cannot be shared is not lent: its mappings go by copy.
	 */
	share_with(call, map, &share);
	channel_ask(call->lane, &request);
}
