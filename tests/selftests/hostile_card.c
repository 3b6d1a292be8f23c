// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hostile guest maps memory of an NVIDIA card and frees it. The driver leaves the mapping in
 * place, and gives the memory to the next program that allocates some. The guest must not be
 * able to read or write that program's memory through its mapping, neither by calls nor in a
 * window.
 *
 * The tests run where the host is, as those of hostile.h do, with the stand-in for NVIDIA's
 * driver. The other program is one of the host's own.
 */
#include <linux/vgpu_host.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "../gpu/memory.h"
#include "hostile_host.h"
#include "tool.h"
#include "vgpu_mock_nvidia.h"

#include "kselftest_harness.h"

#define WINDOW		"/dev/vgpu-window-1-22600"
#define WINDOW_SIZE	(1UL << 20)
#define PLACE		(64UL << 10)	/* offset of the mapping in the window */
#define ADDR		0x20000000ULL
#define SIZE		(4 * VGPU_PAGE_SIZE)
#define WORDS		(SIZE / sizeof(uint64_t))
#define ARGUMENT	0x10000000ULL	/* address of arguments; nothing is mapped there */
#define SECRET		0x73656372657473ULL
#define OURS		0x6f7572776f7264ULL

FIXTURE(card) {
	struct peer peer;
	uint32_t control_export, card_export;
	int lane;
	uint64_t seq;
	uint32_t control, card;		/* numbers of the guest's objects */
	uint32_t told;			/* number of the object that maps the memory */
	uint32_t client, device, memory;	/* handles of RM */
	uint64_t window_id;
	volatile uint64_t *window;	/* mapping of the window, or NULL; a hypervisor has one */
	volatile uint64_t *other;	/* mapping of the other program's memory */
	int node, other_file;
};

/* The ways in which the guest frees the memory that it has mapped. */
FIXTURE_VARIANT(card) {
	enum { FREE_MEMORY, FREE_CLIENT, CLOSE_CONTROL } how;
};

FIXTURE_VARIANT_ADD(card, memory_freed) {
	.how = FREE_MEMORY,
};

FIXTURE_VARIANT_ADD(card, client_freed) {
	.how = FREE_CLIENT,
};

FIXTURE_VARIANT_ADD(card, file_closed) {
	.how = CLOSE_CONTROL,
};

/* --- the guest's calls -------------------------------------------------------------- */

/* The answer to a call has its bytes behind the reply. */
static union {
	struct vgpu_reply reply;
	unsigned char bytes[sizeof(struct vgpu_reply) + SIZE + 64];
} answer;

static int64_t call(FIXTURE_DATA(card) *self, struct peer_call *msg, unsigned int nr_segs,
		    size_t len)
{
	memset(&answer, 0, sizeof(answer));
	if (!peer_call_send(self->lane, msg, nr_segs, len))
		return INT64_MIN;
	return peer_reply(self->lane, &answer, sizeof(answer), SLACK_MS);
}

/*
 * Makes an ioctl of RM. @fixup, if any, is a place in its argument whose value means something
 * else on the host.
 */
