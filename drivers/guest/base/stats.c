// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts of unknown ioctls. An ioctl that no schema describes is counted by its number. If the
 * schema does not know the class in the argument, or all pointers of the command in the argument,
 * the ioctl is counted by its number and that class or command. Programs choose the numbers, so
 * there are VGPU_STATS_UNKNOWN entries only: a new entry replaces the one with the fewest calls,
 * whose calls are added to @unknown_others. Entries with many calls stay.
 */
#include <linux/sysfs.h>

#include "base/stats.h"

/**
 * vgpu_stats_unknown - count an ioctl that no schema describes, or not completely
 * @stats: counters of the export
 * @cmd: command of the ioctl
 * @class: class in the argument that the schema does not know; 0: none
 * @command: command in the argument, some pointers of which the schema does not know; 0: none
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
	if (unknown->class || unknown->command)
		return sysfs_emit_at(buf, len, "0x%08x %s 0x%08x %llu\n", unknown->cmd,
				     unknown->class ? "class" : "command",
				     unknown->class ?: unknown->command, unknown->calls);
	return sysfs_emit_at(buf, len, "0x%08x %llu\n", unknown->cmd, unknown->calls);
}

/**
 * vgpu_stats_show_unknown - print the counts of unknown ioctls, one entry a line
 * @stats: counters of an export
 * @buf: page of sysfs
 *
 * A line has the number of the ioctl, its class or command if there is one, and the calls.
 *
 * Return: number of bytes.
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
