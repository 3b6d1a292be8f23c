/* SPDX-License-Identifier: MIT */
/*
 * Exports: device files, and the guests that may use them.
 *
 * An export exists from the time it is configured until it is taken back. While its device
 * exists, the host module knows the export, too: the export is "ready".
 */
#ifndef VGPUD_EXPORT_H
#define VGPUD_EXPORT_H

#include <linux/vgpu_host.h>

#include "base/answer.h"
#include "device/device.h"
#include "device/files.h"
#include "export/spec.h"
#include "shared/loop.h"

/**
 * struct grant - the right of a guest to use an export
 * @node: entry of struct export's list of grants
 * @cid: context ID of the guest
 * @port: vsock port of vgpud by which the guest connects; never 0
 * @any_port: true if the guest may connect from a port of 1024 and more (bridges change ports)
 * @read_only: true if opens for writing fail, and ioctls that do more than query
 * @by_file: true if a file asks for the grant
 * @by_hand: true if vgpuctl asked for it; a grant exists while either of both is true
 * @seen: true if a file still asks for the grant; used while files are read
 * @nr_told: number of entries of @told
 * @told: array of the ioctls that an audit has let through and that are in the log, by ioctl and
 *	what of struct vgpu_host_denial
 */
struct grant {
	TAILQ_ENTRY(grant) node;
	uint32_t cid;
	uint32_t port;
	bool any_port;
	bool read_only;
	bool by_file;
	bool by_hand;
	bool seen;
	unsigned int nr_told;
	uint64_t told[VGPU_HOST_DENIALS_MAX];
};

/**
 * struct export - an export
 * @node: entry of exports
 * @spec: description without guests, which are in @grants
 * @grants: list of the guests' rights
 * @origin: file that asks for the export; NULL: vgpuctl asked for it
 * @seen: true if a file still asks for the export; used while files are read
 * @number: number that the host module or offer.c gave the export; 0: the device is absent
 * @device: description of the device; valid if @number is not 0
 * @error: negative errno of the last attempt to make the export ready
 * @change: one or more changes of the device that guests have not been notified of; its flags are
 *	0: no change
 * @told: timer that delays the next notification: guests have just got one, or files are read
 * @asked: true if the export's files are being read before a notification
 * @files_due: files of the device that are to be read
 */
struct export {
	TAILQ_ENTRY(export) node;
	struct export_spec spec;
	TAILQ_HEAD(, grant) grants;
	char *origin;
	bool seen;
	uint32_t number;
	struct device device;
	int error;
	struct vgpu_host_export_change change;
	struct timer told;
	bool asked;
	enum files files_due;
};

TAILQ_HEAD(export_list, export);
extern struct export_list exports;

struct export *export_find(const char *name);
/* Return the grant of the export for that guest, or NULL. */
struct grant *export_grant(struct export *export, uint32_t cid, uint32_t port);

/*
 * Open a device that can be exported, with device_open(). Return: the file, or a negative errno
 * with words in @answer.
 */
int export_open(const struct export_spec *spec, struct device *device, struct answer *answer);
/*
 * Make an export without guests from @spec, and take over its ioctls. Return: the export; NULL: no
 * memory.
 */
struct export *export_new(struct export_spec *spec, const char *origin);
/*
 * Open the device of an export, add the export to the host module or the engines, and grant it to
 * its guests. Return: 0, or a negative errno with words in @answer.
 */
int export_up(struct export *export, struct answer *answer);
/* Take the export back from all guests, and free it. */
void export_free(struct export *export);
/*
 * Update exports after devices may have come or gone. An export whose device exists but cannot
 * be exported is retried every EXPORT_RETRY_MS.
 */
#define EXPORT_RETRY_MS	5000
void exports_rescan(void);
/* Watch the path of each export: its file, or a link on the way to it, may change. */
void exports_watch(void);

#endif /* VGPUD_EXPORT_H */
