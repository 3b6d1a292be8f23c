/* SPDX-License-Identifier: MIT */
/*
 * NVIDIA's own driver: its device files are in no class of sysfs, so what they are follows from
 * their numbers, and which card is which from files of /proc.
 */
#ifndef VGPUD_NVIDIA_H
#define VGPUD_NVIDIA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define NVIDIA_PROC	"/proc/driver/nvidia"
/* Numbers of cards are below. */
#define NVIDIA_CARDS	248

/*
 * Is it a device file of that driver? @title: its usual name; @driver: "nvidia" or
 * "nvidia-uvm".
 */
bool nvidia_find(dev_t rdev, char title[64], char driver[32]);
/* Is it the number of a card, not of another file of that driver? */
bool nvidia_is_card(dev_t rdev);
/* The folder of sysfs of a card's PCI device, by its node's usual name; false: it is none. */
bool nvidia_find_pci(const char *title, char *path, size_t size);
/* Is it a card, by its usual name, that has MIG instances now? */
bool nvidia_is_divided(const char *title);
/*
 * Changes /proc/driver/nvidia/params, of @len bytes in a buffer of @size, to say that programs
 * make no device files by themselves. Return: bytes, or -1: there is no room. Allocates nothing.
 */
ssize_t nvidia_params(char *text, size_t len, size_t size);

#endif /* VGPUD_NVIDIA_H */
