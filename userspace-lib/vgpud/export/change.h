/* SPDX-License-Identifier: MIT */
/* Changes of exported devices, which the kernel reports by uevents. */
#ifndef VGPUD_CHANGE_H
#define VGPUD_CHANGE_H

#include <stdint.h>

struct export;
struct timer;

/* Watch devices come, change and go. Return: 0 or a negative errno. */
int uevents_init(void);

/*
 * Files of devices are read when their content may have changed, and before guests are notified
 * of a change; the notification waits at most EXPORT_FILES_WAIT_MS for a driver that hangs.
 * Files are also read every EXPORT_FILES_MS, since nothing reports what programs do to a
 * display.
 */
#define EXPORT_FILES_WAIT_MS	500
#define EXPORT_FILES_MS		2000
/*
 * Note that all files of export @number have been read and reported, and notify guests of a change
 * that has waited for that.
 */
void exports_files_told(uint32_t number);
/* Read the files of an export that has become ready, now and from time to time. */
void export_files_begin(struct export *export);
/* Read the files of the first export that is due. files_ask() takes one request at a time. */
void exports_files_next(void);
/* Handle the expiry of @told of struct export. */
void export_told(struct timer *timer);

#endif /* VGPUD_CHANGE_H */
