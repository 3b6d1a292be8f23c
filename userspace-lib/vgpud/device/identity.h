/* SPDX-License-Identifier: MIT */
/* Identity of a device on its bus, by which a guest can show the device as the same one. */
#ifndef VGPUD_IDENTITY_H
#define VGPUD_IDENTITY_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct identity - a device on its bus
 * @bus: kind of the bus, VGPU_BUS_*
 * @bus_id: name of the device on the bus; "" for VGPU_BUS_NONE
 * @pci_header: first bytes of the configuration space, for VGPU_BUS_PCI
 */
struct identity {
	uint32_t bus;
	char bus_id[64];
	uint8_t pci_header[64];
};

/* Read the identity of the device in sysfs directory @parent; VGPU_BUS_NONE if it is not known. */
void identity_read(const char *parent, struct identity *identity);

/* Read an attribute of a device file. Characters that must not go into a message become '?'. */
void identity_read_title(const char *dir, const char *attribute, char *title, size_t size);

/* Describe an identity for people: "pci 0000:01:00.0 10de:1b80"; "" for VGPU_BUS_NONE. */
void identity_words(const struct identity *identity, char words[96]);

#endif /* VGPUD_IDENTITY_H */
