/* SPDX-License-Identifier: MIT */
/* Identities of files: see file.c. */
#ifndef KEEPER_FILE_H
#define KEEPER_FILE_H

#include <stdint.h>
#include <sys/types.h>

/**
 * struct file_id - identity of a file
 * @dev: device number of the file system
 * @ino: inode number
 */
struct file_id {
	dev_t dev;
	uint64_t ino;
};

/**
 * file_id_get - find out the identity of a file, without asking its file system
 * @fd: file, which may be of a file system in user space that never answers
 * @file: filled in
 *
 * Return: 0, or a negative errno.
 */
int file_id_get(int fd, struct file_id *file);

#endif /* KEEPER_FILE_H */
