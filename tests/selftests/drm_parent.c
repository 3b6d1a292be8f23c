// SPDX-License-Identifier: GPL-2.0-only
/*
 * These tests show what happens to parents of nodes while nodes are open. Others use parents of
 * devices that no test machine has; there the test is the host.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/time.h>

#include <drm.h>

#include "host_played.h"
#include "slow.h"

#include "kselftest_harness.h"

#define NR_RELOADS	6
#define NVIDIA		0x10de
#define VIRTIO		0x1af4

/*
 * Waits for the node of an export. Return: directory of the node's parent in sysfs, or "" if
 * there is no node.
 */
static const char *parent_of(const char *name)
{
	static char real[PATH_MAX];
	uint64_t deadline = tool_now_ms() + 30000;
	char link[64];

	do {
		snprintf(link, sizeof(link), "/sys/class/vgpu/vgpu%d/drm/drm", tool_find_export(name));
		if (!access(link, F_OK)) {
			*strrchr(link, '/') = '\0';
			if (realpath(link, real))
				return real;
		}
		usleep(50000);
	} while (tool_now_ms() < deadline);
	return "";
}

static bool attribute_is(const char *dir, const char *name, const char *value)
{
	char file[PATH_MAX + 32], line[64];

	snprintf(file, sizeof(file), "%s/%s", dir, name);
	tool_read_line(file, line, sizeof(line));
	return !strcmp(line, value);
}

static bool driver_is(const char *dir, const char *name)
{
	char link[PATH_MAX + 32], driver[PATH_MAX];

	snprintf(link, sizeof(link), "%s/driver", dir);
	return realpath(link, driver) && !strcmp(strrchr(driver, '/') + 1, name);
}

/*
 * Returns the number of PCI devices and buses in the domains of vgpu, which this machine itself
 * does not have.
 */
static int foreign_devices(void)
{
	static const char * const lists[] = { "/sys/bus/pci/devices", "/sys/class/pci_bus" };
	struct dirent *entry;
	int i, number = 0;
	DIR *list;

	for (i = 0; i < 2; i++) {
		list = opendir(lists[i]);
		while (list && (entry = readdir(list)))
			number += strchr("89abcdef", entry->d_name[0]) && entry->d_name[4] == ':';
		if (list)
			closedir(list);
	}
	return number;
}

static bool await_foreign(int number)
{
	uint64_t deadline = tool_now_ms() + 30000;

	while (foreign_devices() != number) {
		if (tool_now_ms() > deadline)
			return false;
		usleep(50000);
	}
	return true;
}

static bool await_export(const char *name, bool there)
{
	uint64_t deadline = tool_now_ms() + 30000;

	while ((tool_find_export(name) >= 0) != there) {
		if (tool_now_ms() > deadline)
			return false;
		usleep(50000);
	}
	return true;
}

/* Opens the host's GPU by its render node, or by its file of class vgpu if @plain. */
static int open_gpu(bool plain)
{
	int number = tool_find_export("gpu-render");
	struct tool_run *run;
	char node[32];

	if (number < 0)
		return -1;
	if (plain) {
		snprintf(node, sizeof(node), "/dev/vgpu%d", number);
		return open(node, O_RDWR | O_CLOEXEC);
	}
	run = tool_run("cd /sys/class/vgpu/vgpu%d/drm/drm && ls -d renderD*", number);
	if (run->status)
		return -1;
	snprintf(node, sizeof(node), "/dev/dri/%.*s", (int)strcspn(run->out, "\n"), run->out);
	return open(node, O_RDWR | O_CLOEXEC);
}

/* Makes an ioctl that every DRM node has. Return: 0, or the errno. */
static int ask(int fd)
{
	struct drm_version version = {};

	return ioctl(fd, DRM_IOCTL_VERSION, &version) ? errno : 0;
}

FIXTURE(live) {
	char unused;
};

FIXTURE_SETUP(live)
{
	if (native())
		SKIP(return, "nothing is forwarded");
	ASSERT_TRUE(restore());
}

FIXTURE_TEARDOWN(live)
{
}

