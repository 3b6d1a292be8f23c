// SPDX-License-Identifier: MIT
/* Grants: vgpud tells engines which exports their guests have. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "engines/engine.h"
#include "engines/grant.h"
#include "engines/master.h"
#include "engines/node.h"
#include "engines/offer.h"
#include "policy.h"
#include "shared/log.h"
#include "shared/proto.h"

#define DRM_MAJOR	226

int engine_revoke(uint32_t peer, uint32_t export)
{
	const struct engine_number msg = { .type = ENGINE_REVOKE, .number = export };
	struct engine *engine = engine_find(peer);

	if (!engine)
		return -ENOENT;
	node_remove(engine->nodes_fd, export);
	masters_end(peer, export);
	return engine_tell(engine, &msg, sizeof(msg), -1);
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * Start the process that makes programs of the guest DRM masters, if the export allows masters.
 * A program that has CAP_SYS_ADMIN in the guest becomes master through this process. Without
 * the process, a file becomes master only if the kernel needs no CAP_SYS_ADMIN for that.
 */
static int master_make(struct engine *engine, const struct offer *offer)
{
	const struct engine_number msg = { .type = ENGINE_MASTER, .number = offer->number };
	int fd, ret;

	if (!offer->master || le32_to_cpu(offer->add.kind) != VGPU_EXPORT_DRM_PRIMARY ||
	    major(offer->rdev) != DRM_MAJOR)
		return 0;
	fd = master_start(engine, offer);
	if (fd < 0) {
		log_guest(engine->cid, engine->port,
			  "the guest's programs cannot become DRM master by CAP_SYS_ADMIN: %s",
			  strerror(-fd));
		return 0;
	}
	ret = engine_tell(engine, &msg, sizeof(msg), fd);
	close(fd);
	return ret;
}

int engine_grant(struct vgpu_host_grant *arg)
{
	const uint32_t *ioctls = (const uint32_t *)(uintptr_t)arg->ioctls;
	struct engine *engine = engine_find(arg->peer);
	struct offer *offer = offer_find(arg->export);
	static struct engine_grant msg;
	struct offer_file *file;
	uint32_t i;
	int ret;

	if (!engine || !offer)
		return -ENOENT;
	if (arg->nr_ioctls > VGPU_POLICY_IOCTLS_MAX)
		return -EINVAL;
	ret = node_make(engine->nodes_fd, offer->number, offer->rdev,
			arg->flags & VGPU_HOST_GRANT_READ_ONLY);
	/*
	 * ENGINE_GRANT announces the export, so the guest cannot use it before this.
	 * master_make() fails if the engine has ended.
	 */
	if (!ret)
		ret = master_make(engine, offer);
	if (ret)
		return ret;
	msg.type = ENGINE_GRANT;
	msg.export = offer->number;
	msg.flags = arg->flags;
	msg.master = offer->master;
	msg.no_demand = offer->no_demand;
	msg.add = offer->add;
	msg.deny = arg->ioctls_deny;
	msg.nr_ioctls = arg->nr_ioctls;
	for (i = 0; i < arg->nr_ioctls; i++)
		msg.ioctls[i] = vgpu_ioctl_key(ioctls[i]);
	qsort(msg.ioctls, arg->nr_ioctls, sizeof(msg.ioctls[0]), compare);
	ret = engine_tell(engine, &msg, offsetof(struct engine_grant, ioctls) +
			  arg->nr_ioctls * sizeof(msg.ioctls[0]), -1);
	LIST_FOREACH(file, &offer->files, node)
		if (!ret)
			ret = file_tell(engine, offer, file, false);
	return ret;
}
