/* SPDX-License-Identifier: MIT */
/*
 * Exports: device files, and the guests that may use them.
 *
 * An export exists from when it is configured until it is taken back; while
 * its device is there, the host module knows it too ("ready").
 */
#ifndef VGPUD_EXPORT_H
#define VGPUD_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "device.h"
#include "files.h"
#include "loop.h"
#include "nvidia.h"

struct peer;
struct plan_file;

#define EXPORT_IOCTLS_MAX	1024

/**
 * struct export_window - the window that an export's guests have
 * @size: bytes; 0: it says nothing about it
 * @user: see struct window_spec
 * @line: of the file that says so
 */
struct export_window {
	uint64_t size;
	char user[33];
	unsigned int line;
};

/* Cards of NVIDIA's driver, by the numbers of their device files. */
struct cards {
	bool any;
	uint8_t bits[NVIDIA_CARDS / 8];
};

/**
 * struct export_spec - an export as a file or a person words it
 * @name: [A-Za-z0-9._-]+; "" in a request: the last part of the path
 * @path: of the device file
 * @master: guests may become DRM master
 * @no_demand: drivers never wait for pages of guests' programs
 * @any_port: applies to all of @guests
 * @read_only: likewise
 * @guests: who may use it; port 0: the default one
 * @nr_guests: how many
 * @ioctls: see struct vgpu_host_grant
 * @nr_ioctls: how many
 * @ioctls_deny: they are those that are refused, not those that are allowed
 * @window: of each of @guests
 * @cards: in a file: all that these cards need is exported; then there is no @path
 * @file: that has the section; NULL: none has one
 * @line: the one where it begins
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
 * struct grant - a guest that may use an export
 * @cid: who
 * @port: the port by which it comes; never 0
 * @any_port: it need not come from a port below 1024 (bridges hide it)
 * @read_only: opens for writing fail
 * @by_file: a file asks for it
 * @by_hand: a person does; it is there as long as one of both
 * @seen: the file still does (while files are read)
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
 * @spec: without guests, which are in @grants
 * @origin: file that asks for it; NULL: none does, but vgpuctl did
 * @seen: the file still asks for it (while files are read)
 * @number: the host module's; 0: its device is not there
 * @device: valid if @number is not 0
 * @error: negative errno: why it is not there
 * @change: of which its guests have not been told
 * @told: is set for as long as they are told of none, as they have been of one, or as
 * @asked: its files are read first
 * @files_due: which of its files are to be read
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
/* Not port 0. */
bool export_spec_has_guest(const struct export_spec *spec, uint32_t cid, uint32_t port);
int export_spec_add_ioctl(struct export_spec *spec, uint32_t cmd);
void export_spec_free(struct export_spec *spec);
bool export_spec_same_ioctls(const struct export_spec *a, const struct export_spec *b);
/* The terms of an export are all that makes it, except for its name and its guests. */
bool export_spec_same_terms(const struct export_spec *a, const struct export_spec *b);

/* Room for a message to the person who asked. */
struct answer {
	char text[256];
};

/* Return: @error. */
int answer_say(struct answer *answer, int error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The check covers what can be known now of an export that a file asks for: its path, which is
 * valid even if no such file is there yet, and its name and guests, which vgpuctl may have
 * exported on other terms. Return: 0 or a negative errno, with words in @answer.
 */
int export_check(const struct export_spec *spec, struct answer *answer);

/*
 * Offers what a person asks for; if the name is taken by the same path, the guests of @spec
 * are added. 0 or a negative errno, with words in @answer. -EEXIST: the name means something
 * else.
 */
int export_add(struct export_spec *spec, struct answer *answer);

/*
 * Takes an export back, or one guest's right to it (cid not 0). -EBUSY: a guest
 * that has it runs programs that use a device, and not @force.
 */
int export_remove(const char *name, uint32_t cid, uint32_t port, bool force,
		  struct answer *answer);
/* Return: what it would return. */
int export_check_remove(const char *name, uint32_t cid, uint32_t port, bool force,
			struct answer *answer);

struct export *export_find(const char *name);
/* An export without guests, on the terms of @spec, whose ioctls it takes over. NULL: no memory. */
struct export *export_new(struct export_spec *spec, const char *origin);
/* Its device is there: tells the host module and the guests. 0 or a negative errno, with words. */
int export_up(struct export *export, struct answer *answer);
/* Takes it back from all guests. */
void export_free(struct export *export);
/* Return: the grant that it gives that guest, or NULL. */
struct grant *export_grant(struct export *export, uint32_t cid, uint32_t port);
/*
 * Gives a guest the right to it, or nothing if the host refuses that to the guest that is
 * connected. A right that is there already, on the same terms, is enough. Of a card of NVIDIA's the
 * guest may hear later, and what the host says then is logged.
 * 0 or a negative errno, with words in @answer.
 */
int export_grant_add(struct export *export, uint32_t cid, uint32_t port, bool any_port,
		     bool read_only, struct answer *answer);
/*
 * A grant gets other terms; guests for which they mean the same as before notice nothing.
 * 0 or a negative errno, with words in @answer: then the grant is gone.
 */
int export_grant_change(struct export *export, struct grant *grant, bool any_port,
			bool read_only, struct answer *answer);
void export_grant_del(struct export *export, struct grant *grant);
/* -EBUSY: a guest that has it, or the one of @only, runs programs that use a device. */
int export_check_unused(struct export *export, struct grant *only, struct answer *answer);

/*
 * Devices may have come or gone. One that is there, but cannot be exported, is tried again
 * every EXPORT_RETRY_MS.
 */
#define EXPORT_RETRY_MS	5000
void exports_rescan(void);

/*
 * The driver of the DRM card @rdev (0: of any) has said so. Guests are told at once, but
 * not more often than every EXPORT_CHANGE_MS: what comes meanwhile is said together then.
 */
#define EXPORT_CHANGE_MS	100
void exports_change(dev_t rdev, const struct device_change *change);

/*
 * Files of devices are read when there may be others, before guests are told of a change
 * (but they do not wait longer than EXPORT_FILES_WAIT_MS for a driver that hangs), and, as of
 * what a program makes of a display nothing is told, every EXPORT_FILES_MS.
 */
#define EXPORT_FILES_WAIT_MS	500
#define EXPORT_FILES_MS		2000
/* Of that export all were told. */
void exports_files_told(uint32_t number);

/* Some export is for this guest; *any_port: one of them without a port below 1024. */
bool exports_for_guest(uint32_t cid, uint32_t port, bool *any_port);
/* Whether a guest that is connected, or has shadows still, may use that device. */
bool exports_for_device(dev_t rdev);
/* Gives all guests that may use that device the right to it, which none has been given yet. */
void exports_grant_device(dev_t rdev);
/* Gives a new peer what it may use. */
void exports_grant_all(struct peer *peer);

#endif /* VGPUD_EXPORT_H */
