/* SPDX-License-Identifier: MIT */
/*
 * Small files of the host that guests have, too: those of a card's connectors in sysfs, and
 * those of NVIDIA's driver in /proc.
 * Reading one may wait for the driver, so a thread does that, which has no other files
 * of vgpud open and calls nothing that allocates: shadows are forked meanwhile.
 */
#ifndef VGPUD_FILES_H
#define VGPUD_FILES_H

#include <stdbool.h>
#include <stdint.h>

struct device;

/* 0 or a negative errno. */
int files_init(void);

/* Which files. */
enum files {
	FILES_NONE,
	FILES_QUICK,	/* those of which no uevent tells, and which no driver's lock guards */
	FILES_ALL,
};

/*
 * Has files of the device read, and tells the host module what they hold, as export
 * @number. exports_files_told() is called when that is done, unless the driver hangs. One at
 * a time: false: it is busy.
 */
bool files_ask(uint32_t number, const struct device *device, enum files which);

#endif /* VGPUD_FILES_H */
