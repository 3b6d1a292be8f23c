// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ioctls that no schema describes, by number; and those whose schema does not know the class of
 * the object, or what a command that they carry points to, by that as well. A program chooses the
 * numbers, so there is room for a few: a new one takes the place of the one that was called least,
 * which goes into the sum of all others. What is called often stays.
 */
#include <linux/sysfs.h>

#include "stats.h"

void vgpu_stats_init(struct vgpu_stats *stats)
{
	spin_lock_init(&stats->unknown_lock);
}

/**
 * vgpu_stats_unknown - an ioctl is made that no schema describes
 * @stats: of its export
 * @cmd: its number
 * @class: not 0: there is one, which does not know this class
 * @command: not 0: there is one, which does not know all that this command inside points to
 */
void vgpu_stats_unknown(struct vgpu_stats *stats, u32 cmd, u32 class, u32 command)
{
	struct vgpu_unknown *unknown, *least;
	unsigned int i;

	spin_lock(&stats->unknown_lock);
	least = &stats->unknown[0];
	for (i = 0; i < ARRAY_SIZE(stats->unknown); i++) {
		unknown = &stats->unknown[i];
		if (unknown->calls && unknown->cmd == cmd && unknown->class == class &&
		    unknown->command == command) {
			unknown->calls++;
			goto out_unlock;
		}
		if (unknown->calls < least->calls)
			least = unknown;
	}
	stats->unknown_others += least->calls;
	least->cmd = cmd;
	least->class = class;
	least->command = command;
	least->calls = 1;

out_unlock:
	spin_unlock(&stats->unknown_lock);
}

static ssize_t stats_emit(char *buf, ssize_t len, const struct vgpu_unknown *unknown)
{
	if (unknown->class)
		return sysfs_emit_at(buf, len, "0x%08x class 0x%08x %llu\n", unknown->cmd,
				     unknown->class, unknown->calls);
	if (unknown->command)
		return sysfs_emit_at(buf, len, "0x%08x command 0x%08x %llu\n", unknown->cmd,
				     unknown->command, unknown->calls);
	return sysfs_emit_at(buf, len, "0x%08x %llu\n", unknown->cmd, unknown->calls);
}

/**
 * vgpu_stats_show_unknown - a line for each: the number, perhaps a class or command, and how often
 * @stats: of an export
 * @buf: for sysfs
 *
 * Return: bytes.
 */
ssize_t vgpu_stats_show_unknown(struct vgpu_stats *stats, char *buf)
{
	unsigned int i;
	ssize_t len = 0;

	spin_lock(&stats->unknown_lock);
	for (i = 0; i < ARRAY_SIZE(stats->unknown); i++)
		if (stats->unknown[i].calls)
			len += stats_emit(buf, len, &stats->unknown[i]);
	if (stats->unknown_others)
		len += sysfs_emit_at(buf, len, "others %llu\n", stats->unknown_others);
	spin_unlock(&stats->unknown_lock);
	return len;
}
