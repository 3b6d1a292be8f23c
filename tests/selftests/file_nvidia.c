// SPDX-License-Identifier: GPL-2.0-only
/*
 * These tests check nodes and files of NVIDIA's driver in a guest. The test is the host, and
 * announces any nodes and files.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "host_played.h"
#include "kernel_log.h"
#include "nvidia_node.h"

#include "kselftest_harness.h"

/*
 * Announces an export of NVIDIA's driver with this title. Return: the export's number, or 0 if
 * the message could not be sent.
 */
static uint32_t send_node(const char *title, const char *bus_id)
{
	struct vgpu_export_add add;

	/* An export's name must not be empty, and may be any. */
	if (bus_id)
		fill_pci(&add, "node", bus_id, 0x10de, 0x2330);
	else
		fill_export(&add, "node", NULL);
	add.kind = htole32(VGPU_EXPORT_NVIDIA);
	strcpy((char *)add.title, title);
	strcpy((char *)add.driver, "nvidia");
	return send_all(&add, sizeof(add)) ? last_export : 0;
}

static bool send_gone(uint32_t export)
{
	const struct vgpu_export_del del = {
		.hdr.len = htole32(sizeof(del)),
		.hdr.type = htole16(VGPU_MSG_EXPORT_DEL),
		.export = htole32(export),
	};

	return send_all(&del, sizeof(del));
}

/* Sends a file's contents in parts; @data NULL: the file is gone. */
static bool send_bytes(uint32_t export, const char *name, const char *data, size_t len)
{
	static struct {
		struct vgpu_export_file head;
		char data[VGPU_FILE_PART];
	} msg;
	size_t at = 0, part, padded;

	do {
		part = len - at < VGPU_FILE_PART ? len - at : VGPU_FILE_PART;
		padded = (part + 7) & ~7UL;
		memset(&msg, 0, sizeof(msg));
		msg.head.hdr.len = htole32(sizeof(msg.head) + padded);
		msg.head.hdr.type = htole16(VGPU_MSG_EXPORT_FILE);
		msg.head.export = htole32(export);
		msg.head.flags = htole32(data ? 0 : VGPU_FILE_GONE);
		msg.head.size = htole32(len);
		msg.head.offset = htole32(at);
		snprintf((char *)msg.head.name, sizeof(msg.head.name), "%s", name);
		if (data)
			memcpy(msg.data, data + at, part);
		if (!send_all(&msg, sizeof(msg.head) + padded))
			return false;
		at += part;
	} while (at < len);
	return true;
}

static bool send_text(uint32_t export, const char *name, const char *text)
{
	return send_bytes(export, name, text, text ? strlen(text) : 0);
}

/*
 * Waits until the guest has handled all messages, as it makes exports in order. Return: true if
 * it has.
 */
static bool settled(void)
{
	uint64_t deadline = tool_now_ms() + 30000;
	struct vgpu_export_add add;
	char name[32];

	snprintf(name, sizeof(name), "last%u", last_export);
	fill_export(&add, name, NULL);
	add.kind = htole32(VGPU_EXPORT_PLAIN);
	if (!send_all(&add, sizeof(add)))
		return false;
	while (tool_find_export(name) < 0) {
		if (tool_now_ms() > deadline)
			return false;
		usleep(20000);
	}
	return true;
}

static bool is_node(const char *path, unsigned int number_major, unsigned int number_minor)
{
	struct stat st;

	return !stat(path, &st) && st.st_mode == (S_IFCHR | 0666) &&
	       st.st_rdev == makedev(number_major, number_minor);
}

static unsigned int uvm_major(void)
{
	return atoi(tool_run("sed -n 's/ nvidia-uvm$//p' /proc/devices")->out);
}

static bool holds(const char *file, const char *data, size_t len)
{
	static char seen[VGPU_FILE_MAX + 1];
	size_t have = 0;
	ssize_t got = -1;
	int fd = open(file, O_RDONLY);

	while (fd >= 0 && (got = read(fd, seen + have, sizeof(seen) - have)) > 0)
		have += got;
	if (fd >= 0)
		close(fd);
	return !got && have == len && !memcmp(seen, data, len);
}

