// SPDX-License-Identifier: MIT
/* NVIDIA's own driver: names of its device files, and the PCI devices of its cards. */
#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "device/nvidia.h"

#define NVIDIA_MAJOR		195
#define NVIDIA_MODESET_MINOR	254
#define NVIDIA_CTL_MINOR	255

/* Check whether a driver has the major number. @begins: @name is only the beginning of its name. */
static bool major_is(unsigned int number, const char *name, bool begins)
{
	FILE *devices = fopen("/proc/devices", "re");
	char line[128], driver[64];
	bool found = false;
	unsigned int other;

	if (!devices)
		return false;
	while (!found && fgets(line, sizeof(line), devices)) {
		if (!strncmp(line, "Block", 5))
			break;
		found = sscanf(line, "%u %63s", &other, driver) == 2 && other == number &&
			(begins ? !strncmp(driver, name, strlen(name)) : !strcmp(driver, name));
	}
	fclose(devices);
	return found;
}

bool nvidia_find(dev_t rdev, char title[64], char driver[32])
{
	unsigned int number = minor(rdev);

	if (major(rdev) == NVIDIA_MAJOR && major_is(NVIDIA_MAJOR, "nvidia", true)) {
		strcpy(driver, "nvidia");
		if (number == NVIDIA_CTL_MINOR)
			strcpy(title, "nvidiactl");
		else if (number == NVIDIA_MODESET_MINOR)
			strcpy(title, "nvidia-modeset");
		else
			snprintf(title, 64, "nvidia%u", number);
		return number < NVIDIA_CARDS || number >= NVIDIA_MODESET_MINOR;
	}
	if (number <= 1 && major_is(major(rdev), "nvidia-uvm", false)) {
		strcpy(driver, "nvidia-uvm");
		strcpy(title, number ? "nvidia-uvm-tools" : "nvidia-uvm");
		return true;
	}
	return false;
}

bool nvidia_is_card(dev_t rdev)
{
	return major(rdev) == NVIDIA_MAJOR && minor(rdev) < NVIDIA_CARDS;
}

/* Check whether an "information" file in /proc belongs to the card with this minor number. */
static bool information_is_of(const char *path, unsigned int number)
{
	FILE *information = fopen(path, "re");
	unsigned int other = number + 1;
	char line[256];

	if (!information)
		return false;
	while (fgets(line, sizeof(line), information))
		if (sscanf(line, "Device Minor: %u", &other) == 1)
			break;
	fclose(information);
	return other == number;
}

/*
 * Cache of the cards' devices. @bound is the inode of the device's link to its driver, which is
 * a new one each time that a driver binds the device. A minor number changes only then. The
 * driver, which may hang, is thus not asked whenever some device comes or goes.
 */
static struct {
	ino_t bound;
	char path[64];
} known[NVIDIA_CARDS];

/*
 * Return the inode of the device's link to its driver; 0: NVIDIA's driver does not have the
 * device.
 */
static ino_t bound_by(const char *path)
{
	struct stat link, folder;
	char name[80];

	snprintf(name, sizeof(name), NVIDIA_PROC "/gpus%s", strrchr(path, '/'));
	if (stat(name, &folder))
		return 0;
	snprintf(name, sizeof(name), "%s/driver", path);
	return lstat(name, &link) ? 0 : link.st_ino;
}

static bool pci_search(unsigned int number, char *path, size_t size)
{
	const size_t before = strlen(NVIDIA_PROC "/gpus/");
	bool is_found = false;
	glob_t found;
	size_t i;

	if (glob(NVIDIA_PROC "/gpus/*/information", 0, NULL, &found))
		return false;
	for (i = 0; !is_found && i < found.gl_pathc; i++) {
		if (!information_is_of(found.gl_pathv[i], number))
			continue;
		*strrchr(found.gl_pathv[i], '/') = '\0';
		snprintf(path, size, "/sys/bus/pci/devices/%s", found.gl_pathv[i] + before);
		is_found = true;
	}
	globfree(&found);
	return is_found;
}

bool nvidia_find_pci(const char *title, char *path, size_t size)
{
	const char *digits = title + strlen("nvidia");
	unsigned long number;

	if (!isdigit((unsigned char)*digits))
		return false;
	number = strtoul(digits, NULL, 10);
	if (number >= NVIDIA_CARDS)
		return false;
	if (known[number].bound && bound_by(known[number].path) == known[number].bound) {
		snprintf(path, size, "%s", known[number].path);
		return true;
	}
	known[number].bound = 0;
	if (!pci_search(number, path, size))
		return false;
	snprintf(known[number].path, sizeof(known[number].path), "%s", path);
	known[number].bound = bound_by(known[number].path);
	return true;
}

bool nvidia_is_divided(const char *title)
{
	const char *digits = title + strlen("nvidia");
	char path[128];
	glob_t found;

	if (!isdigit((unsigned char)*digits))
		return false;
	snprintf(path, sizeof(path), NVIDIA_PROC "/capabilities/gpu%s/mig/gi[0-9]*", digits);
	if (glob(path, GLOB_NOSORT, NULL, &found))
		return false;
	globfree(&found);
	return true;
}

ssize_t nvidia_params(char *text, size_t len, size_t size)
{
	static const char key[] = "ModifyDeviceFiles:", value[] = " 0\n";
	const size_t key_len = sizeof(key) - 1, value_len = sizeof(value) - 1;
	size_t at = 0, end;

	/* Find the beginning of the key's line, or the end of the text. */
	while (at < len && (len - at < key_len || memcmp(text + at, key, key_len))) {
		while (at < len && text[at] != '\n')
			at++;
		at += at < len;
	}
	end = at;
	while (end < len && text[end] != '\n')
		end++;
	end += end < len;
	if (len - (end - at) + key_len + value_len > size)
		return -1;
	memmove(text + at + key_len + value_len, text + end, len - end);
	memcpy(text + at, key, key_len);
	memcpy(text + at + key_len, value, value_len);
	return len - (end - at) + key_len + value_len;
}
