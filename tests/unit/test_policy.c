// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of policies and limits: the opens and ioctls that a guest may make.
 */
#include <fcntl.h>
#include <linux/ioctl.h>

#include "policy.h"
#include "tap.h"

#define SET_MASTER	_IO('d', 0x1e)

/* Lists of each length are tried with commands on the list and beside it. */
static void test_lists(void)
{
	struct vgpu_policy policy = {};
	u32 ioctls[9], nr, cmd, i;

	for (i = 0; i < ARRAY_SIZE(ioctls); i++)
		ioctls[i] = vgpu_ioctl_key(_IO('v', 2 * i + 1));
	policy.ioctls = ioctls;
	for (nr = 0; nr <= ARRAY_SIZE(ioctls); nr++) {
		policy.nr_ioctls = nr;
		for (cmd = 0; cmd < 2 * ARRAY_SIZE(ioctls) + 2; cmd++) {
			bool listed = cmd % 2 && cmd / 2 < nr;

			policy.deny = false;
			tap_expect(vgpu_policy_ioctl(&policy, _IO('v', cmd)) == (!nr || listed),
				   "%u allowed of %u", cmd, nr);
			policy.deny = true;
			tap_expect(vgpu_policy_ioctl(&policy, _IO('v', cmd)) == !listed,
				   "%u denied of %u", cmd, nr);
		}
	}
	tap_subject("lists of ioctls");
}

/* Size and direction do not make a different command. */
static void test_key(void)
{
	u32 listed = vgpu_ioctl_key(_IOWR('v', 7, u64));
	struct vgpu_policy policy = { .nr_ioctls = 1, .ioctls = &listed, .deny = true };

	tap_expect(!vgpu_policy_ioctl(&policy, _IO('v', 7)), "without a size");
	tap_expect(!vgpu_policy_ioctl(&policy, _IOR('v', 7, char[100])), "with another one");
	tap_expect(vgpu_policy_ioctl(&policy, _IO('w', 7)), "of another type");
	tap_expect(vgpu_policy_ioctl(&policy, _IO('v', 8)), "with another number");
	tap_subject("what names an ioctl");
}

/*
 * A file that came from an export, as a dma-buf, has another driver. The export's list holds for
 * the ioctls of such a file, but the rules for the export's driver do not.
 */
static void test_derived(void)
{
	u32 listed = vgpu_ioctl_key(_IOW('b', 0, u64));
	struct vgpu_policy policy = { .nr_ioctls = 1, .ioctls = &listed, .deny = true };

	policy.kind = VGPU_EXPORT_NVIDIA;
	tap_expect(!vgpu_policy_derived(&policy, _IOW('b', 0, u64)), "what is listed");
	tap_expect(vgpu_policy_derived(&policy, _IOW('>', 0, u64)), "of another type");
	policy.kind = VGPU_EXPORT_DRM_PRIMARY;
	tap_expect(vgpu_policy_derived(&policy, SET_MASTER), "a number of DRM's");
	policy.deny = false;
	tap_expect(vgpu_policy_derived(&policy, _IOW('b', 0, u64)), "what alone is allowed");
	tap_expect(!vgpu_policy_derived(&policy, _IOW('b', 2, u64)), "what is not");
	policy.nr_ioctls = 0;
	tap_expect(vgpu_policy_derived(&policy, _IOW('b', 2, u64)), "no list");
	tap_subject("what comes of an export");
}

