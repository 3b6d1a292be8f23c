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

/* @dir: folder of sysfs of a device file. What cannot be told is VGPU_BUS_NONE. */
void identity_read(const char *dir, struct identity *identity);

/* V4L2's name of a node, as far as it may go into a message. */
void identity_read_title(const char *dir, char *title, size_t size);

/* "pci 0000:01:00.0 10de:1b80", for people; "" for VGPU_BUS_NONE. */
void identity_words(const struct identity *identity, char words[96]);

#endif /* VGPUD_IDENTITY_H */
