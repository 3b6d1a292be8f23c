/* SPDX-License-Identifier: GPL-2.0-only */
/* Steps of the fuzzer of file operations, which runs each on the real and the forwarded device. */
#ifndef FILE_H
#define FILE_H

#include <stddef.h>
#include <stdint.h>

#include "input.h"

/* Files of each device. */
#define FILE_FILES	2
/* Bytes of the memory in which all arguments lie; memory that cannot be accessed follows. */
#define FILE_ARENA	(64U << 10)
#define FILE_PATCHES	24

enum file_step {
	FILE_READ,		/* number: length; offset: address in the arena */
	FILE_WRITE,
	FILE_PREAD,		/* position: position of the file */
	FILE_PWRITE,
	FILE_SEEK,		/* position: offset; number: whence */
	FILE_IOCTL,		/* number: command; position: value of the argument */
	FILE_POLL,		/* number: events */
	FILE_FLAGS,		/* number: O_APPEND or not */
	FILE_REOPEN,		/* number: access mode */
	FILE_MAP,		/* number: pages, protection, flags; position: offset in buffer */
	FILE_STEPS,
};

/* FILE_IOCTL: the argument is the address of the arena. */
#define FILE_POINTER	1
/* FILE_IOCTL: the argument's file descriptor is that of the last object. */
#define FILE_OBJECT	2

/**
 * struct file_patch - a pointer in the arena
 * @at: offset of the pointer
 * @to: offset that it points to
 */
struct file_patch {
	uint32_t at;
	uint32_t to;
};

/**
 * struct file_args - data of a step, followed by the first bytes of the arena
 * @number: see enum file_step
 * @offset: see enum file_step
 * @position: see enum file_step
 * @nr_patches: number of entries of @patches
 * @reserved: ignored
 * @patches: pointers
 */
struct file_args {
	uint32_t number;
	uint32_t offset;
	uint64_t position;
	uint32_t nr_patches;
	uint32_t reserved;
	struct file_patch patches[FILE_PATCHES];
};

/* Adds a step to an input. */
void file_make(struct input *input);
/* Changes the data of a step. Return: its new length. */
size_t file_change(struct step *step, size_t room);

#endif /* FILE_H */