static bool text_is(const char *file, const char *text)
{
	return holds(file, text, strlen(text));
}

/* Waits until the file has this text. Return: true if it has. */
static bool text_comes(const char *file, const char *text)
{
	uint64_t deadline = tool_now_ms() + 30000;

	while (!text_is(file, text)) {
		if (tool_now_ms() > deadline)
			return false;
		usleep(20000);
	}
	return true;
}

FIXTURE(host) {
	char unused;
};

FIXTURE_SETUP(host)
{
	if (native())
		SKIP(return, "nothing is forwarded");
	ASSERT_EQ(host_begin_again(), 0);
	ASSERT_TRUE(forget_said());
	ASSERT_STREQ(traces(), "");
}

FIXTURE_TEARDOWN(host)
{
	end();
	EXPECT_STREQ(traces(), "");
	/*
	 * Each line with "nvidia" in the kernel's log must say that a node could not be made.
	 * Lines with "nvidia_" do not count: they are the kernel's own, about slow quirks.
	 */
	EXPECT_EQ(said("nvidia[^_]"), said("cannot create /dev/nvidia"))
		TH_LOG("%s", tool_run("dmesg | grep nvidia")->out);
}

TEST_F_TIMEOUT(host, names_and_numbers, 120)
{
	uint32_t ctl;

	ASSERT_NE(ctl = send_node("nvidiactl", NULL), 0);
	ASSERT_NE(send_node("nvidia0", "0000:00:06.0"), 0);
	ASSERT_NE(send_node("nvidia247", "0000:00:07.0"), 0);
	ASSERT_NE(send_node("nvidia-modeset", NULL), 0);
	ASSERT_NE(send_node("nvidia-uvm-tools", NULL), 0);
	ASSERT_NE(send_node("nvidia-uvm", NULL), 0);
	ASSERT_TRUE(settled());
	EXPECT_TRUE(is_node("/dev/nvidiactl", 195, 255));
	EXPECT_TRUE(is_node("/dev/nvidia0", 195, 0));
	EXPECT_TRUE(is_node("/dev/nvidia247", 195, 247));
	EXPECT_TRUE(is_node("/dev/nvidia-modeset", 195, 254));
	EXPECT_TRUE(is_node("/dev/nvidia-uvm", uvm_major(), 0));
	EXPECT_TRUE(is_node("/dev/nvidia-uvm-tools", uvm_major(), 1));
	EXPECT_TRUE(text_is("/sys/module/nvidia/initstate", "live\n"));
	EXPECT_TRUE(text_is("/sys/module/nvidia_uvm/initstate", "live\n"));
	EXPECT_TRUE(text_is("/sys/module/nvidia_modeset/initstate", "live\n"));
	/* The device number goes with the last node that needs it. */
	ASSERT_TRUE(send_gone(ctl));
	ASSERT_TRUE(send_gone(ctl + 3));
	ASSERT_TRUE(send_gone(ctl + 4));
	ASSERT_TRUE(settled());
	EXPECT_STREQ(traces(), "dev/nvidia-uvm dev/nvidia0 dev/nvidia247 sys/module/nvidia sys/module/nvidia_uvm ");
	ASSERT_TRUE(send_gone(ctl + 5));
	ASSERT_TRUE(settled());
	EXPECT_EQ(uvm_major(), 0);
	EXPECT_STREQ(traces(), "dev/nvidia0 dev/nvidia247 sys/module/nvidia ");
}

