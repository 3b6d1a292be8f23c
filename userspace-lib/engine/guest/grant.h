/* SPDX-License-Identifier: MIT */
/* Grants: the guest's rights to use exports. */
#ifndef ENGINE_GRANT_H
#define ENGINE_GRANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "policy.h"
#include "shared/proto.h"

/**
 * struct grant - the right of the guest to use an export
 * @id: number by which the guest names the export
 * @export: vgpud's number of the export
 * @revoked: true if the guest may no longer open the export
 * @users: number of objects with this grant, plus one until the grant is revoked
 * @device: number from struct vgpu_export_add, the same for all nodes of one device
 * @rdev: device number of the export's node
 * @driver: name of the driver, from struct vgpu_export_add
 * @no_demand: true if VGPU_HOST_EXPORT_NO_DEMAND is set
 * @limits: @limits of each struct object that comes from the export
 * @shared_device: @device of struct engine_grant
 * @told_len: number of bytes in @told
 * @told: the message by which vgpud has told of the grant, while it is not revoked
 * @policy: policy of the export, whose lists of ioctls are in @ioctls
 * @ioctls: both lists of ioctls of @policy, one behind the other
 */
struct grant {
	LIST_ENTRY(grant) node;
	uint32_t id;
	uint32_t export;
	bool revoked;
	unsigned int users;
	uint64_t device;
	dev_t rdev;
	char driver[VGPU_NAME_LEN];
	bool no_demand;
	uint64_t limits;
	uint32_t shared_device;
	size_t told_len;
	void *told;
	struct vgpu_policy policy;
	uint32_t ioctls[];
};

/*
 * Add a grant, and tell the guest. If the export is granted already, nothing happens if the grant is
 * the same; else the new one takes its place. Return: the grant.
 */
struct grant *grant_add(const struct engine_grant *msg, size_t len);
void grant_revoke(uint32_t export);
void grant_change(const struct engine_change *msg);
void grant_file(const struct engine_file *msg, size_t len);
/* Return: the grant with this number, or NULL if there is none or the grant is revoked. */
struct grant *grant_find(uint32_t id);
void grant_put(struct grant *grant);
/* Return: true if the guest may use, or was once able to use, files of NVIDIA's driver. */
bool grants_had_nvidia(void);
/* Return: bit mask of the devices to which the guest gives work, by @device of struct engine_grant. */
uint64_t grants_devices(void);
/* Fill in the policy of a grant for a shadow. Return: length of the policy in bytes. */
size_t grant_describe(const struct grant *grant, struct eshadow_policy *policy);
/*
 * Fill in the policy of a file that is no device, but that calls on devices have made: it has the
 * lists of ioctls of all exports in @limits. Return: length of the policy in bytes.
 */
size_t limits_describe(uint64_t limits, struct eshadow_policy *policy);
/* Return: true if the drivers of at least one export in @limits do not wait for guest memory. */
bool limits_no_demand(uint64_t limits);

#endif /* ENGINE_GRANT_H */
