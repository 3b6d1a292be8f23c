/* SPDX-License-Identifier: MIT */
/* Descriptions of exports. */
#ifndef VGPUD_SPEC_H
#define VGPUD_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/answer.h"
#include "device/nvidia.h"

#define EXPORT_IOCTLS_MAX	1024
/* Largest number of ioctls that give the device work and that the export names. */
#define EXPORT_SUBMITS_MAX	32

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
 * @read_only: true if opens for writing, and ioctls that do more than query, fail for all of
 *	@guests
 * @audit: true if ioctls that @profiles and @ioctls deny are let through, counted and logged
 * @guests: array of the guests that may use the export; port 0 is the default port
 * @nr_guests: number of entries of @guests
 * @ioctls: array of ioctls, see struct vgpu_host_grant
 * @nr_ioctls: number of entries of @ioctls
 * @ioctls_deny: true if @ioctls are refused, false if only they are allowed; if there are none, all
 *	ioctls are allowed
 * @ioctls_named: bit mask of the tables of ioctls that @ioctls and @submits have names of
 * @profiles: bit mask of PROFILE_* that allow ioctls, to which @ioctls are added or from which they
 *	are taken; 0 is PROFILE_ALL
 * @submits: array of ioctls that give the device work, beyond those that vgpud knows
 * @nr_submits: number of entries of @submits
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
	bool audit;
	struct { uint32_t cid, port; } *guests;
	size_t nr_guests;
	uint32_t *ioctls;
	size_t nr_ioctls;
	bool ioctls_deny;
	uint32_t ioctls_named;
	unsigned int profiles;
	uint32_t submits[EXPORT_SUBMITS_MAX];
	size_t nr_submits;
	struct export_window window;
	struct cards cards;
	struct plan_file *file;
	unsigned int line;
};

TAILQ_HEAD(export_specs, export_spec);

bool export_name_ok(const char *name);
int export_spec_add_guest(struct export_spec *spec, uint32_t cid, uint32_t port);
/* Check whether @spec names the guest. @port must not be 0. */
bool export_spec_has_guest(const struct export_spec *spec, uint32_t cid, uint32_t port);
int export_spec_add_ioctl(struct export_spec *spec, uint32_t cmd);
/*
 * Set the profiles of a list, whose words are separated by commas or blanks. Return: 0, or a
 * negative errno with words in @answer.
 */
int export_spec_set_profiles(struct export_spec *spec, const char *list, struct answer *answer);
void export_spec_free(struct export_spec *spec);
/* Check whether the spec allows only some ioctls. */
bool export_spec_limits(const struct export_spec *spec);
/* Compare the terms of two exports: all of the spec except its name and its guests. */
bool export_spec_same_terms(const struct export_spec *a, const struct export_spec *b);

#endif /* VGPUD_SPEC_H */