/* Root removes the device: the node goes, and open files stay. */
TEST_F_TIMEOUT(live, removed_while_open, 120)
{
	char dir[PATH_MAX];
	int fd, plain;

	fd = open_gpu(false);
	if (fd < 0)
		SKIP(return, "no GPU in the host's machine");
	EXPECT_EQ(ask(fd), 0);
	EXPECT_EQ(foreign_devices(), 2);
	snprintf(dir, sizeof(dir), "%s", parent_of("gpu-render"));
	EXPECT_EQ(tool_run("echo 1 >%s/remove", dir)->status, 0);
	EXPECT_EQ(foreign_devices(), 1);
	EXPECT_EQ(open_gpu(false), -1);
	EXPECT_EQ(ask(fd), 0);
	plain = open_gpu(true);
	EXPECT_GE(plain, 0);
	EXPECT_EQ(ask(plain), 0);
	EXPECT_NE(tool_run("rmmod vgpu_guest")->status, 0);
	close(plain);
	close(fd);
	/* The last reference of the file is dropped a moment later. */
	EXPECT_EQ(tool_run("for i in $(seq 100); do rmmod vgpu_guest && exit; "
			   "busybox usleep 50000; done; exit 1")->status, 0);
	EXPECT_EQ(foreign_devices(), 0);
}

/* The device goes with the host and comes back with it, in the same place. */
TEST_F_TIMEOUT(live, gone_and_back, 240)
{
	struct tool_run *run;
	char dir[PATH_MAX];
	int fd;

	if (!tool_has_host())
		SKIP(return, "the host is another machine");
	fd = open_gpu(false);
	if (fd < 0)
		SKIP(return, "no GPU in the host's machine");
	snprintf(dir, sizeof(dir), "%s", parent_of("gpu-render"));
	EXPECT_EQ(tool_run("kill $(pidof vgpud) && while pidof vgpud; do busybox usleep 50000; done")->status,
		  0);
	EXPECT_TRUE(await_foreign(0));
	EXPECT_EQ(ask(fd), ENODEV);
	run = tool_run("VGPU_ENGINE=%s /usr/lib/vgpu-test/setup host 1",
		       tool_user_engine() ? "user" : "kernel");
	EXPECT_EQ(run->status, 0)
		TH_LOG("%s", run->out);
	EXPECT_TRUE(restore());
	EXPECT_STREQ(parent_of("gpu-render"), dir);
	EXPECT_EQ(ask(fd), ENODEV);
	close(fd);
	fd = open_gpu(false);
	EXPECT_EQ(ask(fd), 0);
	close(fd);
}

FIXTURE(parent) {
	char unused;
};

FIXTURE_SETUP(parent)
{
	if (native())
		SKIP(return, "nothing is forwarded");
	ASSERT_EQ(host_begin_again(), 0);
	ASSERT_EQ(foreign_devices(), 0);
}

FIXTURE_TEARDOWN(parent)
{
	if (getenv("VGPU_TIMES")) {
		host_leave();
		EXPECT_TRUE(await_foreign(0));
	} else {
		host_end();
		EXPECT_EQ(foreign_devices(), 0);
	}
}

/* Sends a file of the last export's connector; NULL: the file is gone. */
static bool send_file(const char *name, const char *text)
{
	struct {
		struct vgpu_export_file head;
		char data[64];
	} msg = { };
	size_t len = text ? strlen(text) : 0, padded = (len + 7) & ~7UL;

	msg.head.hdr.len = htole32(sizeof(msg.head) + padded);
	msg.head.hdr.type = htole16(VGPU_MSG_EXPORT_FILE);
	msg.head.export = htole32(last_export);
	msg.head.flags = htole32(text ? 0 : VGPU_FILE_GONE);
	msg.head.size = htole32(len);
	snprintf((char *)msg.head.name, sizeof(msg.head.name), "%s", name);
	memcpy(msg.data, text ?: "", len);
	return send_all(&msg, sizeof(msg.head) + padded);
}

/*
 * Waits until the file has this line, or does not exist if @line is NULL. Return: true if it
 * came to that.
 */
static bool await_line(const char *file, const char *line)
{
	uint64_t deadline = tool_now_ms() + 30000;
	char seen[64];
	bool same;

	do {
		tool_read_line(file, seen, sizeof(seen));
		same = line ? !strcmp(seen, line) : access(file, F_OK);
	} while (!same && tool_now_ms() < deadline && !usleep(20000));
	return same;
}

