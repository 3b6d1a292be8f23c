/* SPDX-License-Identifier: MIT */
/* Shadows of engines, and their counters. */
#ifndef VGPUD_SHADOW_H
#define VGPUD_SHADOW_H

#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

struct engine;
struct engine_counters;
struct engine_counts;
struct vgpu_host_use;

/**
 * struct shadow_counters - the counters of a shadow
 * @node: entry of struct engine's list of shadows
 * @pid: process ID of the shadow
 * @counts: memory that the shadow writes and vgpud reads
 */
struct shadow_counters {
	LIST_ENTRY(shadow_counters) node;
	pid_t pid;
	const struct engine_counts *counts;
};

/* Set the file of /dev/userfaultfd that shadows get. */
void engine_shadows_init(int faults);
/* Make the file of a new shadow; see hostdev_shadow(). */
int engine_shadow(uint32_t peer, uint64_t session, unsigned int nr_sessions);
/* Start a shadow. @shadow_fd is the shadow's end of its connection to the engine. */
int engine_spawn_shadow(uint32_t peer, uint64_t session, const char *comm, int shadow_fd,
			pid_t *pid, int *lanes_fd);
/* Handle the end of a child of vgpud, which may be a shadow of engine_spawn_shadow(). */
void engine_shadow_ended(pid_t pid);

/*
 * Read the counters of a shadow that an earlier vgpud has started. @fd: their file, which stays the
 * caller's. Return: 0 or a negative errno.
 */
int counters_adopt(struct engine *engine, pid_t pid, int fd);
/* Add the values of all counters to sums, which saturate. */
void counters_sum(struct engine_counters *sum, const struct engine_counters *counters);
/*
 * Add what the shadow uses to the largest use of all shadows, now and so far, and its calls that
 * were delayed to a sum.
 */
void counters_use(const struct shadow_counters *shadow, struct vgpu_host_use *now,
		  struct vgpu_host_use *most, __u64 *delayed);
/* Free the counters of a shadow that has ended, and add their values to the engine's sums. */
void counters_free(struct shadow_counters *shadow, struct engine *engine);

#endif /* VGPUD_SHADOW_H */
