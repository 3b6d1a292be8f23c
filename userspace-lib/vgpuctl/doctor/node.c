// SPDX-License-Identifier: MIT
/* Devices of a guest: their state, who may open them, and how their calls and mappings go. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vgpuctl/doctor/doctor.h"

#define CLASS		"/sys/class/vgpu"
#define IVSHMEM		"0x1af41110"
#define BAR		2
#define LOW		(4ULL << 30)

/* Check whether a group of /etc/group has members. */
static bool has_members(const char *text, const char *name)
{
	const char *line = text, *end;
	size_t len = strlen(name);

	while (line && (strncmp(line, name, len) || line[len] != ':')) {
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	end = line ? strchrnul(line, '\n') : NULL;
	return line && end[-1] != ':';
}

static bool read_of(const struct doctor *doctor, const char *node, const char *attribute,
		    char line[256])
{
	char path[600];

	snprintf(path, sizeof(path), CLASS "/%s/%s", node, attribute);
	return root_line(&doctor->root, path, line);
}

static unsigned long number_of(const struct doctor *doctor, const char *node, const char *attribute)
{
	char line[256];

	return read_of(doctor, node, attribute, line) ? strtoul(line, NULL, 10) : 0;
}

/* Examine who may open a node. The rules of udev give it to the group of render nodes. */
static void examine_mode(struct doctor *doctor, const char *node)
{
	char path[300];
	struct stat st;

	snprintf(path, sizeof(path), "/dev/%s", node);
	if (root_stat(&doctor->root, path, &st)) {
		found(doctor, ERROR, "node-missing", node, "%s is not there, although the device is",
		      path);
		advise(doctor, "is this a container, or is /dev not managed by udev?");
		return;
	}
	if (!(st.st_mode & 006) && (!(st.st_mode & 060) || !st.st_gid)) {
		found(doctor, WARNING, "node-closed", node, "only root may open %s", path);
		advise(doctor, root_exists(&doctor->root, "/usr/lib/udev/rules.d/60-vgpu.rules") ||
		       root_exists(&doctor->root, "/etc/udev/rules.d/60-vgpu.rules") ?
		       "udevadm trigger --subsystem-match=vgpu" :
		       "install userspace-lib/conf/60-vgpu.rules in /usr/lib/udev/rules.d, then: udevadm control --reload && udevadm trigger --subsystem-match=vgpu");
	}
	if (root_is_live(&doctor->root) && access(path, R_OK | W_OK)) {
		found(doctor, WARNING, "node-denied", node, "this user may not open %s: %s", path,
		      strerror(errno));
		advise(doctor, "add the user to the group of the node (ls -l %s), and log in again", path);
	}
}

static void examine_state(struct doctor *doctor, const char *node)
{
	char state[256], unknown[256];
	bool copies = number_of(doctor, node, "copy_mappings");

	if (read_of(doctor, node, "state", state) && *state && strcmp(state, "connected")) {
		found(doctor, ERROR, "device-lost", node, "the device %s is not usable: %s", node,
		      state);
		advise(doctor, "programs have to open the device again when its host is connected; the kernel's log says why it was lost: dmesg");
	}
	if (read_of(doctor, node, "unknown_ioctls", unknown) && *unknown) {
		found(doctor, WARNING, "ioctl-unknown", node,
		      "programs make ioctls of %s that this version does not know, such as %s; they are slow, and fail if their arguments hold fds",
		      node, unknown);
		advise(doctor, "report them: vgpuctl status --json");
	}
	if (copies && !number_of(doctor, node, "window_mappings")) {
		found(doctor, WARNING, "mappings-copied", node,
		      "all mappings of %s go by copy, which is slow, and of no use for Vulkan and CUDA",
		      node);
		advise(doctor, "this guest needs a window: on the host 'vgpuctl window create --to CID --size 4G' and QEMU's arguments (Documentation/admin/window.rst); if it has one, it may be full");
	}
}

void guest_node_examine(struct doctor *doctor)
{
	DIR *dir = root_dir(&doctor->root, CLASS);
	struct dirent *entry;
	size_t nr = 0;
	char *text;

	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "vgpu", 4))
			continue;
		examine_mode(doctor, entry->d_name);
		examine_state(doctor, entry->d_name);
		nr++;
	}
	if (dir)
		closedir(dir);
	if (dir && !nr) {
		found(doctor, WARNING, "device-missing", "", "this guest has no device of a host");
		advise(doctor, "on the host: does 'vgpuctl list' show an export for this guest, whose device is there? If so, this guest's kernel refused it: dmesg");
	}
	text = root_read(&doctor->root, "/etc/group", NULL);
	if (text && strncmp(text, "render:", 7) && !strstr(text, "\nrender:")) {
		found(doctor, WARNING, "render-group-missing", "render",
		      "there is no group render, to which udev's rules give devices");
		advise(doctor, "groupadd --system render, then: udevadm trigger");
	} else if (text && nr && !has_members(text, "render")) {
		found(doctor, NOTE, "render-group-empty", "render",
		      "the group render has no members, so of the users only those whom a desktop session gives a device can use one");
		advise(doctor, "adduser USER render (or usermod -aG render USER), and log in again");
	}
	free(text);
}

/* --- window ------------------------------------------------------------------------ */

/* Examine the memory of a device that may be a window. */
static void examine_memory(struct doctor *doctor, const char *device)
{
	char path[320], *text, *line;
	unsigned long long start = 0, end = 0;
	int bar;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource", device);
	text = root_read(&doctor->root, path, NULL);
	for (line = text, bar = 0; line && bar < BAR; bar++) {
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	if (!line || sscanf(line, "%llx %llx", &start, &end) != 2)
		end = 0;
	free(text);
	if (!end) {
		found(doctor, ERROR, "window-unassigned", device,
		      "the memory of the window's device has no address");
		advise(doctor, "does the firmware have room for it? Use q35 and OVMF, or a smaller window; dmesg | grep BAR");
	} else if (start < LOW) {
		found(doctor, WARNING, "window-low", device,
		      "the window lies below 4 GiB, where PCI memory is uncached, so mappings go by copy");
		advise(doctor, "on the host: make the window 4G or larger, and start the guest again");
	}
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver", device);
	if (module_is_loaded(doctor, "vgpu_guest") && !root_exists(&doctor->root, path)) {
		found(doctor, WARNING, "window-unclaimed", device,
		      "vgpu_guest did not take this ivshmem device, so it is no window, or the window's QEMU runs without share=on");
		advise(doctor, "compare QEMU's arguments with 'vgpuctl window qemu-args' on the host");
	}
}

void guest_window_examine(struct doctor *doctor)
{
	DIR *dir = root_dir(&doctor->root, "/sys/bus/pci/devices");
	char path[320], vendor[256], device[256], id[600];
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/vendor", entry->d_name);
		root_line(&doctor->root, path, vendor);
		snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/device", entry->d_name);
		root_line(&doctor->root, path, device);
		snprintf(id, sizeof(id), "%s%s", vendor, strlen(device) > 2 ? device + 2 : "");
		if (!strcmp(id, IVSHMEM))
			examine_memory(doctor, entry->d_name);
	}
	if (dir)
		closedir(dir);
}
