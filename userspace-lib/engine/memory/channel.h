/* SPDX-License-Identifier: MIT */
/*
 * Channels of NVIDIA's driver: programs give a card work by them, without any call. The engine
 * takes the guest's channels off a card for parts of a period, so that other guests get their
 * shares of the card: see channel.c.
 */
#ifndef ENGINE_CHANNEL_H
#define ENGINE_CHANNEL_H

#include <stdbool.h>

struct eshadow_msg;
struct object;

/*
 * Note an object of RM that a shadow reports (ESHADOW_RM_MADE). Return: false if there are too
 * many: the channel could not be taken off the card, so the session has to end.
 */
bool channel_made(const struct eshadow_msg *msg);
/* Forget an object of RM, and all objects below (ESHADOW_RM_FREED). */
void channel_freed(const struct eshadow_msg *msg);
/* Note that a program lets a channel or group run (ESHADOW_RM_RUNS). */
void channel_runs(const struct eshadow_msg *msg);
/* Note that a program takes a channel off the card, or lets it run again (ESHADOW_RM_WISH). */
void channel_wish(const struct eshadow_msg *msg);
/**
 * channel_close - close the file of an object, and forget the channels of its clients
 * @object: object, whose file was open until now
 * @done: function that the loop calls when the file is closed
 *
 * The file is closed by closer_close(). The thread that switches channels may be in the driver with
 * this file: the file is closed after that.
 */
void channel_close(struct object *object, void (*done)(void *arg));

#endif /* ENGINE_CHANNEL_H */
