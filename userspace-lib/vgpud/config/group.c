// SPDX-License-Identifier: MIT
/* Limits that depend on the size of this machine: those of control groups, and of buffers. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/sysfs.h"
#include "config/config.h"
#include "shared/number.h"

/*
 * Defaults in percent of the machine's memory and of its process IDs: those of all guests together,
 * and of one guest. One guest must not have all that the guests have.
 */
#define ALL_PERCENT	50
#define GUEST_PERCENT	25

/* Defaults of the large vsock buffers, in percent of the machine's memory. */
#define ALL_BUFFERS	4
#define GUEST_BUFFERS	2

/* Weight that a new group has in the kernel. */
#define WEIGHT_DEFAULT	100

/* Number of threads of a guest's engine, and of its other processes that are no shadows. */
#define ENGINE_TASKS	64

/* Return the memory of this machine in bytes, without huge pages, which no group can take. */
static unsigned long long machine_memory(void)
{
	unsigned long long total = 0, huge = 0;
	FILE *file = fopen("/proc/meminfo", "re");
	char line[128];

	while (file && fgets(line, sizeof(line), file)) {
		sscanf(line, "MemTotal: %llu kB", &total);
		sscanf(line, "Hugetlb: %llu kB", &huge);
	}
	if (file)
		fclose(file);
	return huge < total ? (total - huge) << 10 : 0;
}

static unsigned long long memory_part(unsigned int percent)
{
	return machine_memory() / 100 * percent;
}

int config_memory(const char *text, unsigned long long min, unsigned long long max,
		  unsigned long long *value)
{
	size_t len = strlen(text);
	char copy[8];

	if (!len || text[len - 1] != '%')
		return number_parse_size(text, value) && *value >= min && *value <= max ?
		       0 : -EINVAL;
	if (len > sizeof(copy))
		return -EINVAL;
	snprintf(copy, sizeof(copy), "%.*s", (int)len - 1, text);
	if (!number_parse(copy, value) || *value > 100)
		return -EINVAL;
	/* The result must not be 0, which means that there is no limit. */
	if (*value && !machine_memory())
		return -EINVAL;
	*value = memory_part(*value);
	return 0;
}

/* Return the most threads that all processes of this machine may have. */
static unsigned long long machine_tasks(void)
{
	unsigned long long ids, threads;

	if (!sysctl_read("/proc/sys/kernel/pid_max", &ids))
		ids = GROUP_TASKS_MAX;
	if (sysctl_read("/proc/sys/kernel/threads-max", &threads) && threads < ids)
		return threads;
	return ids;
}

int groups_default(void)
{
	const struct group_limits limits = {
		.cpu_weight = WEIGHT_DEFAULT,
		.io_weight = WEIGHT_DEFAULT,
	};

	/* 0 would mean that there is no limit. */
	if (!machine_memory())
		return -ENOMEM;
	settings.limits.group = limits;
	settings.limits.group.memory = memory_part(GUEST_PERCENT);
	settings.all_groups = limits;
	settings.all_groups.memory = memory_part(ALL_PERCENT);
	settings.buffers.guest = memory_part(GUEST_BUFFERS);
	settings.buffers.all = memory_part(ALL_BUFFERS);
	return 0;
}

void groups_complete(void)
{
	unsigned long long all = machine_tasks() * ALL_PERCENT / 100;

	if (!settings.all_groups.tasks)
		settings.all_groups.tasks = all < GROUP_TASKS_MAX ? all : GROUP_TASKS_MAX;
}

struct group_limits group_limits_of(const struct limits *limits)
{
	unsigned long long all = settings.all_groups.tasks;
	unsigned long long one = room_threads(limits) + ENGINE_TASKS;
	struct group_limits group = limits->group;

	all = all * GUEST_PERCENT / ALL_PERCENT;
	if (!group.tasks)
		group.tasks = one < all ? one : all;
	return group;
}
