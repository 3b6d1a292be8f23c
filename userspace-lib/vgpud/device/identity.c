// SPDX-License-Identifier: MIT
/* Identity of a device on its bus, from files of sysfs. */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/vgpu_wire.h>

#include "base/sysfs.h"
#include "device/identity.h"

/* Set the name, which must fit and be printable to go into a message. */
static bool set_bus_id(struct identity *identity, const char *name, size_t len)
{
	size_t i;

	if (!len || len >= sizeof(identity->bus_id))
		return false;
	for (i = 0; i < len; i++)
		if (name[i] <= ' ' || name[i] > '~')
			return false;
	memcpy(identity->bus_id, name, len);
	identity->bus_id[len] = '\0';
	return true;
}

/*
 * Read the name that libdrm uses for a platform device without a device tree node: the end of
 * the device's MODALIAS.
 */
static bool read_modalias(const char *dir, struct identity *identity)
{
	char text[4096], *line, *end, *colon;
	size_t len = sysfs_read(dir, "uevent", text, sizeof(text) - 1);

	text[len] = '\0';
	line = strstr(text, "MODALIAS=");
	if (!line || (line != text && line[-1] != '\n'))
		return false;
	end = line + strcspn(line, "\n");
	*end = '\0';
	colon = strrchr(line, ':');
	return colon && set_bus_id(identity, colon + 1, end - colon - 1);
}

/*
 * Read the name and header of a PCI function. A function that does not wake up reads as all
 * ones.
 */
static bool read_pci(const char *dir, struct identity *identity)
{
	const uint8_t *header = identity->pci_header;
	const char *name = strrchr(dir, '/') + 1;

	return sysfs_read(dir, "config", identity->pci_header, sizeof(identity->pci_header)) ==
		       sizeof(identity->pci_header) &&
	       (header[0] != 0xff || header[1] != 0xff) &&
	       set_bus_id(identity, name, strlen(name));
}

static bool read_device(char *dir, struct identity *identity)
{
	const char *device = dir;
	char parent[PATH_MAX], bus[64];

	sysfs_link_name(dir, "subsystem", bus, sizeof(bus));
	if (!strcmp(bus, "virtio")) {
		snprintf(parent, sizeof(parent), "%s", dir);
		*strrchr(parent, '/') = '\0';
		device = parent;
		sysfs_link_name(device, "subsystem", bus, sizeof(bus));
	}
	if (!strcmp(bus, "pci")) {
		identity->bus = VGPU_BUS_PCI;
		return read_pci(device, identity);
	}
	if (!strcmp(bus, "platform")) {
		identity->bus = VGPU_BUS_PLATFORM;
		return read_modalias(dir, identity);
	}
	if (!strcmp(bus, "faux")) {
		identity->bus = VGPU_BUS_FAUX;
		device = strrchr(dir, '/') + 1;
		return set_bus_id(identity, device, strlen(device));
	}
	return false;
}

void identity_read(const char *parent, struct identity *identity)
{
	char *device = realpath(parent, NULL);

	memset(identity, 0, sizeof(*identity));
	if (!device)
		return;
	if (!read_device(device, identity))
		memset(identity, 0, sizeof(*identity));
	free(device);
}

void identity_read_title(const char *dir, const char *attribute, char *title, size_t size)
{
	size_t i, len = sysfs_read(dir, attribute, title, size - 1);

	title[len] = '\0';
	title[strcspn(title, "\n")] = '\0';
	for (i = 0; title[i]; i++)
		if (title[i] < ' ' || title[i] > '~')
			title[i] = '?';
}

void identity_words(const struct identity *identity, char words[96])
{
	const uint8_t *header = identity->pci_header;

	switch (identity->bus) {
	case VGPU_BUS_PCI:
		snprintf(words, 96, "pci %s %02x%02x:%02x%02x", identity->bus_id, header[1],
			 header[0], header[3], header[2]);
		break;
	case VGPU_BUS_PLATFORM:
		snprintf(words, 96, "platform %s", identity->bus_id);
		break;
	case VGPU_BUS_FAUX:
		snprintf(words, 96, "faux %s", identity->bus_id);
		break;
	default:
		words[0] = '\0';
	}
}
