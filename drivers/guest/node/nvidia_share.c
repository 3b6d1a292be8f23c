// SPDX-License-Identifier: GPL-2.0-only
/*
 * Detection of calls that share objects of NVIDIA's resource manager. Others may duplicate an
 * object after its owner has allowed it by RM_SHARE, or by two commands of RM_CONTROL
 * (CLIENT_SET_INHERITED_SHARE_POLICY and CLIENT_SHARE_OBJECT of the open modules 550 to 595).
 * CUDA's interprocess memory uses these calls.
 */
#include <linux/ioctl.h>
#include <linux/string.h>

#include "argument/marshal.h"
#include "argument/schema.h"
#include "argument/schema/tables.h"
#include "file/object.h"
#include "node/nvidia_share.h"

/* Numbers of ioctls, by which the driver recognizes them. */
#define NR_CONTROL	0x2a
#define NR_SHARE	0x35
#define NR_XFER		0xd3

#define CMD_SET_SHARE_POLICY	0x00000d04
#define CMD_SHARE_OBJECT	0x00000d06

/* Offsets in struct nv_control and nv_xfer of schema/nvidia.c. */
#define CONTROL_CMD	8
#define CONTROL_LEN	32
#define XFER_ARG	8
#define XFER_LEN	16

/* Return: the @len bytes at @addr that go along with the call; NULL if there are fewer. */
static const u8 *share_bytes(const struct vgpu_marshal *m, u64 addr, u32 len)
{
	u32 i;

	for (i = 0; i < m->nr_segs; i++)
		if (m->info[i].addr == addr && (m->info[i].dir & VGPU_IN) && m->info[i].len >= len)
			return m->data + m->info[i].in_off;
	return NULL;
}

static bool share_control(const u8 *control)
{
	u32 cmd;

	if (!control)
		return true;
	memcpy(&cmd, control + CONTROL_CMD, sizeof(cmd));
	return cmd == CMD_SET_SHARE_POLICY || cmd == CMD_SHARE_OBJECT;
}

/**
 * vgpu_nvidia_shares - find out if a call may share an object of a program
 * @object: object of the ioctl
 * @cmd: command of the program
 * @m: marshalled ioctl
 *
 * The driver fetches memory that does not go along with the call; such memory may contain
 * anything.
 *
 * Return: false if the call shares nothing.
 */
bool vgpu_nvidia_shares(const struct vgpu_object *object, unsigned int cmd,
			const struct vgpu_marshal *m)
{
	u64 addr = m->nr_segs ? m->info[0].addr : 0;
	u32 nr = _IOC_NR(cmd);
	const u8 *xfer;

	if (object->schema != &vgpu_schema_nvidia)
		return false;
	if (nr == NR_XFER) {
		xfer = m->entry.ioctl ? share_bytes(m, addr, XFER_LEN) : NULL;
		if (!xfer)
			return true;
		memcpy(&nr, xfer, sizeof(nr));
		memcpy(&addr, xfer + XFER_ARG, sizeof(addr));
	}
	if (nr == NR_CONTROL)
		return share_control(m->entry.ioctl ? share_bytes(m, addr, CONTROL_LEN) : NULL);
	return nr == NR_SHARE;
}
