// SPDX-License-Identifier: MIT
/* Descriptions of exports. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "export/spec.h"
#include "ioctls/ioctls.h"

bool export_name_ok(const char *name)
{
	size_t len = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "abcdefghijklmnopqrstuvwxyz0123456789._-");

	return len && len < 32 && !name[len];
}

int export_spec_add_guest(struct export_spec *spec, uint32_t cid, uint32_t port)
{
	void *guests = realloc(spec->guests, (spec->nr_guests + 1) * sizeof(*spec->guests));

	if (!guests)
		return -ENOMEM;
	spec->guests = guests;
	spec->guests[spec->nr_guests].cid = cid;
	spec->guests[spec->nr_guests].port = port ? port : settings.port;
	spec->nr_guests++;
	return 0;
}

bool export_spec_has_guest(const struct export_spec *spec, uint32_t cid, uint32_t port)
{
	size_t i;

	for (i = 0; i < spec->nr_guests; i++)
		if (spec->guests[i].cid == cid && spec->guests[i].port == port)
			return true;
	return false;
}

int export_spec_add_ioctl(struct export_spec *spec, uint32_t cmd)
{
	uint32_t *ioctls;

	if (spec->nr_ioctls == EXPORT_IOCTLS_MAX)
		return -E2BIG;
	ioctls = realloc(spec->ioctls, (spec->nr_ioctls + 1) * sizeof(*ioctls));
	if (!ioctls)
		return -ENOMEM;
	spec->ioctls = ioctls;
	spec->ioctls[spec->nr_ioctls++] = cmd;
	return 0;
}

static int add_profile(struct export_spec *spec, const char *name, struct answer *answer)
{
	unsigned int profile = profile_find(name);

	if (!profile)
		return answer_say(answer, -EINVAL, "'%s' is not a profile: give " PROFILE_WORDS,
				  name);
	if (spec->profiles & profile)
		return answer_say(answer, -EEXIST, "%s is named twice", name);
	spec->profiles |= profile;
	return 0;
}

int export_spec_set_profiles(struct export_spec *spec, const char *list, struct answer *answer)
{
	char *copy = strdup(list), *rest = copy, *word;
	int ret = 0;

	if (!copy)
		return answer_say(answer, -ENOMEM, "out of memory");
	while (!ret && (word = strsep(&rest, ", \t")))
		if (*word)
			ret = add_profile(spec, word, answer);
	free(copy);
	if (ret)
		return ret;
	if (!spec->profiles)
		return answer_say(answer, -EINVAL, "the list is empty");
	if (spec->profiles & PROFILE_ALL && spec->profiles != PROFILE_ALL)
		return answer_say(answer, -EINVAL, "'all' cannot be combined with other profiles");
	return 0;
}

void export_spec_free(struct export_spec *spec)
{
	free(spec->guests);
	free(spec->ioctls);
	spec->guests = NULL;
	spec->ioctls = NULL;
}

static bool spec_has_ioctl(const struct export_spec *spec, uint32_t cmd)
{
	size_t i;

	for (i = 0; i < spec->nr_ioctls; i++)
		if (spec->ioctls[i] == cmd)
			return true;
	return false;
}

static bool same_ioctls(const struct export_spec *a, const struct export_spec *b)
{
	size_t i;

	if (a->nr_ioctls != b->nr_ioctls || (a->nr_ioctls && a->ioctls_deny != b->ioctls_deny))
		return false;
	/* The order does not matter. No list names an ioctl twice, so one direction is enough. */
	for (i = 0; i < a->nr_ioctls; i++)
		if (!spec_has_ioctl(b, a->ioctls[i]))
			return false;
	return true;
}

static bool same_submits(const struct export_spec *a, const struct export_spec *b)
{
	return a->nr_submits == b->nr_submits &&
	       !memcmp(a->submits, b->submits, a->nr_submits * sizeof(a->submits[0]));
}

bool export_spec_limits(const struct export_spec *spec)
{
	return spec->nr_ioctls || (spec->profiles & ~PROFILE_ALL);
}

bool export_spec_same_terms(const struct export_spec *a, const struct export_spec *b)
{
	return !strcmp(a->path, b->path) && a->master == b->master &&
	       a->no_demand == b->no_demand && a->audit == b->audit &&
	       (a->profiles & ~PROFILE_ALL) == (b->profiles & ~PROFILE_ALL) &&
	       same_ioctls(a, b) && same_submits(a, b);
}
