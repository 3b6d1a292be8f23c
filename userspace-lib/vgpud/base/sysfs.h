/* SPDX-License-Identifier: MIT */
/* Files and links of sysfs, and files of /proc/sys. */
#ifndef VGPUD_SYSFS_H
#define VGPUD_SYSFS_H

#include <stdbool.h>
#include <stddef.h>

/* Get the last component of the target of symlink @link in @dir of sysfs; "" if there is none. */
void sysfs_link_name(const char *dir, const char *link, char *name, size_t size);
/* Get the last component of the real path of a directory of sysfs; "" if there is none. */
void sysfs_dir_name(const char *dir, char *name, size_t size);
/* Read a number from a file such as those of /proc/sys. Return: false if there is no number. */
bool sysctl_read(const char *path, unsigned long long *value);
/* Read a file. Return: the number of bytes read, at most @size; 0 if there are none. */
size_t sysfs_read(const char *dir, const char *name, void *data, size_t size);

#endif /* VGPUD_SYSFS_H */
