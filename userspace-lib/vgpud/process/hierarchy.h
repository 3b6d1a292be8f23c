/* SPDX-License-Identifier: MIT */
/*
 * Hierarchy of control groups: vgpud's place in it, and the group of all guests. Only version 2 is
 * used.
 */
#ifndef VGPUD_HIERARCHY_H
#define VGPUD_HIERARCHY_H

#include <stdbool.h>

#define CGROUP_ROOT	"/sys/fs/cgroup"
/* Group of all guests, and the group of vgpud itself beside it. */
#define HIERARCHY_GUESTS	"guests"
#define HIERARCHY_AGENT		"agent"

/*
 * Make the group "guests", whose children have all controllers that can be had. Its place is the
 * group that systemd has delegated to vgpud, and never another one below systemd. Without systemd,
 * its place is the group that vgpud runs in; or "vgpu", which is made, if that is the root group.
 * Return: fd of the group; or a negative errno, and *@why says what to do.
 */
int hierarchy_open(const char **why);

/*
 * Check whether guests' programs may outlive vgpud. systemd puts the next vgpud into the unit's
 * group, which fails while that group has groups of guests, unless systemd makes a child group.
 */
bool hierarchy_may_last(void);

/*
 * Open the group of the unit in whose ExecStopPost= this process runs. Return: its fd; -EPERM: this
 * process runs in no such command.
 */
int hierarchy_unit(void);

/* Make a group below another one, and move this process there. Return: 0 or a negative errno. */
int hierarchy_enter(int dir_fd, const char *name);

/* Write to a file of a group. Return: 0 or a negative errno. */
int group_write(int dir_fd, const char *name, const char *text);

#endif /* VGPUD_HIERARCHY_H */
