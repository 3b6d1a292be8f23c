/* SPDX-License-Identifier: MIT */
/*
 * Control groups, one a guest: its shadows, and the memory that drivers take
 * for them, are counted together and can be limited.
 */
#ifndef VGPUD_CGROUP_H
#define VGPUD_CGROUP_H

#include <stdbool.h>

struct peer;

/*
 * Takes over the group that vgpud runs in, which has to be its own (systemd: Delegate=), if
 * settings.cgroups says so. 0, also where there is none and the settings can do without, or a
 * negative errno.
 */
int cgroup_init(void);
/* Guests have groups. */
bool cgroup_used(void);

/* The group of a guest, made when first needed: a directory, or -1 for none. */
int cgroup_open(struct peer *peer);
/* No shadow of the guest is left. */
void cgroup_close(struct peer *peer);

#endif /* VGPUD_CGROUP_H */
