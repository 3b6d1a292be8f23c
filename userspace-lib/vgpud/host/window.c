// SPDX-License-Identifier: MIT
/* Windows: creation, draining and removal, with messages for people. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/answer.h"
#include "base/users.h"
#include "config/config.h"
#include "host/hostdev.h"
#include "host/window.h"
#include "keeper/keeper.h"
#include "shared/log.h"

const char *window_size_mistake(uint64_t size)
{
	if (size < 2 * 4096 || size > 1ULL << 40)
		return "the size of a window must be a power of two from 8 KiB to 1 TiB, such as 4G";
	if (size & (size - 1))
		return "the size of a window must be a power of two, as PCI requires, such as 4G";
	return NULL;
}

int window_owner_say(struct answer *words, int error, const char *owner)
{
	switch (error) {
	case -EINVAL:
		return answer_say(words, -ENOENT, "there is no user '%s': give the name or the UID of one", owner);
	case -ENOENT:
		return answer_say(words, error, "there is no user '%s' in /etc/passwd: give its UID",
				  owner);
	default:
		return answer_say(words, error, "cannot look for users in /etc/passwd: %s",
				  strerror(-error));
	}
}

void window_path(const char *name, char path[48])
{
	snprintf(path, 48, "%s/%.32s", hostdev_is_engine() ? KEEPER_DIR : "/dev", name);
}

int window_create(const struct window_spec *spec, char path[48], struct answer *words)
{
	struct vgpu_host_window_create arg = {
		.cid = spec->cid,
		.port = spec->port ? spec->port : settings.port,
		.bytes = spec->size,
		.flags = spec->automatic ? VGPU_HOST_WINDOW_AUTOMATIC : 0,
	};
	const char *mistake = window_size_mistake(spec->size);
	int ret;

	if (mistake)
		return answer_say(words, -EINVAL, "%s", mistake);
	ret = user_find_owner(spec->owner, &arg.uid, &arg.gid);
	if (ret)
		return window_owner_say(words, ret, spec->owner ? spec->owner : "");
	ret = hostdev_window_create(&arg);
	switch (ret) {
	case 0:
		window_path(arg.out_name, path);
		if (!arg.uid && !(spec->owner && *spec->owner))
			log_info("window %s belongs to root, because /etc/passwd has no user as which libvirt runs QEMU",
				 path);
		return 0;
	case -EEXIST:
		return answer_say(words, ret, "guest %u already has a window: use it, or take it away with 'vgpuctl window destroy'",
				  spec->cid);
	case -EPERM:
		return answer_say(words, ret, "guest %u cannot have a window: " NESTED_ADVICE, spec->cid);
	default:
		return answer_say(words, ret, "%s cannot make the window: %s", hostdev_is_engine() ?
				  "vgpud" : "the host module", strerror(-ret));
	}
}

int window_drain(uint32_t cid, uint32_t port, bool drain, struct answer *words)
{
	int ret = hostdev_window_drain(cid, port ? port : settings.port, drain);

	if (ret == -ENOENT)
		return answer_say(words, ret, "guest %u has no window: 'vgpuctl window list' shows all windows",
				  cid);
	if (ret == -EOPNOTSUPP)
		return answer_say(words, ret, "a window of a user-space engine cannot be drained: end the guest's programs, or use 'window destroy --force'");
	return ret ? answer_say(words, ret, "the window could not be changed: %s",
				strerror(-ret)) : 0;
}

int window_destroy(uint32_t cid, uint32_t port, bool force, struct answer *words)
{
	int ret = hostdev_window_destroy(cid, port ? port : settings.port, force);

	switch (ret) {
	case 0:
		return 0;
	case -ENOENT:
		return answer_say(words, ret, "guest %u has no window: 'vgpuctl window list' shows all windows",
				  cid);
	case -EBUSY:
		return answer_say(words, ret, hostdev_is_engine() ?
				  "the hypervisor of guest %u is connected to the window: end the hypervisor, or use --force" :
				  "programs of guest %u have memory in the window: run 'vgpuctl window drain', or use --force",
				  cid);
	default:
		return answer_say(words, ret, "the window could not be removed: %s",
				  strerror(-ret));
	}
}
