// SPDX-License-Identifier: MIT
/* QEMUs of a host, and what is wrong with their arguments. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/number.h"
#include "vgpuctl/doctor/doctor.h"

/* Beginnings of the names of windows: device files, and sockets of user-space engines. */
#define WINDOW_FILE	"vgpu-window-"
#define WINDOW_SOCKET	"/run/vgpu/window-"

/* --- arguments ------------------------------------------------------------- */

/*
 * Find the value of a key in an argument, in either of QEMU's ways: key=value, or JSON. Return: the
 * text that begins with the value; NULL: the argument has no such key.
 */
static const char *value_of(const char *argument, const char *key)
{
	size_t len = strlen(key);
	const char *at;

	for (at = strstr(argument, key); at; at = strstr(at + 1, key)) {
		if (at > argument && !strchr(",\"{ ", at[-1]))
			continue;
		if (at[len] == '=')
			return at + len + 1;
		if (at[len] == '"' && at[len + 1] == ':')
			return at + len + 2 + strspn(at + len + 2, " \"");
	}
	return NULL;
}

static bool is_on(const char *argument, const char *key)
{
	const char *value = value_of(argument, key);

	return value && (!strncmp(value, "on", 2) || !strncmp(value, "true", 4));
}

static unsigned long long size_of(const char *argument)
{
	const char *value = value_of(argument, "size");
	unsigned long long size;
	char word[32];

	snprintf(word, sizeof(word), "%.*s", value ? (int)strcspn(value, ",\"} ") : 0,
		 value ? value : "");
	return number_parse_size(word, &size) ? size : 0;
}

static void take_argument(struct hypervisor *process, const char *argument)
{
	const char *cid = value_of(argument, "guest-cid"), *at = strstr(argument, WINDOW_FILE);

	if (cid)
		process->cid = strtoul(cid, NULL, 10);
	if (at && value_of(argument, "mem-path")) {
		process->window = strtoul(at + strlen(WINDOW_FILE), NULL, 10);
		process->size = size_of(argument);
		process->shared = is_on(argument, "share");
		process->aligned = value_of(argument, "align");
	}
	at = strstr(argument, WINDOW_SOCKET);
	if (at && !process->window) {
		process->window = strtoul(at + strlen(WINDOW_SOCKET), NULL, 10);
		process->by_socket = true;
	}
	if (strstr(argument, "ivshmem-plain"))
		process->master |= is_on(argument, "master");
	if (strstr(argument, "vhost-user-vsock"))
		process->vsock_socket = true;
	if (strstr(argument, "vfio-pci"))
		process->vfio = true;
	if (strstr(argument, "sev-guest") || strstr(argument, "sev-snp-guest") ||
	    strstr(argument, "tdx-guest"))
		process->encrypted = true;
}

/* Read the arguments of a process. Return: true if it is a hypervisor, or serves vsock for one. */
static bool read_process(const struct root *root, const char *pid, struct hypervisor *process)
{
	const char *argument, *name, *before = "";
	char path[300], *text;
	size_t size;

	snprintf(path, sizeof(path), "/proc/%s/cmdline", pid);
	text = root_read(root, path, &size);
	if (!text)
		return false;
	name = strrchr(text, '/');
	name = name ? name + 1 : text;
	*process = (struct hypervisor){ .pid = strtoul(pid, NULL, 10) };
	process->daemon = !strcmp(name, "vhost-device-vsock");
	if (!process->daemon && strncmp(name, "qemu-", 5) && strcmp(name, "kvm")) {
		free(text);
		return false;
	}
	for (argument = text; argument < text + size; argument += strlen(argument) + 1) {
		if (!process->daemon)
			take_argument(process, argument);
		else if (!strncmp(argument, "--guest-cid=", strlen("--guest-cid=")))
			process->cid = strtoul(argument + strlen("--guest-cid="), NULL, 10);
		else if (!strcmp(before, "--guest-cid"))
			process->cid = strtoul(argument, NULL, 10);
		before = argument;
	}
	free(text);
	return true;
}

bool hypervisors_find(const struct root *root, struct hypervisors *hypervisors)
{
	struct hypervisor process, *more;
	DIR *proc = root_dir(root, "/proc");
	struct dirent *entry;
	bool ok = true;

	/* If the first process is hidden, so are others. */
	hypervisors->all = proc && root_exists(root, "/proc/1/cmdline");
	while (ok && proc && (entry = readdir(proc))) {
		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    !read_process(root, entry->d_name, &process))
			continue;
		more = reallocarray(hypervisors->list, hypervisors->nr + 1, sizeof(*more));
		ok = more;
		if (!ok)
			break;
		more[hypervisors->nr++] = process;
		hypervisors->list = more;
	}
	if (proc)
		closedir(proc);
	return ok;
}

const struct hypervisor *hypervisor_of(const struct hypervisors *hypervisors, uint32_t cid)
{
	size_t i;

	for (i = 0; i < hypervisors->nr; i++)
		if (hypervisors->list[i].cid == cid)
			return &hypervisors->list[i];
	return NULL;
}