/* A connector gets each of the host's files as soon as the host sends it. */
TEST_F_TIMEOUT(parent, connector_by_and_by, 120)
{
	char dir[64], status[128], modes[128], edid[128];
	struct vgpu_export_add add;
	struct tool_run *run;

	fill_export(&add, "gpu", NULL);
	ASSERT_TRUE(send_all(&add, sizeof(add)));
	ASSERT_TRUE(send_file("HDMI-A-1/status", "connected\n"));
	ASSERT_STRNE(parent_of("gpu"), "");
	run = tool_run("cd /sys/class/vgpu/vgpu%d/drm/drm && ls -d card*", tool_find_export("gpu"));
	ASSERT_EQ(run->status, 0);
	snprintf(dir, sizeof(dir), "/sys/class/drm/%.*s-HDMI-A-1", (int)strcspn(run->out, "\n"),
		 run->out);
	snprintf(status, sizeof(status), "%s/status", dir);
	snprintf(modes, sizeof(modes), "%s/modes", dir);
	snprintf(edid, sizeof(edid), "%s/edid", dir);
	ASSERT_TRUE(await_line(status, "connected"));
	/* A file that the host has not sent does not exist. */
	EXPECT_NE(access(modes, F_OK), 0);
	/* The file is added to those that exist already. */
	ASSERT_TRUE(send_file("HDMI-A-1/modes", "640x480\n"));
	EXPECT_TRUE(await_line(modes, "640x480"));
	EXPECT_TRUE(await_line(status, "connected"));
	EXPECT_NE(access(edid, F_OK), 0);
	ASSERT_TRUE(send_file("HDMI-A-1/status", "disconnected\n"));
	EXPECT_TRUE(await_line(status, "disconnected"));
	ASSERT_TRUE(send_file("HDMI-A-1/modes", NULL));
	EXPECT_TRUE(await_line(modes, NULL));
	EXPECT_TRUE(await_line(status, "disconnected"));
	/* The connector goes with its last file, and can come again. */
	ASSERT_TRUE(send_file("HDMI-A-1/status", NULL));
	EXPECT_TRUE(await_line(dir, NULL));
	ASSERT_TRUE(send_file("HDMI-A-1/modes", "800x600\n"));
	EXPECT_TRUE(await_line(modes, "800x600"));
	EXPECT_NE(access(status, F_OK), 0);
}

/* A file keeps its old contents if there is no memory for the new ones. */
TEST_F_TIMEOUT(parent, connector_without_memory, 120)
{
	uint64_t deadline = tool_now_ms() + 30000;
	struct vgpu_export_add add;
	char status[128], modes[128];
	struct tool_run *run;

	if (!slow_can())
		SKIP(return, "needs a kernel with kprobes");
	fill_export(&add, "gpu", NULL);
	ASSERT_TRUE(send_all(&add, sizeof(add)));
	ASSERT_TRUE(send_file("HDMI-A-1/status", "connected\n"));
	ASSERT_STRNE(parent_of("gpu"), "");
	run = tool_run("cd /sys/class/vgpu/vgpu%d/drm/drm && ls -d card*", tool_find_export("gpu"));
	ASSERT_EQ(run->status, 0);
	snprintf(status, sizeof(status), "/sys/class/drm/%.*s-HDMI-A-1/status",
		 (int)strcspn(run->out, "\n"), run->out);
	snprintf(modes, sizeof(modes), "%.*smodes", (int)(strlen(status) - strlen("status")),
		 status);
	ASSERT_TRUE(await_line(status, "connected"));
	ASSERT_TRUE(slow_start_with("vgpu_guest:file_copy", "null=1 go=1"));
	ASSERT_TRUE(send_file("HDMI-A-1/status", "disconnected\n"));
	while (!slow_waits() && tool_now_ms() < deadline)
		usleep(20000);
	EXPECT_TRUE(slow_waits());
	EXPECT_TRUE(slow_stop());
	/* The guest handles the files in this order. */
	ASSERT_TRUE(send_file("HDMI-A-1/modes", "640x480\n"));
	EXPECT_TRUE(await_line(modes, "640x480"));
	EXPECT_TRUE(await_line(status, "connected"));
	ASSERT_TRUE(send_file("HDMI-A-1/status", "unknown\n"));
	EXPECT_TRUE(await_line(status, "unknown"));
}

#define DYNAMIC_DEBUG	"/proc/dynamic_debug/control"

/* Has the kernel's log name each driver that is tried on a device from here on. */
static bool log_probes(unsigned int round)
{
	return !tool_run("echo 'file drivers/base/dd.c +p' >" DYNAMIC_DEBUG " && "
			 "echo vgpu-test: probes %d.%u >/dev/kmsg", getpid(), round)->status;
}

