/* SPDX-License-Identifier: MIT */
/*
 * The start of a shadow, and protection of its memory from drivers: see keys.c.
 *
 * A driver follows pointers that have not been checked, and copies with the rights of the thread
 * that called it. If the processor has protection keys (PKU), the program's own memory has a
 * key that is denied while a driver runs, arguments of calls have other keys, and memory of the
 * guest process has key 0. Without keys, the program's memory is at addresses that a guest has
 * to guess.
 */
#ifndef VGPU_SHADOW_KEYS_H
#define VGPU_SHADOW_KEYS_H

#include <linux/vgpu_host.h>

#include "layout.h"

/* Key of the program's own stacks, data and messages, which no driver reaches. */
#define KEY_OWN		VGPU_KEY_OWN
/* Key of the arguments of calls for which no other key was left. */
#define KEY_SHARED	VGPU_KEY_SHARED
/* Keys of the arguments of one call at a time. */
#define KEY_ALONE(i)	(VGPU_KEY_ALONE + (i))
#define KEYS_ALONE	(VGPU_KEY_LAST - VGPU_KEY_ALONE + 1)

#define HIDDEN __attribute__((visibility("hidden")))

/* 1 if the processor has protection keys and this process has allocated all of them; else 0. */
extern HIDDEN unsigned char keys_on;
/* Address of the first thread's memory. */
extern HIDDEN unsigned long slots_base;

/*
 * Main function of a shadow, of which each kind of shadows has its own. Runs on a stack in the
 * reserved range. @start: stack that exec has made, which begins with argc and argv.
 */
HIDDEN void shadow_main(const long *start) __attribute__((noreturn));

/*
 * Set the guest program's name as the name of this process. vgpud passes the name, printable and
 * short, as argv[1]. @start: stack that exec has made, which is still mapped.
 */
HIDDEN void name_take(const long *start);

/*
 * Choose random addresses, and allocate the keys. Called before the program has memory that no
 * driver may reach, and before it has other threads. Return: 0 or a negative errno.
 */
HIDDEN int keys_init(void);
/* Give access (PROT_*) to memory that has none, and a key if there are keys. */
HIDDEN long keys_protect(unsigned long addr, unsigned long len, int prot, int key);
/* Give access to read and to write, and a key if there are keys. */
HIDDEN long keys_give(unsigned long addr, unsigned long len, int key);

/* Return the PKRU value of a thread that may access memory of key 0 and @key only. */
static inline unsigned int keys_only(int key)
{
	/* Each key has two bits: access disabled, and writes disabled. */
	return 0x55555554U & ~(3U << 2 * key);
}

#endif /* VGPU_SHADOW_KEYS_H */
