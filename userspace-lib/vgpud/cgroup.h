/* SPDX-License-Identifier: MIT */
/*
 * Control groups, one a guest: its shadows, and the memory that drivers take
 * for them, are counted together and can be limited.
 */
#ifndef VGPUD_CGROUP_H
#define VGPUD_CGROUP_H

struct peer;

/*
 * Takes over the group that vgpud runs in, which has to be its own (systemd:
 * Delegate=). 0 or a negative errno. Nothing to do unless settings.cgroups.
 */
int cgroup_init(void);

/* The group of a guest, made when first needed: a directory, or -1 for none. */
int cgroup_open(struct peer *peer);
/* No shadow of the guest is left. */
void cgroup_close(struct peer *peer);

#endif /* VGPUD_CGROUP_H */
