// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel sends a uevent of a card when a lease of the card has ended, or when its device
 * hangs. The guest sends the same uevent for the forwarded card, and for no other card. Uevents
 * of displays are tested in ordeal_hotplug.
 */
#include <poll.h>
#include <sys/socket.h>

#include <linux/netlink.h>

#include "drm_node.h"

/* No uevent comes after this time without one. The host sends at most ten a second. */
#define QUIET_MS	1000
#define TELL_MS		100
#define BURST		20

/**
 * struct told - uevents "change" of cards, until none came for some time
 * @here: number of uevents of the tested node
 * @there: number of uevents of its twin, if both are in this machine
 * @others: number of uevents of all other DRM devices
 * @lease: number of the node's uevents with LEASE=1 and nothing about displays
 * @wedged: WEDGED of the node's last uevent
 */
struct told {
	unsigned int here, there, others, lease;
	char wedged[80];
};

static int listen_uevents(void)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);

	MUST(fd >= 0);
	MUST(!bind(fd, (struct sockaddr *)&addr, sizeof(addr)));
	return fd;
}

static const char *uevent_get(const char *text, size_t len, const char *name)
{
	const char *at;

	for (at = text; at < text + len; at += strlen(at) + 1)
		if (!strncmp(at, name, strlen(name)) && at[strlen(name)] == '=')
			return at + strlen(name) + 1;
	return "";
}

static dev_t rdev_of(const char *node)
{
	struct stat st;

	return node && !stat(node, &st) ? st.st_rdev : 0;
}

/*
 * Returns the device number of the forwarded node's real node, or the reverse; 0 if there is
 * none in this machine.
 */
static dev_t twin_rdev(void)
{
	dev_t twin;

	if (getenv("VGPU_RECORDED"))
		return 0;
	twin = rdev_of(diff_node(forwarded ? "VGPU_REAL" : "VGPU_FWD", drm_node));
	return twin == rdev_of(path) ? 0 : twin;
}

static void take_uevent(int fd, struct told *told)
{
	char text[8192];
	ssize_t len = recv(fd, text, sizeof(text) - 1, 0);
	dev_t rdev;

	MUST(len > 0);
	text[len] = '\0';
	if (strncmp(text, "change@", 7) || strcmp(uevent_get(text, len, "SUBSYSTEM"), "drm"))
		return;
	rdev = makedev(atoi(uevent_get(text, len, "MAJOR")), atoi(uevent_get(text, len, "MINOR")));
	if (rdev == rdev_of(path)) {
		told->here++;
		told->lease += !strcmp(uevent_get(text, len, "LEASE"), "1") &&
			!*uevent_get(text, len, "HOTPLUG") && !*uevent_get(text, len, "CONNECTOR");
		snprintf(told->wedged, sizeof(told->wedged), "%s",
			 uevent_get(text, len, "WEDGED"));
	} else if (rdev && rdev == twin_rdev()) {
		told->there++;
	} else {
		told->others++;
	}
}

/*
 * Waits for @here uevents of the node and @there of its twin, and then until none comes for
 * @quiet_ms. Return: the uevents.
 */
static struct told take_uevents(int fd, unsigned int here, unsigned int there, int quiet_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct told told = { 0 };

	while (poll(&p, 1, told.here < here || told.there < there ? 15000 : quiet_ms) == 1)
		take_uevent(fd, &told);
	return told;
}

/* Makes a lease of the first screen and ends it. */
static void lease(int fd)
{
	__u32 crtcs[8], connectors[8], objects[2];
	struct drm_mode_card_res res = {
		.crtc_id_ptr = (__u64)(uintptr_t)crtcs, .count_crtcs = 8,
		.connector_id_ptr = (__u64)(uintptr_t)connectors, .count_connectors = 8,
	};
	struct drm_mode_create_lease l = {
		.object_ids = (__u64)(uintptr_t)objects, .object_count = 2, .flags = O_CLOEXEC,
	};

	MUST(!ioctl(fd, DRM_IOCTL_MODE_GETRESOURCES, &res));
	MUST(res.count_crtcs && res.count_connectors);
	objects[0] = crtcs[0];
	objects[1] = connectors[0];
	MUST(!ioctl(fd, DRM_IOCTL_MODE_CREATE_LEASE, &l));
	close(l.fd);
}

static void one_lease(int fd, int uevents)
{
	struct told told;

	lease(fd);
	told = take_uevents(uevents, 1, !!twin_rdev(), QUIET_MS);
	log_line("%u uevents, %u of a lease", told.here, told.lease);
	CHECK(told.lease == 1 && told.here == 1 && !told.others);
	CHECK(told.there == !!twin_rdev());
}

