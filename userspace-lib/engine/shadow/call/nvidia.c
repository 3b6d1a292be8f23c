// SPDX-License-Identifier: MIT
/*
 * Files of NVIDIA's driver that map memory. An ioctl tells such a file which memory its next mmap()
 * shows. The engine has to know that memory, as it may own the memory while the guest can see it.
 * The engine has to know as well which channels there are, as it takes them off the card while
 * another guest has its share.
 */
#include <linux/errno.h>

#include "engine/shadow/base/lib.h"
#include "engine/shadow/call/call.h"
#include "engine/shadow/call/files.h"
#include "engine/shadow/call/nvidia.h"
#include "engine/shadow/lane/channel.h"
#include "engine/shadow/thread/syscall.h"
#include "engine/shadow/thread/thread.h"
#include "nvidia_rm.h"
#include "nvidia_rules.h"
#include "segs.h"
#include "shadow/keys.h"

static bool is_control(const struct file_entry *file)
{
	return file->policy.kind == VGPU_EXPORT_NVIDIA &&
	       file->rdev == (RM_MAJOR << 8 | RM_MINOR_CTL);
}

bool nvidia_is_rm(const struct file_entry *file)
{
	return file->policy.kind == VGPU_EXPORT_NVIDIA && file->rdev >> 8 == RM_MAJOR;
}

bool nvidia_is_card(const struct file_entry *file)
{
	return nvidia_is_rm(file) && (file->rdev & 0xff) < RM_MINOR_CTL;
}

/* Return: true if the ioctl may let a file map memory. */
static bool tells_file(const struct call *call, u32 cmd)
{
	return cmd == RM_IOCTL_MAP ? is_control(call->file) :
	       cmd == RM_IOCTL_ALLOC_MEMORY && nvidia_is_card(call->file);
}

/*
 * Return: the argument, in memory that only this call uses; NULL if it has fewer than @len bytes
 * there.
 */
static void *arg_here(const struct call *call, u32 len)
{
	if (le32_to_cpu(call->view.call->args.ioctl.arg_kind) != VGPU_IOCTL_ARG_SEG ||
	    vgpu_view_seg_len(&call->view, 0) < len ||
	    vgpu_view_seg_is(&call->view, 0, VGPU_SEG_PAGE) || call->scratch.low)
		return NULL;
	return (void *)call->segs[0].addr;
}

/* Return: the file that the driver has let map memory. */
static const struct file_entry *mapped_file(const struct call *call, u32 cmd)
{
	u32 i, offset = cmd == RM_IOCTL_MAP ? RM_MAP_FD : RM_ALLOC_FD;

	for (i = 0; i < vgpu_view_nr_fixups(&call->view); i++) {
		const struct vgpu_fixup *fixup = &call->view.fixups[i];

		if (le16_to_cpu(fixup->type) == VGPU_FIXUP_FD_IN && !fixup->seg &&
		    le32_to_cpu(fixup->offset) == offset)
			return call->fixups.files[i];
	}
	return NULL;
}

/* Fills in @map. Return: true if the driver has let a file map that memory. */
static bool file_was_told(const struct call *call, u32 cmd, struct rm_map *map)
{
	const void *arg = arg_here(call, _IOC_SIZE(cmd));
	struct rm_alloc_memory args;

	if (!arg)
		return false;
	if (cmd == RM_IOCTL_MAP) {
		memcpy(map, arg, sizeof(*map));
		return !map->status;
	}
	memcpy(&args, arg, sizeof(args));
	return rm_alloc_maps(&args, map);
}

/*
 * Shares memory with the engine's client. The driver reaches memory of the room alone, so the
 * structure replaces the call's argument there, which is not needed any more. Without keys the
 * stack is safer, as another lane's driver does not find it as easily.
 */
static void share_with(struct call *call, int control, void *arg, struct rm_share *share)
{
	_Static_assert(sizeof(*share) <= sizeof(struct rm_map), "one fits where the other is");
	if (keys_on)
		share = memcpy(arg, share, sizeof(*share));
	sys4_in_room(call->room->key, __NR_ioctl, control, RM_IOCTL_SHARE, (long)share, 0);
}