/* An export with a name that no node of NVIDIA's driver has gets /dev/vgpuN, and nothing else. */
TEST_F_TIMEOUT(host, other_names, 120)
{
	static const char *const names[] = {
		"", "nvidia", "nvidia00", "nvidia01", "nvidia+1", "nvidia-1", "nvidia 1", "nvidia1 ",
		"nvidia248", "nvidia255", "nvidia4294967296", "nvidia0x1", "nvidia1/x", "nvidiactl2",
		"nvidia-uvm-tool", "nvidia-caps/nvidia-cap1", "../null", "null", "NVIDIA0",
		"nvidia0nvidia0nvidia0nvidia0nvidia0nvidia0nvidia0nvidia0nvidia0",
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ASSERT_NE(send_node(names[i], NULL), 0);
	ASSERT_TRUE(settled());
	EXPECT_STREQ(traces(), "");
	EXPECT_EQ(said("cannot create /dev/nvidia"), 0);
	ASSERT_NE(send_node("nvidia1", NULL), 0);
	ASSERT_TRUE(settled());
	EXPECT_STREQ(traces(), "dev/nvidia1 sys/module/nvidia ");
}

TEST_F_TIMEOUT(host, twice, 120)
{
	uint32_t first, second;

	ASSERT_NE(first = send_node("nvidiactl", NULL), 0);
	ASSERT_NE(second = send_node("nvidiactl", NULL), 0);
	ASSERT_TRUE(settled());
	EXPECT_EQ(said("cannot create /dev/nvidiactl of host .*: a device with this name already exists"), 1);
	/* The second export has no files, and removes none of the first. */
	ASSERT_TRUE(send_text(first, "proc/driver/nvidia/params", "first\n"));
	ASSERT_TRUE(send_text(second, "proc/driver/nvidia/params", "second\n"));
	ASSERT_TRUE(send_text(second, "proc/driver/nvidia/params", NULL));
	ASSERT_TRUE(send_gone(second));
	ASSERT_TRUE(settled());
	EXPECT_TRUE(text_is(PROC "/params", "first\n"));
	EXPECT_TRUE(is_node("/dev/nvidiactl", 195, 255));
	ASSERT_TRUE(send_gone(first));
	ASSERT_TRUE(settled());
	EXPECT_STREQ(traces(), "");
}

/*
 * A file has the contents that were sent last, of any length, and exists or not as the host
 * says.
 */
TEST_F_TIMEOUT(host, files_by_and_by, 120)
{
	static char big[VGPU_FILE_MAX];
	uint32_t ctl;
	size_t i;
	int fd;

	for (i = 0; i < sizeof(big); i++)
		big[i] = 'a' + i % 25;
	ASSERT_NE(ctl = send_node("nvidiactl", NULL), 0);
	ASSERT_TRUE(send_text(ctl, "proc/driver/nvidia/params", "ModifyDeviceFiles: 0\n"));
	ASSERT_TRUE(send_bytes(ctl, "proc/driver/nvidia/version", big, sizeof(big)));
	ASSERT_TRUE(settled());
	EXPECT_TRUE(text_is(PROC "/params", "ModifyDeviceFiles: 0\n"));
	EXPECT_TRUE(holds(PROC "/version", big, sizeof(big)));
	EXPECT_NE(open(PROC "/params", O_WRONLY), 0);
	ASSERT_TRUE(send_text(ctl, "proc/driver/nvidia/version", "short\n"));
	ASSERT_TRUE(send_text(ctl, "proc/driver/nvidia/params", ""));
	ASSERT_TRUE(settled());
	EXPECT_TRUE(text_is(PROC "/version", "short\n"));
	EXPECT_TRUE(text_is(PROC "/params", ""));
	/* The file is removed while it is open, and comes again. */
	fd = open(PROC "/version", O_RDONLY);
	ASSERT_GE(fd, 0);
	ASSERT_TRUE(send_text(ctl, "proc/driver/nvidia/version", NULL));
	ASSERT_TRUE(send_text(ctl, "proc/driver/nvidia/version", NULL));
	ASSERT_TRUE(settled());
	EXPECT_LT(read(fd, big, sizeof(big)), 0);
	close(fd);
	EXPECT_STREQ(traces(), "dev/nvidiactl proc/driver/nvidia/params sys/module/nvidia ");
	ASSERT_TRUE(send_text(ctl, "proc/driver/nvidia/version", "again\n"));
	ASSERT_TRUE(settled());
	EXPECT_TRUE(text_is(PROC "/version", "again\n"));
}

/* An unknown release is treated like the known ones, and the log says so once. */
TEST_F_TIMEOUT(host, other_releases, 120)
{
	static const struct {
		const char *text;
		const char *version;	/* NULL if nothing is logged */
	} files[] = {
		{ "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (x)\nGCC version:  gcc 12.3.0\n", NULL },
		{ "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.154.05  Thu Dec 28 15:37:48 UTC 2023\n", "535.154.05" },
		{ "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.1  x\n", NULL },
		{ "NVRM version: NVIDIA UNIX x86_64 Kernel Module\t595.99.1\n", NULL },
		{ "NVRM version: NVIDIA UNIX x86_64 Kernel Module  596.1  x\n", "596.1" },
		{ "549.0", "549.0" },
		{ "NVRM version: mock, revision 100\n600.1\n", NULL },
		{ "NVRM version: 1.2x v600.1 600 .600 600. 600.1.x  +600.1\n", NULL },
		{ "", NULL },
	};
	uint32_t ctl, i, times;
	char words[64];

	ASSERT_NE(ctl = send_node("nvidiactl", NULL), 0);
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		ASSERT_TRUE(forget_said());
		for (times = 0; times < 2; times++)
			ASSERT_TRUE(send_text(ctl, "proc/driver/nvidia/version", files[i].text));
		ASSERT_TRUE(settled());
		EXPECT_TRUE(text_is(PROC "/version", files[i].text));
		EXPECT_EQ(said("which this module does not know (it knows 550 to 595)"),
			  files[i].version ? 1 : 0)
			TH_LOG("%s", files[i].text);
		if (files[i].version) {
			snprintf(words, sizeof(words), "host 1:.* has NVIDIA driver %s, which",
				 files[i].version);
			EXPECT_EQ(said(words), 1);
		}
	}
	/* The nodes are made in any case. */
	EXPECT_TRUE(is_node("/dev/nvidiactl", 195, 255));
}

