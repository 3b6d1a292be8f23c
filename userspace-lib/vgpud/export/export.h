/* SPDX-License-Identifier: MIT */
/*
 * Exports: device files, and the guests that may use them.
 *
 * An export exists from the time it is configured until it is taken back. While its device
 * exists, the host module knows the export, too: the export is "ready".
 */
#ifndef VGPUD_EXPORT_H
#define VGPUD_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/answer.h"
#include "device/device.h"
#include "device/files.h"
#include "device/nvidia.h"
#include "shared/loop.h"

struct peer;
struct plan_file;

#define EXPORT_IOCTLS_MAX	1024

/**
 * struct export_window - window that the guests of an export get
 * @size: size in bytes; 0: the export asks for no window
 * @user: name of the owner, see struct window_spec
 * @line: line of the file that asks for the window
 */
struct export_window {
	uint64_t size;
	char user[33];
	unsigned int line;
};

/* Set of cards of NVIDIA's driver, as bits by the minor numbers of their device files. */
struct cards {
	bool any;
	uint8_t bits[NVIDIA_CARDS / 8];
};

/**
 * struct export_spec - an export, as a file or a person describes it
 * @node: entry of an export_specs list
 * @name: name of [A-Za-z0-9._-]+; "" in a request: the last part of @path
 * @path: path of the device file
 * @master: true if guests may become DRM master
 * @no_demand: true if drivers never wait for pages of guests' programs
 * @any_port: true if all of @guests may connect from any port, see struct grant
 * @read_only: true if opens for writing fail for all of @guests
 * @guests: array of the guests that may use the export; port 0 is the default port
 * @nr_guests: number of entries of @guests
 * @ioctls: array of ioctls, see struct vgpu_host_grant
 * @nr_ioctls: number of entries of @ioctls
 * @ioctls_deny: true if @ioctls are refused, false if only they are allowed; if there are none, all
 *	ioctls are allowed
 * @window: window that each of @guests gets
 * @cards: cards of which all device files are exported, in a file only; @path is empty then
 * @file: file that has the section; NULL: none
 * @line: number of the line where the section begins
 */
struct export_spec {
	TAILQ_ENTRY(export_spec) node;
	char name[32];
	char path[64];
	bool master;
	bool no_demand;
	bool any_port;
	bool read_only;
	struct { uint32_t cid, port; } *guests;
	size_t nr_guests;
	uint32_t *ioctls;
	size_t nr_ioctls;
	bool ioctls_deny;
	struct export_window window;
	struct cards cards;
	struct plan_file *file;
	unsigned int line;
};

TAILQ_HEAD(export_specs, export_spec);

/**
 * struct grant - the right of a guest to use an export
 * @node: entry of struct export's list of grants
 * @cid: context ID of the guest
 * @port: vsock port of vgpud by which the guest connects; never 0
 * @any_port: true if the guest may connect from a port of 1024 and more (bridges change ports)
 * @read_only: true if opens for writing fail
 * @by_file: true if a file asks for the grant
 * @by_hand: true if vgpuctl asked for it; a grant exists while either of both is true
 * @seen: true if a file still asks for the grant; used while files are read
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
};

/**
 * struct export - an export
 * @node: entry of exports
 * @spec: description without guests, which are in @grants
 * @grants: list of the guests' rights
 * @origin: file that asks for the export; NULL: vgpuctl asked for it
 * @seen: true if a file still asks for the export; used while files are read
 * @number: number that the host module or engine.c gave the export; 0: the device is absent
 * @device: description of the device; valid if @number is not 0
 * @error: negative errno of the last attempt to make the export ready
 * @change: change of the device that guests have not been notified of
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
	struct device_change change;
	struct timer told;
	bool asked;
	enum files files_due;
};

TAILQ_HEAD(export_list, export);
extern struct export_list exports;

bool export_name_ok(const char *name);
int export_spec_add_guest(struct export_spec *spec, uint32_t cid, uint32_t port);
/* Check whether @spec names the guest. @port must not be 0. */
bool export_spec_has_guest(const struct export_spec *spec, uint32_t cid, uint32_t port);
int export_spec_add_ioctl(struct export_spec *spec, uint32_t cmd);
void export_spec_free(struct export_spec *spec);
bool export_spec_same_ioctls(const struct export_spec *a, const struct export_spec *b);
/* Compare the terms of two exports: all of the spec except its name and its guests. */
bool export_spec_same_terms(const struct export_spec *a, const struct export_spec *b);

