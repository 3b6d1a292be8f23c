/* SPDX-License-Identifier: MIT */
/*
 * What a device is on its bus, so that a guest can show it as the same.
 */
#ifndef VGPUD_IDENTITY_H
#define VGPUD_IDENTITY_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct identity - a device on its bus
 * @bus: VGPU_BUS_*
 * @bus_id: its name there; VGPU_BUS_NONE: ""
 * @pci_header: VGPU_BUS_PCI: the beginning of its configuration space
 */
struct identity {
	uint32_t bus;
	char bus_id[64];
	uint8_t pci_header[64];
};

/* @parent: folder of sysfs of the device. What cannot be told is VGPU_BUS_NONE. */
void identity_read(const char *parent, struct identity *identity);

/* What an attribute says of a device file, as far as it may go into a message. */
void identity_read_title(const char *dir, const char *attribute, char *title, size_t size);

/* "pci 0000:01:00.0 10de:1b80", for people; "" for VGPU_BUS_NONE. */
void identity_words(const struct identity *identity, char words[96]);

#endif /* VGPUD_IDENTITY_H */
