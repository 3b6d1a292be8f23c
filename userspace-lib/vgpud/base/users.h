/* SPDX-License-Identifier: MIT */
/*
 * Users of the host, from /etc/passwd and /usr/lib/passwd, and groups, from /etc/group and
 * /usr/lib/group. Name services are not asked: they may be across the network, and all of vgpud
 * would wait for them. Users that only name services know are given by number; vgpuctl looks up
 * their names.
 */
#ifndef VGPUD_USERS_H
#define VGPUD_USERS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Find a user by name, UID or UID:GID. Any number is accepted as a user. Return: 0; -ENOENT;
 * -EINVAL for a text that begins like a number but is none; or the error of reading the files.
 */
int user_find(const char *name, uint32_t *uid, uint32_t *gid);
/*
 * Find the owner of a window or of a guest's sockets: as user_find(), or if @owner is NULL or "",
 * the user as which libvirt runs QEMU, or root if there is none.
 */
int user_find_owner(const char *owner, uint32_t *uid, uint32_t *gid);
/**
 * group_find - find a group of /etc/group or /usr/lib/group
 * @name: name or ID of the group; an ID need not be in a file
 * @gid: set to the group's ID
 * @has_members: set to true if a user of these files is a member
 *
 * Return: 0; -ENOENT; -EINVAL for a text that begins like a number but is none; or the error of
 * reading the files.
 */
int group_find(const char *name, uint32_t *gid, bool *has_members);
/* Get the user's name, or its number if these files have no name. */
void user_name(uint32_t uid, char name[40]);

#endif /* VGPUD_USERS_H */