/*
 * Check an export that a file asks for, as far as possible: its path, which is valid even if no
 * such file exists yet, and its name and guests, which vgpuctl may have exported on other
 * terms. Return: 0, or a negative errno with words in @answer.
 */
int export_check(const struct export_spec *spec, struct answer *answer);

/*
 * Add an export that a person asks for. If the name exists with the same path and terms, the
 * guests of @spec are added to that export. Return: 0, or a negative errno with words in
 * @answer; -EEXIST if the name means something else.
 */
int export_add(struct export_spec *spec, struct answer *answer);

/*
 * Remove an export, or one guest's right to it if @cid is not 0. Return: 0 or a negative errno;
 * -EBUSY if a guest that has the export runs programs that use a device, unless @force.
 */
int export_remove(const char *name, uint32_t cid, uint32_t port, bool force,
		  struct answer *answer);
/* Check whether export_remove() would succeed. Return: what export_remove() would return. */
int export_check_remove(const char *name, uint32_t cid, uint32_t port, bool force,
			struct answer *answer);

struct export *export_find(const char *name);
/* Make an export without guests from @spec, and take over its ioctls. Return: NULL: no memory. */
struct export *export_new(struct export_spec *spec, const char *origin);
/*
 * Open the device of an export, add the export to the host module or the engines, and grant it to
 * its guests. Return: 0, or a negative errno with words in @answer.
 */
int export_up(struct export *export, struct answer *answer);
/* Take the export back from all guests, and free it. */
void export_free(struct export *export);
/* Return the grant of the export for that guest, or NULL. */
struct grant *export_grant(struct export *export, uint32_t cid, uint32_t port);
/*
 * Give a guest the right to use the export. An existing grant on the same terms is enough. If
 * the host refuses the right for the guest's connection, no grant is made. A card of NVIDIA's
 * may be granted later, from exports_grant_device(), which logs the host's refusal.
 *
 * Return: 0, or a negative errno with words in @answer.
 */
int export_grant_add(struct export *export, uint32_t cid, uint32_t port, bool any_port,
		     bool read_only, struct answer *answer);
/*
 * Change the terms of a grant. Guests for which the new terms mean the same are not notified.
 * Return: 0, or a negative errno with words in @answer; the grant is removed then.
 */
int export_grant_change(struct export *export, struct grant *grant, bool any_port,
			bool read_only, struct answer *answer);
void export_grant_del(struct export *export, struct grant *grant);
/*
 * Check that no guest of the export runs programs that use a device; @only: check only the guest of
 * this grant. Return: 0 or -EBUSY.
 */
int export_check_unused(struct export *export, struct grant *only, struct answer *answer);

/*
 * Update exports after devices may have come or gone. An export whose device exists but cannot
 * be exported is retried every EXPORT_RETRY_MS.
 */
#define EXPORT_RETRY_MS	5000
void exports_rescan(void);

/*
 * Handle a change that the driver of the DRM card @rdev reports (0: any card). Guests are
 * notified at once, but at most every EXPORT_CHANGE_MS: changes in between are merged.
 */
#define EXPORT_CHANGE_MS	100
void exports_change(dev_t rdev, const struct device_change *change);

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

/*
 * Check whether some export is for this guest. *@any_port: true if one of them allows any port.
 */
bool exports_for_guest(uint32_t cid, uint32_t port, bool *any_port);
/* Check whether a guest that is connected, or still has shadows, may use the device. */
bool exports_for_device(dev_t rdev);
/* Grant a device, which no guest has got yet, to all guests that may use it. */
void exports_grant_device(dev_t rdev);
/* Grant a new peer all exports that it may use. */
void exports_grant_all(struct peer *peer);

#endif /* VGPUD_EXPORT_H */
