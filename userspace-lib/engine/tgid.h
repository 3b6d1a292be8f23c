/* SPDX-License-Identifier: MIT */
/* Numbers of shadows' processes, which nobody else may have yet: see tgid.c. */
#ifndef ENGINE_TGID_H
#define ENGINE_TGID_H

#include <stdint.h>

/* The number of a shadow's process. */
struct tgid;
/* A file by which a driver may know such numbers. */
struct tgid_file;

/**
 * tgid_new - prepare for the shadow of a session
 * @session: number of the session
 *
 * Return: the number of its process; NULL: no memory.
 */
struct tgid *tgid_new(uint64_t session);

/**
 * tgid_end - say that the shadow has ended
 * @tgid: number of its process, a struct tgid
 *
 * vgpud is told that it may reap the process as soon as no driver can know it.
 */
void tgid_end(void *tgid);

/**
 * tgid_use - say that a process has got a file
 * @tgid: number of the process, which has not ended
 * @file: the file, made where it is NULL
 * @fd: the same file, which is open
 *
 * Return: 0, or a negative errno.
 */
int tgid_use(struct tgid *tgid, struct tgid_file **file, int fd);

/**
 * tgid_file_closed - say that the engine has closed a file
 * @file: the file; NULL: no process has got it
 */
void tgid_file_closed(struct tgid_file *file);

#endif /* ENGINE_TGID_H */
