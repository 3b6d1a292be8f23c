/* SPDX-License-Identifier: MIT */
/*
 * Memory of a driver that is owned, because a guest is shown it. Programs of the guest have
 * allocated it, and it stays as it is while it is mapped, whatever they free and whichever of them
 * end. So far that is possible with NVIDIA's driver (nvidia.h).
 */
#ifndef ENGINE_OWNER_H
#define ENGINE_OWNER_H

#include "engine.h"
#include "engine/nvidia.h"

/**
 * struct owned - memory that is owned
 * @fd: a file that shows it, from offset 0 on and only in one piece of @len bytes. Memory of a card
 *	is freed when the last reference of this file is closed, and with it the last mapping;
 *	whoever has called owner_take() closes this one as soon as it is sent
 * @len: length in bytes, whole pages
 * @leaving: what counts memory of a card after owner_give_back(); NULL: it is memory of the system,
 *	which the engine's client owns until then, and a mapping of it for as long as it lasts
 * @system: the driver's names of memory of the system
 */
struct owned {
	int fd;
	uint64_t len;
	struct leaving *leaving;
	struct nvidia_lent system;
};

/**
 * owner_ask - a shadow asks with which client of the driver it has to share what is shown
 * @shadow: the shadow, which is answered with the handle of the engine's client
 * @msg: its request: @object is a file of nvidiactl
 *
 * May wait for the driver, which makes the client the first time.
 */
void owner_ask(struct shadow *shadow, const struct eshadow_msg *msg);
/**
 * owner_learn - a shadow says which memory of NVIDIA's driver a file shows
 * @shadow: the shadow, which has shared the memory with the client that owner_ask() told it of
 * @msg: its request: @object is the file
 * @memory: the memory
 *
 * What the shadow says is not believed, but only tried: see owner.c.
 */
void owner_learn(struct shadow *shadow, const struct eshadow_msg *msg,
		 const struct eshadow_memory *memory);
/**
 * owner_meet - there is a new object
 * @object: the object, for which owner_forget() is called once
 */
void owner_meet(const struct object *object);
/**
 * owner_forget - an object goes, and with it what is known of its memory
 * @object: the object
 *
 * Memory that is owned stays owned.
 */
void owner_forget(struct object *object);
/**
 * owner_shares - whether the engine may own memory that an object's driver keeps
 * @object: the object
 */
bool owner_shares(const struct object *object);
/**
 * owner_knows - whether an object shows memory that the engine can own
 * @object: the object
 *
 * Return: true if a shadow has said which memory that is.
 */
bool owner_knows(const struct object *object);
/**
 * owner_take - own a part of what an object shows
 * @object: the object
 * @offset: where the part begins in the object's mapping, in bytes
 * @len: its length in bytes
 * @owned: filled in
 *
 * May wait for the driver.
 *
 * Return: 0; -ENOMEM: the guest's limit, or the card's memory; or another negative errno.
 */
int owner_take(const struct object *object, uint64_t offset, uint64_t len, struct owned *owned);
/**
 * owner_show - a shadow asks for a file to map in place of one of nvidiactl
 * @shadow: the shadow, which is answered with the file
 * @msg: its request: @object is the guest's file
 *
 * The engine owns the memory until owner_shown(): a mapping of memory of the system has its pages
 * by itself. May wait for the driver.
 */
void owner_show(struct shadow *shadow, const struct eshadow_msg *msg);
/**
 * owner_shown - a shadow has mapped the file that it was given, or will not
 * @shadow: the shadow
 * @lane: index of the lane that has asked for it
 *
 * May wait for the driver.
 */
void owner_shown(const struct shadow *shadow, uint32_t lane);
/**
 * owner_shadow_gone - a shadow has ended: it maps nothing any more
 * @shadow: the shadow
 */
void owner_shadow_gone(const struct shadow *shadow);
/**
 * owner_last_shown - how often memory was owned so far for a shadow that was about to map it
 */
uint64_t owner_last_shown(void);
/**
 * owner_shows - whether any is still owned so
 * @number: of the times that owner_last_shown() counts, only so many
 */
bool owner_shows(uint64_t number);
/**
 * owner_give_back - give memory back
 * @owned: the memory, which nobody can see any more, as far as is known
 *
 * Memory of a card counts until nobody has it mapped. May wait for the driver.
 */
void owner_give_back(const struct owned *owned);

#endif /* ENGINE_OWNER_H */
