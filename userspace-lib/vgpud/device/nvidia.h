/* SPDX-License-Identifier: MIT */
/*
 * NVIDIA's own driver. Its device files are in no class of sysfs, so their kinds follow from
 * their numbers, and the device of a card is found in /proc.
 */
#ifndef VGPUD_NVIDIA_H
#define VGPUD_NVIDIA_H

#include <stdbool.h>
#include <sys/types.h>

#define NVIDIA_PROC	"/proc/driver/nvidia"
/* Minor numbers of cards are below this. */
#define NVIDIA_CARDS	248

/*
 * Check whether @rdev is a device of NVIDIA's driver. @title: set to the usual name of its
 * file; @driver: set to "nvidia" or "nvidia-uvm".
 */
bool nvidia_find(dev_t rdev, char title[64], char driver[32]);
/* Check whether @rdev is a card, not another device of the driver. */
bool nvidia_is_card(dev_t rdev);
/* Find the sysfs directory of a card's PCI device by the usual name of the card's file. */
bool nvidia_find_pci(const char *title, char *path, size_t size);
/* Check whether a card, given by the usual name of its file, has MIG instances now. */
bool nvidia_is_divided(const char *title);
/*
 * Change the content of /proc/driver/nvidia/params so that programs do not make device files.
 * @text has @len bytes in a buffer of @size. Allocates nothing. Return: the new length; -1: no
 * room.
 */
ssize_t nvidia_params(char *text, size_t len, size_t size);

#endif /* VGPUD_NVIDIA_H */
