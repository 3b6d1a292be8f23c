/* SPDX-License-Identifier: MIT */
/* Changes of exported devices: their files are read, and guests are notified. */
#ifndef VGPUD_CHANGE_H
#define VGPUD_CHANGE_H

#include <stdint.h>
#include <sys/types.h>

struct export;
struct timer;
struct vgpu_host_export_change;

/*
 * Handle a change that the driver of the DRM card @rdev reports (0: any card). Guests are
 * notified at once, but at most every EXPORT_CHANGE_MS: changes in between are merged.
 */
#define EXPORT_CHANGE_MS	100
void exports_change(dev_t rdev, const struct vgpu_host_export_change *change);

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
