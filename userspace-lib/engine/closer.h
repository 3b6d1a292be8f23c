/* SPDX-License-Identifier: MIT */
/*
 * A thread that closes files, in engines and keepers: the last close of a device may wait for its
 * driver.
 */
#ifndef ENGINE_CLOSER_H
#define ENGINE_CLOSER_H

/**
 * closer_init - start the thread
 *
 * To be called after loop_init(). Return: 0, or a negative errno.
 */
int closer_init(void);

/**
 * closer_close - have a file closed, after those of the calls before
 * @fd: the file
 * @done: called by the loop when it is closed; NULL: nobody wants to know
 * @arg: the argument of @done
 */
void closer_close(int fd, void (*done)(void *arg), void *arg);

#endif /* ENGINE_CLOSER_H */