/**
 * struct reader - thread that reads a file of /proc into memory that does not arrive
 * @file: path of the file
 * @memory: page to which the thread reads
 * @uffd: userfaultfd with which the page is registered
 * @thread: the thread
 */
struct reader {
	const char *file;
	void *memory;
	int uffd;
	pthread_t thread;
};

static void *read_file(void *data)
{
	const struct reader *reader = data;
	int fd = open(reader->file, O_RDONLY);

	/* The file may be gone when the memory arrives. */
	if (fd >= 0 && read(fd, reader->memory, 4096) < 0)
		perror(reader->file);
	close(fd);
	return NULL;
}

/* Begins to read an existing file. Return: true if the reader waits for its memory. */
static bool reader_begin(struct reader *reader, const char *file)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffd_msg msg;

	reader->file = file;
	reader->uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	reader->memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			      0);
	if (reader->uffd < 0 || reader->memory == MAP_FAILED)
		return false;
	reg.range.start = (uintptr_t)reader->memory;
	reg.range.len = 4096;
	return !ioctl(reader->uffd, UFFDIO_API, &api) &&
	       !ioctl(reader->uffd, UFFDIO_REGISTER, &reg) &&
	       !pthread_create(&reader->thread, NULL, read_file, reader) &&
	       read(reader->uffd, &msg, sizeof(msg)) == sizeof(msg);
}

static bool reader_end(struct reader *reader)
{
	struct uffdio_zeropage page = {
		.range.start = (uintptr_t)reader->memory, .range.len = 4096,
	};

	return !ioctl(reader->uffd, UFFDIO_ZEROPAGE, &page) &&
	       !pthread_join(reader->thread, NULL) && !close(reader->uffd) &&
	       !munmap(reader->memory, 4096);
}

