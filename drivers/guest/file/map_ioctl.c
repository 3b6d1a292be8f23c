// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ioctls that map device memory themselves and return the address. Forwarded as they are, they
 * would map memory in the shadow. So the ioctl is first forwarded with a length of 0, which
 * maps nothing, to let the driver check the other fields. Then another ioctl returns the offset
 * by which the file can be mapped, and the guest maps the file at that offset.
 */
#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/overflow.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "argument/schema.h"
#include "file/map_ioctl.h"
#include "file/op.h"
#include "link/call.h"
#include "memory/reserve.h"

/* Size limit of the structs of both ioctls, in bytes. */
#define MAP_ARG_MAX	64

static u64 map_get(const u8 *arg, const struct vgpu_schema_ref *ref)
{
	u64 value = 0;

	memcpy(&value, arg + ref->offset, ref->size);
	return value;
}

static void map_put(u8 *arg, const struct vgpu_schema_ref *ref, u64 value)
{
	memcpy(arg + ref->offset, &value, ref->size);
}

/* Makes an ioctl on the host with the struct @arg. Return: its result; @arg has what came back. */
static long map_call(struct file *file, u32 cmd, u8 *arg, void __user *addr, bool compat)
{
	const u32 len = _IOC_SIZE(cmd);
	struct vgpu_guest_call xcall;
	unsigned long low = 0;
	bool replied;
	u64 low_len;
	s64 ret;

	vgpu_op_fill_call(file, &xcall, VGPU_OP_IOCTL, file->f_pos);
	xcall.msg.args.ioctl.cmd = cpu_to_le32(cmd);
	xcall.msg.args.ioctl.arg_kind = cpu_to_le32(VGPU_IOCTL_ARG_SEG);
	xcall.flags = VGPU_GUEST_CALL_NO_MAPPED;
	vgpu_guest_call_seg(&xcall, addr, len, VGPU_SEG_IN | VGPU_SEG_OUT, arg);
	if (compat) {
		low_len = PAGE_ALIGN(VGPU_LOW_BYTES(1, vgpu_wire_pad(len)));
		ret = vgpu_reserve_low(low_len, &low);
		if (ret)
			return ret;
		xcall.msg.args.ioctl.low = cpu_to_le64(low);
		xcall.msg.args.ioctl.low_len = cpu_to_le64(low_len);
	}
	ret = vgpu_op_call(file, &xcall, &replied);
	/* Copy the struct back even if the driver failed, but not if the host refused the call. */
	if (replied && !(le32_to_cpu(xcall.reply.reply->flags) & VGPU_REPLY_REFUSED))
		memcpy(arg, xcall.reply.data, len);
	vgpu_guest_call_fini(&xcall);
	if (compat)
		vgpu_reserve_low_end(low, low_len);
	return ret;
}

/* Finds the offset at which the file shows the memory. Return: 0 or an errno. */
static long map_find(struct file *file, const struct vgpu_schema_map *map, const u8 *arg,
		     void __user *addr, bool compat, u64 *place)
{
	u64 mode = map_get(arg, &map->mode);
	u8 other[MAP_ARG_MAX] = { 0 };
	unsigned int i;
	long ret;

	for (i = 0; i < map->nr_modes && map->modes[i].mode != mode; i++)
		;
	if (i == map->nr_modes)
		return -EINVAL;
	map_put(other, &map->place_handle, map_get(arg, &map->handle));
	map_put(other, &map->place_mode, map->modes[i].place_mode);
	ret = map_call(file, map->place_cmd, other, addr, compat);
	if (ret)
		return ret < 0 ? ret : -EIO;
	*place = map_get(other, &map->place);
	return 0;
}

/*
 * Maps a part of a buffer. By such an offset devices map a buffer from its beginning or not at
 * all, so the pages before the part are unmapped again. Return: the address, or an errno.
 */
static unsigned long map_part(struct file *file, u64 place, u64 offset, u64 len)
{
	unsigned long addr;
	u64 whole;

	len = PAGE_ALIGN(len);
	if (!len || !IS_ALIGNED(offset, PAGE_SIZE) || check_add_overflow(offset, len, &whole) ||
	    whole > TASK_SIZE)
		return -EINVAL;
	addr = vm_mmap(file, 0, whole, PROT_READ | PROT_WRITE, MAP_SHARED, place);
	if (IS_ERR_VALUE(addr) || !offset)
		return addr;
	vm_munmap(addr, offset);
	return addr + offset;
}

/**
 * vgpu_map_ioctl - carry out an ioctl that maps memory
 * @file: file of the ioctl
 * @map: description of the ioctl in its schema
 * @cmd: command
 * @addr: address of the argument
 * @compat: true if a 32-bit program makes the ioctl
 *
 * Return: 0 or an errno, as the driver's.
 */
long vgpu_map_ioctl(struct file *file, const struct vgpu_schema_map *map, u32 cmd,
		    unsigned long addr, bool compat)
{
	void __user *user = (void __user *)addr;
	u8 arg[MAP_ARG_MAX] = { 0 }, probe[MAP_ARG_MAX];
	const u32 size = _IOC_SIZE(cmd);
	unsigned long at;
	u64 place;
	long ret;

	if (size > sizeof(arg) || copy_from_user(arg, user, size))
		return -EFAULT;
	memcpy(probe, arg, sizeof(probe));
	map_put(probe, &map->offset, 0);
	map_put(probe, &map->size, 0);
	ret = map_call(file, map->cmd, probe, user, compat);
	/* -EINVAL for the length of 0 is the success of this check; any other result is final. */
	if (ret != -EINVAL)
		return ret < 0 ? ret : -EIO;
	ret = map_find(file, map, arg, user, compat, &place);
	if (ret)
		return ret;
	at = map_part(file, place, map_get(arg, &map->offset), map_get(arg, &map->size));
	if (IS_ERR_VALUE(at))
		return (long)at;
	map_put(arg, &map->addr, at);
	if (copy_to_user(user + map->addr.offset, arg + map->addr.offset, map->addr.size)) {
		vm_munmap(at, PAGE_ALIGN(map_get(arg, &map->size)));
		return -EFAULT;
	}
	return 0;
}