u32 nvidia_owner(struct call *call, u32 cmd)
{
	const struct file_entry *file, *control = call->file;
	u32 owner = 0;
	struct request request = {
		.msg = { .type = ESHADOW_OWNER },
		.extra = &owner,
		.room = sizeof(owner),
		.fd = -1,
	};

	if (!tells_file(call, cmd) || !arg_here(call, _IOC_SIZE(cmd)))
		return 0;
	file = mapped_file(call, cmd);
	/*
	 * The engine owns a card's memory only for a window, and memory of the system for any
	 * mapping.
	 */
	if (!file || !(is_control(file) || shared->features & VGPU_FEATURE_WINDOW))
		return 0;
	/*
	 * RM_ALLOC_MEMORY is an ioctl of a card's file, and lets a control file map the memory.
	 * That file is not the client's, but RM accepts any control file where an object is
	 * shared with a client.
	 */
	if (!is_control(control))
		control = file;
	request.msg.object = control->object;
	if (!is_control(control) || channel_ask(call->lane, &request) ||
	    request.len != sizeof(owner))
		return 0;
	return owner;
}

void nvidia_mapped(struct call *call, u32 cmd, u32 owner)
{
	const struct file_entry *file = mapped_file(call, cmd);
	const struct file_entry *control = is_control(call->file) ? call->file : file;
	struct eshadow_memory memory;
	struct rm_share share;
	struct rm_map map;
	struct request request = {
		.msg = { .type = ESHADOW_MAPS, .object = file->object },
		.more = &memory,
		.nr_more = sizeof(memory),
		.fd = -1,
	};

	if (!file_was_told(call, cmd, &map))
		return;
	memory = (struct eshadow_memory) {
		.client = map.client,
		.memory = map.memory,
		.flags = map.flags,
		.offset = map.offset,
		.len = map.len,
	};
	share = (struct rm_share) {
		.client = map.client,
		.object = map.memory,
		.rights = RM_SHARE_RIGHT_DUP,
		.with = RM_SHARE_WITH_CLIENT,
		.with_client = owner,
		.how = RM_SHARE_HOW_ADD,
	};
	/*
	 * RM does not check whose object this is. So nothing that the guest can delay may come
	 * before: the guest could free the client meanwhile, and another guest's client could get
	 * its handle. An object that cannot be shared is not lent: mappings of a card go by copy,
	 * and others fail.
	 */
	share_with(call, control->fd, arg_here(call, sizeof(map)), &share);
	channel_ask(call->lane, &request);
}

/* --- clients ------------------------------------------------------------------------------ */

bool nvidia_has_client(struct call *call, const struct vgpu_nvidia_look *look)
{
	const u64 rdev = RM_MAJOR << 8 | RM_MINOR_CTL;
	struct rm_free *args = (struct rm_free *)look->addr;
	u32 from = 0, asked = 0;
	struct file_entry *file;
	struct rm_free kept;
	bool has = false;

	memcpy(&kept, args, sizeof(kept));
	while (!has && asked++ < VGPU_NVIDIA_ASK_MAX && (file = file_of_device(rdev, &from))) {
		*args = (struct rm_free)RM_FREE_NOTHING(look->named);
		has = is_control(file) &&
		      !sys4_in_room(call->room->key, __NR_ioctl, file->fd, RM_IOCTL_FREE,
				    look->addr, 0) &&
		      args->status == RM_OK;
		file_put(file);
	}
	memcpy(args, &kept, sizeof(kept));
	return has;
}

/* --- channels ----------------------------------------------------------------------------- */

/* Length of the argument of RM_ALLOC without @rights, where 32 bits of size and status are. */
#define ALLOC_SHORT	offsetof(struct rm_alloc, params_size)

/* Reads the argument of RM_ALLOC. Return: true if RM has succeeded. */
static bool was_allocated(const struct vgpu_nvidia_look *look, struct rm_alloc *args)
{
	if (look->len != sizeof(*args) && look->len != ALLOC_SHORT)
		return false;
	memcpy(args, (const void *)look->addr, look->len);
	return look->len == sizeof(*args) ? !args->status : !(args->rights >> 32);
}

static void tell_made(const struct call *call, const struct vgpu_nvidia_look *look)
{
	struct rm_alloc args = {};
	u32 number = 0;

	if (!was_allocated(look, &args))
		return;
	/* The class that was judged: another call may change the argument meanwhile. */
	args.class = look->what;
	if (args.class == RM_CLASS_DEVICE) {
		/* The engine must know the card; without parameters RM takes the first one. */
		if (args.params &&
		    !vgpu_segs_hold(&call->view, call->segs, args.params, sizeof(number)))
			sys_exit_group(SHADOW_EXIT_OK);
		if (args.params)
			memcpy(&number, (const void *)args.params, sizeof(number));
		args.parent = number;
	} else if (args.class != RM_CLASS_SUBDEVICE && args.class != RM_CLASS_GROUP &&
		   !rm_is_channel(args.class)) {
		return;
	}
	channel_tell_surely(ESHADOW_RM_MADE, call->file->object,
			    args.client | (u64)args.object << 32,
			    args.parent | (u64)args.class << 32);
}

