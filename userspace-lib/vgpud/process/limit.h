/* SPDX-License-Identifier: MIT */
/* Resource limits of the programs of guests. */
#ifndef VGPUD_LIMIT_H
#define VGPUD_LIMIT_H

#include <stdbool.h>

#include "config/room.h"

/*
 * Check that programs can have their limits: without CAP_SYS_RESOURCE vgpud cannot raise its own.
 * @engines: see confine_init(). Return: 0, or a negative errno, which was logged.
 */
int limits_check(bool engines);
/* Set the limits of a program in this process. Return: 0 or a negative errno. */
int limits_set(enum spawn_kind kind);

#endif /* VGPUD_LIMIT_H */
