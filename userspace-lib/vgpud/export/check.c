// SPDX-License-Identifier: MIT
/* Checks of exports before they are made. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "device/device.h"
#include "export/check.h"
#include "export/export.h"
#include "export/grant.h"
#include "export/list.h"

/*
 * Check whether an export may be made anew on other terms. The change would be for all guests,
 * including those to whom vgpuctl has given the export.
 */
static int check_anew(struct export *export, const struct export_spec *spec,
		      struct answer *answer)
{
	struct grant *grant;

	if (!export->origin)
		return answer_say(answer, -EEXIST, "vgpuctl has exported %s by that name%s: unexport that name first",
				  export->spec.path,
				  strcmp(export->spec.path, spec->path) ? "" : ", with other options");
	TAILQ_FOREACH(grant, &export->grants, node)
		if (grant->by_hand)
			return answer_say(answer, -EEXIST, "vgpuctl has exported this name with its old options to guest %u:%u: unexport the name from that guest first",
					  grant->cid, grant->port);
	return 0;
}

/*
 * Check for conflicts with vgpuctl: a file may take over an export of vgpuctl's with equal
 * terms.
 */
static int check_taken(const struct export_spec *spec, struct answer *answer)
{
	struct export *export = export_find(spec->name);
	struct grant *grant;
	size_t i;

	if (!export)
		return 0;
	if (!export_spec_same_terms(&export->spec, spec))
		return check_anew(export, spec, answer);
	for (i = 0; i < spec->nr_guests; i++) {
		grant = export_grant(export, spec->guests[i].cid, spec->guests[i].port);
		if (grant && grant->by_hand &&
		    !grant_same_terms(grant, spec->any_port, spec->read_only))
			return answer_say(answer, -EEXIST, "vgpuctl has exported this name to guest %u:%u with other options: unexport the name first",
					  grant->cid, grant->port);
	}
	return 0;
}

int export_check_path(const struct export_spec *spec, struct answer *answer)
{
	const char *at;

	for (at = spec->path; *at; at++)
		if ((unsigned char)*at <= ' ' || *at == 0x7f)
			return answer_say(answer, -EINVAL, "a path must not have blanks or control characters");
	if (spec->path[0] != '/')
		return answer_say(answer, -EINVAL, "'%s': give an absolute path, such as /dev/dri/renderD128", spec->path);
	return 0;
}

int export_check_terms(const struct export_spec *spec, struct answer *answer)
{
	if (spec->audit && spec->read_only)
		return answer_say(answer, -EINVAL, "audit cannot be combined with read-only, as it would let guests change the device: remove one of the two");
	if (spec->audit && !export_spec_limits(spec))
		return answer_say(answer, -EINVAL, "audit means nothing without a profile or a list of ioctls: give one as well");
	return 0;
}

int export_check(const struct export_spec *spec, struct answer *answer)
{
	struct device device;
	int fd, ret;

	ret = export_check_path(spec, answer);
	if (!ret)
		ret = export_check_terms(spec, answer);
	if (ret)
		return ret;
	fd = export_open(spec, &device, answer);
	if (fd >= 0) {
		close(fd);
		ret = export_list_check(spec, &device, answer);
		if (ret)
			return ret;
	}
	/* A missing device is no mistake, as it may be plugged in later. */
	return fd < 0 && fd != -ENOENT ? fd : check_taken(spec, answer);
}
