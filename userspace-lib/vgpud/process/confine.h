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
#include <stdint.h>
#include <sys/types.h>

#include "config/config.h"

struct answer;
struct sandbox;

/*
 * Check what confinement needs, and prepare the filters. @engines: true if user-space engines serve
 * the guests. Return: 0 or a negative errno.
 */
int confine_init(bool engines);
/*
 * Check that the programs of a guest can have the resource limits that they need. @name: name of
 * the guest for the message; NULL: it has none. Return: 0, or a negative errno with words in
 * @words.
 */
int confine_check(const char *name, const struct limits *guest, struct answer *words);
/* Check all guests with names. @planned: see guests_each(). */
int confine_check_guests(bool planned, struct answer *words);
/*
 * Check what a vgpud with the resource limits of this process would check at its start: the
 * settings, and the guests that were read. Return: as confine_check().
 */
int confine_foresee(struct answer *words);
/* Return true if the processor has protection keys, which keep drivers from shadows' memory. */
bool confine_has_keys(void);

/*
 * Raise the resource limits of a program of a guest that runs, as the guest's limits were raised.
 * They are not lowered, and stay as they are if vgpud lacks CAP_SYS_RESOURCE.
 */
void confine_raise(pid_t pid, enum spawn_kind kind, uint32_t cid, uint32_t port);

/* Enter the guest's namespaces, leave the file tree. The child calls it before it closes files. */
int confine_enter(const struct sandbox *sandbox);
/*
 * Set limits, user, capabilities, rank for the OOM killer and filter, in the child just before exec.
 * @oom: file of oom_open(); *@step: name of the step that failed. Return: 0 or a negative errno.
 */
int confine_self(const struct sandbox *sandbox, enum spawn_kind kind, int oom, const char **step);

#endif /* VGPUD_CONFINE_H */
