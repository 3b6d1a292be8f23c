/* SPDX-License-Identifier: MIT */
/* Making shadows: fork, confine, exec. */
#ifndef VGPUD_SPAWN_H
#define VGPUD_SPAWN_H

#include <sys/types.h>

#include "confine.h"

struct peer;

#define SPAWN_FILES_MAX	8

/* In place of a file: /proc with the processes of its own pid namespace, and nothing else. */
#define SPAWN_FD_PROC	(-2)

struct spawn_file {
	int fd;
	int at;
};

/**
 * struct spawn_program - a program that runs confined
 * @kind: how
 * @name: argv[0]
 * @comm: argv[1]; NULL: none
 * @fd: the program
 * @at: where it has itself, behind all of @files
 * @files: what it has beside
 * @nr_files: entries, SPAWN_FILES_MAX at most
 */
struct spawn_program {
	enum spawn_kind kind;
	const char *name;
	const char *comm;
	int fd;
	int at;
	const struct spawn_file *files;
	unsigned int nr_files;
};

/* 0 or a negative errno; what fails in the child shows in its exit status. */
int spawn_program(struct peer *peer, const struct spawn_program *program, pid_t *pid);

/* Opens the program. 0 or a negative errno. */
int spawn_init(void);

/*
 * Starts a shadow for a guest, with the file that the host module made for it.
 * @lanes_fd: where lanes are sent to. 0 or a negative errno; what fails in the
 * child shows in its exit status.
 */
int spawn_shadow(struct peer *peer, const char *comm, int shadow_fd, pid_t *pid, int *lanes_fd);

#endif /* VGPUD_SPAWN_H */
