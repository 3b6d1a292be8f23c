/* SPDX-License-Identifier: MIT */
/* Start of the programs of guests, their connections, and memory that they share with vgpud. */
#ifndef VGPUD_SPAWN_H
#define VGPUD_SPAWN_H

#include <sys/types.h>
#include <sys/uio.h>

#include "config/config.h"

struct sandbox;

#define SPAWN_FILES_MAX	8

/* Special values of @fd in struct spawn_file. */
#define SPAWN_FD_LINK	(-2)	/* program's end of its connection to vgpud */
#define SPAWN_FD_PROC	(-3)	/* /proc of the program's pid namespace */

/**
 * struct spawn_file - a file that a program gets
 * @fd: file of vgpud, or SPAWN_FD_*
 * @at: number of the file in the program
 */
struct spawn_file {
	int fd;
	int at;
};

/**
 * struct spawn_program - a program that runs confined, and has a connection
 * @kind: kind of the program
 * @comm: argv[1]; NULL: none
 * @first: first message that the program receives by the connection; its base is NULL: none
 * @files: array of the files that the program gets; an entry whose @at is 0 ends it
 */
struct spawn_program {
	enum spawn_kind kind;
	const char *comm;
	struct iovec first;
	struct spawn_file files[SPAWN_FILES_MAX];
};

/* Prepare, and open the program of the module's shadows. Return: 0 or a negative errno. */
int spawn_init(void);

/*
 * Open a program in the directory of the module's shadow, unless it is open. Return: 0, or a
 * negative errno, which was logged.
 */
int spawn_open(enum spawn_kind kind);

/*
 * Start a program that spawn_open() has opened. Return: vgpud's end of its connection, or a
 * negative errno. A failure in the child shows in its exit status.
 */
int spawn_program(struct sandbox *sandbox, const struct spawn_program *spawn, pid_t *pid);

/*
 * Start a shadow of the host module. @shadow_fd: file that the module made for it;
 * @lanes_fd: set to the socket that sends lanes to it. Return: 0 or a negative errno. A failure
 * in the child shows in its exit status.
 */
int spawn_shadow(struct sandbox *sandbox, const char *comm, int shadow_fd, pid_t *pid,
		 int *lanes_fd);

/**
 * pair_open - make a pair of connected sockets for an engine or a keeper and another process
 * @pair: set to the two sockets
 *
 * No sender waits for a receiver: a sender that finds the buffer full gives the receiver up. The
 * buffers therefore have room for all messages that may be sent at once: each mapping of a shadow
 * may end twice, and all mappings of a window may end together.
 *
 * Return: 0, or a negative errno.
 */
int pair_open(int pair[2]);

/**
 * pair_rest - close the first socket of a pair after it was passed to a process
 * @pair: array of the two sockets
 * @error: negative errno if the socket could not be passed, so that both sockets are closed; 0: it
 *	was passed
 *
 * Return: the second socket, or @error.
 */
int pair_rest(const int pair[2], int error);

#define PAGE		4096

/*
 * Make a file of memory that vgpud shares with programs of guests, of a sealed size. The mode keeps
 * them from opening the file once more, with other rights. Return: the file, or a negative errno.
 */
int memory_make(const char *name, size_t size);
/*
 * Make and map @len bytes of such memory. Return: 0, or a negative errno; *@fd is negative then.
 */
int pages_make(int *fd, size_t len, void **memory);
/* Map a file of such memory, which stays the caller's. Return: 0, or a negative errno. */
int pages_map(int fd, size_t len, void **memory);

#endif /* VGPUD_SPAWN_H */
