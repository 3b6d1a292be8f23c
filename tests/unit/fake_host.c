// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>

#include "fake_host.h"
#include "tap.h"

/* Address of the memory below 4 GiB for the segments of a 32-bit process. */
#define LOW_ADDR	0xf0000000U

void *driver_mem(struct host *host, u64 addr, u64 len, int rights)
{
	u32 i;

	for (i = 0; host && i < host->nr_segs; i++)
		if (addr >= (uintptr_t)host->segs[i] && len <= host->lens[i] &&
		    addr - (uintptr_t)host->segs[i] <= host->lens[i] - len)
			return (void *)(uintptr_t)addr;
	if (!user_may(addr, len, rights))
		return NULL;
	if (host)
		host->fetches++;
	return (void *)(uintptr_t)addr;
}

int driver_fd_new(struct host *host, u32 object)
{
	if (!host) {
		user.new_objects[user.next_fd - USER_FD_NEW] = object;
		user.installed++;
		return user.next_fd++;
	}
	host->fds[host->next_fd - HOST_FD_FIRST] = object;
	return host->next_fd++;
}

u32 driver_fd_object(struct host *host, int fd)
{
	if (!host)
		return fd >= USER_FD_FIRST && fd <= USER_FD_LAST ? fd + USER_OBJECT : 0;
	return fd >= HOST_FD_FIRST && fd < host->next_fd ? host->fds[fd - HOST_FD_FIRST] : 0;
}

void host_init(struct host *host)
{
	memset(host, 0, sizeof(*host));
	host->limits.call_bytes = VGPU_CALL_BYTES_MAX;
	host->limits.segs = VGPU_SEGS_MAX;
	host->limits.fixups = VGPU_FIXUPS_MAX;
	host->limits.features = VGPU_FEATURES;
}

static void *fixup_place(struct host *host, const struct vgpu_fixup *fixup)
{
	return host->segs[le16_to_cpu(fixup->seg)] + le32_to_cpu(fixup->offset);
}

static void segs_place(struct host *host, const struct vgpu_call_view *view)
{
	const u8 *data = view->data;
	u32 i;

	host->nr_segs = le16_to_cpu(view->call->nr_segs);
	host->segs = calloc(host->nr_segs + 1, sizeof(*host->segs));
	host->lens = calloc(host->nr_segs + 1, sizeof(*host->lens));
	for (i = 0; i < host->nr_segs; i++) {
		u32 flags = le32_to_cpu(view->segs[i].flags);

		host->lens[i] = le32_to_cpu(view->segs[i].len);
		/* The size is exact, so that ASan detects accesses beyond the segment. */
		host->segs[i] = calloc(1, host->lens[i] ? host->lens[i] : 1);
		if (!(flags & VGPU_SEG_IN))
			continue;
		memcpy(host->segs[i], data, host->lens[i]);
		data += vgpu_wire_pad(host->lens[i]);
		if (!(flags & (VGPU_SEG_PAGE | VGPU_SEG_KEPT)))
			continue;
		/* The driver finds a PAGE or KEPT segment at its address in user memory. */
		free(host->segs[i]);
		host->segs[i] = NULL;
		host->lens[i] = 0;
	}
}

/* Applies the fixups. @placed gets the value that was written for each fixup. */
static void fixups_apply(struct host *host, const struct vgpu_call_view *view, u64 *placed)
{
	u32 i, value32;
	u64 time;

	for (i = 0; i < le16_to_cpu(view->call->nr_fixups); i++) {
		const struct vgpu_fixup *fixup = &view->fixups[i];
		u32 target = le32_to_cpu(fixup->target);

		switch (le16_to_cpu(fixup->type)) {
		case VGPU_FIXUP_PTR:
			placed[i] = (uintptr_t)host->segs[target] +
				le32_to_cpu(fixup->target_offset);
			memcpy(fixup_place(host, fixup), &placed[i], 8);
			break;
		case VGPU_FIXUP_PTR32:
			/* There is no memory below 4 GiB here: a number stands for it. */
			value32 = LOW_ADDR | target << 12;
			placed[i] = value32;
			memcpy(fixup_place(host, fixup), &value32, 4);
			break;
		case VGPU_FIXUP_FD_IN:
		case VGPU_FIXUP_EVENT:
			value32 = driver_fd_new(host, target);
			placed[i] = value32;
			memcpy(fixup_place(host, fixup), &value32, 4);
			break;
		case VGPU_FIXUP_TIME:
			memcpy(&time, fixup_place(host, fixup), 8);
			time = min_t(u64, time, S64_MAX - HOST_NOW) + HOST_NOW;
			memcpy(fixup_place(host, fixup), &time, 8);
			break;
		}
	}
	host->first_new_fd = host->next_fd;
}

