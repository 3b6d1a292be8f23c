/* SPDX-License-Identifier: MIT */
/* Lists of the ioctls that guests may make of an export's device. */
#ifndef VGPUD_LIST_H
#define VGPUD_LIST_H

#include <linux/vgpu_host.h>

#include "base/answer.h"
#include "device/device.h"
#include "export/spec.h"

/**
 * struct ioctl_list - list of ioctls, as the host module or an engine gets it
 * @keys: array of vgpu_ioctl_key() of the commands, or VGPU_HOST_IOCTL_NONE alone
 * @nr: number of entries of @keys; 0: all ioctls are allowed
 * @deny: true if the ioctls are refused, false if only they are allowed
 */
struct ioctl_list {
	uint32_t keys[EXPORT_IOCTLS_MAX];
	size_t nr;
	bool deny;
};

/*
 * Make the list of an export whose device is @device, from its profiles and its own list.
 * @read_only: only ioctls that are known to query are allowed. Return: 0, or a negative errno with
 * words in @answer: the export names ioctls or profiles that the device does not have.
 */
int export_list(const struct export_spec *spec, const struct device *device, bool read_only,
		struct ioctl_list *list, struct answer *answer);
/*
 * List the ioctls that give the device work: those of its driver that vgpud knows, and those that
 * the export names. Return: how many there are.
 */
size_t export_submits(const struct export_spec *spec, const struct device *device,
		      uint32_t keys[VGPU_HOST_SUBMITS_MAX]);
/* Check that export_list() can make the list. */
int export_list_check(const struct export_spec *spec, const struct device *device,
		      struct answer *answer);

#endif /* VGPUD_LIST_H */
