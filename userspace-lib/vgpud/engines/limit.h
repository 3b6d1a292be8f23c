/* SPDX-License-Identifier: MIT */
/* Limits of a guest as its engine and shadows have them. */
#ifndef VGPUD_ENGINES_LIMIT_H
#define VGPUD_ENGINES_LIMIT_H

struct engine_shared;
struct vgpu_host_limits;
struct vgpu_host_peer_limit;

/* Give the shadows limits, with defaults filled in, before the first of them starts. */
void engine_limits_init(struct engine_shared *shared, const struct vgpu_host_limits *limits);
/* Change the limits of a guest. Return: 0 or a negative errno. */
int engine_peer_limit(const struct vgpu_host_peer_limit *arg);

#endif /* VGPUD_ENGINES_LIMIT_H */
