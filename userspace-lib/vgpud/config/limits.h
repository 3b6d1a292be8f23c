/* SPDX-License-Identifier: MIT */
/* Limits of guests: their names in files and on the command line, their values and ranges. */
#ifndef VGPUD_LIMITS_H
#define VGPUD_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/vgpu_host.h>

struct answer;

/* Largest value of tasks, PID_MAX_LIMIT of a 64-bit kernel: pids.max takes no larger number. */
#define GROUP_TASKS_MAX		(4 << 20)

/**
 * struct group_limits - limits of a control group
 * @memory: bytes of memory (memory.max); 0: no limit
 * @device_memory: bytes of each region of device memory (dmem.max); 0: no limit
 * @tasks: number of threads and zombies (pids.max); 0 in a setting: computed by vgpud
 * @cpu_weight: share of the processors beside sibling groups (cpu.weight), 1 to 10000
 * @io_weight: share of block devices beside sibling groups (io.weight), 1 to 10000
 */
struct group_limits {
	uint64_t memory;
	uint64_t device_memory;
	unsigned int tasks;
	unsigned int cpu_weight;
	unsigned int io_weight;
};

/**
 * struct limits - limits of a guest
 * @host: limits that the host module or the guest's engine applies; no member is 0
 * @session_rate: number of sessions and connections that the guest may begin each second, beyond
 *	a burst (pace.h)
 * @patience_ms: see struct vgpu_host_agent
 * @all_pages: see struct vgpu_host_peer_limit; 0: no limit
 * @all_mappings: see struct vgpu_host_peer_limit; 0: no limit
 * @rates: see struct vgpu_host_peer_limit
 * @device_weight: see @weight of struct vgpu_host_peer_limit; 0: VGPU_HOST_LIMIT_FREEZE
 * @device_cap: see @cap of struct vgpu_host_peer_limit; not 0
 * @device_priority: see @priority of struct vgpu_host_peer_limit
 * @group: limits of the control group of the guest's programs
 */
struct limits {
	struct vgpu_host_limits host;
	unsigned int session_rate;
	unsigned int patience_ms;
	unsigned int all_pages;
	unsigned int all_mappings;
	struct vgpu_host_rates rates;
	unsigned int device_weight;
	unsigned int device_cap;
	unsigned int device_priority;
	struct group_limits group;
};

/* Largest number of limits that a guest may have. */
#define LIMITS_MAX	32

/**
 * struct limits_given - some limits
 * @given: bit mask of the limits that are given, by their numbers
 * @values: values of these limits; the others are 0
 */
struct limits_given {
	uint32_t given;
	struct limits values;
};

/* Find a limit by its name. Return: its number; -1: there is no such limit. */
int limits_find(const char *name);
/* Return the name of a limit; NULL: no limit has this number or a higher one. */
const char *limits_name(unsigned int limit);
/* Say @what, and which limit @name may be meant for. Return: -EINVAL. */
int limits_say_unknown(const char *name, const char *what, struct answer *words);
/* Return true if the limit counts bytes. */
bool limits_in_bytes(unsigned int limit);
/* Return true if the kernel applies the limit to the guest's control group. */
bool limits_of_group(unsigned int limit);
uint64_t limits_get(const struct limits *limits, unsigned int limit);
/* Parse a value, and set the limit. Return: 0, or -EINVAL with words in @words. */
int limits_parse(struct limits *limits, unsigned int limit, const char *text,
		 struct answer *words);
/* Return the value as text for a file; it is valid until the next call. */
const char *limits_text(const struct limits *limits, unsigned int limit);
/* Set one limit to the value that it has in @from. */
void limits_copy(struct limits *limits, unsigned int limit, const struct limits *from);
bool limits_equal(const struct limits *a, const struct limits *b);
/* Change those limits that are given. */
void limits_change(struct limits *limits, const struct limits_given *given);

#endif /* VGPUD_LIMITS_H */