/* A blocked reader of a file of /proc does not keep nodes from going and coming. */
TEST_F_TIMEOUT(host, file_that_is_read_for_ever, 240)
{
	struct reader reader;
	uint32_t ctl;
	int i;

	if (access("/proc/sys/vm/unprivileged_userfaultfd", F_OK))
		SKIP(return, "userfaultfd is not available");
	ASSERT_NE(ctl = send_node("nvidiactl", NULL), 0);
	ASSERT_TRUE(send_text(ctl, "proc/driver/nvidia/version", "stuck\n"));
	ASSERT_TRUE(text_comes(PROC "/version", "stuck\n"));
	ASSERT_TRUE(reader_begin(&reader, PROC "/version"));
	for (i = 0; i < 3; i++) {
		ASSERT_TRUE(send_text(ctl, "proc/driver/nvidia/version", NULL));
		ASSERT_TRUE(send_text(ctl, "proc/driver/nvidia/version", "again\n"));
		ASSERT_TRUE(send_gone(ctl));
		ASSERT_NE(ctl = send_node("nvidiactl", NULL), 0);
		ASSERT_NE(send_node("nvidia0", "0000:00:06.0"), 0);
		ASSERT_TRUE(send_text(ctl + 1, "proc/driver/nvidia/gpus/0000:00:06.0/information", "x\n"));
		ASSERT_TRUE(settled());
		EXPECT_TRUE(is_node("/dev/nvidiactl", 195, 255));
		EXPECT_TRUE(is_node("/dev/nvidia0", 195, 0));
		ASSERT_TRUE(send_gone(ctl + 1));
	}
	ASSERT_TRUE(reader_end(&reader));
	/* Everything works as before. */
	ASSERT_TRUE(settled());
	ASSERT_TRUE(send_text(ctl, "proc/driver/nvidia/version", "there\n"));
	ASSERT_TRUE(settled());
	EXPECT_TRUE(text_is(PROC "/version", "there\n"));
	EXPECT_STREQ(traces(), "dev/nvidiactl proc/driver/nvidia/version sys/module/nvidia ");
}

/*
 * A card gets its file as soon as such a reader has ended, whatever the host has sent
 * meanwhile.
 */
TEST_F_TIMEOUT(host, card_file_that_is_read_for_ever, 240)
{
	const char information[] = "proc/driver/nvidia/gpus/0000:00:06.0/information";
	const char elsewhere[] = "proc/driver/nvidia/gpus/0000:00:07.0/information";
	const char here[] = PROC "/gpus/0000:00:06.0/information";
	struct reader reader;
	uint32_t card, other;

	if (access("/proc/sys/vm/unprivileged_userfaultfd", F_OK))
		SKIP(return, "userfaultfd is not available");
	ASSERT_NE(card = send_node("nvidia0", "0000:00:06.0"), 0);
	ASSERT_NE(other = send_node("nvidia1", "0000:00:07.0"), 0);
	ASSERT_TRUE(send_text(card, information, "stuck\n"));
	ASSERT_TRUE(text_comes(here, "stuck\n"));
	/* The file goes and comes again. */
	ASSERT_TRUE(reader_begin(&reader, here));
	ASSERT_TRUE(send_text(card, information, NULL));
	ASSERT_TRUE(send_text(card, information, "again\n"));
	ASSERT_TRUE(settled());
	ASSERT_TRUE(reader_end(&reader));
	ASSERT_TRUE(text_comes(here, "again\n"));
	/* The card goes and comes again. */
	ASSERT_TRUE(reader_begin(&reader, here));
	ASSERT_TRUE(send_gone(card));
	ASSERT_NE(card = send_node("nvidia0", "0000:00:06.0"), 0);
	ASSERT_TRUE(send_text(card, information, "new\n"));
	ASSERT_TRUE(settled());
	ASSERT_TRUE(reader_end(&reader));
	ASSERT_TRUE(text_comes(here, "new\n"));
	/*
	 * Two cards have the file in turn and exchange their addresses, so each has another
	 * name as well.
	 */
	ASSERT_TRUE(reader_begin(&reader, here));
	ASSERT_TRUE(send_text(card, information, NULL));
	ASSERT_TRUE(send_text(other, information, "other\n"));
	ASSERT_TRUE(send_text(other, information, NULL));
	ASSERT_TRUE(send_text(card, information, "mine\n"));
	ASSERT_TRUE(send_text(card, information, NULL));
	ASSERT_TRUE(send_text(card, elsewhere, "card\n"));
	ASSERT_TRUE(send_text(other, information, "last\n"));
	ASSERT_TRUE(settled());
	ASSERT_TRUE(reader_end(&reader));
	EXPECT_TRUE(text_comes(here, "last\n"));
	EXPECT_TRUE(text_comes(PROC "/gpus/0000:00:07.0/information", "card\n"));
	EXPECT_STREQ(tool_run("ls " PROC "/gpus | tr '\\n' ' '")->out, "0000:00:06.0 0000:00:07.0 ");
}