static int64_t file_ioctl(FIXTURE_DATA(card) *self, uint32_t object, uint32_t cmd, void *arg,
			  const struct vgpu_fixup *fixup, const void *params, size_t nr_params)
{
	size_t size = _IOC_SIZE(cmd), used = sizeof(struct vgpu_call);
	struct peer_call msg;
	unsigned char buf[1024];

	peer_call_init(&msg, VGPU_OP_IOCTL, object, ++self->seq);
	msg.msg.args.ioctl.cmd = htole32(cmd);
	msg.msg.args.ioctl.arg_kind = htole32(VGPU_IOCTL_ARG_SEG);
	msg.seg[0].addr = htole64(ARGUMENT);
	msg.seg[0].len = htole32(size);
	msg.seg[0].flags = htole32(VGPU_SEG_IN | VGPU_SEG_OUT);
	msg.seg[1].addr = htole64(ARGUMENT + VGPU_PAGE_SIZE);
	msg.seg[1].len = htole32(nr_params);
	msg.seg[1].flags = htole32(VGPU_SEG_IN);
	msg.msg.nr_segs = htole16(params ? 2 : 1);
	msg.msg.nr_fixups = htole16(fixup ? 1 : 0);
	memset(buf, 0, sizeof(buf));
	memcpy(buf + used, msg.seg, (params ? 2 : 1) * sizeof(msg.seg[0]));
	used += (params ? 2 : 1) * sizeof(msg.seg[0]);
	if (fixup) {
		memcpy(buf + used, fixup, sizeof(*fixup));
		used += sizeof(*fixup);
	}
	memcpy(buf + used, arg, size);
	used += (size + 7) & ~7UL;
	if (params) {
		memcpy(buf + used, params, nr_params);
		used += (nr_params + 7) & ~7UL;
	}
	msg.msg.hdr.len = htole32(used);
	memcpy(buf, &msg.msg, sizeof(msg.msg));
	memset(&answer, 0, sizeof(answer));
	if (!peer_send(self->lane, buf, used) ||
	    peer_reply(self->lane, &answer, sizeof(answer), SLACK_MS))
		return -1;
	memcpy(arg, answer.bytes + sizeof(answer.reply), size);
	return 0;
}

static int64_t rm_ioctl(FIXTURE_DATA(card) *self, uint32_t cmd, void *arg,
			const struct vgpu_fixup *fixup, const void *params, size_t nr_params)
{
	return file_ioctl(self, self->control, cmd, arg, fixup, params, nr_params);
}

/* Makes an object of RM. Return: its handle, or 0. */
static uint32_t guest_alloc(FIXTURE_DATA(card) *self, uint32_t parent, uint32_t class,
			    const void *params, size_t nr_params)
{
	struct rm_alloc args = {
		.client = self->client, .parent = parent, .class = class,
		.params = ARGUMENT + VGPU_PAGE_SIZE, .params_size = nr_params,
	};
	const struct vgpu_fixup fixup = {
		.type = htole16(VGPU_FIXUP_PTR), .target = htole32(1),
		.offset = htole32(offsetof(struct rm_alloc, params)),
	};

	if (!params)
		args.params = 0;
	if (rm_ioctl(self, RM_IOCTL_ALLOC, &args, params ? &fixup : NULL, params, nr_params) ||
	    args.status)
		return 0;
	return args.object;
}

static bool guest_free(FIXTURE_DATA(card) *self, uint32_t object)
{
	struct rm_free args = {
		.client = self->client, .parent = self->device, .object = object,
	};

	return !rm_ioctl(self, RM_IOCTL_FREE, &args, NULL, NULL, 0) && !args.status;
}

static bool close_control(FIXTURE_DATA(card) *self)
{
	struct peer_call msg;

	peer_call_init(&msg, VGPU_OP_CLOSE, self->control, ++self->seq);
	return !call(self, &msg, 0, 0);
}

/* Tells the driver that mmap() of the file @self->told maps the memory. */
static bool guest_tells_file(FIXTURE_DATA(card) *self)
{
	struct rm_map args = {
		.client = self->client, .device = self->device, .memory = self->memory,
		.len = SIZE,
	};
	const struct vgpu_fixup fixup = {
		.type = htole16(VGPU_FIXUP_FD_IN), .offset = htole32(RM_MAP_FD),
		.target = htole32(self->told),
	};

	return !rm_ioctl(self, RM_IOCTL_MAP, &args, &fixup, NULL, 0) && !args.status;
}

/*
 * Allocates memory of the system and tells the driver that mmap() of @self->told maps it, in
 * one ioctl. The card's file must be registered with the client's for that.
 */