/* Returns the names of the drivers that were tried on a device in this round, one a line. */
static const char *probes_of(const char *device, unsigned int round)
{
	return tool_run("echo 'file drivers/base/dd.c -p' >" DYNAMIC_DEBUG "; "
			"dmesg | sed '1,/vgpu-test: probes %d.%u/d' | grep -wF '%s' | "
			"sed -n 's/.*probing driver \\([^ ]*\\) .*/\\1/p'", getpid(), round, device)->out;
}

/* Loads the module of a driver. Return: true if the driver is registered. */
static bool driver_is_there(const char *module, const char *driver)
{
	return !tool_run("modprobe %s", module)->status &&
	       !tool_run("ls -d /sys/bus/pci/drivers/%s", driver)->status;
}

/*
 * No other driver of this machine gets the device, whether it was loaded before, is told to
 * bind, or is allowed by driver_override.
 */
TEST_F_TIMEOUT(parent, no_other_driver, 120)
{
	static const struct { unsigned int vendor, device; const char *driver; } ids[] = {
		{ NVIDIA, 0x1380, "nouveau" }, { VIRTIO, 0x1050, "virtio-pci" },
	};
	const bool probes_logged = !access(DYNAMIC_DEBUG, W_OK);
	struct vgpu_export_add add;
	const char *dir;
	unsigned int i;

	/* These drivers would match the device. The debug kernel has no nouveau. */
	EXPECT_TRUE(driver_is_there("virtio_pci", "virtio-pci"));
	if (tool_run("modprobe -nq nouveau")->status)
		TH_LOG("this kernel has no nouveau");
	else
		EXPECT_TRUE(driver_is_there("nouveau", "nouveau"));
	if (!probes_logged)
		TH_LOG("this kernel does not log probes");
	for (i = 0; i < 2; i++) {
		char name[8], text[16];

		snprintf(name, sizeof(name), "gpu%u", i);
		if (probes_logged)
			ASSERT_TRUE(log_probes(i));
		fill_pci(&add, name, i ? "0000:00:02.0" : "0001:01:00.1", ids[i].vendor,
			 ids[i].device);
		ASSERT_TRUE(send_all(&add, sizeof(add)));
		dir = parent_of(name);
		TH_LOG("%s", dir);
		EXPECT_STREQ(strrchr(dir, '/') + 5, i ? ":00:02.0" : ":01:00.1");
		snprintf(text, sizeof(text), "0x%04x", ids[i].vendor);
		EXPECT_TRUE(attribute_is(dir, "vendor", text));
		EXPECT_TRUE(attribute_is(dir, "subsystem_vendor", "0xa5a5"));
		EXPECT_TRUE(attribute_is(dir, "revision", "0xa5"));
		EXPECT_TRUE(attribute_is(dir, "class", "0x030000"));
		EXPECT_TRUE(attribute_is(dir, "driver_override", "vgpu-drm"));
		EXPECT_TRUE(driver_is(dir, "vgpu-drm"));
		/*
		 * No other driver was even tried, as driver_override was set before any could
		 * be.
		 */
		if (probes_logged)
			EXPECT_STREQ(probes_of(strrchr(dir, '/') + 1, i), "vgpu-drm\n");
		tool_run("echo %s >/sys/bus/pci/drivers/%s/bind", strrchr(dir, '/') + 1,
			 ids[i].driver);
		tool_run("echo %s >%s/driver_override; echo %s >/sys/bus/pci/drivers_probe",
			 ids[i].driver, dir, strrchr(dir, '/') + 1);
		EXPECT_TRUE(driver_is(dir, "vgpu-drm"));
		/* The device has neither BARs nor an interrupt. */
		EXPECT_TRUE(attribute_is(dir, "irq", "0"));
		EXPECT_EQ(tool_run("grep -v '^0x0* 0x0* 0x0*$' %s/resource", dir)->out[0], '\0');
		EXPECT_TRUE(attribute_is(dir, "enable", "0"));
	}
	EXPECT_EQ(foreign_devices(), 4);	/* with their buses */
}

