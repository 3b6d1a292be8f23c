// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ioctls that no schema describes, by their commands. A program chooses the numbers, so there
 * is room for a few: a new one takes the place of the one that was called least, which goes
 * into the sum of all others. What is called often stays.
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
 * @cmd: the command
 */
void vgpu_stats_unknown(struct vgpu_stats *stats, u32 cmd)
{
	struct vgpu_unknown *unknown, *least;
	unsigned int i;

	spin_lock(&stats->unknown_lock);
	least = &stats->unknown[0];
	for (i = 0; i < ARRAY_SIZE(stats->unknown); i++) {
		unknown = &stats->unknown[i];
		if (unknown->calls && unknown->cmd == cmd) {
			unknown->calls++;
			goto out_unlock;
		}
		if (unknown->calls < least->calls)
			least = unknown;
	}
	stats->unknown_others += least->calls;
	least->cmd = cmd;
	least->calls = 1;

out_unlock:
	spin_unlock(&stats->unknown_lock);
}

/**
 * vgpu_stats_show_unknown - a line for each command: the number, and how often
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
			len += sysfs_emit_at(buf, len, "0x%08x %llu\n", stats->unknown[i].cmd,
					     stats->unknown[i].calls);
	if (stats->unknown_others)
		len += sysfs_emit_at(buf, len, "others %llu\n", stats->unknown_others);
	spin_unlock(&stats->unknown_lock);
	return len;
}
