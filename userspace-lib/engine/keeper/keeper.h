/* SPDX-License-Identifier: MIT */
/* The window's size and state, and the connection to the engine: see keeper.c. */
#ifndef KEEPER_KEEPER_H
#define KEEPER_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/keeper_proto.h"

struct source;

/* vgpud's first message, with the window's number @id and its size in bytes @len. */
extern struct keeper_msg window;

/**
 * keeper_tell - send a message to the engine, if there is one
 * @msg: the message
 * @fd: file to be sent with the message, which stays the caller's; -1: none
 *
 * An engine that does not read loses its connection, as messages would be lost.
 */
void keeper_tell(const struct keeper_msg *msg, int fd);

/**
 * keeper_connect - use the connection to an engine
 * @fd: the connection, which becomes keeper.c's; the connection before was ended
 * @ready: function that reads a message of the engine
 *
 * Return: 0, or a negative errno.
 */
int keeper_connect(int fd, void (*ready)(struct source *source, uint32_t events));

/* End the connection to the engine, if there is one. */
void keeper_disconnect(void);

/**
 * keeper_look - tell the engine whether there is a window, if that has changed for the engine
 * @ready: true if files can be shown in the window
 * @used: true if something is shown in the window, or may be, or is to be
 *
 * An engine is told of the window only when nothing is visible any more that earlier engines had
 * shown.
 */
void keeper_look(bool ready, bool used);

/**
 * keeper_may_map - check whether the engine may still have something shown
 * @ready: @tag of the KEEPER_READY that the engine had read when it asked
 *
 * An engine that has not yet read KEEPER_GONE may ask to show memory. When it reads KEEPER_GONE, it
 * gives the memory back. So the memory must not be shown in the next window.
 *
 * Return: true if the window of that KEEPER_READY is still there.
 */
bool keeper_may_map(uint64_t ready);

#endif /* KEEPER_KEEPER_H */
