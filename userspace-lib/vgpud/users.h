/* SPDX-License-Identifier: MIT */
/*
 * Users of this machine, as /etc/passwd has them, or /usr/lib/passwd. Name services are not
 * asked: they may be across the network, and everything waits while they do. Who comes from
 * there is a number here; vgpuctl asks them for us.
 */
#ifndef VGPUD_USERS_H
#define VGPUD_USERS_H

#include <stdint.h>

/*
 * Finds a user by name, or as UID or UID:GID; every number is one. 0, -ENOENT, -EINVAL for what
 * begins as a number and is none, or why the files cannot be read.
 */
int user_find(const char *name, uint32_t *uid, uint32_t *gid);
/* The user's name is put into @name, or its number if the user has no name in these files. */
void user_name(uint32_t uid, char name[40]);

#endif /* VGPUD_USERS_H */
