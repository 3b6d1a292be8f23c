// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the lists of ioctls that vgpud makes for guests (userspace-lib/vgpud/export/list.c): no
 * restriction may end as a list without entries, which lets all ioctls through.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy.h"
#include "tap.h"
#include "vgpud/export/list.h"
#include "vgpud/ioctls/ioctls.h"

#define VERSION		0x6400
#define CREATE_DUMB	0x64b2
#define SYNCOBJ_CREATE	0x64bf
#define OTHER		0x6d01

static const struct device vgem = { .kind = VGPU_EXPORT_DRM_PRIMARY, .driver = "vgem" };
static const struct device lima = { .kind = VGPU_EXPORT_DRM_RENDER, .driver = "lima" };
static const struct device plain = { .kind = VGPU_EXPORT_PLAIN, .driver = "vgpu-mock" };

static struct ioctl_list list;
static struct answer answer;

/* Make the list of an export with up to two ioctls; 0: none. Return: as export_list(). */
static int make(const struct device *device, unsigned int profiles, bool deny, u32 one, u32 two,
		bool read_only)
{
	u32 ioctls[] = { one, two };
	struct export_spec spec = {
		.path = "/dev/x",
		.profiles = profiles,
		.ioctls_deny = deny,
		.ioctls = ioctls,
		.nr_ioctls = two ? 2 : one ? 1 : 0,
	};

	return export_list(&spec, device, read_only, &list, &answer);
}

