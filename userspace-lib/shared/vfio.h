/* SPDX-License-Identifier: MIT */
/* Files of VFIO and iommufd, by which devices use a process's memory, found by their names. */
#ifndef VGPU_SHARED_VFIO_H
#define VGPU_SHARED_VFIO_H

#include <stdbool.h>
#include <sys/types.h>

/* Size of the copy of a name. */
#define VFIO_NAME	64

/**
 * vfio_is_file - check whether a file of a process is one of VFIO's or iommufd's
 * @dir: directory of the process's files in /proc
 * @number: entry of the file in @dir
 * @name: target of the link that this entry is
 *
 * Return: true if it is. A file opened with O_PATH does not count, because any process may have
 * one.
 */
bool vfio_is_file(int dir, const char *number, const char *name);

/**
 * vfio_name_copy - copy a name, and make it printable
 * @to: filled in: the copy
 * @name: the name, which may come from a file system of another user
 */
void vfio_name_copy(char to[VFIO_NAME], const char *name);

/**
 * vfio_of_process - find a file of VFIO or iommufd that a process has open
 * @pid: ID of the process
 * @name: filled in: name of the file
 *
 * The time is bounded, however many files the process has: only the first few thousand are
 * checked.
 *
 * Return: 1 if there is one; 0 if there is none, or no such process; -EACCES if the caller may not
 * see the process's files.
 */
int vfio_of_process(pid_t pid, char name[VFIO_NAME]);

#endif /* VGPU_SHARED_VFIO_H */