static bool guest_allocates_told(FIXTURE_DATA(card) *self)
{
	struct rm_register tie = {};
	struct rm_alloc_memory args = {
		.client = self->client, .parent = self->device, .class = RM_CLASS_SYSTEM,
		.object = 0xcaf00001, .limit = SIZE - 1,
	};
	const struct vgpu_fixup control = {
		.type = htole16(VGPU_FIXUP_FD_IN), .target = htole32(self->control),
	};
	const struct vgpu_fixup told = {
		.type = htole16(VGPU_FIXUP_FD_IN), .offset = htole32(RM_ALLOC_FD),
		.target = htole32(self->told),
	};

	if (file_ioctl(self, self->card, RM_IOCTL_REGISTER, &tie, &control, NULL, 0) ||
	    file_ioctl(self, self->card, RM_IOCTL_ALLOC_MEMORY, &args, &told, NULL, 0) ||
	    args.status)
		return false;
	self->memory = args.object;
	return true;
}

static int64_t guest_mmap_at(FIXTURE_DATA(card) *self, uint64_t addr, uint64_t window)
{
	struct peer_call msg;

	peer_mmap_init(&msg, self->told, ++self->seq, addr, SIZE, 0, PROT_READ | PROT_WRITE);
	msg.msg.args.mmap.window = htole64(window);
	msg.msg.args.mmap.window_offset = htole64(window ? PLACE : 0);
	return call(self, &msg, 0, 0);
}

static int64_t guest_mmap(FIXTURE_DATA(card) *self, uint64_t window)
{
	return guest_mmap_at(self, ADDR, window);
}

static bool guest_unmaps(FIXTURE_DATA(card) *self)
{
	struct vgpu_unmap unmap = {
		.hdr.len = htole32(sizeof(unmap)),
		.hdr.type = htole16(VGPU_MSG_UNMAP),
		.hdr.seq = htole64(1),
		.session = htole64(1), .addr = htole64(ADDR), .len = htole64(SIZE),
	};

	return peer_send(self->peer.control, &unmap, sizeof(unmap));
}

/*
 * Reads the mapping with READ_PAGES. Return: the number of words equal to @word, or -1 if
 * nothing can be read.
 */
static int64_t words_read_by(FIXTURE_DATA(card) *self, uint64_t word, uint16_t flags)
{
	struct peer_call msg;
	int64_t len, i, nr = 0;
	uint64_t seen;

	peer_call_init(&msg, VGPU_OP_READ_PAGES, 0, ++self->seq);
	msg.msg.flags = htole16(flags);
	msg.msg.args.pages.addr = htole64(ADDR);
	msg.msg.args.pages.len = htole64(SIZE);
	msg.seg[0].addr = htole64(ADDR);
	msg.seg[0].len = htole32(SIZE);
	msg.seg[0].flags = htole32(VGPU_SEG_OUT);
	len = call(self, &msg, 1, 0);
	if (len <= 0)
		return -1;
	for (i = 0; i < len; i += sizeof(seen)) {
		memcpy(&seen, answer.bytes + sizeof(answer.reply) + i, sizeof(seen));
		nr += seen == word;
	}
	return nr;
}

static int64_t words_read(FIXTURE_DATA(card) *self, uint64_t word)
{
	return words_read_by(self, word, 0);
}

/* Writes a word to each page with WRITE_PAGES. Return: true if it succeeded. */
static bool words_write(FIXTURE_DATA(card) *self, uint64_t word)
{
	uint64_t page;

	for (page = 0; page < SIZE; page += VGPU_PAGE_SIZE) {
		struct peer_call msg;
		struct vgpu_range *range = (void *)msg.data;

		peer_call_init(&msg, VGPU_OP_WRITE_PAGES, 0, ++self->seq);
		msg.seg[0].len = htole32(sizeof(*range));
		msg.seg[0].flags = htole32(VGPU_SEG_IN);
		msg.seg[1].len = htole32(sizeof(word));
		msg.seg[1].flags = htole32(VGPU_SEG_IN);
		range->addr = htole64(ADDR + page);
		range->len = htole32(sizeof(word));
		memcpy(range + 1, &word, sizeof(word));
		if (call(self, &msg, 2, sizeof(*range) + sizeof(word)) < 0)
			return false;
	}
	return true;
}

/* --- the other program -------------------------------------------------------------- */

