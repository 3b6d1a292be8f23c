/* SPDX-License-Identifier: MIT */
/* Guests of an earlier vgpud, which are taken over. */
#ifndef VGPUD_ADOPT_H
#define VGPUD_ADOPT_H

#include <stdint.h>

/*
 * Take over the guests that an earlier vgpud has left, with their sessions, and kill all other
 * processes that it has left in guests' control groups. @freed: see struct peer. hostdev_settle()
 * ends the guests that could not be taken over.
 */
void peers_adopt(void (*freed)(uint32_t cid, uint32_t port));

#endif /* VGPUD_ADOPT_H */