static void fixups_undo(struct host *host, const struct vgpu_call_view *view, const u64 *placed,
			const u64 *original)
{
	u32 i, size;
	u64 value;

	for (i = 0; i < le16_to_cpu(view->call->nr_fixups); i++) {
		const struct vgpu_fixup *fixup = &view->fixups[i];
		u16 type = le16_to_cpu(fixup->type);
		u32 len;

		if (type == VGPU_FIXUP_TIME)
			memcpy(fixup_place(host, fixup), &original[i], 8);
		if (type != VGPU_FIXUP_PTR && type != VGPU_FIXUP_PTR32 &&
		    type != VGPU_FIXUP_FD_IN && type != VGPU_FIXUP_EVENT)
			continue;
		size = type == VGPU_FIXUP_PTR ? 8 : 4;
		value = 0;
		memcpy(&value, fixup_place(host, fixup), size);
		len = type == VGPU_FIXUP_PTR ? host->lens[le32_to_cpu(fixup->target)] : 0;
		if (value < placed[i] || value > placed[i] + len)
			continue;
		value = value - placed[i] + original[i];
		memcpy(fixup_place(host, fixup), &value, size);
	}
}

static bool fd_is_new(struct host *host, s64 fd)
{
	return fd >= host->first_new_fd && fd < host->next_fd;
}

static u32 objects_take(struct host *host, const struct vgpu_call_view *view,
			struct vgpu_object_desc *objects, s64 result)
{
	u32 i, nr = 0;

	for (i = 0; i < le16_to_cpu(view->call->nr_fixups); i++) {
		u16 type = le16_to_cpu(view->fixups[i].type);
		s32 fd = -1;

		if (type == VGPU_FIXUP_FD_OUT)
			memcpy(&fd, fixup_place(host, &view->fixups[i]), 4);
		else if (type == VGPU_FIXUP_FD_RET && result >= 0)
			fd = result;
		if (!fd_is_new(host, fd))
			continue;
		memset(&objects[nr], 0, sizeof(*objects));
		objects[nr].object = cpu_to_le32(host->fds[fd - HOST_FD_FIRST]);
		objects[nr].kind = cpu_to_le32(VGPU_OBJECT_OTHER);
		objects[nr].fixup = cpu_to_le32(i);
		nr++;
	}
	return nr;
}

static u8 *reply_build(struct host *host, const struct vgpu_call_view *view, s64 result,
		       size_t *len)
{
	struct vgpu_object_desc objects[VGPU_FDS_MAX];
	u32 i, nr = objects_take(host, view, objects, result);
	struct vgpu_reply *reply;
	u8 *data;

	*len = sizeof(*reply) + nr * sizeof(*objects) + view->reply_bytes;
	reply = calloc(1, *len);
	reply->hdr.len = cpu_to_le32(*len);
	reply->hdr.type = cpu_to_le16(VGPU_MSG_REPLY);
	reply->hdr.seq = view->call->hdr.seq;
	reply->result = cpu_to_le64(result);
	reply->nr_objects = cpu_to_le16(nr);
	memcpy(reply + 1, objects, nr * sizeof(*objects));
	data = (u8 *)(reply + 1) + nr * sizeof(*objects);
	for (i = 0; i < host->nr_segs; i++) {
		if (!(le32_to_cpu(view->segs[i].flags) & VGPU_SEG_OUT))
			continue;
		memcpy(data, host->segs[i], host->lens[i]);
		data += vgpu_wire_pad(host->lens[i]);
	}
	return (u8 *)reply;
}

/* Builds the reply for an error of the host itself, without data. */
static u8 *refusal_build(struct host *host, const struct vgpu_call_view *view, size_t *len)
{
	struct vgpu_reply *reply = calloc(1, sizeof(*reply));

	*len = sizeof(*reply);
	reply->hdr.len = cpu_to_le32(*len);
	reply->hdr.type = cpu_to_le16(VGPU_MSG_REPLY);
	reply->hdr.seq = view->call->hdr.seq;
	reply->result = cpu_to_le64(-host->refuse);
	reply->flags = cpu_to_le32(VGPU_REPLY_REFUSED);
	return (u8 *)reply;
}

/* Carries out a CALL. Return: the REPLY, for the caller to free; NULL: the CALL is malformed. */
static u8 *host_call(struct host *host, const u8 *msg, size_t msg_len, driver_fn driver,
		     void *data, size_t *reply_len)
{
	struct vgpu_call_view view;
	const struct vgpu_args_ioctl *args;
	u64 *placed, *original;
	u32 i, nr;
	s64 result;
	u8 *reply;
	u64 arg;

	if (!tap_expect(!vgpu_wire_call_check(msg, msg_len, &host->limits, &view),
			"the host accepts the call"))
		return NULL;
	host->calls++;
	if (host->refuse)
		return refusal_build(host, &view, reply_len);
	host->next_fd = HOST_FD_FIRST;
	nr = le16_to_cpu(view.call->nr_fixups);
	placed = calloc(nr + 1, sizeof(*placed));
	original = calloc(nr + 1, sizeof(*original));
	segs_place(host, &view);
	for (i = 0; i < nr; i++)
		if (le16_to_cpu(view.fixups[i].type) != VGPU_FIXUP_FD_RET)
			memcpy(&original[i], fixup_place(host, &view.fixups[i]),
			       le16_to_cpu(view.fixups[i].type) == VGPU_FIXUP_PTR ||
			       le16_to_cpu(view.fixups[i].type) == VGPU_FIXUP_TIME ? 8 : 4);
	args = &view.call->args.ioctl;
	arg = le64_to_cpu(args->arg);
	if (le32_to_cpu(args->arg_kind) == VGPU_IOCTL_ARG_SEG)
		arg = (uintptr_t)host->segs[0];
	else if (le32_to_cpu(args->arg_kind) == VGPU_IOCTL_ARG_FD)
		arg = driver_fd_new(host, arg);
	fixups_apply(host, &view, placed);
	result = driver(host, le32_to_cpu(args->cmd), arg, data);

	fixups_undo(host, &view, placed, original);
	reply = reply_build(host, &view, result, reply_len);
	for (i = 0; i < host->nr_segs; i++)
		free(host->segs[i]);
	free(host->segs);
	free(host->lens);
	host->nr_segs = 0;
	free(placed);
	free(original);
	return reply;
}