/* Gives the other program the memory that was freed last. */
static bool other_takes(FIXTURE_DATA(card) *self)
{
	uint32_t object;
	unsigned int i;

	if (rm_begin() || rm_memory(CLASS_VIDEO, SIZE, &object))
		return false;
	self->other = rm_map(object, SIZE, 0, &self->other_file);
	if (self->other == MAP_FAILED)
		return false;
	for (i = 0; i < WORDS; i++)
		self->other[i] = SECRET;
	return true;
}

static bool other_is_whole(const FIXTURE_DATA(card) *self)
{
	unsigned int i;

	for (i = 0; i < WORDS && self->other[i] == SECRET; i++)
		;
	return i == WORDS;
}

/* This is the number of pages that vgpud has as long as the guest has the card. */
static unsigned int pages_of_vgpud;

/* Returns the number of pages that objects of the driver have, without vgpud's. */
static unsigned int pages_used(void)
{
	char line[16];

	tool_read_line("/sys/module/vgpu_mock_nvidia/parameters/pages", line, sizeof(line));
	return atoi(line) - pages_of_vgpud;
}

static bool pages_are(void *wanted)
{
	return pages_used() == *(unsigned int *)wanted;
}

/* --- both --------------------------------------------------------------------------- */

/* Finds out which of the two exports is the control file and which is the card. */
static bool know_exports(FIXTURE_DATA(card) *self)
{
	struct vgpu_export_add other;

	if (!second_export(&self->peer, &other))
		return false;
	self->control_export = self->peer.export;
	self->card_export = le32toh(other.export);
	if (!strcmp((char *)other.title, "nvidiactl")) {
		self->control_export = self->card_export;
		self->card_export = self->peer.export;
	}
	return true;
}

static uint32_t open_export(FIXTURE_DATA(card) *self, uint32_t export)
{
	struct peer peer = self->peer;

	peer.export = export;
	return peer_open_device(&peer, self->lane, ++self->seq);
}

/* Connects the guest, and gives it memory of the card with a file that maps it. */
static bool begin(FIXTURE_DATA(card) *self)
{
	struct rm_device device = {};
	struct rm_memory_params params = { .size = SIZE, .attr = ATTR_VIDEO };

	pages_of_vgpud = 0;
	if (peer_open(&self->peer, LOOPBACK, PORT) || !know_exports(self))
		return false;
	pages_of_vgpud = pages_used();
	self->lane = peer_lane(&self->peer, 1);
	if (self->lane < 0)
		return false;
	self->control = open_export(self, self->control_export);
	self->card = open_export(self, self->card_export);
	if (!self->control || !self->card)
		return false;
	self->told = self->card;
	self->client = guest_alloc(self, 0, RM_CLASS_CLIENT, NULL, 0);
	self->device = guest_alloc(self, self->client, RM_CLASS_DEVICE, &device, sizeof(device));
	self->memory = guest_alloc(self, self->device, CLASS_VIDEO, &params, sizeof(params));
	return self->client && self->device && self->memory && guest_tells_file(self);
}

/*
 * Gives the guest memory of the system instead, with a file that maps it. @at_once: one ioctl
 * does both.
 */
static bool begin_with_system(FIXTURE_DATA(card) *self, bool at_once)
{
	struct rm_memory_params params = { .size = SIZE, .attr = RM_ATTR_SYSTEM };

	if (!guest_free(self, self->memory))
		return false;
	self->told = open_export(self, self->control_export);
	if (!self->told)
		return false;
	if (at_once)
		return guest_allocates_told(self);
	self->memory = guest_alloc(self, self->device, CLASS_SYSTEM, &params, sizeof(params));
	return self->memory && guest_tells_file(self);
}

/* Frees the memory in one of the ways. Return: true if the driver has done so. */
static bool give_up(FIXTURE_DATA(card) *self, int how)
{
	switch (how) {
	case FREE_MEMORY:
		return guest_free(self, self->memory);
	case FREE_CLIENT:
		return guest_free(self, self->client);
	default:
		return close_control(self);
	}
}