/* NVIDIA's driver accepts any type of a command that has a size. */
static void test_nvidia(void)
{
	u32 listed = vgpu_ioctl_key(_IOWR('F', 0x2a, char[32]));
	struct vgpu_policy policy = { .nr_ioctls = 1, .ioctls = &listed, .deny = true };

	tap_expect(vgpu_policy_ioctl(&policy, _IOWR('v', 0x2a, char[32])), "of any driver");
	policy.kind = VGPU_EXPORT_NVIDIA;
	tap_expect(!vgpu_policy_ioctl(&policy, _IOWR('v', 0x2a, char[32])), "of another type");
	tap_expect(!vgpu_policy_ioctl(&policy, _IOC(0, 0, 0x2a, 32)), "with no direction");
	tap_expect(vgpu_policy_ioctl(&policy, 0x2a), "without a size");
	tap_expect(vgpu_policy_ioctl(&policy, _IOWR('F', 0x2b, char[32])), "another number");
	tap_expect(!vgpu_policy_nvidia(&policy, _IOWR('F', 0xd3, char[16]), 0x2a), "wrapped");
	tap_expect(vgpu_policy_nvidia(&policy, _IOWR('F', 0xd3, char[16]), 0x2b) &&
		   vgpu_policy_nvidia(&policy, _IOWR('F', 0xd3, char[16]), 0x12a),
		   "another number, wrapped");
	tap_expect(vgpu_policy_nvidia(&policy, _IOWR('F', 0xd3, char[16]), 0xd3), "of no other");
	listed = vgpu_ioctl_key(_IOWR('F', 0xd3, char[16]));
	policy.deny = false;
	tap_expect(!vgpu_policy_nvidia(&policy, _IOWR('F', 0xd3, char[16]), 0x2b),
		   "wrapped in what is allowed");
	tap_subject("lists of NVIDIA's ioctls");
}

/* Some functions of DRM look at the number alone: see vgpu_policy_ioctl(). */
static void test_drm(void)
{
	u32 listed = vgpu_ioctl_key(_IOWR('d', 0x47, u64));
	struct vgpu_policy policy = { .nr_ioctls = 1, .ioctls = &listed, .deny = true };

	policy.kind = VGPU_EXPORT_DRM_RENDER;
	tap_expect(!vgpu_policy_ioctl(&policy, _IOWR('d', 0x47, u64)), "what is denied");
	tap_expect(!vgpu_policy_ioctl(&policy, _IOWR('e', 0x47, u64)), "of another type");
	tap_expect(vgpu_policy_ioctl(&policy, _IOWR('e', 0x48, u64)), "with another number");
	policy.deny = false;
	tap_expect(vgpu_policy_ioctl(&policy, _IOWR('d', 0x47, u64)), "what is allowed");
	tap_expect(!vgpu_policy_ioctl(&policy, _IOWR('e', 0x47, u64)), "not of another type");
	listed = vgpu_ioctl_key(_IOWR('e', 0x47, u64));
	tap_expect(!vgpu_policy_ioctl(&policy, _IOWR('e', 0x47, u64)), "if both are not");
	policy.kind = VGPU_EXPORT_PLAIN;
	tap_expect(vgpu_policy_ioctl(&policy, _IOWR('e', 0x47, u64)), "of another device");
	tap_subject("lists of DRM's ioctls");
}

/* A guest must not get around the queue of a device by a command of another type. */
static void test_submits(void)
{
	u32 submits[] = { vgpu_ioctl_key(_IO('b', 3)), vgpu_ioctl_key(_IOW('d', 0x42, u32)) };
	struct vgpu_policy policy = { .submits = submits };

	tap_expect(!vgpu_policy_submits(&policy, _IO('b', 3)), "no list");
	policy.nr_submits = ARRAY_SIZE(submits);
	tap_expect(vgpu_policy_submits(&policy, _IO('b', 3)), "what is listed");
	tap_expect(vgpu_policy_submits(&policy, _IOWR('b', 3, u64)), "with another size");
	tap_expect(!vgpu_policy_submits(&policy, _IO('b', 2)), "what is not");
	tap_expect(!vgpu_policy_submits(&policy, _IO('e', 0x42)), "of another type");
	policy.kind = VGPU_EXPORT_DRM_RENDER;
	tap_expect(vgpu_policy_submits(&policy, _IO('e', 0x42)), "of another type, for DRM");
	tap_expect(!vgpu_policy_submits(&policy, _IO('d', 0x41)), "another number of DRM's");
	tap_subject("ioctls that give a device work");
}

static void test_master(void)
{
	struct vgpu_policy policy = { .kind = VGPU_EXPORT_DRM_PRIMARY };

	tap_expect(!vgpu_policy_ioctl(&policy, SET_MASTER), "of a card");
	tap_expect(!vgpu_policy_ioctl(&policy, _IOW('d', 0x1e, u32)), "with a size");
	tap_expect(vgpu_policy_ioctl(&policy, _IO('d', 0x1f)), "dropping it");
	policy.master = true;
	tap_expect(vgpu_policy_ioctl(&policy, SET_MASTER), "of a card that has it");
	policy = (struct vgpu_policy) { .kind = VGPU_EXPORT_PLAIN };
	tap_expect(vgpu_policy_ioctl(&policy, SET_MASTER), "of another device");
	tap_subject("becoming master");
}

