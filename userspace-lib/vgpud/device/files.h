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
struct vgpu_host_export_file;

/**
 * struct files_ops - receiver of the files that the thread has read
 * @take: takes a file, or with VGPU_HOST_FILE_LAST the end of a list of files; returns 0 or a
 *	negative errno
 * @end: called at the end of each request for export @number, unless the driver hangs
 */
struct files_ops {
	int (*take)(struct vgpu_host_export_file *file);
	void (*end)(uint32_t number);
};

/* Start the thread. @ops stays the caller's. Return: 0 or a negative errno. */
int files_init(const struct files_ops *ops);

/* Files of a device that are to be read. */
enum files {
	FILES_NONE,
	FILES_QUICK,	/* files that no uevent reports on and no driver's lock guards */
	FILES_ALL,
};

/*
 * Have the thread read files of the device, which the receiver then gets as files of export
 * @number. Return: false if the thread is busy with another request.
 */
bool files_ask(uint32_t number, const struct device *device, enum files which);

#endif /* VGPUD_FILES_H */
