/* SPDX-License-Identifier: MIT */
/*
 * Memory of a shadow that its drivers cannot reach. A driver follows pointers that nobody has
 * looked at, and copies with the rights of the thread that called it. Where the processor has
 * protection keys (PKU), the program's own memory has one that is denied while a driver runs, and
 * arguments of calls have others; memory of the guest process has key 0. Elsewhere the program's
 * memory is at addresses that a guest has to guess.
 */
#ifndef VGPU_SHADOW_KEYS_H
#define VGPU_SHADOW_KEYS_H

#include <linux/vgpu_host.h>

#include "layout.h"

/* The program's own: stacks, data, messages. No driver reaches it. */
#define KEY_OWN		VGPU_KEY_OWN
/* Arguments of calls for which no other key was left. */
#define KEY_SHARED	VGPU_KEY_SHARED
/* Arguments of one call at a time. */
#define KEY_ALONE(i)	(VGPU_KEY_ALONE + (i))
#define KEYS_ALONE	(VGPU_KEY_LAST - VGPU_KEY_ALONE + 1)

#define HIDDEN __attribute__((visibility("hidden")))

/* The processor has keys, and this process has all of them. */
extern HIDDEN unsigned char keys_on;
/* The memory of threads begins here. */
extern HIDDEN unsigned long slots_base;

/*
 * Moves the program to where no guest expects it. Runs on the kernel's stack, before all else.
 * Return: by how much it has moved; what runs is the old copy still.
 */
HIDDEN unsigned long program_move(void);

/*
 * Chooses addresses, and takes the keys. Comes before the program has memory that no driver may
 * reach, and before it has other threads. Return: 0 or a negative errno.
 */
HIDDEN int keys_init(void);
/* Gives memory that has no access some (PROT_*), and a key if there are any. */
HIDDEN long keys_protect(unsigned long addr, unsigned long len, int prot, int key);
/* Likewise, to read and to write. */
HIDDEN long keys_give(unsigned long addr, unsigned long len, int key);

/* The rights of a thread that has memory of no key but 0 and @key. */
static inline unsigned int keys_only(int key)
{
	/* Two bits a key: no access, no writing. */
	return 0x55555554U & ~(3U << 2 * key);
}

#endif /* VGPU_SHADOW_KEYS_H */