/* A device becomes a platform device if it is no display with an ordinary PCI header. */
TEST_F_TIMEOUT(parent, refused, 120)
{
	static const struct { const char *bus_id; unsigned int at, value; } bad[] = {
		{ "0000:01:00.0", 0x00, 0x0001 },	/* bad vendor */
		{ "0000:01:00.0", 0x00, 0x0000 },
		{ "0000:01:00.0", 0x00, 0xffff },
		{ "0000:01:00.0", 0x0e, 0x0001 },	/* header of a bridge */
		{ "0000:01:00.0", 0x0e, 0x007f },
		{ "0000:01:00.0", 0x0a, 0x0604 },	/* class of a bridge, or of a disk */
		{ "0000:01:00.0", 0x0a, 0x0101 },
		{ "0000:01:20.0", 0x02, 0x1380 },
		{ "0000:01:00.8", 0x02, 0x1380 },
		{ "0000:01:00.0.0", 0x02, 0x1380 },
		{ "../../etc", 0x02, 0x1380 },
		{ "gpu", 0x02, 0x1380 },
	};
	struct vgpu_export_add add;
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char name[8];
		const char *dir;

		snprintf(name, sizeof(name), "bad%u", i);
		fill_pci(&add, name, bad[i].bus_id, NVIDIA, 0x1380);
		add.pci_header[bad[i].at] = bad[i].value;
		add.pci_header[bad[i].at + 1] = bad[i].value >> 8;
		ASSERT_TRUE(send_all(&add, sizeof(add)));
		dir = parent_of(name);
		EXPECT_NE(strstr(dir, "/platform/vgpu-drm."), NULL)
			TH_LOG("%u: %s", i, dir);
	}
	EXPECT_EQ(foreign_devices(), 0);
}

/* Nodes of one device share a parent, which goes with the last of them. */
TEST_F_TIMEOUT(parent, shared, 60)
{
	struct vgpu_export_del del = {
		.hdr.len = htole32(sizeof(del)), .hdr.type = htole16(VGPU_MSG_EXPORT_DEL),
	};
	struct vgpu_export_add add;
	char first[PATH_MAX];

	fill_pci(&add, "card", "0000:01:00.0", NVIDIA, 0x1380);
	add.device = htole64(42);
	ASSERT_TRUE(send_all(&add, sizeof(add)));
	fill_pci(&add, "render", "0000:01:00.0", NVIDIA, 0x1380);
	add.device = htole64(42);
	add.kind = htole32(VGPU_EXPORT_DRM_RENDER);
	ASSERT_TRUE(send_all(&add, sizeof(add)));
	snprintf(first, sizeof(first), "%s", parent_of("card"));
	EXPECT_STREQ(parent_of("render"), first);
	EXPECT_EQ(foreign_devices(), 2);

	del.export = htole32(last_export - 1);
	ASSERT_TRUE(send_all(&del, sizeof(del)));
	EXPECT_TRUE(await_export("card", false));
	EXPECT_STREQ(parent_of("render"), first);
	del.export = htole32(last_export);
	ASSERT_TRUE(send_all(&del, sizeof(del)));
	EXPECT_TRUE(await_foreign(0));
}

/* Root removes the device and rescans the bus; then the host is lost. */
TEST_F_TIMEOUT(parent, removed, 60)
{
	struct vgpu_export_add add;
	char dir[PATH_MAX];

	fill_pci(&add, "gpu", "0000:01:00.0", NVIDIA, 0x1380);
	add.device = htole64(42);
	ASSERT_TRUE(send_all(&add, sizeof(add)));
	snprintf(dir, sizeof(dir), "%s", parent_of("gpu"));
	EXPECT_EQ(foreign_devices(), 2);
	EXPECT_EQ(tool_run("echo 1 >%s/remove", dir)->status, 0);
	EXPECT_EQ(foreign_devices(), 1);	/* bus of the device */
	EXPECT_EQ(tool_run("ls -d %s/drm", dir)->status, 2);
	EXPECT_GE(tool_find_export("gpu"), 0);
	EXPECT_EQ(tool_run("echo 1 >/sys/bus/pci/rescan")->status, 0);
	EXPECT_EQ(foreign_devices(), 1);
	/* The host adds another node of that device. */
	fill_pci(&add, "late", "0000:01:00.0", NVIDIA, 0x1380);
	add.device = htole64(42);
	add.kind = htole32(VGPU_EXPORT_DRM_RENDER);
	ASSERT_TRUE(send_all(&add, sizeof(add)));
	EXPECT_TRUE(await_export("late", true));
	EXPECT_EQ(tool_run("ls -d /sys/class/vgpu/*/drm")->status, 2);
	close(control);
	EXPECT_TRUE(await_foreign(0));
}

