// SPDX-License-Identifier: MIT
/* Grants: which exports the guest may use, and how. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "engine.h"
#include "lend.h"

static LIST_HEAD(, grant) grants = LIST_HEAD_INITIALIZER(grants);
static uint32_t last_id;

void grant_add(const struct engine_grant *msg, size_t len)
{
	struct vgpu_export_add add;
	struct grant *grant;

	if (len < offsetof(struct engine_grant, ioctls) ||
	    msg->nr_ioctls > VGPU_POLICY_IOCTLS_MAX ||
	    len < offsetof(struct engine_grant, ioctls) + msg->nr_ioctls * sizeof(uint32_t))
		engine_end("vgpud says what it cannot mean");
	grant = calloc(1, sizeof(*grant) + msg->nr_ioctls * sizeof(uint32_t));
	if (!grant)
		engine_end("out of memory");
	memcpy(grant->ioctls, msg->ioctls, msg->nr_ioctls * sizeof(uint32_t));
	grant->id = ++last_id;
	grant->export = msg->export;
	grant->users = 1;
	grant->device = le64_to_cpu(msg->add.device);
	grant->rdev = makedev(le32_to_cpu(msg->add.rdev_major), le32_to_cpu(msg->add.rdev_minor));
	grant->no_demand = msg->no_demand;
	memcpy(grant->driver, msg->add.driver, sizeof(grant->driver) - 1);
	grant->policy = (struct vgpu_policy) {
		.kind = le32_to_cpu(msg->add.kind),
		.master = msg->master,
		.read_only = msg->flags & VGPU_HOST_GRANT_READ_ONLY,
		.deny = msg->deny,
		.nr_ioctls = msg->nr_ioctls,
		.ioctls = grant->ioctls,
	};
	LIST_INSERT_HEAD(&grants, grant, node);
	lend_learn(grant);
	add = msg->add;
	add.hdr = (struct vgpu_hdr) {
		.len = cpu_to_le32(sizeof(add)),
		.type = cpu_to_le16(VGPU_MSG_EXPORT_ADD),
	};
	add.export = cpu_to_le32(grant->id);
	control_send(&add, sizeof(add));
}

void grant_put(struct grant *grant)
{
	if (!grant || --grant->users)
		return;
	LIST_REMOVE(grant, node);
	free(grant);
}

static struct grant *grant_of(uint32_t export)
{
	struct grant *grant;

	LIST_FOREACH(grant, &grants, node)
		if (grant->export == export && !grant->revoked)
			return grant;
	return NULL;
}

void grant_revoke(uint32_t export)
{
	struct grant *grant = grant_of(export);
	struct vgpu_export_del msg = {
		.hdr.len = cpu_to_le32(sizeof(msg)),
		.hdr.type = cpu_to_le16(VGPU_MSG_EXPORT_DEL),
	};

	if (!grant)
		return;
	grant->revoked = true;
	msg.export = cpu_to_le32(grant->id);
	grant_put(grant);
	control_send(&msg, sizeof(msg));
}

void grant_change(const struct engine_change *change)
{
	struct grant *grant = grant_of(change->export);
	struct vgpu_export_change msg = {
		.hdr.len = cpu_to_le32(sizeof(msg)),
		.hdr.type = cpu_to_le16(VGPU_MSG_EXPORT_CHANGE),
		.flags = cpu_to_le32(change->flags),
		.connector = cpu_to_le32(change->connector),
		.property = cpu_to_le32(change->property),
		.wedged = cpu_to_le32(change->wedged),
	};

	if (!grant)
		return;
	msg.export = cpu_to_le32(grant->id);
	/* Files first: whoever hears of a change looks there. */
	control_send_later(&msg, sizeof(msg));
}

static void file_send(const struct grant *grant, const struct engine_file *file)
{
	static union {
		struct vgpu_export_file head;
		__u8 bytes[VGPU_CONTROL_MSG_MAX];
	} msg;
	__u32 at = 0, part, len;

	do {
		part = file->len - at < VGPU_FILE_PART ? file->len - at : VGPU_FILE_PART;
		len = sizeof(msg.head) + vgpu_wire_pad(part);
		memset(&msg, 0, len);
		msg.head.hdr.len = cpu_to_le32(len);
		msg.head.hdr.type = cpu_to_le16(VGPU_MSG_EXPORT_FILE);
		msg.head.export = cpu_to_le32(grant->id);
		msg.head.flags = cpu_to_le32(file->flags);
		msg.head.size = cpu_to_le32(file->len);
		msg.head.offset = cpu_to_le32(at);
		memcpy(msg.head.name, file->name, sizeof(msg.head.name));
		memcpy(msg.bytes + sizeof(msg.head), file->data + at, part);
		control_send_later(&msg, len);
		at += part;
	} while (at < file->len);
}

void grant_file(const struct engine_file *file, size_t len)
{
	struct grant *grant;

	if (len < offsetof(struct engine_file, data) || file->len > VGPU_FILE_MAX ||
	    len < offsetof(struct engine_file, data) + file->len)
		engine_end("vgpud says what it cannot mean");
	grant = grant_of(file->export);
	if (grant)
		file_send(grant, file);
}

struct grant *grant_find(uint32_t id)
{
	struct grant *grant;

	LIST_FOREACH(grant, &grants, node)
		if (grant->id == id && !grant->revoked)
			return grant;
	return NULL;
}

static void grant_describe_lists(const struct grant *grant, struct eshadow_policy *policy)
{
	policy->deny = grant->policy.deny;
	policy->nr_ioctls = grant->policy.nr_ioctls;
	memcpy(policy->ioctls, grant->ioctls, grant->policy.nr_ioctls * sizeof(uint32_t));
}

size_t grant_describe(const struct grant *grant, struct eshadow_policy *policy)
{
	/* All of it is sent, and a shadow is not to see what was on the stack. */
	memset(policy, 0, sizeof(*policy));
	if (!grant)
		return sizeof(*policy);
	policy->export = grant->export;
	policy->kind = grant->policy.kind;
	policy->master = grant->policy.master;
	policy->read_only = grant->policy.read_only;
	policy->rdev = grant->rdev;
	grant_describe_lists(grant, policy);
	return sizeof(*policy);
}

size_t grant_describe_derived(const struct grant *origin, struct eshadow_policy *policy)
{
	memset(policy, 0, sizeof(*policy));
	/* The driver's own numbers mean nothing on a derived file (vgpu_policy_derived()). */
	policy->kind = VGPU_EXPORT_PLAIN;
	if (origin)
		grant_describe_lists(origin, policy);
	return sizeof(*policy);
}
