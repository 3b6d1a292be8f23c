/* SPDX-License-Identifier: MIT */
/* Reloads of the files of guests.d: names and limits of guests follow the files. */
#ifndef VGPUD_NAMED_H
#define VGPUD_NAMED_H

struct sync;

/*
 * Let the sections of guests that were read (config/guests.h) take effect, or describe what would
 * change.
 */
void named_sync(struct sync *sync);

#endif /* VGPUD_NAMED_H */
