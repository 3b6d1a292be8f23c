// SPDX-License-Identifier: MIT
/* Lists of the ioctls that guests may make of an export's device. */
#include <errno.h>

#include "export/list.h"
#include "ioctls/ioctls.h"
#include "policy.h"

static bool list_has(const struct ioctl_list *list, uint32_t key)
{
	size_t i;

	for (i = 0; i < list->nr; i++)
		if (list->keys[i] == key)
			return true;
	return false;
}

static void list_remove(struct ioctl_list *list, uint32_t key)
{
	size_t i, kept = 0;

	for (i = 0; i < list->nr; i++)
		if (list->keys[i] != key)
			list->keys[kept++] = list->keys[i];
	list->nr = kept;
}

/* Return: false if the list is full. */
static bool list_add(struct ioctl_list *list, uint32_t key)
{
	if (list_has(list, key))
		return true;
	if (list->nr == EXPORT_IOCTLS_MAX)
		return false;
	list->keys[list->nr++] = key;
	return true;
}

/* Check that the device has all ioctls and profiles that the export names. */
static int list_fits(const struct export_spec *spec, const struct device *device,
		      struct answer *answer)
{
	uint32_t foreign = spec->ioctls_named & ~ioctls_tables(device->kind, device->driver);
	char words[32];

	if (foreign)
		return answer_say(answer, -EINVAL, "the list has an ioctl of %s, but %s has the driver %s: give ioctls of this driver, or their numbers",
				  ioctls_table_name(foreign & -foreign), spec->path,
				  device->driver);
	if (!(spec->profiles & ~PROFILE_ALL) || ioctls_known(device->kind, device->driver))
		return 0;
	profile_words(spec->profiles, words);
	return answer_say(answer, -EOPNOTSUPP, "the ioctls of %s, which has the driver %s, are not known: the profile %s means nothing here, so give allow-ioctls= in a file of exports.d instead",
			  spec->path, device->driver, words);
}

/* Make the list of the profiles, with the export's own list added or taken away. */
static int list_profiles(const struct export_spec *spec, uint32_t tables, struct ioctl_list *list,
			 struct answer *answer)
{
	size_t i;

	list->deny = false;
	list->nr = ioctls_list(tables, spec->profiles, list->keys, EXPORT_IOCTLS_MAX);
	for (i = 0; i < spec->nr_ioctls; i++) {
		uint32_t key = vgpu_ioctl_key(spec->ioctls[i]);

		if (spec->ioctls_deny)
			list_remove(list, key);
		else if (!list_add(list, key))
			return answer_say(answer, -E2BIG, "the list and the profile have more than %u ioctls together",
					  EXPORT_IOCTLS_MAX);
	}
	return 0;
}

static void list_own(const struct export_spec *spec, struct ioctl_list *list)
{
	size_t i;

	list->deny = spec->ioctls_deny;
	list->nr = 0;
	for (i = 0; i < spec->nr_ioctls; i++)
		list_add(list, vgpu_ioctl_key(spec->ioctls[i]));
}

/* Leave only ioctls that are known to query. */
static void list_query(struct ioctl_list *list, uint32_t tables)
{
	static struct ioctl_list all;
	size_t i, kept = 0;

	all.nr = ioctls_list(tables, 0, all.keys, EXPORT_IOCTLS_MAX);
	for (i = 0; i < all.nr; i++)
		if (!list->nr || list_has(list, all.keys[i]) != list->deny)
			all.keys[kept++] = all.keys[i];
	all.nr = kept;
	*list = all;
}

int export_list(const struct export_spec *spec, const struct device *device, bool read_only,
		struct ioctl_list *list, struct answer *answer)
{
	uint32_t tables = ioctls_tables(device->kind, device->driver);
	int ret = list_fits(spec, device, answer);

	if (!ret && spec->profiles & ~PROFILE_ALL)
		ret = list_profiles(spec, tables, list, answer);
	else if (!ret)
		list_own(spec, list);
	if (ret)
		return ret;
	/* An empty list would allow all ioctls. */
	if (!list->nr && spec->profiles & ~PROFILE_ALL)
		list_add(list, VGPU_HOST_IOCTL_NONE);
	if (!read_only)
		return 0;
	list_query(list, tables);
	if (!list->nr)
		list_add(list, VGPU_HOST_IOCTL_NONE);
	return 0;
}

size_t export_submits(const struct export_spec *spec, const struct device *device,
		      uint32_t keys[VGPU_HOST_SUBMITS_MAX])
{
	size_t nr, i;

	nr = ioctls_submits(ioctls_tables(device->kind, device->driver), keys,
			    VGPU_HOST_SUBMITS_MAX - EXPORT_SUBMITS_MAX);
	for (i = 0; i < spec->nr_submits; i++)
		keys[nr++] = vgpu_ioctl_key(spec->submits[i]);
	return nr;
}

int export_list_check(const struct export_spec *spec, const struct device *device,
		      struct answer *answer)
{
	static struct ioctl_list list;

	return export_list(spec, device, spec->read_only, &list, answer);
}
