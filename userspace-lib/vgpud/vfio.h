/* SPDX-License-Identifier: MIT */
/* Files of VFIO and iommufd, by which devices reach a process's memory: known by their names. */
#ifndef VGPUD_VFIO_H
#define VGPUD_VFIO_H

#include <stdbool.h>
#include <sys/types.h>

/* Bytes of a name that are shown. */
#define VFIO_NAME	64

/**
 * vfio_is_file - whether a file of a process is one of VFIO's or iommufd's
 * @dir: the process's directory of files in /proc
 * @number: its entry there
 * @name: what that is a link to
 *
 * Return: it is, and is open for more than its name (O_PATH), which everybody may have.
 */
bool vfio_is_file(int dir, const char *number, const char *name);

/**
 * vfio_name_copy - take a name that may be shown
 * @to: the copy
 * @name: the name, of a file system that may be another user's own
 */
void vfio_name_copy(char to[VFIO_NAME], const char *name);

/**
 * vfio_of_process - which file of VFIO or iommufd a process has open
 * @pid: its process ID
 * @name: gets the file's name
 *
 * It takes a limited time, however many files the process has: the first few thousand are looked
 * at. Return: false: none was seen, because it has none or its files are not ours to see.
 */
bool vfio_of_process(pid_t pid, char name[VFIO_NAME]);

#endif /* VGPUD_VFIO_H */
