/* SPDX-License-Identifier: MIT */
/*
 * Settings of vgpud as its files say, as far as doctor needs them. vgpud itself, and not this
 * reader, says whether a file has mistakes.
 */
#ifndef VGPUCTL_DOCTOR_SETTINGS_H
#define VGPUCTL_DOCTOR_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vgpuctl/doctor/root.h"

/* Most guests of an export that are kept. */
#define WANTED_GUESTS	64

/**
 * struct wanted - an export that a file asks for
 * @file: path of the file
 * @name: name of the section
 * @path: path of the device file; "": a card of NVIDIA's driver
 * @nvidia: true if all device files of a card of NVIDIA's driver are exported
 * @window: size of the window that the guests get; 0: none
 * @any_port: true if the guest may connect from any port
 * @guests: context IDs of the guests; those given by name are resolved
 * @nr_guests: number of entries of @guests
 */
struct wanted {
	char *file;
	char *name;
	char path[256];
	bool nvidia;
	unsigned long long window;
	bool any_port;
	uint32_t guests[WANTED_GUESTS];
	size_t nr_guests;
};

/**
 * struct named - a guest that has a name
 * @name: name of the guest
 * @cid: context ID of the guest
 */
struct named {
	char name[32];
	uint32_t cid;
};

/**
 * struct settings - settings of vgpud
 * @engine: value of engine; "": none
 * @group: value of control-group
 * @group_given: true if a file has control-group
 * @port: value of port; 0: none
 * @vsock: false if vgpud does not listen on vsock
 * @cgroups: value of cgroups
 * @namespaces: false if shadows have none
 * @uid_base: value of uid-base
 * @uid_count: value of uid-count
 * @program: path of the shadows' program
 * @exports_dir: directory of the exports' files
 * @socket: path of the control socket
 * @socket_dirs: number of guests that [sockets] names
 * @socket_dir: a directory of [sockets] that does not exist; "": none
 * @exports: array of the exports
 * @nr_exports: number of entries of @exports
 * @named: array of the guests that have names
 * @nr_named: number of entries of @named
 * @no_memory: true if something was lost for want of memory
 */
struct settings {
	char engine[32];
	char group[64];
	bool group_given;
	unsigned long long port;
	bool vsock;
	char cgroups[16];
	bool namespaces;
	unsigned long long uid_base;
	unsigned long long uid_count;
	char program[256];
	char exports_dir[256];
	char socket[256];
	size_t socket_dirs;
	char socket_dir[256];
	struct wanted *exports;
	size_t nr_exports;
	struct named *named;
	size_t nr_named;
	bool no_memory;
};

#define VGPUD_CONF	"/etc/vgpu/vgpud.conf"
#define GUESTS_DIR	"/etc/vgpu/guests.d"

/* Read all files. Files that cannot be read are left out. */
void settings_read(const struct root *root, struct settings *settings);
void settings_free(struct settings *settings);
/* Return: true if an export of the files has this guest. */
bool wanted_has(const struct wanted *wanted, uint32_t cid);
/* Return: the size of the window that files ask for this guest; 0: none. */
unsigned long long settings_window(const struct settings *settings, uint32_t cid);

#endif /* VGPUCTL_DOCTOR_SETTINGS_H */
