/* SPDX-License-Identifier: MIT */
/*
 * Small files of the host that guests get, too: files of a card's connectors in sysfs, and
 * files of NVIDIA's driver in /proc.
 *
 * A read may wait for the driver, so a thread reads them. The thread has no other file of vgpud
 * open, and calls nothing that allocates memory, since shadows are forked meanwhile.
 */
#ifndef VGPUD_FILES_H
#define VGPUD_FILES_H

#include <stdbool.h>
#include <stdint.h>

struct device;

/* Start the thread. Return: 0 or a negative errno. */
int files_init(void);

/* Files of a device that are to be read. */
enum files {
	FILES_NONE,
	FILES_QUICK,	/* files that no uevent reports on and no driver's lock guards */
	FILES_ALL,
};

/*
 * Have the thread read files of the device and report them to the host module as files of
 * export @number. Afterwards exports_files_told() is called, unless the driver hangs. Return:
 * false if the thread is busy with another request.
 */
bool files_ask(uint32_t number, const struct device *device, enum files which);

#endif /* VGPUD_FILES_H */
