// SPDX-License-Identifier: MIT
/*
 * Fixups of an ioctl: pointers, files and events in its segments, which have other values here
 * than in the guest, and files that its driver makes.
 */
#include <linux/errno.h>
#include <linux/fcntl.h>

#include "engine/shadow/base/lib.h"
#include "engine/shadow/call/call.h"
#include "engine/shadow/call/files.h"
#include "engine/shadow/call/fixup.h"
#include "engine/shadow/lane/channel.h"
#include "engine/shadow/thread/thread.h"
#include "segs.h"

static void *field_of(const struct call *call, const struct vgpu_fixup *fixup)
{
	return (void *)(call->segs[le16_to_cpu(fixup->seg)].addr + le32_to_cpu(fixup->offset));
}

static int place_event(struct call *call, const struct vgpu_fixup *fixup, s32 *fd)
{
	struct request request = {
		.msg = {
			.type = ESHADOW_EVENT,
			.object = le32_to_cpu(call->view.call->object),
			.value = le32_to_cpu(fixup->target),
		},
	};
	int ret;

	request.fd = fd_up(sys2(__NR_eventfd2, 0, O_CLOEXEC | O_NONBLOCK), FILES_OBJECTS);
	if (request.fd < 0)
		return -ENOMEM;
	*fd = request.fd;
	call->fixups.event_fd = request.fd;
	call->fixups.event = le32_to_cpu(fixup->target);
	ret = channel_ask(call->lane, &request);
	if (ret) {
		sys2(__NR_close, call->fixups.event_fd, 0);
		call->fixups.event = 0;
	}
	return ret;
}

static u64 placed_bytes(const struct call *call)
{
	return vgpu_view_nr_fixups(&call->view) *
		(sizeof(*call->fixups.files) + sizeof(*call->fixups.fds));
}

int fixups_place(struct call *call)
{
	const struct vgpu_fixup *fixup = call->view.fixups;
	u32 nr = vgpu_view_nr_fixups(&call->view), i;
	u64 value;
	int ret = 0;

	if (!nr)
		return 0;
	call->fixups.files = memory_get(placed_bytes(call));
	if (!call->fixups.files)
		return -ENOMEM;
	call->fixups.fds = (s32 *)(call->fixups.files + nr);
	for (i = 0; !ret && i < nr; i++, fixup++) {
		switch (le16_to_cpu(fixup->type)) {
		case VGPU_FIXUP_PTR:
			value = vgpu_fixup_target(&call->view, call->segs, fixup);
			memcpy(field_of(call, fixup), &value, sizeof(u64));
			break;
		case VGPU_FIXUP_PTR32:
			value = vgpu_fixup_target(&call->view, call->segs, fixup);
			memcpy(field_of(call, fixup), &value, sizeof(u32));
			break;
		case VGPU_FIXUP_FD_IN:
			ret = file_find(call->lane, le32_to_cpu(fixup->target),
					&call->fixups.files[i]);
			if (ret)
				break;
			call->fixups.fds[i] = call->fixups.files[i]->fd;
			memcpy(field_of(call, fixup), &call->fixups.fds[i], sizeof(s32));
			break;
		case VGPU_FIXUP_TIME:
			/* The guest's clock differs, so the guest sends a time relative to now. */
			value = vgpu_fixup_original(&call->view, call->segs, fixup, sizeof(value));
			value = now_ns() + min(value, (u64)S64_MAX - now_ns());
			memcpy(field_of(call, fixup), &value, sizeof(value));
			break;
		case VGPU_FIXUP_EVENT:
			ret = place_event(call, fixup, &call->fixups.fds[i]);
			if (!ret)
				memcpy(field_of(call, fixup), &call->fixups.fds[i], sizeof(s32));
			break;
		}
	}
	return ret;
}

void fixups_undo(struct call *call)
{
	u32 i;

	for (i = 0; i < vgpu_view_nr_fixups(&call->view); i++)
		vgpu_fixup_undo(&call->view, call->segs, call->reply.data, &call->view.fixups[i],
				call->fixups.files ? call->fixups.fds[i] : -1);
}

void fixups_remove(struct call *call)
{
	u32 i;

	if (call->arg_file)
		file_put(call->arg_file);
	call->arg_file = NULL;
	if (!call->fixups.files)
		return;
	for (i = 0; i < vgpu_view_nr_fixups(&call->view); i++)
		if (call->fixups.files[i])
			file_put(call->fixups.files[i]);
	if (call->fixups.event)
		sys2(__NR_close, call->fixups.event_fd, 0);
	memory_put(call->fixups.files, placed_bytes(call));
	call->fixups.files = NULL;
}

void fixups_cancel_event(struct call *call)
{
	if (call->fixups.event)
		channel_tell(ESHADOW_UNEVENT, le32_to_cpu(call->view.call->object),
			     call->fixups.event, 0);
	call->fixups.event = 0;
}

/* Makes the file an object of the reply. */
static int give_fd(struct call *call, int fd, u32 index)
{
	struct vgpu_object_desc *desc = &call->reply.objects[call->reply.nr_objects];
	bool cloexec = sys3(__NR_fcntl, fd, F_GETFD, 0) & FD_CLOEXEC;
	struct request request = {
		.msg = {
			.type = ESHADOW_MADE,
			.object = le32_to_cpu(call->view.call->object),
			.value = le16_to_cpu(call->view.call->flags) & VGPU_CALL_WATCH,
			.extra = files_call_met(),
		},
		.fd = fd,
		.extra = desc,
		.room = sizeof(*desc),
	};
	int ret;

	ret = channel_ask(call->lane, &request);
	files_give(fd);
	if (ret)
		return ret;
	if (cloexec)
		desc->flags |= cpu_to_le32(VGPU_OBJECT_CLOEXEC);
	desc->fixup = cpu_to_le32(index);
	call->reply.nr_objects++;
	return 0;
}

int fixups_answer(struct call *call, s64 *result)
{
	u32 nr = vgpu_view_nr_fixups(&call->view), i;
	int ret = 0;

	for (i = 0; !ret && i < nr; i++) {
		const struct vgpu_fixup *fixup = &call->view.fixups[i];
		void *field;
		s32 value;

		switch (le16_to_cpu(fixup->type)) {
		case VGPU_FIXUP_FD_OUT:
			field = vgpu_fixup_reply(&call->view, call->segs, call->reply.data, fixup);
			memcpy(&value, field, sizeof(value));
			if (!files_take(value))
				break;
			if (call->reply.nr_objects < limit_now(fds_per_call)) {
				ret = give_fd(call, value, i);
			} else {
				files_give(value);
				ret = -EMFILE;
			}
			/* The guest fills in its own number, and must not see the host's. */
			value = -1;
			memcpy(field, &value, sizeof(value));
			break;
		case VGPU_FIXUP_FD_RET:
			if (*result != (s32)*result || !files_take(*result))
				break;
			ret = give_fd(call, *result, i);
			*result = 0;
			break;
		}
	}
	return ret;
}
