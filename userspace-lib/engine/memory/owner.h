/* SPDX-License-Identifier: MIT */
/*
 * Memory of a driver that the engine owns because a guest can see it. Programs of the guest have
 * allocated the memory. It stays the same as long as it is mapped, whatever these programs free,
 * and even if they end. Only NVIDIA's driver allows that so far (nvidia.h).
 */
#ifndef ENGINE_OWNER_H
#define ENGINE_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/memory/nvidia.h"

struct eshadow_memory;
struct eshadow_msg;
struct object;
struct shadow;

/**
 * struct owned - memory that the engine owns
 * @fd: file that shows the memory, from offset 0 on and only in one piece of @len bytes. Memory
 *	of a card is freed when the last reference of this file is closed, and with it the last
 *	mapping. The caller of owner_take() closes the file as soon as it is sent
 * @len: length in bytes, a multiple of the page size
 * @leaving: entry by which memory of a card counts against the guest's limits after
 *	owner_give_back(); NULL: memory of the system, which the engine's client owns until
 *	owner_give_back(). A mapping holds the pages of such memory as long as the mapping lasts
 * @system: the driver's names of memory of the system
 */
struct owned {
	int fd;
	uint64_t len;
	struct leaving *leaving;
	struct nvidia_lent system;
};

/**
 * owner_ask - tell a shadow the client with which it has to share memory that files show
 * @shadow: shadow, which is answered with the handle of the engine's client
 * @msg: request of the shadow; @object is a file of nvidiactl
 *
 * May sleep in the driver, which makes the client the first time.
 */
void owner_ask(struct shadow *shadow, const struct eshadow_msg *msg);
/**
 * owner_learn - note which memory of NVIDIA's driver a file shows
 * @shadow: shadow that has shared the memory with the client of owner_ask()
 * @msg: request of the shadow; @object is the file
 * @memory: the memory
 *
 * The engine does not trust these handles, but only tries them: see owner.c.
 */
void owner_learn(struct shadow *shadow, const struct eshadow_msg *msg,
		 const struct eshadow_memory *memory);
/**
 * owner_meet - note a new object
 * @object: object, for which owner_forget() is called once
 */
void owner_meet(const struct object *object);
/**
 * owner_forget - forget an object that goes, and what is known of its memory
 * @object: the object
 *
 * Memory that is owned stays owned.
 */
void owner_forget(struct object *object);
/**
 * owner_shares - check whether the engine may own memory that an object's driver keeps
 * @object: the object
 */
bool owner_shares(const struct object *object);
/**
 * owner_take - own a part of what an object shows
 * @object: the object
 * @offset: place in the object's mapping at which the part begins, in bytes
 * @len: length of the part in bytes
 * @owned: filled in
 *
 * May sleep in the driver.
 *
 * Return: 0; -EOPNOTSUPP: no shadow has said which memory the object shows; -ENOMEM: the guest's
 * limit is reached, or the card has no memory left; or another negative errno.
 */
int owner_take(const struct object *object, uint64_t offset, uint64_t len, struct owned *owned);
/**
 * owner_show - give a shadow a file to map in place of one of nvidiactl
 * @shadow: shadow, which is answered with the file
 * @msg: request of the shadow; @object is the guest's file
 *
 * The engine owns the memory until owner_shown(). A mapping of memory of the system then holds
 * the pages by itself. May sleep in the driver.
 */
void owner_show(struct shadow *shadow, const struct eshadow_msg *msg);
/**
 * owner_shown - stop owning memory that a shadow has mapped, or will not map
 * @shadow: the shadow
 * @lane: index of the lane that has asked for the file
 *
 * May sleep in the driver.
 */
void owner_shown(const struct shadow *shadow, uint32_t lane);
/**
 * owner_shadow_gone - stop owning memory for a shadow that has ended, and maps nothing any more
 * @shadow: the shadow
 */
void owner_shadow_gone(const struct shadow *shadow);
/**
 * owner_last_shown - count how often memory was owned for a shadow that was about to map it
 *
 * Return: the count so far.
 */
uint64_t owner_last_shown(void);
/**
 * owner_shows - check whether the engine still owns memory for shadows that are about to map it
 * @number: earlier result of owner_last_shown()
 *
 * Return: true if the engine still owns such memory that was counted up to @number.
 */
bool owner_shows(uint64_t number);
/**
 * owner_give_back - give memory back
 * @owned: the memory, which is no longer visible, as far as is known
 *
 * Memory of a card counts against the guest's limits until no process has the memory mapped. May
 * sleep in the driver.
 */
void owner_give_back(const struct owned *owned);

#endif /* ENGINE_OWNER_H */
