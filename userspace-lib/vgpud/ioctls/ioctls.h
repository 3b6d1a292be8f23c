/* SPDX-License-Identifier: MIT */
/* Ioctls of drivers by name, and the profiles that allow some of them. */
#ifndef VGPUD_IOCTLS_H
#define VGPUD_IOCTLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Profiles as bits; PROFILE_ALL alone stands for all ioctls, named or not. */
#define PROFILE_RENDER	(1U << 0)
#define PROFILE_DISPLAY	(1U << 1)
#define PROFILE_COMPUTE	(1U << 2)
#define PROFILE_ALL	(1U << 3)

/* Words for all profiles, for messages. */
#define PROFILE_WORDS	"render, display, compute or all"

/* Return the profile of that name; 0: there is none. */
unsigned int profile_find(const char *name);
/* Write the names of profiles, separated by commas, to @words. */
void profile_words(unsigned int profiles, char words[32]);

/*
 * Return the bit mask of the tables of a device's ioctls, those of files that the device makes
 * included. @kind: VGPU_EXPORT_*.
 */
uint32_t ioctls_tables(uint32_t kind, const char *driver);
/* Check whether the tables have all ioctls of the driver. */
bool ioctls_known(uint32_t kind, const char *driver);

/*
 * Find an ioctl by its name. @key: set to its number for lists. @table: set to the bit of its
 * table. Return: true if there is such an ioctl.
 */
bool ioctl_find(const char *name, uint32_t *key, uint32_t *table);
/* Return the name of an ioctl of one of these tables, by its number for lists; NULL: unknown. */
const char *ioctl_name(uint32_t tables, uint32_t key);
/* Return the name of the driver or files that a table describes. @table: its bit. */
const char *ioctls_table_name(uint32_t table);

/*
 * Fill in the numbers of all ioctls of these tables that one of the profiles has, or, with
 * profiles 0, that only query. Each number is there once. Return: how many there are, at most
 * @max.
 */
size_t ioctls_list(uint32_t tables, unsigned int profiles, uint32_t *keys, size_t max);
/*
 * Fill in the numbers of all ioctls of these tables that give the device work. Return: how many
 * there are, at most @max.
 */
size_t ioctls_submits(uint32_t tables, uint32_t *keys, size_t max);
/* Check whether the ioctl is known to these tables, and only queries. */
bool ioctl_is_query(uint32_t tables, uint32_t key);

#endif /* VGPUD_IOCTLS_H */
