// SPDX-License-Identifier: MIT
/* Grants: the guest's rights to use exports. */
#include <stdlib.h>
#include <sys/sysmacros.h>

#include "engine/base/agent.h"
#include "engine/guest/control.h"
#include "engine/guest/grant.h"

static LIST_HEAD(, grant) grants = LIST_HEAD_INITIALIZER(grants);
static uint32_t last_id;
static bool had_nvidia;
static uint64_t devices;

/* --- limits of files that come from exports -------------------------------------------------- */

/* Key that no command has. A list of this key alone lets no ioctl through. */
#define KEY_OF_NOTHING	VGPU_HOST_IOCTL_NONE
/*
 * Number of sets. The bit after the last set stands for all further sets, and lets no ioctl
 * through.
 */
#define SETS_MAX	63

/**
 * struct limits - limits of all files that come from an export
 * @no_demand: true if drivers do not wait for the guest's memory
 * @audit: true if ioctls that @ioctls denies are let through, and counted
 * @deny: true if @ioctls are denied; false if only @ioctls are allowed
 * @nr_ioctls: number of entries of @ioctls; 0: all ioctls are allowed
 * @ioctls: array of keys of commands, in rising order, without duplicates
 */
struct limits {
	bool no_demand;
	bool audit;
	bool deny;
	uint32_t nr_ioctls;
	uint32_t *ioctls;
};

/* Sets of limits. They are never freed, as objects may outlive the export. */
static struct limits sets[SETS_MAX];
static unsigned int nr_sets;

static uint64_t limits_bit(const struct limits *limits)
{
	unsigned int i;

	for (i = 0; i < nr_sets; i++)
		if (sets[i].no_demand == limits->no_demand && sets[i].deny == limits->deny &&
		    sets[i].audit == limits->audit &&
		    sets[i].nr_ioctls == limits->nr_ioctls &&
		    !memcmp(sets[i].ioctls, limits->ioctls,
			    limits->nr_ioctls * sizeof(*limits->ioctls)))
			return 1ULL << i;
	return 0;
}

static uint64_t limits_of(const struct engine_grant *msg)
{
	struct limits limits = {
		.no_demand = msg->no_demand,
		.audit = msg->flags & VGPU_HOST_GRANT_AUDIT,
		.deny = msg->deny,
	};
	uint64_t bit;
	uint32_t i;

	if (!msg->nr_ioctls && !msg->no_demand)
		return 0;
	limits.ioctls = calloc(msg->nr_ioctls + 1, sizeof(*limits.ioctls));
	if (!limits.ioctls)
		engine_end("out of memory");
	/* Skip duplicates: commands that differ in nothing but the size have the same key. */
	for (i = 0; i < msg->nr_ioctls; i++)
		if (!i || msg->ioctls[i] != msg->ioctls[i - 1])
			limits.ioctls[limits.nr_ioctls++] = msg->ioctls[i];
	bit = limits_bit(&limits);
	if (!bit && nr_sets < SETS_MAX) {
		sets[nr_sets] = limits;
		return 1ULL << nr_sets++;
	}
	free(limits.ioctls);
	return bit ? bit : 1ULL << SETS_MAX;
}

bool limits_no_demand(uint64_t limits)
{
	unsigned int i;

	for (i = 0; i < nr_sets; i++)
		if (limits >> i & 1 && sets[i].no_demand)
			return true;
	return limits >> SETS_MAX;
}

static void policy_let_nothing(struct eshadow_policy *policy)
{
	policy->deny = false;
	policy->nr_ioctls = 1;
	policy->ioctls[0] = KEY_OF_NOTHING;
}

/* Merge the limits into the policy. A command passes the merged list if it passes both lists. */
static void policy_merge(struct eshadow_policy *policy, const struct limits *limits)
{
	static uint32_t merged[2 * VGPU_POLICY_IOCTLS_MAX];
	uint32_t nr_one = policy->nr_ioctls, nr_two = limits->nr_ioctls, nr = 0, i = 0, j = 0;
	const uint32_t *one = policy->ioctls, *two = limits->ioctls;
	bool deny = policy->deny && limits->deny;

	while (i < nr_one || j < nr_two) {
		bool first = i < nr_one && (j == nr_two || one[i] <= two[j]);
		bool second = j < nr_two && (i == nr_one || two[j] <= one[i]);
		uint32_t key = first ? one[i] : two[j];

		if (deny || (first != policy->deny && second != limits->deny))
			merged[nr++] = key;
		i += first;
		j += second;
	}
	/* An empty list would let every ioctl through, and a list above the maximum has no room. */
	if (!nr || nr > VGPU_POLICY_IOCTLS_MAX) {
		policy_let_nothing(policy);
		return;
	}
	policy->deny = deny;
	policy->nr_ioctls = nr;
	memcpy(policy->ioctls, merged, nr * sizeof(*merged));
}

/* Merge all lists of @limits that audit, or all others, into the policy. */
static void limits_merge(uint64_t limits, bool audit, struct eshadow_policy *policy)
{
	unsigned int i;

	for (i = 0; i < nr_sets; i++) {
		if (!(limits >> i & 1) || !sets[i].nr_ioctls || sets[i].audit != audit)
			continue;
		if (policy->nr_ioctls) {
			policy_merge(policy, &sets[i]);
			continue;
		}
		policy->deny = sets[i].deny;
		policy->nr_ioctls = sets[i].nr_ioctls;
		memcpy(policy->ioctls, sets[i].ioctls, sets[i].nr_ioctls * sizeof(uint32_t));
	}
}

