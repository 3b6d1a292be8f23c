/* SPDX-License-Identifier: MIT */
/*
 * Control groups, one for each guest and one for each keeper: memory of the host processes that
 * serve a guest, and memory that drivers allocate for them, is accounted and can be limited.
 */
#ifndef VGPUD_CGROUP_H
#define VGPUD_CGROUP_H

#include <stdbool.h>

struct sandbox;

/*
 * Prepare the group in which vgpud runs, if settings.cgroups says so. The group has to be
 * vgpud's own (systemd: Delegate=). Return: 0, also if there are no groups and the settings
 * allow that; or a negative errno.
 */
int cgroup_init(void);
/* Return true if guests have groups. */
bool cgroup_used(void);

/* Make the group of a sandbox when it is first needed. Return: 0 or a negative errno. */
int cgroup_open(struct sandbox *sandbox);
/* Remove the group of a sandbox that has no process left. */
void cgroup_close(struct sandbox *sandbox);

#endif /* VGPUD_CGROUP_H */
