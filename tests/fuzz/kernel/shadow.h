/* SPDX-License-Identifier: GPL-2.0-only */
/* Steps of the fuzzer of shadows and agents: a process that has the host module's files. */
#ifndef SHADOW_H
#define SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "input.h"

/* Files that the process has from the beginning, by their slot; later ones come behind. */
enum shadow_slot {
	SLOT_AGENT,
	SLOT_CONTROL,		/* control connection, the end that the module gets */
	SLOT_GUEST,		/* control connection, the guest's end */
	SLOT_SHADOW,
	SLOT_LANE,
	SLOT_CALLER,		/* lane, the guest's end */
	SLOT_SOCKET,		/* another connection, the end that the module gets */
	SLOT_PEER,		/* another connection, the guest's end */
	SLOT_MEMFD,
	SLOT_EVENT,
	SLOT_DEVICE,
	SLOT_NEW,
	SLOTS = SLOT_NEW + 13,
};

enum shadow_step {
	SHADOW_IOCTL,
	SHADOW_MMAP,
	SHADOW_MUNMAP,
	SHADOW_CLOSE,
	SHADOW_DUP,		/* the file gets the slot in number, too */
	SHADOW_SEND,		/* the guest sends the message in the data */
	SHADOW_NAP,
	SHADOW_READ,		/* reads len bytes of the file, e.g. events of the agent */
	SHADOW_REOPEN,		/* closes the file, and opens the module's device in its place */
	SHADOW_STEPS,
};

/* Flags of SHADOW_IOCTL: the number of bytes and the files are not made to fit ... */
#define SHADOW_RAW		1
/* ... the argument cannot be written to ... */
#define SHADOW_READ_ONLY	2
/* ... a thread that serves a lane shares its files with others. */
#define SHADOW_SHARED		4

/* The range for the shadow itself, and the one that programs of the guest use. */
#define SHADOW_RESERVED		0x3c0000000000ULL
#define SHADOW_RESERVED_LEN	(1ULL << 30)
#define SHADOW_TARGET		0x200000000000ULL
#define SHADOW_TARGET_LEN	(1ULL << 24)
/* Maximum time in ms for which exports and peers outlive an agent's file. */
#define SHADOW_LASTING_MS	100
/* Bytes of the memory to which pointers of arguments lead; they are offsets in an input. */
#define SHADOW_POINTED		4096

#define SHADOW_PORT		22603

/**
 * struct shadow_args - data of a step
 * @number: SHADOW_IOCTL: command; SHADOW_MMAP: protection | flags << 8; SHADOW_DUP: slot
 * @len: length of a mapping or a read in bytes
 * @addr: address of a mapping
 * @offset: offset of a mapping
 * @bytes: argument of a command
 */
struct shadow_args {
	uint32_t number;
	uint32_t len;
	uint64_t addr;
	uint64_t offset;
	uint8_t bytes[512];
};

/* Runs the steps in the calling process, which is the agent and a shadow of its own. */
void shadow_play(struct input *input);
/* Adds a step to an input. */
void shadow_make(struct input *input);
/* Changes the data of a step. Return: its new length. */
size_t shadow_change(struct step *step, size_t room);

#endif /* SHADOW_H */