/* The host cannot make other files in /proc. */
TEST_F_TIMEOUT(host, other_files, 120)
{
	static const char *const names[] = {
		"params", "driver/nvidia/params", "proc/driver/nvidia/registry", "proc/driver/nvidia/gpus",
		"proc/driver/nvidia/gpus/0000:00:06.0/power", "proc/driver/nvidia/gpus/information",
		"proc/driver/nvidia/gpus/0000:00:06.00/information",
		"proc/driver/nvidia/gpus/0000:00:06.0-information",
		"proc/driver/nvidia/gpus/0000:00:06.A/information",
		"proc/driver/nvidia/gpus/000:000:06.0/information",
		"proc/driver/nvidia/gpus/0000:00:06.0/information/x", "proc/driver/nvidia/params/x",
		"proc/driver/nvidia/gpus/0000:00:06.0", "proc/driver/other", "proc/x",
		"sys/module/nvidia/version", "proc/driver/nvidiaparams",
	};
	const char information[] = "proc/driver/nvidia/gpus/0000:00:06.0/information";
	uint32_t ctl, card, other, uvm;
	size_t i;

	ASSERT_NE(ctl = send_node("nvidiactl", NULL), 0);
	ASSERT_NE(card = send_node("nvidia0", "0000:00:06.0"), 0);
	ASSERT_NE(other = send_node("nvidia1", "0000:00:07.0"), 0);
	ASSERT_NE(uvm = send_node("nvidia-uvm", NULL), 0);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		ASSERT_TRUE(send_text(ctl, names[i], "x\n"));
		ASSERT_TRUE(send_text(card, names[i], "x\n"));
		ASSERT_TRUE(send_text(uvm, names[i], "x\n"));
	}
	/* Files are sent for a wrong node, and for none. */
	ASSERT_TRUE(send_text(ctl, information, "x\n"));
	ASSERT_TRUE(send_text(uvm, information, "x\n"));
	ASSERT_TRUE(send_text(uvm, "proc/driver/nvidia/params", "x\n"));
	ASSERT_TRUE(send_text(card, "proc/driver/nvidia/params", "x\n"));
	ASSERT_TRUE(send_text(1000, "proc/driver/nvidia/params", "x\n"));
	ASSERT_TRUE(settled());
	EXPECT_STREQ(traces(), "dev/nvidia-uvm dev/nvidia0 dev/nvidia1 dev/nvidiactl sys/module/nvidia sys/module/nvidia_uvm ");
	/* A card has one directory, and no other card can use that one. */
	ASSERT_TRUE(send_text(card, information, "card\n"));
	ASSERT_TRUE(send_text(card, "proc/driver/nvidia/gpus/0000:00:08.0/information", "x\n"));
	ASSERT_TRUE(send_text(other, information, "other\n"));
	ASSERT_TRUE(send_text(other, information, NULL));
	ASSERT_TRUE(send_text(card, "proc/driver/nvidia/gpus/0000:00:08.0/information", NULL));
	ASSERT_TRUE(settled());
	EXPECT_TRUE(text_is(PROC "/gpus/0000:00:06.0/information", "card\n"));
	EXPECT_STREQ(tool_run("ls " PROC " " PROC "/gpus | tr '\\n' ' '")->out,
		     PROC ": gpus  " PROC "/gpus: 0000:00:06.0 ");
	/* Another card can use the directory when the first card is gone. */
	ASSERT_TRUE(send_gone(card));
	ASSERT_TRUE(send_text(other, information, "other\n"));
	ASSERT_TRUE(settled());
	EXPECT_TRUE(text_is(PROC "/gpus/0000:00:06.0/information", "other\n"));
}

/*
 * A card has the host's PCI address, also on a bus that this machine has, but not on a bus that
 * was made for another card.
 */