/*
 * Reads the parameters of a command that switches channels. Return: false if they are not in the
 * call's segments, or the channels are not all of the command's client.
 */
static bool switch_read(const struct call *call, const struct rm_control *control,
			struct rm_switch_channels *params)
{
	if (control->params_size != sizeof(*params) ||
	    !vgpu_segs_hold(&call->view, call->segs, control->params, sizeof(*params)))
		return false;
	memcpy(params, (const void *)control->params, sizeof(*params));
	return vgpu_nvidia_switch_is_own(control->client, params);
}

/* Tells the engine what the program wants of its channels. */
static void tell_wish(const struct call *call, const struct rm_control *control, u64 done)
{
	struct rm_switch_channels params;
	u32 i;

	/* Another call has changed the argument: the engine cannot know what runs. */
	if (!switch_read(call, control, &params))
		sys_exit_group(SHADOW_EXIT_OK);
	for (i = 0; i < params.nr; i++)
		channel_tell_surely(ESHADOW_RM_WISH, call->file->object,
				    control->client | (u64)params.channels[i] << 32,
				    done | (params.off ? ESHADOW_RM_WISH_OFF : 0));
}

bool nvidia_is_deferred(const struct call *call, const struct vgpu_nvidia_look *look)
{
	struct rm_switch_channels params;
	struct rm_control control;
	u32 ok = RM_OK;

	if (look->nr != _IOC_NR(RM_IOCTL_CONTROL) || look->what != RM_CMD_SWITCH_CHANNELS ||
	    !is_control(call->file) || !__atomic_load_n(&shared->switches, __ATOMIC_RELAXED))
		return false;
	memcpy(&control, (const void *)look->addr, sizeof(control));
	if (!switch_read(call, &control, &params) || params.off)
		return false;
	tell_wish(call, &control, 0);
	memcpy((void *)(look->addr + look->status), &ok, sizeof(ok));
	return true;
}

void nvidia_answered(const struct call *call, const struct vgpu_nvidia_look *look)
{
	struct rm_control control;
	struct rm_free free;

	if (!is_control(call->file) || !look->len ||
	    !vgpu_segs_hold(&call->view, call->segs, look->addr, look->len))
		return;
	if (look->nr == _IOC_NR(RM_IOCTL_ALLOC)) {
		tell_made(call, look);
	} else if (look->nr == _IOC_NR(RM_IOCTL_FREE) && look->len == sizeof(free)) {
		memcpy(&free, (const void *)look->addr, sizeof(free));
		if (!free.status)
			channel_tell_surely(ESHADOW_RM_FREED, call->file->object,
					    free.client | (u64)free.object << 32, 0);
	} else if (look->nr == _IOC_NR(RM_IOCTL_CONTROL) && look->len == sizeof(control)) {
		memcpy(&control, (const void *)look->addr, sizeof(control));
		if (!control.status && (look->what == RM_CMD_SCHEDULE_GROUP ||
					look->what == RM_CMD_SCHEDULE_CHANNEL))
			channel_tell_surely(ESHADOW_RM_RUNS, call->file->object,
					    control.client | (u64)control.object << 32, 0);
		else if (!control.status && look->what == RM_CMD_SWITCH_CHANNELS)
			tell_wish(call, &control, ESHADOW_RM_WISH_DONE);
	}
}

/* --- mappings of the shadow ------------------------------------------------------------------ */

int nvidia_shown(struct call *call)
{
	struct request request = {
		.msg = { .type = ESHADOW_SHOW, .object = call->file->object },
		.fd = -1,
	};
	int ret;

	if (!is_control(call->file))
		return call->file->fd;
	ret = channel_ask(call->lane, &request);
	if (ret < 0)
		return ret;
	return request.fd < 0 ? -EMFILE : request.fd;
}

void nvidia_shown_done(struct call *call, int fd)
{
	if (!is_control(call->file))
		return;
	/* Close the file before the engine gives the memory back. */
	if (fd >= 0)
		fd_close(fd);
	channel_tell_shown(call->lane);
}