/* An audit lets through what a list denies, but nothing that a rule denies. */
static void test_audit(void)
{
	u32 listed = vgpu_ioctl_key(_IO('d', 1));
	struct vgpu_policy policy = {
		.kind = VGPU_EXPORT_DRM_PRIMARY, .audit = true, .nr_ioctls = 1, .ioctls = &listed,
	};

	tap_expect(vgpu_policy_ioctl(&policy, _IO('d', 1)) == VGPU_POLICY_PASS, "what is listed");
	tap_expect(vgpu_policy_ioctl(&policy, _IO('d', 2)) == VGPU_POLICY_AUDIT, "what is not");
	tap_expect(vgpu_policy_ioctl(&policy, SET_MASTER) == VGPU_POLICY_DENY, "becoming master");
	tap_expect(vgpu_policy_derived(&policy, _IO('b', 0)) == VGPU_POLICY_AUDIT, "derived files");
	policy.kind = VGPU_EXPORT_NVIDIA;
	tap_expect(vgpu_policy_nvidia(&policy, _IOWR('F', 0xd3, char[16]), 0x2b) ==
		   VGPU_POLICY_AUDIT, "what is wrapped");
	policy.read_only = true;
	tap_expect(vgpu_policy_open(&policy, O_RDWR) == -EACCES, "opens");
	policy.audit = false;
	tap_expect(vgpu_policy_ioctl(&policy, _IO('e', 2)) == VGPU_POLICY_DENY, "without");
	tap_subject("audits");
}

static void test_open(void)
{
	struct vgpu_policy policy = {};

	tap_expect(!vgpu_policy_open(&policy, O_RDWR), "for writing");
	policy.read_only = true;
	tap_expect(!vgpu_policy_open(&policy, O_RDONLY | O_NONBLOCK), "for reading");
	tap_expect(vgpu_policy_open(&policy, O_WRONLY) == -EACCES, "for writing only");
	tap_expect(vgpu_policy_open(&policy, O_RDWR) == -EACCES, "for both");
	tap_expect(vgpu_policy_open(&policy, O_ACCMODE) == -EACCES, "for ioctls alone");
	tap_subject("opening");
}

static void test_limits(void)
{
	const struct vgpu_host_limits most = {
		.fds_per_call = U32_MAX, .call_bytes = U32_MAX, .mapped_bytes = U64_MAX,
	};
	const struct vgpu_host_limits some = { .sessions = 3, .mapped_bytes = 0x3000 };
	const struct vgpu_host_limits none = {};
	struct vgpu_wire_limits wire = { .features = 5 };
	struct vgpu_host_limits limits;

	vgpu_limits_fill(&limits, &none, &wire);
	tap_expect(limits.sessions && limits.lanes > 1 && limits.objects && limits.pages &&
		   limits.mappings && limits.mapped_bytes && limits.kept_bytes &&
		   limits.fds_per_call,
		   "every limit has a default");
	tap_expect(wire.call_bytes == limits.call_bytes && wire.segs && wire.fixups &&
		   wire.features == 5, "those of messages");
	vgpu_limits_fill(&limits, &most, &wire);
	tap_expect(limits.fds_per_call == VGPU_FDS_MAX &&
		   limits.call_bytes == VGPU_CALL_BYTES_MAX, "no setting is above the protocol's");
	tap_expect(vgpu_limits_map_ok(limits.mapped_bytes, 1, U64_MAX - 1) &&
		   !vgpu_limits_map_ok(limits.mapped_bytes, 2, U64_MAX - 1), "sums do not wrap");
	vgpu_limits_fill(&limits, &some, &wire);
	tap_expect(limits.sessions == 3 && vgpu_limits_map_ok(limits.mapped_bytes, 0x1000, 0x2000) &&
		   !vgpu_limits_map_ok(limits.mapped_bytes, 0x2000, 0x2000) &&
		   !vgpu_limits_map_ok(limits.mapped_bytes, 0, 0x4000), "those that are set hold");
	tap_subject("limits");
}

int main(void)
{
	test_lists();
	test_key();
	test_derived();
	test_nvidia();
	test_drm();
	test_submits();
	test_master();
	test_audit();
	test_open();
	test_limits();
	return tap_done();
}
