/* SPDX-License-Identifier: MIT */
/*
 * Confinement of the programs of a guest (shadows, engines, keepers and vgpu-engine-master),
 * which can do nothing but serve this guest.
 *
 * Each program runs as a user that is its guest's alone, without capabilities (SPAWN_MASTER has
 * one) and without a way to gain privileges, in namespaces without a network, other processes
 * or files, and with a seccomp filter that allows the few system calls it needs.
 */
#ifndef VGPUD_CONFINE_H
#define VGPUD_CONFINE_H

#include <stdbool.h>

struct peer;

enum spawn_kind {
	SPAWN_SHADOW,		/* a shadow of the host module */
	SPAWN_ENGINE,		/* a guest's engine */
	SPAWN_ENGINE_SHADOW,	/* a shadow of an engine */
	SPAWN_KEEPER,		/* the keeper of a guest's window, also beside the host module */
	SPAWN_MASTER,		/* vgpu-engine-master, with CAP_SYS_ADMIN */
	SPAWN_KINDS
};

/* Check what confinement needs, prepare the filters. Return: 0 or a negative errno. */
int confine_init(void);
/* Return the number of files that a program of this kind may have open, by the settings. */
unsigned long long confine_files(enum spawn_kind kind);
/* Return true if the processor has protection keys, which keep drivers from shadows' memory. */
bool confine_has_keys(void);

/* Make a guest's namespaces, unless it has them already. Return: 0 or a negative errno. */
int confine_namespaces_open(int *namespaces);
void confine_namespaces_close(int *namespaces);

/* Enter the guest's namespaces, leave the file tree. The child calls it before it closes files. */
int confine_enter(const struct peer *peer);
/*
 * Set limits, user, capabilities and filter, in the child just before exec. *@step: name of the
 * step that failed. Return: 0 or a negative errno.
 */
int confine_self(const struct peer *peer, enum spawn_kind kind, const char **step);

#endif /* VGPUD_CONFINE_H */