/* The host may merge all uevents into one, and sends no more than its rate allows. */
static void many_leases(int fd, int uevents)
{
	__u64 start = now_ms(), took;
	struct told told;
	int i;

	for (i = 0; i < BURST; i++)
		lease(fd);
	told = take_uevents(uevents, forwarded ? 1 : BURST, !!twin_rdev(), QUIET_MS);
	took = now_ms() - start;
	if (!CHECK(told.lease == told.here && told.lease > 0 && !told.others) ||
	    !CHECK(forwarded ? told.lease <= took / TELL_MS + 1 : told.lease == BURST))
		log_line("%u uevents, %u of a lease, in %llu ms", told.here, told.lease, took);
}

/* A uevent that a user triggers on the host, by sysfs or udevadm, is not sent to the guest. */
static void by_hand(int uevents)
{
	const char *real = diff_node("VGPU_REAL", drm_node);
	struct told told;
	char file[64];
	int fd;

	if (!forwarded || !twin_rdev())
		return;
	snprintf(file, sizeof(file), "/sys/class/drm/%s/uevent", strrchr(real, '/') + 1);
	fd = open(file, O_WRONLY | O_CLOEXEC);
	MUST(fd >= 0);
	MUST(write(fd, "change", 6) == 6);
	close(fd);
	told = take_uevents(uevents, 0, 1, QUIET_MS);
	CHECK(told.there == 1 && !told.here && !told.others);
}

/*
 * Sends WEDGED as a uevent to the kernel, which passes it on as its own if root sends it: no
 * driver here hangs.
 */
static void say_wedged(dev_t rdev, const char *helps)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
	struct {
		struct nlmsghdr head;
		char text[512];
	} msg = { 0 };
	int len;

	MUST(fd >= 0);
	len = snprintf(msg.text, sizeof(msg.text),
		       "change@/devices/any%cACTION=change%cDEVPATH=/devices/any%cSUBSYSTEM=drm%c"
		       "WEDGED=%s%cMAJOR=%u%cMINOR=%u%c", 0, 0, 0, 0, helps, 0, major(rdev), 0,
		       minor(rdev), 0);
	msg.head.nlmsg_len = NLMSG_HDRLEN + len;
	msg.head.nlmsg_type = NLMSG_MIN_TYPE;
	msg.head.nlmsg_flags = NLM_F_REQUEST;
	MUST(sendto(fd, &msg, msg.head.nlmsg_len, 0, (struct sockaddr *)&kernel,
		    sizeof(kernel)) == (ssize_t)msg.head.nlmsg_len);
	close(fd);
}

static void wedged(int uevents)
{
	static const struct {
		const char *there, *here;
	} cases[] = {
		{ "rebind,bus-reset", "rebind,bus-reset" },
		{ "none", "none" },
		{ "vendor-specific", "vendor-specific" },
		{ "rebind,of another time", "rebind,unknown" },
	};
	struct told told;
	unsigned int i;

	if (!forwarded || !twin_rdev())
		return;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		say_wedged(twin_rdev(), cases[i].there);
		told = take_uevents(uevents, 1, 1, 3 * TELL_MS);
		CHECK(told.here == 1 && told.there == 1 && !told.others && !told.lease);
		if (!CHECK(!strcmp(told.wedged, cases[i].here)))
			log_line("%s is told as %s", cases[i].there, told.wedged);
	}
	/* The uevent is another device's. */
	say_wedged(makedev(226, 63), "rebind");
	told = take_uevents(uevents, 0, 0, 3 * TELL_MS);
	CHECK(!told.here && !told.there && told.others == 1);
}

static void uevents(const char *node)
{
	int fd, netlink;

	drm_node = node;
	fd = open_device(O_RDWR | O_CLOEXEC);
	netlink = listen_uevents();
	/* Uevents of an earlier test are dropped. */
	take_uevents(netlink, 0, 0, 3 * QUIET_MS);
	one_lease(fd, netlink);
	by_hand(netlink);
	wedged(netlink);
	many_leases(fd, netlink);
	close(netlink);
	close(fd);
}

DIFF_TEST_NODE(virtio_gpu, "GPU_CARD", 60) { uevents("GPU_CARD"); }
DIFF_TEST_NODE(vkms, "VKMS_CARD", 60) { uevents("VKMS_CARD"); }

TEST_HARNESS_MAIN