static bool window_begin(FIXTURE_DATA(card) *self)
{
	union {
		struct vgpu_window_info info;
		char bytes[VGPU_CONTROL_MSG_MAX];
	} msg;
	int fd;

	if (window_command("create", "--size 1M") ||
	    !control_next(self->peer.control, VGPU_MSG_WINDOW, &msg, sizeof(msg)))
		return false;
	self->window_id = le64toh(msg.info.window);
	fd = open(WINDOW, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return false;
	self->window = mmap(NULL, WINDOW_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (self->window == MAP_FAILED)
		self->window = NULL;
	return self->window;
}

static uint64_t window_shows(const FIXTURE_DATA(card) *self, uint64_t word)
{
	uint64_t i, nr = 0;

	for (i = 0; i < WORDS; i++)
		nr += self->window[PLACE / sizeof(word) + i] == word;
	return nr;
}

FIXTURE_SETUP(card)
{
	NEEDS_HOST();

	self->peer.control = -1;
	self->lane = -1;
	self->node = -1;
	self->other_file = -1;
	rm.control = -1;
	window_command("destroy", "--force 2>/dev/null");
	ASSERT_EQ(0, tool_run("modprobe vgpu_mock_nvidia")->status);
	ASSERT_EQ(0, mknod("/dev/nvidiactl", S_IFCHR | 0666, makedev(RM_MAJOR, RM_MINOR_CTL)));
	ASSERT_EQ(0, mknod("/dev/nvidia0", S_IFCHR | 0666, makedev(RM_MAJOR, 0)));
	ASSERT_EQ(0, export_as("hostile-control", "/dev/nvidiactl", LOOPBACK, PORT, false));
	ASSERT_EQ(0, export_as("hostile-card", "/dev/nvidia0", LOOPBACK, PORT, false));
	/* The driver does not start the card while no file of the card is open. */
	self->node = open_node(0);
	ASSERT_LE(0, self->node);
	ASSERT_TRUE(begin(self));
}

FIXTURE_TEARDOWN(card)
{
	unsigned int none = 0;

	if (!self->peer.port)
		return;
	if (self->other)
		munmap((void *)self->other, SIZE);
	close(self->other_file);
	close(self->node);
	nvidia_end(&rm);
	close(self->lane);
	peer_close(&self->peer);
	EXPECT_TRUE(eventually(no_guest, NULL, SLACK_MS));
	pages_of_vgpud = 0;
	EXPECT_TRUE(eventually(pages_are, &none, SLACK_MS));
	EXPECT_TRUE(witness());
	/* A hypervisor may have the window mapped for longer than the guest lives. */
	if (self->window)
		munmap((void *)self->window, WINDOW_SIZE);
	window_command("destroy", "--force 2>/dev/null");
	EXPECT_EQ(0, unexport("hostile-control"));
	EXPECT_EQ(0, unexport("hostile-card"));
	EXPECT_EQ(0, unlink("/dev/nvidiactl"));
	EXPECT_EQ(0, unlink("/dev/nvidia0"));
	EXPECT_TRUE(eventually(no_nvidia, NULL, SLACK_MS));
}

/*
 * The guest reads and writes by calls. A host that reads no card's memory for a guest is right,
 * too.
 */
TEST_F_TIMEOUT(card, read_and_written, 120)
{
	ASSERT_EQ(0, guest_mmap(self, 0));
	if (words_write(self, OURS))
		EXPECT_EQ(SIZE / VGPU_PAGE_SIZE, words_read(self, OURS));
	ASSERT_TRUE(give_up(self, variant->how));
	ASSERT_TRUE(other_takes(self));
	EXPECT_GE(0, words_read(self, SECRET));
	words_write(self, OURS);
	EXPECT_TRUE(other_is_whole(self));
}

/* The guest looks in a window, before it frees the memory and afterwards, or only afterwards. */
TEST_F_TIMEOUT(card, seen_in_a_window, 120)
{
	NEEDS_WINDOWS();
	ASSERT_TRUE(window_begin(self));
	ASSERT_EQ(0, guest_mmap(self, self->window_id));
	ASSERT_TRUE(le32toh(answer.reply.out.mmap.flags) & VGPU_MAP_WINDOW);
	ASSERT_TRUE(words_write(self, OURS));
	EXPECT_EQ(SIZE / VGPU_PAGE_SIZE, window_shows(self, OURS));
	ASSERT_TRUE(give_up(self, variant->how));
	ASSERT_TRUE(other_takes(self));
	EXPECT_EQ(0, window_shows(self, SECRET));
	self->window[PLACE / sizeof(uint64_t)] = OURS;
	EXPECT_TRUE(other_is_whole(self));
}

TEST_F_TIMEOUT(card, seen_later, 120)
{
	NEEDS_WINDOWS();
	ASSERT_TRUE(window_begin(self));
	ASSERT_EQ(0, guest_mmap(self, self->window_id));
	ASSERT_TRUE(give_up(self, variant->how));
	ASSERT_TRUE(other_takes(self));
	EXPECT_EQ(0, window_shows(self, SECRET));
	self->window[PLACE / sizeof(uint64_t)] = OURS;
	EXPECT_TRUE(other_is_whole(self));
}

/*
 * Maps a file whose memory was freed before: the mapping must not show the other program's
 * memory.
 */
static void map_too_late(struct __test_metadata *_metadata, FIXTURE_DATA(card) *self, int how)
{
	ASSERT_TRUE(give_up(self, how));
	ASSERT_TRUE(other_takes(self));
	if (!guest_mmap(self, 0)) {
		EXPECT_GE(0, words_read(self, SECRET));
		words_write(self, OURS);
	}
	EXPECT_TRUE(other_is_whole(self));
}

TEST_F_TIMEOUT(card, mapped_too_late, 120)
{
	map_too_late(_metadata, self, variant->how);
}

/* Memory that is freed and unmapped is the card's again, while the program goes on. */
TEST_F_TIMEOUT(card, given_back, 120)
{
	unsigned int none = 0;

	ASSERT_EQ(0, guest_mmap(self, 0));
	ASSERT_TRUE(give_up(self, variant->how));
	ASSERT_TRUE(guest_unmaps(self));
	EXPECT_TRUE(eventually(pages_are, &none, SLACK_MS));
	EXPECT_EQ(-1, words_read(self, OURS));
}

/* A hypervisor that has accessed the memory in a window does not keep it allocated. */
TEST_F_TIMEOUT(card, given_back_from_a_window, 120)
{
	unsigned int none = 0;

	NEEDS_WINDOWS();
	ASSERT_TRUE(window_begin(self));
	ASSERT_EQ(0, guest_mmap(self, self->window_id));
	ASSERT_TRUE(words_write(self, OURS));
	EXPECT_EQ(SIZE / VGPU_PAGE_SIZE, window_shows(self, OURS));
	ASSERT_TRUE(give_up(self, variant->how));
	ASSERT_TRUE(guest_unmaps(self));
	EXPECT_TRUE(eventually(pages_are, &none, SLACK_MS));
	ASSERT_TRUE(other_takes(self));
	EXPECT_EQ(0, window_shows(self, OURS) + window_shows(self, SECRET));
	self->window[PLACE / sizeof(uint64_t)] = OURS;
	EXPECT_TRUE(other_is_whole(self));
}

/*
 * Plays the program and a user-space engine, both of which end. Return: the file that maps the
 * memory, or -1.
 */
static int lend(int how)
{
	struct nvidia_memory memory = { .len = SIZE };
	struct nvidia engine;
	int file, other, ret;

	if (rm_begin_by(nvidia_begin_apart) || rm_memory(CLASS_VIDEO, SIZE, &memory.memory) ||
	    nvidia_begin(&engine, open_node(RM_MINOR_CTL)))
		return -1;
	memory.client = rm.client;
	file = open_node(0);
	/*
	 * The same process is not enough to lend memory, as another process may get its number
	 * later.
	 */
	other = open_node(0);
	ret = nvidia_lend(&engine, &memory, other, open_node(RM_MINOR_CTL)) != -EACCES;
	close(other);
	ret |= rm_share(rm.client, memory.memory, engine.client);
	ret |= nvidia_lend(&engine, &memory, file, open_node(RM_MINOR_CTL));
	if (how == FREE_MEMORY)
		ret |= rm_release(rm.client, memory.memory);
	if (how == FREE_CLIENT)
		ret |= rm_release(rm.client, rm.client);
	nvidia_end(&rm);
	nvidia_end(&engine);
	if (!ret)
		return file;
	close(file);
	return -1;
}

/*
 * A hypervisor can still map memory that was lent to it after all others have ended, and the
 * memory stays allocated as long as it is mapped.
 */
TEST_F_TIMEOUT(card, lent_while_it_is_mapped, 120)
{
	unsigned int word, after = pages_used() + SIZE / VGPU_PAGE_SIZE;
	volatile uint64_t *seen;
	int file;

	file = lend(variant->how);
	ASSERT_LE(0, file);
	EXPECT_EQ(after, pages_used());
	seen = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	ASSERT_NE(MAP_FAILED, seen);
	close(file);
	for (word = 0; word < WORDS; word++)
		seen[word] = OURS;
	ASSERT_TRUE(other_takes(self));
	for (word = 0; word < WORDS; word++)
		ASSERT_EQ(OURS, seen[word]);
	seen[0] = SECRET + 1;
	EXPECT_TRUE(other_is_whole(self));
	ASSERT_EQ(0, munmap((void *)seen, SIZE));
	/* The other program has as many pages as the hypervisor had. */
	EXPECT_TRUE(eventually(pages_are, &after, SLACK_MS));
}

/* A control file holds no reference of the memory that it was told of. */
TEST_F_TIMEOUT(card, system_mapped_too_late, 120)
{
	ASSERT_TRUE(begin_with_system(self, variant->how == FREE_CLIENT));
	map_too_late(_metadata, self, variant->how);
}

/* Mapped memory keeps its contents when freed, and is the system's again once it is unmapped. */
TEST_F_TIMEOUT(card, system_read_and_written, 120)
{
	unsigned int others = WORDS * sizeof(uint64_t) / VGPU_PAGE_SIZE;

	ASSERT_TRUE(begin_with_system(self, variant->how == FREE_CLIENT));
	ASSERT_EQ(0, guest_mmap(self, 0));
	ASSERT_TRUE(words_write(self, OURS));
	ASSERT_TRUE(give_up(self, variant->how));
	ASSERT_TRUE(other_takes(self));
	EXPECT_EQ(SIZE / VGPU_PAGE_SIZE, words_read(self, OURS));
	EXPECT_EQ(0, words_read(self, SECRET));
	EXPECT_TRUE(words_write(self, OURS));
	EXPECT_TRUE(other_is_whole(self));
	ASSERT_TRUE(guest_unmaps(self));
	EXPECT_TRUE(eventually(pages_are, &others, SLACK_MS));
}

/* Returns how often the driver's ->access was used, the operation for debuggers; -1 if unknown. */
static int looks(void)
{
	char line[16];

	tool_read_line("/sys/module/vgpu_mock_nvidia/parameters/looks", line, sizeof(line));
	return *line ? atoi(line) : -1;
}

/* The host does not use the driver's ->access for mappings of the driver's files. */
TEST_F_TIMEOUT(card, system_as_debuggers_read_it, 120)
{
	int before = looks();

	ASSERT_LE(0, before);
	ASSERT_TRUE(begin_with_system(self, variant->how == FREE_CLIENT));
	ASSERT_EQ(0, guest_mmap(self, 0));
	EXPECT_EQ(0, le32toh(answer.reply.out.mmap.flags) & VGPU_MAP_ASK);
	ASSERT_TRUE(words_write(self, OURS));
	EXPECT_EQ(-1, words_read_by(self, OURS, VGPU_CALL_DEBUG));
	EXPECT_EQ(before, looks());
	EXPECT_EQ(SIZE / VGPU_PAGE_SIZE, words_read(self, OURS));
}

/*
 * Any user of the host may read a shadow's arguments, by ->access if a device is mapped there.
 * So a guest cannot map a device there.
 */
TEST_F_TIMEOUT(card, arguments_of_its_shadow, 120)
{
	int before = looks();
	uint64_t args;
	pid_t shadow;

	ASSERT_LE(0, before);
	shadow = tool_shadow_of("hostile");
	ASSERT_NE(0, shadow);
	args = tool_shadow_args(shadow);
	ASSERT_NE(0, args);
	ASSERT_TRUE(begin_with_system(self, variant->how == FREE_CLIENT));
	EXPECT_EQ(-EINVAL, guest_mmap_at(self, args, 0));
	EXPECT_EQ(-EINVAL, guest_mmap_at(self, args - SIZE + VGPU_PAGE_SIZE, 0));
	tool_run("cat /proc/%d/cmdline", shadow);
	EXPECT_EQ(before, looks());
}

/*
 * struct mapper: a lane that maps one file over the other's mapping again and again.
 * @objects: the two files
 * @offsets: the offset of the mapping in each file
 */
struct mapper {
	int lane;
	uint64_t seq;
	uint32_t objects[2];
	uint64_t offsets[2];
	atomic_uint maps;
	atomic_bool stop;
	pthread_t thread;
};

static void *map_over(void *data)
{
	struct mapper *mapper = data;
	struct vgpu_reply reply;
	struct peer_call msg;

	while (!mapper->stop) {
		peer_mmap_init(&msg, mapper->objects[mapper->maps % 2], ++mapper->seq, ADDR, SIZE,
			       mapper->offsets[mapper->maps % 2], PROT_READ | PROT_WRITE);
		if (!peer_call_send(mapper->lane, &msg, 0, 0) ||
		    peer_reply(mapper->lane, &reply, sizeof(reply), SLACK_MS))
			break;
		mapper->maps++;
	}
	return NULL;
}

/* The mapping may be replaced by another between the host's look at it and the host's access. */
TEST_F_TIMEOUT(card, system_mapped_over_what_debuggers_read, 120)
{
	struct vgpu_mock_buf_create buf = {
		.size = SIZE, .flavour = VGPU_MOCK_BUF_PFN | VGPU_MOCK_BUF_ACCESS,
	};
	struct mapper mapper = {};
	int before = looks(), i, nr = 0;
	struct vgpu_export_add mock;

	if (!tool_user_engine() || variant->how != FREE_MEMORY)
		SKIP(return, "is for the user-space engine, once");
	ASSERT_LE(0, before);
	ASSERT_TRUE(begin_with_system(self, false));
	ASSERT_EQ(0, export_as("hostile-mock", getenv("VGPU_REAL"), LOOPBACK, PORT, false));
	ASSERT_TRUE(second_export(&self->peer, &mock));
	mapper.objects[0] = open_export(self, le32toh(mock.export));
	mapper.objects[1] = self->told;
	ASSERT_EQ(0, file_ioctl(self, mapper.objects[0], VGPU_MOCK_IOC_BUF_CREATE, &buf, NULL,
				NULL, 0));
	mapper.offsets[0] = buf.out_offset;
	mapper.lane = peer_lane(&self->peer, 1);
	ASSERT_LE(0, mapper.lane);
	ASSERT_EQ(0, pthread_create(&mapper.thread, NULL, map_over, &mapper));
	for (i = 0; i < 2000; i++)
		nr += words_read_by(self, 0, VGPU_CALL_DEBUG) >= 0;
	mapper.stop = true;
	EXPECT_EQ(0, pthread_join(mapper.thread, NULL));
	close(mapper.lane);
	EXPECT_EQ(before, looks());
	/* Both mappings were there in turn. */
	EXPECT_LE(10, mapper.maps);
	EXPECT_LE(1, nr);
	EXPECT_GT(2000, nr);
	EXPECT_EQ(0, unexport("hostile-mock"));
}

TEST_HARNESS_MAIN