/* --- findings --------------------------------------------------------------- */

static void examine_window(struct doctor *doctor, const struct hypervisor *process)
{
	unsigned long long wanted = settings_window(&doctor->settings, process->window);
	char about[32];

	snprintf(about, sizeof(about), "pid %" PRIu32, process->pid);
	if (process->cid && process->cid != process->window) {
		found(doctor, ERROR, "qemu-window-of-other-guest", about,
		      "QEMU gives guest %" PRIu32 " the window of guest %" PRIu32, process->cid,
		      process->window);
		advise(doctor, "give it its own: vgpuctl window qemu-args --to %" PRIu32,
		       process->cid);
	}
	if (process->vfio) {
		found(doctor, ERROR, "qemu-window-with-vfio", about,
		      "QEMU has a window and a device of VFIO: VFIO fails, or behind a virtual IOMMU the device reaches memory of other guests");
		advise(doctor, "take one of the two away ('Beside other things in one machine' in Documentation/admin/window.rst)");
	}
	if (process->encrypted) {
		found(doctor, ERROR, "qemu-window-encrypted", about,
		      "QEMU has a window, and the memory of its guest is encrypted, which needs all memory to be pinned");
		advise(doctor, "take one of the two away: a window cannot be pinned");
	}
	if (process->by_socket)
		return;
	if (!process->shared) {
		found(doctor, ERROR, "qemu-window-not-shared", about,
		      "QEMU has the window of guest %" PRIu32 " without share=on, so the guest sees a copy of nothing",
		      process->window);
		advise(doctor, "give QEMU the arguments that 'vgpuctl window qemu-args --to %" PRIu32 "' prints",
		       process->window);
	}
	if (!process->aligned) {
		found(doctor, WARNING, "qemu-window-not-aligned", about,
		      "QEMU has the window of guest %" PRIu32 " without align=2M: only single pages can be mapped, and no large ones",
		      process->window);
		advise(doctor, "add align=2M to memory-backend-file");
	}
	if (process->master) {
		found(doctor, ERROR, "qemu-window-master", about,
		      "QEMU has the window's device with master=on, so a migration would copy pages without a device behind them");
		advise(doctor, "leave master=on out of ivshmem-plain");
	}
	if (wanted && process->size && wanted != process->size) {
		found(doctor, ERROR, "qemu-window-size", about,
		      "QEMU has a window of %llu bytes for guest %" PRIu32 ", but the files of exports ask for %llu",
		      process->size, process->window, wanted);
		advise(doctor, "give QEMU the arguments that 'vgpuctl window qemu-args --to %" PRIu32 "' prints, and start it again",
		       process->window);
	}
}

static void examine_process(struct doctor *doctor, size_t number)
{
	const struct hypervisor *process = &doctor->hypervisors.list[number], *first;
	char about[32];

	snprintf(about, sizeof(about), "pid %" PRIu32, process->pid);
	if (process->window && !process->cid && !process->vsock_socket) {
		found(doctor, ERROR, "qemu-without-vsock", about,
		      "QEMU has the window of guest %" PRIu32 ", but its arguments give the guest no context id on vsock",
		      process->window);
		advise(doctor, "add -device vhost-vsock-pci,guest-cid=%" PRIu32 " to them",
		       process->window);
	} else if (!process->cid && !process->daemon && !process->vsock_socket) {
		found(doctor, NOTE, "qemu-without-context-id", about,
		      "the guest of this QEMU has no context id on vsock, so it cannot have devices");
		advise(doctor, "if it is to have some: -device vhost-vsock-pci,guest-cid=3 (a number of its own)");
	}
	if (process->window)
		examine_window(doctor, process);
	if (!process->cid)
		return;
	first = hypervisor_of(&doctor->hypervisors, process->cid);
	if (first != process && first->daemon == process->daemon) {
		found(doctor, ERROR, "context-id-twice", about,
		      "processes %" PRIu32 " and %" PRIu32 " both have the context id %" PRIu32,
		      first->pid, process->pid, process->cid);
		advise(doctor, "give each guest a context id of its own (guest-cid=)");
	}
	if (process->cid <= 2) {
		found(doctor, ERROR, "context-id-reserved", about,
		      "the guest has the context id %" PRIu32 ", which is not one of a guest",
		      process->cid);
		advise(doctor, "give the guest a context id from 3 on (guest-cid=)");
	}
}

void hypervisor_examine(struct doctor *doctor)
{
	size_t i;

	if (!doctor->hypervisors.all) {
		found(doctor, UNSEEN, "processes", "",
		      "processes of other users are hidden, so QEMU's arguments were not examined");
		advise(doctor, "run this command as root");
	}
	for (i = 0; i < doctor->hypervisors.nr; i++)
		examine_process(doctor, i);
	if (doctor->hypervisors.nr)
		found(doctor, PASSED, "hypervisors", "", "%zu processes of hypervisors were examined",
		      doctor->hypervisors.nr);
}
