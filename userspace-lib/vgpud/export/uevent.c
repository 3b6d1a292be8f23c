// SPDX-License-Identifier: MIT
/* Notifications from the kernel about devices: uevents. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>

#include <linux/netlink.h>
#include <linux/vgpu_host.h>
#include <linux/vgpu_wire.h>

#include "device/paths.h"
#include "export/change.h"
#include "export/export.h"
#include "export/uevent.h"
#include "shared/loop.h"

/*
 * Time in milliseconds: devices come in bursts, so exports are reviewed once, when no uevent has
 * come for this time.
 */
#define SETTLE_MS	200
/*
 * Longest time in milliseconds from the first uevent until the review. It bounds the delay where
 * uevents do not end, as those of a device that comes and goes again and again.
 */
#define SETTLE_MOST_MS	1000
/* Most bytes of a uevent of the kernel: a path, an action, and up to 2 KiB of variables. */
#define UEVENT_MAX	8192

static void settled(struct timer *timer)
{
	(void)timer;
	exports_rescan();
}

static struct timer settle = { .expired = settled };
/* Time of now_ms() by which the exports are reviewed. Valid while the timer is set. */
static uint64_t settle_by_ms;

/* Review the exports when no other uevent comes for a while, as devices have come or gone. */
static void settle_later(void)
{
	uint64_t now = now_ms(), left;

	if (!settle.set)
		settle_by_ms = now + SETTLE_MOST_MS;
	left = settle_by_ms > now ? settle_by_ms - now : 0;
	timer_set(&settle, left < SETTLE_MS ? left : SETTLE_MS);
}

/* Review the exports soon, since devices may have come or gone. Calls until then are merged. */
static void rescan_soon(void)
{
	if (!settle.set)
		settle_later();
}

/* Return the value of a variable of a uevent, or NULL. */
static const char *uevent_get(const char *text, size_t len, const char *name)
{
	const char *at = text, *end = text + len;
	size_t name_len = strlen(name);

	for (; at < end; at += strlen(at) + 1)
		if (!strncmp(at, name, name_len) && at[name_len] == '=')
			return at + name_len + 1;
	return NULL;
}

static uint32_t uevent_number(const char *text, size_t len, const char *name)
{
	const char *value = uevent_get(text, len, name);

	return value ? strtoul(value, NULL, 10) : 0;
}

/* Return the bits of the ways to recover a device that hangs, from names separated by commas. */
static uint32_t wedged_bits(const char *names)
{
	static const char *const known[] = VGPU_WEDGED_NAMES;
	uint32_t bits = 0;
	size_t len, i;

	for (; *names; names += len + (names[len] == ',')) {
		len = strcspn(names, ",");
		for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			if (strlen(known[i]) == len && !strncmp(known[i], names, len))
				break;
		bits |= i < sizeof(known) / sizeof(known[0]) ? 1U << i : VGPU_WEDGED_UNKNOWN;
	}
	return bits;
}

/*
 * Handle a change of a DRM card: its displays, its leases, or a device that hangs. A uevent
 * that a person triggers by a file "uevent" has other names for these variables, so it is
 * ignored: no driver reports a change then. Cards of vgpu_guest are no exports, and the change
 * of a forwarded card has been reported already.
 */
static void uevent_change(const char *text, size_t len)
{
	const char *subsystem = uevent_get(text, len, "SUBSYSTEM");
	const char *wedged = uevent_get(text, len, "WEDGED");
	struct vgpu_host_export_change change = { 0 };
	dev_t rdev;

	if (!subsystem || strcmp(subsystem, "drm"))
		return;
	rdev = makedev(uevent_number(text, len, "MAJOR"), uevent_number(text, len, "MINOR"));
	if (uevent_number(text, len, "HOTPLUG") == 1) {
		change.flags |= VGPU_CHANGE_HOTPLUG;
		change.connector = uevent_number(text, len, "CONNECTOR");
		if (change.connector)
			change.property = uevent_number(text, len, "PROPERTY");
	}
	if (uevent_number(text, len, "LEASE") == 1)
		change.flags |= VGPU_CHANGE_LEASE;
	if (wedged)
		change.wedged = wedged_bits(wedged);
	if (change.wedged)
		change.flags |= VGPU_CHANGE_WEDGED;
	if (rdev && change.flags)
		exports_change(rdev, &change);
}

void uevents_lost(void)
{
	const struct vgpu_host_export_change change = {
		.flags = VGPU_CHANGE_HOTPLUG | VGPU_CHANGE_LEASE
	};

	exports_change(0, &change);
	settle_later();
}

static void uevent_ready(struct source *source, uint32_t events)
{
	struct sockaddr_nl addr = { .nl_pid = ~0U };
	socklen_t addr_len = sizeof(addr);
	char text[UEVENT_MAX];
	ssize_t len;

	(void)events;
	len = recvfrom(source->fd, text, sizeof(text) - 1, MSG_DONTWAIT,
		       (struct sockaddr *)&addr, &addr_len);
	if (len < 0) {
		if (errno == ENOBUFS)
			uevents_lost();
		return;
	}
	text[len] = '\0';
	/* Accept uevents of the kernel only. A uevent begins with "add@/devices/...". */
	if (addr.nl_pid)
		return;
	if (!strncmp(text, "change@", 7))
		uevent_change(text, len);
	else if (!strncmp(text, "add@", 4) || !strncmp(text, "remove@", 7))
		settle_later();
}

static struct source uevents = { .fd = -1, .ready = uevent_ready };

int uevents_init(void)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK, .nl_groups = 1 };

	paths_init(rescan_soon);
	uevents.fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			    NETLINK_KOBJECT_UEVENT);
	if (uevents.fd < 0)
		return -errno;
	if (bind(uevents.fd, (struct sockaddr *)&addr, sizeof(addr)))
		return -errno;
	return source_add(&uevents, EPOLLIN);
}