TEST_F_TIMEOUT(host, pci_address, 120)
{
	ASSERT_NE(send_node("nvidia0", "0000:65:03.1"), 0);
	ASSERT_NE(send_node("nvidia1", "0000:00:1d.0"), 0);
	ASSERT_NE(send_node("nvidia2", "0000:65:04.0"), 0);
	ASSERT_NE(send_node("nvidia3", "9000:01:00.0"), 0);
	ASSERT_TRUE(settled());
	EXPECT_STREQ(tool_run("cd /sys/class/vgpu-nvidia && for i in *; do "
			      "basename $(readlink -f $i/device); done | tr '\n' ' '")->out,
		     "0000:65:03.1 0000:00:1d.0 8000:65:04.0 9000:01:00.0 ");
	EXPECT_TRUE(text_is("/sys/bus/pci/devices/0000:65:03.1/vendor", "0x10de\n"));
}

/*
 * Files in /proc have the address of the card's device in the guest where the host's address is
 * taken. Another card with a free address keeps the host's.
 */
TEST_F_TIMEOUT(host, pci_address_in_proc, 120)
{
	const char there[] = "proc/driver/nvidia/gpus/0000:65:04.0/information";
	const char other[] = "proc/driver/nvidia/gpus/0000:65:03.0/information";
	uint32_t card;

	ASSERT_NE(card = send_node("nvidia0", "0000:65:03.0"), 0);
	ASSERT_NE(send_node("nvidia1", "0000:65:04.0"), 0);
	ASSERT_TRUE(send_text(card, other, "Bus Location: \t 0000:65:03.0\nas 0000:65:04.0\n"));
	ASSERT_TRUE(send_text(card + 1, there, "0000:65:04.0, 0000:65:04.00000:65:04.0, 0000:65:04."));
	ASSERT_TRUE(settled());
	EXPECT_TRUE(text_is(PROC "/gpus/0000:65:03.0/information",
			    "Bus Location: \t 0000:65:03.0\nas 0000:65:04.0\n"));
	EXPECT_TRUE(text_is(PROC "/gpus/8000:65:04.0/information",
			    "8000:65:04.0, 8000:65:04.08000:65:04.0, 0000:65:04."));
	EXPECT_STREQ(tool_run("ls " PROC "/gpus | tr '\n' ' '")->out, "0000:65:03.0 8000:65:04.0 ");
	/* The host names the card's directory by the host's address. */
	ASSERT_TRUE(send_text(card + 1, "proc/driver/nvidia/gpus/0000:65:05.0/information", NULL));
	ASSERT_TRUE(send_text(card, there, NULL));
	ASSERT_TRUE(settled());
	EXPECT_STREQ(tool_run("ls " PROC "/gpus | tr '\n' ' '")->out, "0000:65:03.0 8000:65:04.0 ");
	ASSERT_TRUE(send_text(card + 1, there, NULL));
	ASSERT_TRUE(settled());
	EXPECT_STREQ(tool_run("ls " PROC "/gpus | tr '\n' ' '")->out, "0000:65:03.0 ");
}

FIXTURE(hosts) {
	char unused;
};

FIXTURE_SETUP(hosts)
{
	if (native())
		SKIP(return, "nothing is forwarded");
	ASSERT_EQ(hosts_begin(), 0);
	ASSERT_TRUE(forget_said());
	ASSERT_STREQ(traces(), "");
}

FIXTURE_TEARDOWN(hosts)
{
	host_end();
	host_switch();
	host_end();
	EXPECT_STREQ(traces(), "");
}

