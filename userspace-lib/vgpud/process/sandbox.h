/* SPDX-License-Identifier: MIT */
/*
 * Sandboxes: what the programs of a guest have in common that keeps them apart from all else.
 */
#ifndef VGPUD_SANDBOX_H
#define VGPUD_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "config/config.h"

#define SANDBOX_NAMESPACES	3	/* net, ipc, uts */

/**
 * struct sandbox - user, namespaces and control group of programs that serve one guest
 * @cid: context ID of the guest
 * @port: vsock port of vgpud by which the guest connects
 * @keeper: true if the only program is the keeper of the guest's window
 * @uid: user ID of the programs; 0: none yet
 * @namespaces: files of the namespaces that the programs share; -1: none yet
 * @cgroup_fd: file of the programs' control group; -1: none yet
 * @limits: limits of that group; changed by cgroup_limit() only
 */
struct sandbox {
	uint32_t cid;
	uint32_t port;
	bool keeper;
	unsigned int uid;
	int namespaces[SANDBOX_NAMESPACES];
	int cgroup_fd;
	struct group_limits limits;
};

/* Fill in a sandbox that has no user, namespaces and control group yet. */
void sandbox_init(struct sandbox *sandbox, uint32_t cid, uint32_t port, bool keeper);
/*
 * Take the lowest user ID that no sandbox has. Return: false if all are taken, and @uid is 0 then.
 */
bool sandbox_take_user(struct sandbox *sandbox);
/* Take the user ID that a sandbox had for an earlier vgpud. Return: false if that cannot be. */
bool sandbox_keep_user(struct sandbox *sandbox, unsigned int uid);
/* Give the user ID back, after the last process of this user was reaped. */
void sandbox_return_user(struct sandbox *sandbox);
/* Enter the namespaces of a sandbox, by their files. Return: 0 or a negative errno. */
int namespaces_enter(const int *namespaces);
/* Make the namespaces and the control group, unless they are there. Return: 0 or -errno. */
int sandbox_open(struct sandbox *sandbox);
/*
 * Kill a process of a sandbox: a child of vgpud that was not reaped, or another process by its
 * pidfd (-1: it is a child). A failure is logged.
 */
void sandbox_kill(const struct sandbox *sandbox, pid_t pid, int pidfd);
/* Return the user ID, and close namespaces and control group. */
void sandbox_close(struct sandbox *sandbox);

#endif /* VGPUD_SANDBOX_H */
