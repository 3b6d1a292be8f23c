// SPDX-License-Identifier: MIT
#include <errno.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "export.h"
#include "hostdev.h"
#include "window.h"

/* Users that libvirt runs QEMU as, by distribution. */
static const char *const qemu_users[] = { "libvirt-qemu", "qemu" };

static int __attribute__((format(printf, 3, 4)))
window_say(struct answer *words, int error, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(words->text, sizeof(words->text), fmt, args);
	va_end(args);
	return error;
}

static const struct passwd *window_owner(const char *owner)
{
	const struct passwd *user = NULL;
	size_t i;

	if (owner)
		return getpwnam(owner);
	for (i = 0; !user && i < sizeof(qemu_users) / sizeof(qemu_users[0]); i++)
		user = getpwnam(qemu_users[i]);
	return user ? user : getpwuid(0);
}

int window_create(const struct window_spec *spec, char path[48], struct answer *words)
{
	struct vgpu_host_window_create arg = {
		.cid = spec->cid,
		.port = spec->port ? spec->port : settings.port,
		.bytes = spec->size,
	};
	const struct passwd *user = window_owner(spec->owner);
	int ret;

	if (!user)
		return window_say(words, -ENOENT, "there is no user %s",
			      spec->owner ? spec->owner : "root");
	arg.uid = user->pw_uid;
	arg.gid = user->pw_gid;
	ret = hostdev_window_create(&arg);
	switch (ret) {
	case 0:
		snprintf(path, 48, "/dev/%.32s", arg.out_name);
		return 0;
	case -EEXIST:
		return window_say(words, ret, "guest %u has a window already", spec->cid);
	case -EINVAL:
		return window_say(words, ret, "a window has 8 KiB to 1 TiB, in pages of 4 KiB");
	default:
		return window_say(words, ret, "the host module makes no window: %s", strerror(-ret));
	}
}

int window_destroy(uint32_t cid, uint32_t port, bool force, struct answer *words)
{
	int ret = hostdev_window_destroy(cid, port ? port : settings.port, force);

	switch (ret) {
	case 0:
		return 0;
	case -ENOENT:
		return window_say(words, ret, "guest %u has no window", cid);
	case -EBUSY:
		return window_say(words, ret, "programs of guest %u have memory in it (--force takes it away from them)",
			      cid);
	default:
		return window_say(words, ret, "the window stays: %s", strerror(-ret));
	}
}
