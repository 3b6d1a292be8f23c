// SPDX-License-Identifier: MIT
/* Room that the programs of guests need: open files, and process IDs. */
#include "config/room.h"
#include "shadow/layout.h"

/*
 * Number of files of an engine or its shadow beside two for each object. A shadow numbers the
 * files of objects from FILES_OBJECTS on (engine/shadow/thread/thread.h), which must be lower.
 */
#define ENGINE_FILES	4096

/*
 * Number of files of a keeper: those of the guest's memory and of the mappings in its window, and
 * those that wait to be closed.
 */
#define KEEPER_FILES	4096

/* Number of files of vgpu-engine-master: its own, and one that the engine sent. */
#define MASTER_FILES	16

/* Zombies that a guest may have for each session of its limit. */
#define ZOMBIES_OF_A_SESSION	4
/* Most seconds for which the shadow of a session that shared no file stays a zombie. */
#define ZOMBIE_S		4

unsigned long long room_files(const struct vgpu_host_limits *limits, enum spawn_kind kind)
{
	switch (kind) {
	case SPAWN_MASTER:
		return MASTER_FILES;
	case SPAWN_KEEPER:
		return KEEPER_FILES;
	case SPAWN_SHADOW:
		/*
		 * A file of the guest may have a number of its own in each of the guest's
		 * shadows.
		 */
		return VGPU_LANE_FDS + (unsigned long long)limits->objects;
	default:
		return ENGINE_FILES + 2 * (unsigned long long)limits->objects;
	}
}

unsigned int room_zombies(const struct vgpu_host_limits *limits, unsigned int session_rate)
{
	unsigned int shared = ZOMBIES_OF_A_SESSION * limits->sessions;
	unsigned int paced = (PACE_BURST_S + ZOMBIE_S) * session_rate;

	return shared > paced ? shared : paced;
}
