// SPDX-License-Identifier: MIT
/* NVIDIA's driver on the host, and its libraries in a guest. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vgpuctl/doctor/doctor.h"

#define VERSION_FILE	"/proc/driver/nvidia/version"

/* Releases that the schemas follow (Documentation/admin/nvidia.rst). */
#define OLDEST	550
#define NEWEST	595

static const char *const nodes[] = { "/dev/nvidiactl", "/dev/nvidia-uvm" };
static const char *const libraries[] = { "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib" };

/* Read the version of the driver: the first word of the form 580.159.04. */
static bool read_version(const struct doctor *doctor, char version[64])
{
	char line[256], *word, *rest;

	version[0] = '\0';
	if (!root_line(&doctor->root, VERSION_FILE, line))
		return false;
	for (word = strtok_r(line, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest))
		if (isdigit((unsigned char)*word) && strchr(word, '.') &&
		    strspn(word, "0123456789.") == strlen(word)) {
			snprintf(version, 64, "%s", word);
			return true;
		}
	return false;
}

static void examine_release(struct doctor *doctor, const char *version)
{
	int release = atoi(version);

	if (release >= OLDEST && release <= NEWEST) {
		found(doctor, PASSED, "nvidia-version", "", "NVIDIA's driver has version %s", version);
		return;
	}
	found(doctor, WARNING, "nvidia-version-unknown", "",
	      "NVIDIA's driver has version %s, but vgpu knows %d to %d: calls that have changed may be slow or fail",
	      version, OLDEST, NEWEST);
	advise(doctor, "take a driver of these releases on the host, and its libraries in guests (Documentation/admin/nvidia.rst)");
}

static bool is_nvidia(const struct wanted *wanted)
{
	return wanted->nvidia || !strncmp(wanted->path, "/dev/nvidia", strlen("/dev/nvidia"));
}

/* CUDA and Vulkan use memory of the card for which a copy is of no use. */
static void examine_windows(struct doctor *doctor, const struct wanted *wanted)
{
	uint32_t cid;
	char about[16];
	size_t i, j;
	bool has;

	for (i = 0; i < wanted->nr_guests; i++) {
		cid = wanted->guests[i];
		has = settings_window(&doctor->settings, cid);
		for (j = 0; doctor->info && j < doctor->info->nr_windows; j++)
			has |= doctor->info->windows[j]->cid == cid;
		if (has)
			continue;
		snprintf(about, sizeof(about), "%" PRIu32, cid);
		found(doctor, ERROR, "nvidia-without-window", about,
		      "guest %" PRIu32 " gets a card of NVIDIA's driver, but no window: only programs like nvidia-smi work there",
		      cid);
		advise(doctor, "add 'window = 4G' to [%s] of %s, reload, and give QEMU what 'vgpuctl window qemu-args --to %" PRIu32 "' prints",
		       wanted->name, wanted->file, cid);
	}
}

void nvidia_examine(struct doctor *doctor)
{
	bool exported = false;
	char version[64];
	size_t i;

	for (i = 0; i < doctor->settings.nr_exports; i++) {
		if (!is_nvidia(&doctor->settings.exports[i]))
			continue;
		exported = true;
		examine_windows(doctor, &doctor->settings.exports[i]);
	}
	if (!exported)
		return;
	if (!read_version(doctor, version)) {
		found(doctor, ERROR, "nvidia-not-loaded", "",
		      "a card of NVIDIA's driver is exported, but that driver is not loaded%s",
		      module_is_loaded(doctor, "nouveau") ? " (nouveau has the cards)" : "");
		advise(doctor, "%smodprobe nvidia nvidia_uvm; if that fails: dmesg",
		       module_is_loaded(doctor, "nouveau") ? "blacklist nouveau, restart the machine, then: " : "");
		return;
	}
	examine_release(doctor, version);
	for (i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		if (root_exists(&doctor->root, nodes[i]))
			continue;
		found(doctor, WARNING, "nvidia-node-missing", nodes[i],
		      "%s does not exist, so guests cannot have it", nodes[i]);
		advise(doctor, "nvidia-modprobe -u -c 0 makes it (the driver sends no uevent); an export of a file follows by itself");
	}
}

/* --- guest -------------------------------------------------------------------- */

/* Find the version of NVIDIA's libraries by their names. */
static bool find_library(const struct doctor *doctor, const char *dir, const char *prefix,
			 char version[64])
{
	DIR *list = root_dir(&doctor->root, dir);
	struct dirent *entry;
	const char *end;
	bool there = false;

	while (list && !there && (entry = readdir(list))) {
		end = entry->d_name + strlen(prefix);
		there = !strncmp(entry->d_name, prefix, strlen(prefix)) && strchr(end, '.') &&
			strspn(end, "0123456789.") == strlen(end);
		if (there)
			snprintf(version, 64, "%s", end);
	}
	if (list)
		closedir(list);
	return there;
}

void guest_nvidia_examine(struct doctor *doctor)
{
	char version[64], library[64];
	bool there = false;
	size_t i;

	if (!read_version(doctor, version))
		return;
	examine_release(doctor, version);
	for (i = 0; !there && i < sizeof(libraries) / sizeof(libraries[0]); i++)
		there = find_library(doctor, libraries[i], "libcuda.so.", library) ||
			find_library(doctor, libraries[i], "libnvidia-ml.so.", library);
	if (!there) {
		found(doctor, WARNING, "nvidia-library-missing", "",
		      "NVIDIA's libraries are not in the usual places of this guest");
		advise(doctor, "install NVIDIA's libraries of version %s, without its modules", version);
	} else if (strcmp(library, version)) {
		found(doctor, ERROR, "nvidia-library-version", "",
		      "NVIDIA's libraries have version %s, but the host's driver has version %s, and refuses all others",
		      library, version);
		advise(doctor, "install NVIDIA's libraries of version %s in this guest", version);
	} else {
		found(doctor, PASSED, "nvidia-library", "", "NVIDIA's libraries have the version of the host's driver");
	}
}
