/* SPDX-License-Identifier: MIT */
/*
 * Control groups, one for each guest and one for each keeper. They limit the memory, the threads
 * and the device memory of the host processes that serve a guest, the memory that drivers allocate
 * for these included, and give them shares of processors and block devices. All these groups are in
 * one group with limits of its own (hierarchy.h).
 */
#ifndef VGPUD_CGROUP_H
#define VGPUD_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

/* Beginnings of the names of groups of guests and of keepers. CID and port follow. */
#define CGROUP_GUEST	"vgpu-guest"
#define CGROUP_KEEPER	"vgpu-keeper"
/* Name of the group of the holder (holder.h). */
#define CGROUP_HOLDER	"holder"

struct group_limits;
struct sandbox;

/*
 * Make the group of all guests, if settings.cgroups says so. Return: 0, also if there are no groups
 * and the settings allow that; or a negative errno, and the reason was logged.
 */
int cgroup_init(void);
/* Return true if guests have groups. */
bool cgroup_used(void);
/* Return the file of the group of all guests, which stays open; -1: guests have no groups. */
int cgroup_all(void);
/* Return the user of the processes in a group, also of an earlier vgpud's; 0: unknown. */
uint32_t cgroup_user(int fd);

/* Make the group of a sandbox when it is first needed. Return: 0 or a negative errno. */
int cgroup_open(struct sandbox *sandbox);
/*
 * Set the limits of a sandbox's group, now and when it is made. A group that has more memory than
 * its new limit gives some back, or processes of the group are killed. Return: 0 or a negative
 * errno.
 */
int cgroup_limit(struct sandbox *sandbox, const struct group_limits *limits);
/* Remove the group of a sandbox that has no process left. */
void cgroup_close(struct sandbox *sandbox);

#endif /* VGPUD_CGROUP_H */
