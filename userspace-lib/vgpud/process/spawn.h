/* SPDX-License-Identifier: MIT */
/* Start of the programs of guests: fork, confinement and exec. */
#ifndef VGPUD_SPAWN_H
#define VGPUD_SPAWN_H

#include <sys/types.h>

#include "process/confine.h"

struct sandbox;

#define SPAWN_FILES_MAX	8

/* Value of spawn_file.fd for /proc of the program's own pid namespace, with its processes only. */
#define SPAWN_FD_PROC	(-2)

struct spawn_file {
	int fd;
	int at;
};

/**
 * struct spawn_program - a program that runs confined
 * @kind: kind of the program
 * @name: argv[0]
 * @comm: argv[1]; NULL: none
 * @fd: file of the program
 * @at: number that the program's own file gets; larger than those in @files
 * @files: array of the files that the program gets, with their numbers
 * @nr_files: number of entries of @files, at most SPAWN_FILES_MAX
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

/*
 * Start a program. Return: 0 or a negative errno. A failure in the child shows in its exit
 * status.
 */
int spawn_program(struct sandbox *sandbox, const struct spawn_program *program, pid_t *pid);

/*
 * Open program @name in the directory of the module's shadow. Return: a file, or a negative
 * errno, which was logged.
 */
int spawn_program_open(const char *name);

/* Open the program of shadows. Return: 0 or a negative errno. */
int spawn_init(void);

/*
 * Start a shadow of the host module. @shadow_fd: file that the module made for it;
 * @lanes_fd: set to the socket that sends lanes to it. Return: 0 or a negative errno. A failure
 * in the child shows in its exit status.
 */
int spawn_shadow(struct sandbox *sandbox, const char *comm, int shadow_fd, pid_t *pid,
		 int *lanes_fd);

#endif /* VGPUD_SPAWN_H */