static u8 *call_build(const struct vgpu_marshal *m, u32 cmd, bool compat, size_t *len)
{
	size_t segs = m->nr_segs * sizeof(*m->segs);
	size_t fixups = m->nr_fixups * sizeof(*m->fixups);
	struct vgpu_call *call;
	u8 *p;

	*len = sizeof(*call) + segs + fixups + m->data_len;
	p = calloc(1, *len);
	call = (void *)p;
	call->hdr.len = cpu_to_le32(*len);
	call->hdr.type = cpu_to_le16(VGPU_MSG_CALL);
	call->hdr.seq = cpu_to_le64(1);
	call->op = cpu_to_le16(VGPU_OP_IOCTL);
	call->flags = cpu_to_le16(compat ? VGPU_CALL_COMPAT : 0);
	call->object = cpu_to_le32(1);
	call->nr_segs = cpu_to_le16(m->nr_segs);
	call->nr_fixups = cpu_to_le16(m->nr_fixups);
	call->args.ioctl.cmd = cpu_to_le32(cmd);
	call->args.ioctl.arg_kind = cpu_to_le32(m->arg_kind);
	call->args.ioctl.arg = cpu_to_le64(m->arg);
	if (compat && m->arg_kind == VGPU_IOCTL_ARG_SEG) {
		call->args.ioctl.low = cpu_to_le64(LOW_ADDR);
		call->args.ioctl.low_len = cpu_to_le64(VGPU_LOW_END - LOW_ADDR);
	}
	memcpy(p + sizeof(*call), m->segs, segs);
	memcpy(p + sizeof(*call) + segs, m->fixups, fixups);
	memcpy(p + sizeof(*call) + segs + fixups, m->data, m->data_len);
	return p;
}

static long ioctl_run(struct host *host, struct vgpu_marshal *m,
		      struct vgpu_schema_learned *learned, const struct vgpu_schema *schema,
		      u32 cmd, u64 arg, bool compat, driver_fn driver, void *data)
{
	struct vgpu_call_view sent;
	struct vgpu_reply_view got;
	size_t len, reply_len;
	u8 *msg, *reply;
	long result;

	host->fetches = 0;
	host->calls = 0;
	vgpu_marshal_init(m, &host->limits, &user_fds, &user);
	m->caller.learned = learned;
	m->caller.live = host->live;
	result = vgpu_marshal_ioctl(m, schema, cmd, arg, compat);
	if (result)
		return vgpu_marshal_refused(m, result);
	msg = call_build(m, cmd, compat, &len);
	reply = host_call(host, msg, len, driver, data, &reply_len);
	if (!reply) {
		free(msg);
		return -EPROTO;
	}
	vgpu_marshal_view(m, (struct vgpu_call *)msg, &sent);
	if (tap_expect(!vgpu_wire_reply_check(reply, reply_len, &sent, &got),
		       "the guest accepts the reply"))
		result = vgpu_marshal_finish(m, &got, le64_to_cpu(got.reply->result));
	if (host->refuse)
		result = vgpu_marshal_refused(m, result);
	free(reply);
	free(msg);
	return result;
}

long host_ioctl_keep(struct host *host, struct vgpu_marshal *m,
		     const struct vgpu_schema *schema, u32 cmd, u64 arg, bool compat,
		     driver_fn driver, void *data)
{
	return ioctl_run(host, m, NULL, schema, cmd, arg, compat, driver, data);
}

long host_ioctl_learned(struct host *host, struct vgpu_marshal *m,
			struct vgpu_schema_learned *learned, const struct vgpu_schema *schema,
			u32 cmd, u64 arg, driver_fn driver, void *data)
{
	return ioctl_run(host, m, learned, schema, cmd, arg, false, driver, data);
}

long host_ioctl(struct host *host, const struct vgpu_schema *schema, u32 cmd, u64 arg,
		bool compat, driver_fn driver, void *data)
{
	struct vgpu_marshal m;
	long result = host_ioctl_keep(host, &m, schema, cmd, arg, compat, driver, data);

	vgpu_marshal_fini(&m);
	tap_expect(!user.held, "%d objects are still held", user.held);
	tap_expect(!user.reserved, "%d fds are still reserved", user.reserved);
	return result;
}
