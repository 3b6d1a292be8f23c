/* SPDX-License-Identifier: MIT */
/*
 * Programs of a guest's (shadows, engines, keepers, those that make DRM masters) may not do this:
 * everything but serve that guest.
 *
 * Each runs as a user of its guest's own, without capabilities (SPAWN_MASTER has one) and without
 * a way to new privileges, in namespaces without a network, other processes or files, and
 * with a list of the few system calls that it needs.
 */
#ifndef VGPUD_CONFINE_H
#define VGPUD_CONFINE_H

#include <stdbool.h>

struct peer;

enum spawn_kind {
	SPAWN_SHADOW,		/* of the host module */
	SPAWN_ENGINE,		/* a guest's engine, or the keeper of its window */
	SPAWN_ENGINE_SHADOW,	/* a shadow of an engine */
	SPAWN_MASTER,		/* who makes DRM masters, with CAP_SYS_ADMIN */
	SPAWN_KINDS
};

/* Sees that what is needed is there, prepares the lists of system calls. 0 or a negative errno. */
int confine_init(void);
/* How many files such a program may have open, by the settings. */
unsigned long long confine_files(enum spawn_kind kind);
/* The processor has protection keys, by which shadows keep drivers from their memory. */
bool confine_has_keys(void);

/* A guest's namespaces, made when first needed. 0 or a negative errno. */
int confine_namespaces_open(int *namespaces);
void confine_namespaces_close(int *namespaces);

/* In the child, with vgpud's files: enters namespaces, leaves the file tree. */
int confine_enter(const struct peer *peer);
/* In the child, last: limits, user, capabilities, system calls. */
int confine_self(const struct peer *peer, enum spawn_kind kind, const char **step);

#endif /* VGPUD_CONFINE_H */