/* Only one host's cards are made. The log says that another host's are not, and why. */
TEST_F_TIMEOUT(hosts, the_first_has_all, 120)
{
	static const char why[] = "another host already provides NVIDIA devices";
	uint32_t ctl;

	ASSERT_NE(ctl = send_node("nvidiactl", NULL), 0);
	ASSERT_NE(send_node("nvidia0", "0000:65:03.0"), 0);
	ASSERT_TRUE(settled());
	host_switch();
	ASSERT_NE(send_node("nvidiactl", NULL), 0);
	ASSERT_NE(send_node("nvidia1", "0000:66:03.0"), 0);
	ASSERT_NE(send_node("nvidia-uvm", NULL), 0);
	ASSERT_TRUE(settled());
	EXPECT_STREQ(traces(), "dev/nvidia0 dev/nvidiactl sys/module/nvidia ");
	EXPECT_EQ(said("cannot create /dev/nvidiactl of host 1:23000: another host already"), 1);
	EXPECT_EQ(said("cannot create /dev/nvidia1 of host 1:23000: another host already"), 1);
	EXPECT_EQ(said(why), 3);
	/* The first host can still add cards. */
	host_switch();
	ASSERT_NE(send_node("nvidia2", "0000:65:04.0"), 0);
	ASSERT_TRUE(send_text(ctl, "proc/driver/nvidia/params", "first\n"));
	ASSERT_TRUE(settled());
	EXPECT_TRUE(is_node("/dev/nvidia2", 195, 2));
	EXPECT_TRUE(text_is(PROC "/params", "first\n"));
	/* Another host can have cards here when the first host's are gone. */
	close(control);
	close(listener);
	control = -1;
	listener = -1;
	while (*traces())
		usleep(20000);
	host_switch();
	ASSERT_NE(ctl = send_node("nvidiactl", NULL), 0);
	ASSERT_NE(send_node("nvidia1", "0000:66:03.0"), 0);
	ASSERT_TRUE(settled());
	EXPECT_STREQ(traces(), "dev/nvidia1 dev/nvidiactl sys/module/nvidia ");
	EXPECT_EQ(said(why), 3);
}

/*
 * Makes a module with the name of NVIDIA's driver from the stand-in. Return: true if it
 * succeeded.
 */
static bool rename_module(const char *to)
{
	return !tool_run("sed 's/" STAND_IN "/nvidia\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00/g' "
			 "$(modinfo -n " STAND_IN ") >%s", to)->status;
}

/*
 * Either the nodes or a driver of this machine have the names and numbers, whichever came
 * first.
 */
TEST_F_TIMEOUT(host, another_driver, 240)
{
	static const char *const loads[] = { "modprobe " STAND_IN, "insmod /tmp/nvidia.ko" };
	static const char *const unloads[] = { "rmmod " STAND_IN, "rmmod nvidia" };
	/* Only a module of the driver's name is refused before its init function runs. */
	static const int refused[] = { 0, 1 };
	uint32_t ctl, card;
	int i;

	ASSERT_TRUE(rename_module("/tmp/nvidia.ko"));
	for (i = 0; i < 2; i++) {
		ASSERT_NE(ctl = send_node("nvidiactl", NULL), 0);
		ASSERT_TRUE(settled());
		ASSERT_TRUE(is_node("/dev/nvidiactl", 195, 255));
		EXPECT_NE(tool_run("%s", loads[i])->status, 0);
		EXPECT_EQ(said("refused to load module nvidia: forwarded devices already use the names"),
			  refused[i]);
		EXPECT_TRUE(is_node("/dev/nvidiactl", 195, 255));
		ASSERT_TRUE(send_gone(ctl));
		ASSERT_TRUE(settled());
		ASSERT_TRUE(forget_said());
		ASSERT_EQ(tool_run("%s", loads[i])->status, 0);
		ASSERT_NE(ctl = send_node("nvidiactl", NULL), 0);
		ASSERT_NE(card = send_node("nvidia0", NULL), 0);
		ASSERT_TRUE(send_text(ctl, "proc/driver/nvidia/params", "x\n"));
		ASSERT_TRUE(settled());
		EXPECT_NE(access("/dev/nvidiactl", F_OK), 0);
		EXPECT_EQ(said("cannot create /dev/nvidia.*this machine has loaded NVIDIA"), 2);
		EXPECT_NE(tool_run("grep -q x " PROC "/params")->status, 0);
		ASSERT_TRUE(forget_said());
		EXPECT_EQ(tool_run("%s", unloads[i])->status, 0);
		ASSERT_TRUE(send_gone(ctl));
		ASSERT_TRUE(send_gone(card));
		ASSERT_TRUE(settled());
	}
	unlink("/tmp/nvidia.ko");
}

PLAYED_MAIN