size_t limits_describe(uint64_t limits, struct eshadow_policy *policy)
{
	memset(policy, 0, sizeof(*policy));
	/* The driver's own commands mean nothing to a derived file: see vgpu_policy_derived(). */
	policy->kind = VGPU_EXPORT_PLAIN;
	policy->limits = limits;
	limits_merge(limits, false, policy);
	/* Lists that audit deny nothing, so they count only if there are no others. */
	if (!policy->nr_ioctls) {
		limits_merge(limits, true, policy);
		policy->audit = policy->nr_ioctls;
	}
	if (limits >> SETS_MAX) {
		policy_let_nothing(policy);
		policy->audit = false;
	}
	return sizeof(*policy);
}

/* --- grants --------------------------------------------------------------------------------- */

void grant_put(struct grant *grant)
{
	if (!grant || --grant->users)
		return;
	LIST_REMOVE(grant, node);
	free(grant->told);
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

struct grant *grant_add(const struct engine_grant *msg, size_t len)
{
	struct vgpu_export_add add;
	struct grant *grant;
	size_t keys;

	if (len < offsetof(struct engine_grant, ioctls) ||
	    msg->nr_ioctls > VGPU_POLICY_IOCTLS_MAX || msg->nr_submits > VGPU_HOST_SUBMITS_MAX ||
	    msg->device >= ENGINE_DEVICES)
		engine_end("a message of vgpud is malformed");
	keys = (msg->nr_ioctls + msg->nr_submits) * sizeof(uint32_t);
	if (len < offsetof(struct engine_grant, ioctls) + keys)
		engine_end("a message of vgpud is malformed");
	/* A vgpud that has taken this engine over tells of all grants. */
	grant = grant_of(msg->export);
	if (grant && grant->told_len == len && !memcmp(grant->told, msg, len))
		return grant;
	grant_revoke(msg->export);
	grant = calloc(1, sizeof(*grant) + keys);
	if (!grant)
		engine_end("out of memory");
	grant->told = malloc(len);
	if (!grant->told)
		engine_end("out of memory");
	memcpy(grant->told, msg, len);
	grant->told_len = len;
	memcpy(grant->ioctls, msg->ioctls, keys);
	grant->id = ++last_id;
	grant->export = msg->export;
	grant->users = 1;
	grant->device = le64_to_cpu(msg->add.device);
	grant->rdev = makedev(le32_to_cpu(msg->add.rdev_major), le32_to_cpu(msg->add.rdev_minor));
	grant->no_demand = msg->no_demand;
	grant->limits = limits_of(msg);
	grant->shared_device = msg->device;
	memcpy(grant->driver, msg->add.driver, sizeof(grant->driver) - 1);
	grant->policy = (struct vgpu_policy) {
		.kind = le32_to_cpu(msg->add.kind),
		.master = msg->master,
		.read_only = msg->flags & VGPU_HOST_GRANT_READ_ONLY,
		.audit = msg->flags & VGPU_HOST_GRANT_AUDIT,
		.deny = msg->deny,
		.nr_ioctls = msg->nr_ioctls,
		.ioctls = grant->ioctls,
		.nr_submits = msg->nr_submits,
		.submits = grant->ioctls + msg->nr_ioctls,
	};
	if (msg->nr_submits)
		devices |= 1ULL << msg->device;
	had_nvidia |= grant->policy.kind == VGPU_EXPORT_NVIDIA;
	LIST_INSERT_HEAD(&grants, grant, node);
	add = msg->add;
	add.hdr = (struct vgpu_hdr) {
		.len = cpu_to_le32(sizeof(add)),
		.type = cpu_to_le16(VGPU_MSG_EXPORT_ADD),
	};
	add.export = cpu_to_le32(grant->id);
	control_send(&add, sizeof(add));
	return grant;
}

bool grants_had_nvidia(void)
{
	return had_nvidia;
}

uint64_t grants_devices(void)
{
	return devices;
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
	/*
	 * Send the change after the files: the guest reads the files when it is told of the
	 * change.
	 */
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
		engine_end("a message of vgpud is malformed");
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

size_t grant_describe(const struct grant *grant, struct eshadow_policy *policy)
{
	/* Clear the struct: all of it is sent, and a shadow must not see what was on the stack. */
	memset(policy, 0, sizeof(*policy));
	policy->export = grant->export;
	policy->kind = grant->policy.kind;
	policy->master = grant->policy.master;
	policy->read_only = grant->policy.read_only;
	policy->audit = grant->policy.audit;
	policy->origin = grant->export;
	policy->rdev = grant->rdev;
	policy->limits = grant->limits;
	policy->deny = grant->policy.deny;
	policy->nr_ioctls = grant->policy.nr_ioctls;
	policy->device = grant->shared_device;
	policy->nr_submits = grant->policy.nr_submits;
	memcpy(policy->ioctls, grant->ioctls,
	       (policy->nr_ioctls + policy->nr_submits) * sizeof(uint32_t));
	return sizeof(*policy);
}
