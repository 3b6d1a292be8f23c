/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Coverage of the modules' code by KCOV: of this program's calls, and of threads that work for it
 * (drivers/common/cover.h). The kernel has KCOV and the modules are built with VGPU_FUZZ=1, or the
 * coverage stays empty.
 */
#ifndef COVER_H
#define COVER_H

#include <stdbool.h>

/* Begins to collect what threads of the modules run. */
void cover_open(void);
/*
 * Begins to collect what the calling thread's system calls run, also of a child of the process that
 * has called cover_open(). One thread at a time may do this.
 */
void cover_own(void);
/* Forgets what was collected since the last call of cover_new(). */
void cover_reset(void);
/* Return: number of places in the code that ran since cover_reset(), for the first time. */
unsigned int cover_new(void);
/*
 * Return: true if all places that the last call of cover_new() has counted ran again since
 * cover_reset(). Other places are not noted, so a later cover_new() counts them.
 */
bool cover_again(void);
/* Return: number of places that have run so far. */
unsigned int cover_places(void);

#endif /* COVER_H */
