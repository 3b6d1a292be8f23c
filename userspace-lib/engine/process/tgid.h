/* SPDX-License-Identifier: MIT */
/* Numbers of shadows' processes, which must not be reused yet: see tgid.c. */
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
 * Return: the number of the shadow's process, or NULL if there is no memory.
 */
struct tgid *tgid_new(uint64_t session);

/**
 * tgid_end - note that the shadow has ended
 * @tgid: number of the shadow's process, a struct tgid
 *
 * vgpud is told that it may reap the process as soon as no driver can know the number.
 */
void tgid_end(void *tgid);

/**
 * tgid_use - note that a process has got a file
 * @tgid: number of the process, which has not ended
 * @file: the file's entry, which is made if it is NULL
 * @fd: the file itself, which is open
 *
 * Return: 0, or a negative errno.
 */
int tgid_use(struct tgid *tgid, struct tgid_file **file, int fd);

/**
 * tgid_file_closed - note that the engine has closed a file
 * @file: the file's entry; NULL: no process has got the file
 */
void tgid_file_closed(struct tgid_file *file);

#endif /* ENGINE_TGID_H */
