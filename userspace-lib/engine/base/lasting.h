/* SPDX-License-Identifier: MIT */
/* Files that other processes may still have when the engine has closed them: see lasting.c. */
#ifndef ENGINE_LASTING_H
#define ENGINE_LASTING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * lasting_add - remember a file until its last reference is dropped
 * @file: file, which stays the caller's and of which no reference is taken
 * @tag: set to the number by which lasting_tags() names the file, never 0
 *
 * Return: 0, or a negative errno; -EPERM: the file's driver has no poll operation.
 */
int lasting_add(int file, uint64_t *tag);

/**
 * lasting_tags - list the files that still exist
 * @tags: set to an array of their tags in rising order, to be freed by the caller
 *
 * Return: the number of tags, or a negative errno, with which nothing is to be freed.
 */
ssize_t lasting_tags(uint64_t **tags);

/**
 * lasting_has - check whether a file still exists
 * @tags: array from lasting_tags()
 * @nr: number of entries of @tags
 * @tag: tag of the file
 *
 * Return: true if the file still exists.
 */
bool lasting_has(const uint64_t *tags, size_t nr, uint64_t tag);

#endif /* ENGINE_LASTING_H */