/* Root has turned automatic probing off, which does not concern vgpu's devices. */
TEST_F_TIMEOUT(parent, no_autoprobe, 60)
{
	struct vgpu_export_add add;

	tool_run("echo 0 >/sys/bus/pci/drivers_autoprobe");
	fill_pci(&add, "gpu", "0000:01:00.0", NVIDIA, 0x1380);
	EXPECT_TRUE(send_all(&add, sizeof(add)));
	EXPECT_TRUE(driver_is(parent_of("gpu"), "vgpu-drm"));
	tool_run("echo 1 >/sys/bus/pci/drivers_autoprobe");
}

TEST_F_TIMEOUT(parent, reload, 240)
{
	const unsigned int times = getenv("VGPU_TIMES") ? 2 : NR_RELOADS;
	struct vgpu_export_add add;
	unsigned int i;

	for (i = 0; i < times; i++) {
		fill_pci(&add, "gpu", "0000:01:00.0", NVIDIA, 0x1380);
		ASSERT_TRUE(send_all(&add, sizeof(add)));
		/*
		 * The module is unloaded when the nodes exist in even rounds, and while they
		 * are made in odd ones.
		 */
		ASSERT_TRUE(i % 2 ? await_foreign(2) : *parent_of("gpu"));
		close(control);
		ASSERT_EQ(tool_run("rmmod vgpu_guest")->status, 0);
		ASSERT_EQ(foreign_devices(), 0);
		ASSERT_EQ(tool_run("modprobe vgpu_guest cid=1 port=%d", PORT)->status, 0);
		ASSERT_TRUE(host_welcome());
	}
}

/* Unloading the module does not wait for a host that sends nothing. */
TEST_F_TIMEOUT(parent, silence, 60)
{
	struct pollfd pollfd = { .fd = listener, .events = POLLIN };
	time_t start;

	close(control);
	control = -1;
	ASSERT_EQ(tool_run("rmmod vgpu_guest")->status, 0);
	while (poll(&pollfd, 1, 0) > 0)
		close(accept(listener, NULL, NULL));
	ASSERT_EQ(tool_run("modprobe vgpu_guest cid=1 port=%d", PORT)->status, 0);
	/* The guest is connected before the connection is accepted. */
	ASSERT_EQ(poll(&pollfd, 1, 20000), 1);
	start = time(NULL);
	EXPECT_EQ(tool_run("rmmod vgpu_guest")->status, 0);
	EXPECT_LT(time(NULL) - start, 9);
}

/* Returns how often the module has logged that there is no host. */
static int complaints(void)
{
	return atoi(tool_run("dmesg | grep -c 'host .* does not answer'")->out);
}

/*
 * Without a host the module loads, logs one line about it, has no nodes, and tries again and
 * again.
 */
TEST_F_TIMEOUT(parent, nobody, 120)
{
	uint64_t deadline = tool_now_ms() + 30000;
	struct pollfd pollfd = { .events = POLLIN };
	int before;

	ASSERT_EQ(tool_run("rmmod vgpu_guest")->status, 0);
	close(control);
	close(listener);
	before = complaints();
	ASSERT_EQ(tool_run("modprobe vgpu_guest cid=1 port=%d", PORT)->status, 0);
	while (complaints() == before && tool_now_ms() < deadline)
		usleep(50000);
	/* The module has tried several times by then, each time later. */
	usleep(2000000);
	EXPECT_EQ(complaints(), before + 1);
	EXPECT_NE(tool_run("ls /sys/class/vgpu/vgpu*")->status, 0);
	ASSERT_TRUE(host_listen(PORT));
	pollfd.fd = listener;
	ASSERT_EQ(poll(&pollfd, 1, 30000), 1);
	EXPECT_TRUE(host_welcome());
	EXPECT_EQ(complaints(), before + 1);
}

/*
 * The names of two platform devices differ, as libdrm takes devices with one name for one
 * device.
 */
TEST_F_TIMEOUT(parent, names, 60)
{
	struct vgpu_export_add add;
	struct tool_run *run;
	char name[8];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "soc%u", i);
		fill_export(&add, name, NULL);
		add.bus = htole32(VGPU_BUS_PLATFORM);
		strcpy((char *)add.bus_id, "soc-gpu");
		ASSERT_TRUE(send_all(&add, sizeof(add)));
		run = tool_run("cat %s/modalias", parent_of(name));
		EXPECT_EQ(strncmp(run->out, i ? "platform:soc-gpu.vgpu" : "platform:soc-gpu\n",
				  i ? 21 : 17), 0)
			TH_LOG("%s", run->out);
	}
}

PLAYED_MAIN
