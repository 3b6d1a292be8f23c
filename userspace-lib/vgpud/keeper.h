/* SPDX-License-Identifier: MIT */
/*
 * Windows of guests that user-space engines serve: a socket for the guest's hypervisor, and a
 * process for as long as that is connected. Functions are as those of hostdev.h, which calls them
 * where the settings choose this engine.
 */
#ifndef VGPUD_KEEPER_H
#define VGPUD_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/vgpu_host.h>

/* Where the sockets are. */
#define KEEPER_DIR	"/run/vgpu"

int keeper_window_create(struct vgpu_host_window_create *arg);
int keeper_window_destroy(uint32_t cid, uint32_t port, bool force);
/* What engines have there is not among it. */
int keeper_window_next(uint32_t cid, uint32_t port, struct vgpu_host_window_stat *stat);

/* Whether a guest has a window. */
bool keeper_has_window(uint32_t cid, uint32_t port);
bool keeper_has_uid(unsigned int uid);
/* Return: a new engine's end of a connection to the guest's keeper, or -1: there is none. */
int keeper_connect(uint32_t cid, uint32_t port);
/* A child has ended: perhaps a keeper. */
void keeper_reaped(pid_t pid, int status);

#endif /* VGPUD_KEEPER_H */
