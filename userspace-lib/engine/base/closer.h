/* SPDX-License-Identifier: MIT */
/*
 * The closer: a thread of engines and keepers that closes files, as the last close of a device
 * may sleep in the driver.
 */
#ifndef ENGINE_CLOSER_H
#define ENGINE_CLOSER_H

/**
 * closer_init - start the closer
 *
 * Must be called after loop_init().
 *
 * Return: 0, or a negative errno.
 */
int closer_init(void);

/**
 * closer_close - let the closer close a file, after the files of earlier calls
 * @fd: the file
 * @done: function that the loop calls when the file is closed, or NULL
 * @arg: argument of @done
 */
void closer_close(int fd, void (*done)(void *arg), void *arg);

#endif /* ENGINE_CLOSER_H */
