/* SPDX-License-Identifier: MIT */
/* Grants: vgpud tells engines which exports their guests have. */
#ifndef VGPUD_ENGINES_GRANT_H
#define VGPUD_ENGINES_GRANT_H

#include <stdint.h>

struct vgpu_host_grant;

/* See the functions of hostdev.h that have these names. */
int engine_grant(struct vgpu_host_grant *arg);
int engine_revoke(uint32_t peer, uint32_t export);

#endif /* VGPUD_ENGINES_GRANT_H */
