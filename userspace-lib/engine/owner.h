/* SPDX-License-Identifier: MIT */
/*
 * What the engine owns of what a guest is shown: memory that programs of the guest have mapped,
 * which stays as it is until the engine gives it back, whatever they free and whoever ends.
 * Drivers need to know how for that; here is what NVIDIA's needs.
 */
#ifndef ENGINE_OWNER_H
#define ENGINE_OWNER_H

#include "engine.h"
#include "engine/nvidia.h"

/**
 * struct owned - a part of a mapping that the engine owns
 * @fd: a file that shows it, from offset 0 on and in one piece of @len bytes only. To be closed
 *	as soon as it is mapped
 * @len: bytes, whole pages
 * @nvidia: how it is given back
 */
struct owned {
	int fd;
	uint64_t len;
	struct nvidia_lent nvidia;
};

/* A shadow's: @object maps @memory, as nvidiactl @msg->value was told. It is answered. */
void owner_learn(struct shadow *shadow, const struct eshadow_msg *msg,
		 const struct eshadow_memory *memory);
/* The object goes. What is owned of its memory stays. */
void owner_forget(struct object *object);
/* It maps memory that can be owned. */
bool owner_knows(const struct object *object);
/* Owns @len bytes of what @object shows from @offset on. 0, or a negative errno. May wait. */
int owner_take(const struct object *object, uint64_t offset, uint64_t len, struct owned *owned);
/* When nobody can see it any more. May wait. */
void owner_give_back(const struct owned *owned);
/*
 * While somebody has a file that is one with this, all that is owned stays beyond the engine's
 * end; -1: nothing is.
 */
int owner_file(void);

#endif /* ENGINE_OWNER_H */
