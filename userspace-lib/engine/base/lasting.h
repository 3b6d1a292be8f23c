/* SPDX-License-Identifier: MIT */
/* Lasting files, which may still exist when the engine has closed them: see lasting.c. */
#ifndef ENGINE_LASTING_H
#define ENGINE_LASTING_H

#include <stdbool.h>
#include <stdint.h>

/**
 * lasting_add - remember a file until its last reference is dropped
 * @file: file, which stays the caller's and of which no reference is taken
 * @tag: out: number of the file for lasting_has(), never 0
 *
 * Return: 0, or a negative errno; -EPERM: the file's driver has no poll operation.
 */
int lasting_add(int file, uint64_t *tag);

/* Find out for lasting_has() which files still exist. */
void lasting_look(void);

/**
 * lasting_has - check whether a file still exists
 * @tag: tag of the file
 *
 * Return: true if the file existed at the last lasting_look(), or if that could not be found out.
 */
bool lasting_has(uint64_t tag);

#endif /* ENGINE_LASTING_H */