static int compare(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

/* Return: true if the engine that gets the list lets the ioctl through. */
static bool passes(const struct device *device, u32 cmd)
{
	struct vgpu_policy policy = { .kind = device->kind, .deny = list.deny };
	static u32 keys[EXPORT_IOCTLS_MAX];
	size_t i;

	for (i = 0; i < list.nr; i++)
		keys[i] = vgpu_policy_key(list.keys[i]);
	qsort(keys, list.nr, sizeof(keys[0]), compare);
	policy.nr_ioctls = list.nr;
	policy.ioctls = keys;
	return vgpu_policy_ioctl(&policy, cmd);
}

static void test_own(void)
{
	tap_expect(!make(&plain, 0, false, 0, 0, false) && passes(&plain, OTHER), "no list");
	tap_expect(!make(&plain, PROFILE_ALL, false, 0, 0, false) && passes(&plain, OTHER), "all");
	tap_expect(!make(&plain, 0, false, 0xc0086d01, 0, false) && passes(&plain, OTHER) &&
		   !passes(&plain, OTHER + 1), "allowed");
	tap_expect(!make(&plain, 0, true, 0xc0086d01, 0, false) && !passes(&plain, OTHER) &&
		   passes(&plain, OTHER + 1), "denied");
	tap_expect(!make(&plain, 0, true, 0xffffffff, 0, false) && !passes(&plain, 0xffff) &&
		   passes(&plain, OTHER), "the highest number is no key of nothing");
	tap_subject("lists of an export alone");
}

static void test_profile(void)
{
	tap_expect(!make(&vgem, PROFILE_RENDER, false, 0, 0, false) && passes(&vgem, VERSION) &&
		   !passes(&vgem, CREATE_DUMB) && !passes(&vgem, OTHER), "alone");
	tap_expect(!make(&vgem, PROFILE_RENDER | PROFILE_DISPLAY, false, 0, 0, false) &&
		   passes(&vgem, CREATE_DUMB) && passes(&vgem, SYNCOBJ_CREATE), "two");
	tap_expect(!make(&vgem, PROFILE_RENDER, false, CREATE_DUMB, 0, false) &&
		   passes(&vgem, CREATE_DUMB) && passes(&vgem, SYNCOBJ_CREATE), "and a list");
	tap_expect(!make(&vgem, PROFILE_RENDER, true, VERSION, SYNCOBJ_CREATE, false) &&
		   !passes(&vgem, VERSION) && !passes(&vgem, SYNCOBJ_CREATE) &&
		   !passes(&vgem, OTHER) && passes(&vgem, 0x640c), "without a list");
	tap_expect(make(&plain, PROFILE_RENDER, false, 0, 0, false) == -EOPNOTSUPP &&
		   strstr(answer.text, "the profile render means nothing"), "of no driver");
	tap_expect(make(&lima, PROFILE_RENDER, false, 0, 0, false) == -EOPNOTSUPP,
		   "of an unknown driver");
	tap_subject("profiles");
}

static void test_read_only(void)
{
	u32 cmd, nr = 0;

	tap_expect(!make(&vgem, 0, false, 0, 0, true) && passes(&vgem, VERSION) &&
		   !passes(&vgem, CREATE_DUMB) && !passes(&vgem, 0x649f), "without a list");
	tap_expect(!make(&vgem, PROFILE_RENDER, false, 0, 0, true) && passes(&vgem, VERSION) &&
		   !passes(&vgem, SYNCOBJ_CREATE), "with a profile");
	tap_expect(!make(&vgem, 0, false, VERSION, CREATE_DUMB, true) && passes(&vgem, VERSION) &&
		   !passes(&vgem, CREATE_DUMB) && !passes(&vgem, 0x640c), "of what is allowed");
	tap_expect(!make(&vgem, 0, true, VERSION, 0, true) && !passes(&vgem, VERSION) &&
		   passes(&vgem, 0x640c), "without what is denied");
	tap_expect(!make(&lima, 0, false, 0, 0, true) && passes(&lima, VERSION) &&
		   !passes(&lima, 0x6440), "of an unknown driver of DRM");
	tap_expect(!make(&vgem, 0, false, CREATE_DUMB, 0, true) && list.nr == 1, "nothing is left");
	for (cmd = 0; cmd <= 0xffff; cmd++)
		nr += passes(&vgem, cmd);
	tap_expect(!nr, "nothing passes");
	tap_expect(!make(&plain, 0, false, OTHER, 0, true) && !passes(&plain, OTHER),
		   "an unknown driver");
	tap_subject("exports for reading");
}

static void test_names(void)
{
	struct export_spec spec = { .path = "/dev/x" };
	u32 key;

	tap_expect(ioctl_find("DRM_IOCTL_I915_GETPARAM", &key, &spec.ioctls_named), "a name");
	tap_expect(export_list(&spec, &vgem, false, &list, &answer) == -EINVAL &&
		   strstr(answer.text, "an ioctl of i915, but /dev/x has the driver vgem"),
		   "of another driver");
	ioctl_find("DMA_BUF_IOCTL_SYNC", &key, &spec.ioctls_named);
	tap_expect(!export_list(&spec, &plain, false, &list, &answer), "of a derived file");
	ioctl_find("DRM_IOCTL_VERSION", &key, &spec.ioctls_named);
	tap_expect(!export_list(&spec, &lima, false, &list, &answer), "of DRM");
	tap_subject("names of other drivers");
}

static void test_submits(void)
{
	static const struct device nouveau = { .kind = VGPU_EXPORT_DRM_RENDER, .driver = "nouveau" };
	static const struct device nvidia = { .kind = VGPU_EXPORT_NVIDIA, .driver = "nvidia" };
	struct export_spec spec = { .path = "/dev/x" };
	u32 keys[VGPU_HOST_SUBMITS_MAX], i;

	tap_expect(export_submits(&spec, &nouveau, keys) == 2 &&
		   (keys[0] == 0x6452 || keys[1] == 0x6452), "of the driver");
	tap_expect(!export_submits(&spec, &plain, keys) && !export_submits(&spec, &vgem, keys) &&
		   !export_submits(&spec, &nvidia, keys), "of drivers that have none");
	for (i = 0; i < EXPORT_SUBMITS_MAX; i++)
		spec.submits[i] = 0xc0084e00 + i;
	spec.nr_submits = EXPORT_SUBMITS_MAX;
	tap_expect(export_submits(&spec, &nouveau, keys) == 2 + EXPORT_SUBMITS_MAX &&
		   keys[2] == 0x4e00 && keys[1 + EXPORT_SUBMITS_MAX] == 0x4e1f, "of the export");
	tap_subject("ioctls that give a device work");
}

static void test_length(void)
{
	static u32 ioctls[EXPORT_IOCTLS_MAX];
	struct export_spec spec = {
		.profiles = PROFILE_RENDER, .ioctls = ioctls, .nr_ioctls = EXPORT_IOCTLS_MAX,
	};
	u32 i;

	for (i = 0; i < EXPORT_IOCTLS_MAX; i++)
		ioctls[i] = 0x1000 + i;
	tap_expect(export_list(&spec, &vgem, false, &list, &answer) == -E2BIG, "too many");
	spec.profiles = 0;
	tap_expect(!export_list(&spec, &vgem, false, &list, &answer) &&
		   list.nr == EXPORT_IOCTLS_MAX, "all of the list");
	tap_subject("long lists");
}

int main(void)
{
	test_own();
	test_profile();
	test_read_only();
	test_names();
	test_submits();
	test_length();
	return tap_done();
}
