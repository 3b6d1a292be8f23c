/* SPDX-License-Identifier: MIT */
/*
 * Room that the programs of guests need on the host, as it follows from the limits of a guest: open
 * files, and process IDs.
 */
#ifndef VGPUD_ROOM_H
#define VGPUD_ROOM_H

#include <linux/vgpu_host.h>

enum spawn_kind {
	SPAWN_SHADOW,		/* a shadow of the host module */
	SPAWN_ENGINE,		/* a guest's engine */
	SPAWN_ENGINE_SHADOW,	/* a shadow of an engine */
	SPAWN_KEEPER,		/* the keeper of a guest's window, also beside the host module */
	SPAWN_MASTER,		/* vgpu-engine-master, with CAP_SYS_ADMIN */
	SPAWN_KINDS
};

/* Seconds' worth of sessions and connections that a guest may begin at once (pace.h). */
#define PACE_BURST_S	4

/* Return the number of files that a program of this kind may have open. */
unsigned long long room_files(const struct vgpu_host_limits *limits, enum spawn_kind kind);

/*
 * Return the largest number of zombies that a guest may have.
 *
 * Zombies occupy process IDs of the host. A shadow stays a zombie while files are open that its
 * session shared with other processes of the guest. A session that shared none leaves a zombie
 * for some seconds (engine/process/tgid.c); the guest may have begun PACE_BURST_S seconds' worth of
 * sessions at once before.
 */
unsigned int room_zombies(const struct vgpu_host_limits *limits, unsigned int session_rate);

#endif /* VGPUD_ROOM_H */
