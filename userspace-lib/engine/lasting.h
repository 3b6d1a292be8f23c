/* SPDX-License-Identifier: MIT */
/* Files that others may have when the engine has closed them: see lasting.c. */
#ifndef ENGINE_LASTING_H
#define ENGINE_LASTING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * lasting_add - remember a file until its last reference has gone
 * @file: the file; it stays the caller's, and is not held
 * @tag: set to the number by which lasting_tags() names it, which is not 0
 *
 * Return: 0, or a negative errno; -EPERM: its driver cannot poll.
 */
int lasting_add(int file, uint64_t *tag);

/**
 * lasting_tags - find out which of the files are there still
 * @tags: set to an array of their numbers, to be freed by the caller
 *
 * Return: how many they are, or a negative errno, with which there is nothing to be freed.
 */
ssize_t lasting_tags(uint64_t **tags);

/**
 * lasting_has - ask for one of them
 * @tags: array of lasting_tags()
 * @nr: how many they are
 * @tag: number of a file
 *
 * Return: the file is there still.
 */
bool lasting_has(const uint64_t *tags, size_t nr, uint64_t tag);

#endif /* ENGINE_LASTING_H */
