// SPDX-License-Identifier: MIT
/* The list of exports, and their grants. */
#include <string.h>

#include "export/list.h"

struct export_list exports = TAILQ_HEAD_INITIALIZER(exports);

struct export *export_find(const char *name)
{
	struct export *export;

	TAILQ_FOREACH(export, &exports, node)
		if (!strcmp(export->spec.name, name))
			return export;
	return NULL;
}

struct grant *export_grant(struct export *export, uint32_t cid, uint32_t port)
{
	struct grant *grant;

	TAILQ_FOREACH(grant, &export->grants, node)
		if (grant->cid == cid && grant->port == port)
			return grant;
	return NULL;
}
