/* SPDX-License-Identifier: MIT */
/* Numbers of files. */
#ifndef ESHADOW_FD_H
#define ESHADOW_FD_H

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

extern int fd_devices, fd_maps, fd_mem;

#endif /* ESHADOW_FD_H */
