/* SPDX-License-Identifier: MIT */
/* Threads of this shadow, and numbers of files: see thread.c. */
#ifndef ESHADOW_THREAD_H
#define ESHADOW_THREAD_H

#include "engine/shadow/base/lib.h"
#include "shadow/thread.h"

/*
 * Sizes in bytes of the stack for the cancel signal, of the memory for arguments, and of each of
 * the two buffers for messages.
 */
#define THREAD_SIGNALS	(16UL << 10)
#define THREAD_SCRATCH	(64UL << 10)
#define THREAD_BUF	(16UL << 10)

/*
 * Gives the thread memory, if it has none. @nr: index of the thread. Return: 0, or a negative
 * errno.
 */
int thread_prepare(struct thread *thread, unsigned int nr);
/* Starts a thread that has memory. Return: 0, or a negative errno. */
int thread_start(struct thread *thread, void (*fn)(void *arg), void *arg);
/* Size in bytes of the room of a thread: stack for the cancel signal, then memory for arguments. */
#define THREAD_ROOM	(THREAD_SIGNALS + THREAD_SCRATCH)
/* Return: the thread's buffer @nr (0 or 1). The two buffers follow the room. */
u8 *thread_buf(const struct thread *thread, unsigned int nr);

/*
 * Starts the one process that the shadow makes (tracer.c), with the same memory, and a stack that
 * ends at @stack. Return: number of the process, or a negative errno.
 */
long process_start(void (*fn)(void *arg), u8 *stack);

/*
 * File numbers. Files below FILES_LOW were made by drivers, except 0: it stays taken, as drivers
 * use 0 for no file.
 */
#define FILES_LOW	512
#define FILES_OWN	512	/* files of the program itself */
#define FILES_OBJECTS	2048	/* files of objects */

/*
 * Moves a file to a number from @base on, out of the way of files that drivers make. Return: the
 * new number, or a negative errno.
 */
int fd_up(int fd, int base);
/* Closes a file that may be a driver's, so that ->flush and ->release of the driver may run. */
void fd_close(int fd);

/* Numbers of the directory of the exports' nodes, of /proc/self/smaps, and of /proc/self/mem. */
extern int fd_devices, fd_maps, fd_mem;

#endif /* ESHADOW_THREAD_H */
