// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hostile guest names memory for devices to keep: memory that it does not have, that is in huge
 * pages, or that is in as many pieces as there may be. A driver writes to what the guest has named,
 * and nowhere else.
 */
#include <linux/memfd.h>
#include <sys/mman.h>

#include "hostile_kept.h"

/* This is vgpud's default (vgpud.conf) for the kept memory of one connection. */
#define KEPT_BYTES	(16ULL << 30)
#define MAPS_FEW	4096
#define HUGE_PAGES	"/proc/sys/vm/nr_hugepages"

/* Has the mock hold the file of @in, or give it back if @in is 0. Return: the call's result. */
static int64_t hold(FIXTURE_DATA(kept) *self, uint32_t object, uint32_t in, uint32_t *out)
{
	const struct vgpu_mock_fd_swap arg = {
		.flags = in ? VGPU_MOCK_FD_HAS_IN : VGPU_MOCK_FD_WANT_OUT,
	};
	const struct vgpu_fixup fixup = {
		.type = htole16(in ? VGPU_FIXUP_FD_IN : VGPU_FIXUP_FD_OUT),
		.offset = htole32(offsetof(struct vgpu_mock_fd_swap, fd)),
		.target = htole32(in),
	};
	struct vgpu_hdr ack = { .len = htole32(sizeof(ack)), .type = htole16(VGPU_MSG_ACK) };
	struct {
		struct vgpu_reply reply;
		struct vgpu_object_desc object;
		char bytes[256];
	} answer;
	int64_t ret;

	call_begin(object, ++self->seq, ADDR, PAGE);
	call.msg.args.ioctl.cmd = htole32(VGPU_MOCK_IOC_FD_HOLD);
	/*
	 * The call comes after the CLOSE, so only the driver has the file when it gives the
	 * file back.
	 */
	call.msg.control_seq = htole64(self->control_seq);
	call.msg.nr_fixups = htole16(1);
	call.segs[0].len = htole32(sizeof(arg));
	call.len = 0;
	memcpy(call.data, &fixup, sizeof(fixup));
	memcpy(call.data + sizeof(fixup), &arg, sizeof(arg));
	call.len = sizeof(fixup) + sizeof(arg);
	if (!call_send(self->lane))
		return INT64_MIN;
	ret = peer_reply(self->lane, &answer, sizeof(answer), SLACK_MS);
	if (ret || in)
		return ret;
	*out = le16toh(answer.reply.nr_objects) ? le32toh(answer.object.object) : 0;
	ack.seq = htole64(self->seq);
	return peer_send(self->lane, &ack, sizeof(ack)) ? 0 : INT64_MIN;
}

/* Returns the number of the shadow's VMAs. */
static int shadow_maps(void)
{
	struct vgpu_host_info *info;
	struct vgpu_agent *agent;
	size_t i;
	int maps = -1;

	if (vgpu_agent_open(NULL, &agent))
		return -1;
	if (!vgpu_agent_status(agent, &info)) {
		for (i = 0; i < info->nr_guests; i++)
			if (info->guests[i]->port == PORT && info->guests[i]->nr_programs)
				maps = atoi(tool_run("wc -l </proc/%u/maps",
						     info->guests[i]->programs[0]->shadow_pid)->out);
		vgpu_host_info_free(info);
	}
	vgpu_agent_close(agent);
	return maps;
}

/* Runs of all sizes in any order work, and so does a page that is named twice. */
TEST_F(kept, memory_is_what_it_says)
{
	struct vgpu_run some[] = {
		run_at(64 * PAGE, 3 * PAGE), run_at(8 * PAGE, PAGE), run_at(9 * PAGE, 2 * PAGE),
		run_at(2 * PAGE, PAGE),
	};
	struct kept kept = {
		.addr = ADDR, .number = 7, .len = 7 * PAGE, .flags = VGPU_KEPT_WRITE,
		.nr = NR(some), .runs = some,
	};

	guest_begin(_metadata, self);
	ASSERT_EQ(0, keep(self, &kept));
	EXPECT_EQ(7 * PAGE, guest().counters.kept_bytes);
	EXPECT_EQ(0, use(self, 0, 7 * PAGE));
	EXPECT_TRUE(written(self, &kept, 128 * PAGE));
	/* Memory that is kept again with the same number counts once. */
	EXPECT_EQ(0, keep(self, &kept));
	EXPECT_EQ(7 * PAGE, guest().counters.kept_bytes);
	/* The same number with another length is an error, as it names other memory. */
	kept.nr = 1;
	kept.len = 3 * PAGE;
	EXPECT_EQ(-EINVAL, keep(self, &kept));
	kept.number = 8;
	some[1] = some[0];
	kept.nr = 2;
	kept.len = 6 * PAGE;
	EXPECT_EQ(0, keep(self, &kept));
	EXPECT_EQ(0, use(self, 2, 6 * PAGE));
	/* The driver keeps its pages when the hypervisor removes the guest's memory. */
	ASSERT_TRUE(vhost_memory(self->vhost, VHOST_REM_MEM, RAM_AT, RAM_LEN, 0, -1));
	ASSERT_TRUE(say_close(self, self->object));
	EXPECT_TRUE(release(self, 7));
	EXPECT_TRUE(release(self, 8));
	EXPECT_EQ(0, guest().counters.kept_bytes);
}

/* A malformed KEPT segment ends the lane. */
TEST_F(kept, segments_that_make_no_sense)
{
	struct vgpu_run pair[2];
	struct kept kept, second;
	struct vgpu_fixup fixup = {
		.type = htole16(VGPU_FIXUP_FD_IN), .seg = htole16(1), .target = htole32(1),
	};
	char page[4096] = {};
	unsigned int i;

	guest_begin(_metadata, self);
	for (i = 0; i < 22; i++) {
		pair[0] = run_at(0, PAGE);
		pair[1] = run_at(4 * PAGE, PAGE);
		kept = (struct kept) {
			.addr = ADDR, .number = 2, .len = 2 * PAGE, .nr = 2, .runs = pair,
		};
		second = kept;
		second.addr = ADDR + 64 * PAGE;
		call_begin(self->object, self->seq + 1, ADDR, PAGE);
		switch (i) {
		case 0:
			kept.number = 0;
			break;
		case 1:
			kept.flags = VGPU_KEPT_WRITE << 1;
			break;
		case 2:
			kept.reserved = 1;
			break;
		case 3:
			kept.nr = 0;
			kept.len = 0;
			break;
		case 4:
			kept.nr = 0;
			break;
		case 5:
			kept.addr = ADDR + 8;
			break;
		case 6:
			pair[1].addr = htole64(RAM_AT + 4 * PAGE + 8);
			break;
		case 7:
			pair[1].len = htole64(PAGE + 8);
			kept.len = 2 * PAGE + 8;
			break;
		case 8:
			pair[1].len = 0;
			break;
		case 9:
			kept.len = 3 * PAGE;
			break;
		case 10:
			kept.len = PAGE;
			break;
		case 11:	/* a run that wraps */
			pair[1].addr = htole64(-PAGE);
			pair[1].len = htole64(2 * PAGE);
			kept.len = 3 * PAGE;
			break;
		case 12:	/* runs whose sum wraps */
			pair[0].len = htole64(1ULL << 63);
			pair[1].len = htole64((1ULL << 63) + PAGE);
			kept.len = PAGE;
			break;
		case 13:	/* memory that wraps */
			kept.addr = -PAGE;
			break;
		}
		call_add_kept(&kept);
		switch (i) {
		case 14:	/* memory that overlaps another segment's */
			second.addr = ADDR + PAGE;
			call_add_kept(&second);
			break;
		case 15:
			second.addr = ADDR - PAGE;
			call_add_kept(&second);
			break;
		case 16:	/* too many segments */
			for (; call.nr < 2 + VGPU_KEPT_MAX; second.addr += 64 * PAGE)
				call_add_kept(&second);
			break;
		case 17:	/* page segment beside it */
			call_add(ADDR + 128 * PAGE, VGPU_SEG_IN | VGPU_SEG_PAGE, page,
				 sizeof(page));
			break;
		case 18:
			call.segs[1].flags |= htole32(VGPU_SEG_OUT);
			break;
		case 19:	/* half a run */
			call.segs[1].len = htole32(le32toh(call.segs[1].len) - 8);
			call.len -= 8;
			break;
		case 20:	/* KEPT segment as the argument */
			call.segs[0] = call.segs[1];
			memmove(call.data, call.data + sizeof(struct vgpu_mock_keep),
				le32toh(call.segs[1].len));
			call.len -= sizeof(struct vgpu_mock_keep);
			call.nr = 1;
			break;
		case 21:	/* fixup in a KEPT segment */
			memmove(call.data + sizeof(fixup), call.data, call.len);
			memcpy(call.data, &fixup, sizeof(fixup));
			call.len += sizeof(fixup);
			call.msg.nr_fixups = htole16(1);
			break;
		}
		ASSERT_TRUE(call_send(self->lane));
		EXPECT_GE(peer_wait_eof(self->lane, SLACK_MS), 0) TH_LOG("case %u", i);
		close(self->lane);
		lane_begin(_metadata, self);
	}
	EXPECT_EQ(22, guest().counters.malformed);
	EXPECT_EQ(0, guest().counters.kept_bytes);
}

/* A driver holds a file when the guest closes it, and then gives the guest the file again. */
TEST_F(kept, files_that_drivers_give_twice)
{
	struct kept kept = scattered(2, 3);
	uint32_t other, again = 0;

	guest_begin(_metadata, self);
	ASSERT_EQ(0, keep(self, &kept));
	other = peer_open_device(&self->peer, self->lane, ++self->seq);
	ASSERT_NE(0, other);
	ASSERT_EQ(0, hold(self, other, self->object, NULL));
	ASSERT_TRUE(say_close(self, self->object));
	ASSERT_EQ(0, hold(self, other, 0, &again));
	ASSERT_NE(0, again);
	EXPECT_NE(self->object, again);
	ASSERT_TRUE(say_close(self, again));
	EXPECT_TRUE(release(self, 2));
	EXPECT_EQ(0, guest().counters.kept_bytes);
}

/*
 * Memory in hugetlbfs can be kept in whole large pages only. A part of one fails, and the
 * shadow's mappings are as before.
 */
TEST_F(kept, memory_in_huge_pages)
{
	const uint64_t at = RAM_AT + RAM_LEN, huge = 2ULL << 20;
	struct vgpu_run one = { .addr = htole64(at), .len = htole64(huge) };
	struct kept kept = {
		.addr = ADDR, .number = 2, .len = huge, .flags = VGPU_KEPT_WRITE,
		.nr = 1, .runs = &one,
	};
	char pages[16];
	int fd, maps;

	tool_read_line(HUGE_PAGES, pages, sizeof(pages));
	if (!write_line(HUGE_PAGES, "8"))
		SKIP(return, "no huge pages");
	fd = memfd_create("huge", MFD_CLOEXEC | MFD_HUGETLB);
	ASSERT_EQ(0, ftruncate(fd, 2 * huge));
	ASSERT_TRUE(vhost_memory(self->vhost, VHOST_ADD_MEM, at, 2 * huge, 0, fd));
	guest_begin(_metadata, self);
	EXPECT_EQ(0, keep(self, &kept));
	maps = shadow_maps();
	one.len = htole64(PAGE);
	kept.number = 3;
	kept.len = PAGE;
	EXPECT_EQ(-EOPNOTSUPP, keep(self, &kept));
	one.addr = htole64(at + PAGE);
	kept.number = 4;
	EXPECT_EQ(-EOPNOTSUPP, keep(self, &kept));
	EXPECT_EQ(maps, shadow_maps());
	ASSERT_TRUE(say_close(self, self->object));
	EXPECT_TRUE(release(self, 2));
	ASSERT_TRUE(vhost_memory(self->vhost, VHOST_REM_MEM, at, 2 * huge, 0, -1));
	close(fd);
	EXPECT_TRUE(write_line(HUGE_PAGES, pages));
}

/*
 * A small page comes before the large ones, so that steps of 2 MiB from there would split
 * these.
 */
TEST_F(kept, memory_in_huge_pages_behind_a_small_one)
{
	const uint64_t at = RAM_AT + RAM_LEN, huge = 2ULL << 20, len = 9 * huge;
	struct vgpu_run two[] = {
		{ .addr = htole64(RAM_AT), .len = htole64(PAGE) },
		{ .addr = htole64(at), .len = htole64(len) },
	};
	struct kept kept = {
		.addr = ADDR + huge - PAGE, .number = 2, .len = PAGE + len,
		.flags = VGPU_KEPT_WRITE, .nr = 2, .runs = two,
	};
	char pages[16];
	int fd;

	tool_read_line(HUGE_PAGES, pages, sizeof(pages));
	if (!write_line(HUGE_PAGES, "12"))
		SKIP(return, "no huge pages");
	fd = memfd_create("huge", MFD_CLOEXEC | MFD_HUGETLB);
	ASSERT_EQ(0, ftruncate(fd, len));
	ASSERT_TRUE(vhost_memory(self->vhost, VHOST_ADD_MEM, at, len, 0, fd));
	guest_begin(_metadata, self);
	EXPECT_EQ(0, keep(self, &kept));
	/* The shadow has replaced all of this memory by demand pages again, and is alive. */
	kept.number = 3;
	EXPECT_EQ(0, keep(self, &kept));
	ASSERT_TRUE(say_close(self, self->object));
	EXPECT_TRUE(release(self, 2));
	EXPECT_TRUE(release(self, 3));
	ASSERT_TRUE(vhost_memory(self->vhost, VHOST_REM_MEM, at, len, 0, -1));
	close(fd);
	EXPECT_TRUE(write_line(HUGE_PAGES, pages));
}

/* Returns the member memory_huge of vgpud's report on the guest's window, or -1. */
static int memory_is_huge(void)
{
	struct vgpu_host_info *info;
	struct vgpu_agent *agent;
	int huge = -1;
	size_t i;

	if (vgpu_agent_open(NULL, &agent))
		return -1;
	if (!vgpu_agent_status(agent, &info)) {
		for (i = 0; i < info->nr_windows; i++)
			if (info->windows[i]->port == PORT)
				huge = info->windows[i]->memory_huge;
		vgpu_host_info_free(info);
	}
	vgpu_agent_close(agent);
	return huge;
}

/* A guest that has all of its memory in hugetlbfs is not offered KEPT segments. */
TEST_F(kept, memory_in_huge_pages_alone)
{
	const uint64_t at = RAM_AT + RAM_LEN, huge = 2ULL << 20;
	char pages[16];
	int fd;

	tool_read_line(HUGE_PAGES, pages, sizeof(pages));
	if (!write_line(HUGE_PAGES, "8"))
		SKIP(return, "no huge pages");
	fd = memfd_create("huge", MFD_CLOEXEC | MFD_HUGETLB);
	ASSERT_EQ(0, ftruncate(fd, 2 * huge));
	ASSERT_TRUE(vhost_memory(self->vhost, VHOST_ADD_MEM, at, 2 * huge, 0, fd));
	EXPECT_EQ(0, memory_is_huge());
	ASSERT_TRUE(vhost_memory(self->vhost, VHOST_REM_MEM, RAM_AT, RAM_LEN, 0, -1));
	EXPECT_EQ(1, memory_is_huge());
	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	EXPECT_FALSE(le64toh(self->peer.welcome.features) & VGPU_FEATURE_KEEP);
	peer_close(&self->peer);
	ASSERT_TRUE(eventually(no_guest, NULL, SLACK_MS));
	/* The next guest is offered KEPT segments, as the hypervisor has other memory, too. */
	ASSERT_TRUE(vhost_memory(self->vhost, VHOST_ADD_MEM, RAM_AT, RAM_LEN, 0, self->ram_fd));
	EXPECT_EQ(0, memory_is_huge());
	guest_begin(_metadata, self);
	ASSERT_TRUE(vhost_memory(self->vhost, VHOST_REM_MEM, at, 2 * huge, 0, -1));
	close(fd);
	EXPECT_TRUE(write_line(HUGE_PAGES, pages));
}

/*
 * Memory in pages of 1 GiB cannot be replaced by demand pages in parts again. So the host keeps
 * none of it, and does not offer KEPT segments to a guest that has such memory when it
 * connects.
 */
TEST_F(kept, memory_in_giant_pages)
{
	const char words[] = "is in hugetlbfs pages of more than 2 MiB, so devices cannot keep any of it";
	const uint64_t at = RAM_AT + RAM_LEN, giant = 1ULL << 30;
	struct vgpu_run one = { .addr = htole64(at), .len = htole64(giant) };
	struct kept kept = {
		.addr = 0x4000000000, .number = 2, .len = giant, .flags = VGPU_KEPT_WRITE,
		.nr = 1, .runs = &one,
	};
	int fd = memfd_create("giant", MFD_CLOEXEC | MFD_HUGETLB | MFD_HUGE_1GB), said;

	if (fd < 0)
		SKIP(return, "no pages of 1 GiB in this kernel or processor");
	ASSERT_EQ(0, ftruncate(fd, giant));
	/* The memory is added after the guest was offered KEPT segments. */
	guest_begin(_metadata, self);
	ASSERT_TRUE(vhost_memory(self->vhost, VHOST_ADD_MEM, at, giant, 0, fd));
	EXPECT_EQ(-EFAULT, keep(self, &kept));
	/* The shadow is alive, and keeps other memory. */
	kept = scattered(3, 1);
	EXPECT_EQ(0, keep(self, &kept));
	peer_close(&self->peer);
	ASSERT_TRUE(eventually(no_guest, NULL, SLACK_MS));
	said = atoi(tool_run("grep -c '%s' /run/vgpud.log", words)->out);
	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	EXPECT_FALSE(le64toh(self->peer.welcome.features) & VGPU_FEATURE_KEEP);
	EXPECT_EQ(said + 1, atoi(tool_run("grep -c '%s' /run/vgpud.log", words)->out));
	peer_close(&self->peer);
	ASSERT_TRUE(eventually(no_guest, NULL, SLACK_MS));
	ASSERT_TRUE(vhost_memory(self->vhost, VHOST_REM_MEM, at, giant, 0, -1));
	ASSERT_EQ(0, peer_open(&self->peer, LOOPBACK, PORT));
	EXPECT_TRUE(le64toh(self->peer.welcome.features) & VGPU_FEATURE_KEEP);
	close(fd);
}

/* Memory that the guest does not have, or may not use, fails the call, and the lane works on. */
TEST_F(kept, memory_that_it_does_not_have)
{
	static const uint64_t bad[] = {
		/* These addresses are below all memory, beyond it, at its end, and far beyond. */
		0, RAM_AT - PAGE, RAM_AT + RAM_LEN, RAM_AT + RAM_LEN - PAGE, 1ULL << 62,
	};
	/* These are a shadow's own memory, the lowest addresses, and the kernel's. */
	static const uint64_t addrs[] = { 0x3e0000000000, 0x3e0000ffe000, 0x1000, 1ULL << 63 };
	struct vgpu_run two[2];
	struct kept kept = {
		.addr = ADDR, .len = 3 * PAGE, .nr = 2, .runs = two, .flags = VGPU_KEPT_WRITE,
	};
	unsigned int i, nr = 0;
	int maps;

	guest_begin(_metadata, self);
	maps = shadow_maps();
	two[0] = run_at(0, PAGE);
	for (i = 0; i < NR(bad); i++) {
		two[1] = (struct vgpu_run) { .addr = htole64(bad[i]), .len = htole64(2 * PAGE) };
		kept.number = ++nr;
		EXPECT_EQ(-EFAULT, keep(self, &kept)) TH_LOG("case %u", i);
	}
	two[1] = run_at(8 * PAGE, 2 * PAGE);
	for (i = 0; i < NR(addrs); i++) {
		kept.addr = addrs[i];
		kept.number = ++nr;
		EXPECT_EQ(-EINVAL, keep(self, &kept)) TH_LOG("address %u", i);
	}
	/* The guest has this memory, but it is more than the limit. */
	kept.addr = ADDR;
	kept.number = ++nr;
	kept.nr = 1;
	kept.len = KEPT_BYTES + PAGE;
	two[0] = run_at(0, kept.len);
	EXPECT_EQ(-ENOMEM, keep(self, &kept));
	/* Nothing was pinned and nothing is mapped, but the memory of all numbers is counted. */
	EXPECT_EQ(-ENOENT, use(self, 0, PAGE));
	EXPECT_EQ(maps, shadow_maps());
	EXPECT_EQ((NR(bad) + NR(addrs)) * 3 * PAGE, guest().counters.kept_bytes);
	for (i = 1; i <= nr; i++)
		EXPECT_TRUE(release(self, i));
	EXPECT_EQ(0, guest().counters.kept_bytes);
	kept = scattered(nr + 1, 3);
	EXPECT_EQ(0, keep(self, &kept));
}

static bool kept_limit(const char *limit)
{
	return !tool_run("vgpuctl limit %d:%d kept-bytes=%s", LOOPBACK, PORT, limit)->status;
}

/* A limit that changes while memory is kept takes none of it back. */
TEST_F_TIMEOUT(kept, limit_changes, 60)
{
	struct kept first = scattered(1, 3), second = scattered(2, 3), third = scattered(3, 3);

	guest_begin(_metadata, self);
	ASSERT_TRUE(kept_limit("16K"));
	EXPECT_EQ(0, keep(self, &first));
	EXPECT_EQ(-ENOMEM, keep(self, &second));
	ASSERT_TRUE(kept_limit("24K"));
	EXPECT_EQ(0, keep(self, &second));
	ASSERT_TRUE(kept_limit("4K"));
	EXPECT_EQ(6 * PAGE, guest().counters.kept_bytes);
	EXPECT_EQ(-ENOMEM, keep(self, &third));
	ASSERT_TRUE(kept_limit(""));
	EXPECT_EQ(0, keep(self, &third));
}

/* Keeps @most runs, the limit of a shadow's mappings, and fails to keep one more. */
static void fragment(struct __test_metadata *_metadata, FIXTURE_DATA(kept) *self,
		     unsigned int most)
{
	struct kept kept;
	int maps = shadow_maps();

	ASSERT_GE(RUNS_MAX, most + 1);
	kept = scattered(2, most + 1);
	EXPECT_EQ(-ENOSPC, keep(self, &kept));
	EXPECT_EQ(maps, shadow_maps());
	kept = scattered(3, most);
	EXPECT_EQ(0, keep(self, &kept));
	EXPECT_EQ(maps, shadow_maps());
	EXPECT_EQ(0, use(self, 0, most * PAGE));
	EXPECT_TRUE(written(self, &kept, 2 * most * PAGE));
	/* Calls that are repeated leave no mapping behind. */
	EXPECT_EQ(0, keep(self, &kept));
	EXPECT_EQ(0, keep(self, &kept));
	EXPECT_EQ(maps, shadow_maps());
	ASSERT_TRUE(say_close(self, self->object));
	EXPECT_TRUE(release(self, 2));
	EXPECT_TRUE(release(self, 3));
	EXPECT_EQ(0, guest().counters.kept_bytes);
}

TEST_F_TIMEOUT(kept, fragments, 300)
{
	unsigned int maps = atoi(self->map_count);
	char some[16];

	/* A quarter of a process's default number of mappings is used where time is short. */
	if (getenv("VGPU_TIMES")) {
		maps /= 4;
		snprintf(some, sizeof(some), "%u", maps);
		ASSERT_TRUE(write_line(MAP_COUNT, some));
	}
	guest_begin(_metadata, self);
	fragment(_metadata, self, maps / 2);
}

TEST_F_TIMEOUT(kept, fragments_where_there_are_few_mappings, 300)
{
	char few[16];

	snprintf(few, sizeof(few), "%u", MAPS_FEW);
	ASSERT_TRUE(write_line(MAP_COUNT, few));
	guest_begin(_metadata, self);
	fragment(_metadata, self, MAPS_FEW / 2);
}

static unsigned long available_mib(void)
{
	return strtoul(tool_run("grep MemAvailable /proc/meminfo | tr -dc 0-9")->out, NULL, 10) >> 10;
}

/* Keeps 1 GiB in runs of eight pages, as fragmented memory has without huge pages. */
TEST_F_TIMEOUT(kept, gibibyte, 600)
{
	const uint64_t pages = 8, run = pages * PAGE;
	const unsigned int nr = 32768;
	unsigned char want[8 * PAGE], is[8 * PAGE];
	uint64_t start, first, again;
	struct kept kept;
	unsigned int i;

	if (available_mib() < 1536)
		SKIP(return, "needs 1.5 GiB of free memory");
	/* Each run is a mapping, and half of a process's mappings may be of kept memory. */
	ASSERT_TRUE(write_line(MAP_COUNT, "131072"));
	guest_begin(_metadata, self);
	kept = scattered_runs(2, nr, pages);
	start = peer_now_ms();
	ASSERT_EQ(0, keep(self, &kept));
	first = peer_now_ms() - start;
	EXPECT_EQ(1ULL << 30, guest().counters.kept_bytes);
	start = peer_now_ms();
	ASSERT_EQ(0, keep(self, &kept));
	again = peer_now_ms() - start;
	for (i = 0; i < nr; i += 1021) {
		EXPECT_EQ(0, use_part(self, 0, i * run, run));
		vgpu_mock_pattern(want, run, SEED, i * run);
		ASSERT_EQ(run, pread(self->ram_fd, is, run, le64toh(runs[i].addr) - RAM_AT));
		EXPECT_EQ(0, memcmp(want, is, run)) TH_LOG("run %u", i);
	}
	start = peer_now_ms();
	ASSERT_TRUE(say_close(self, self->object));
	EXPECT_TRUE(release(self, 2));
	EXPECT_EQ(0, guest().counters.kept_bytes);
	TH_LOG("1 GiB in %u runs: kept in %llu ms, again in %llu ms, released in %llu ms", nr,
	       (unsigned long long)first, (unsigned long long)again,
	       (unsigned long long)(peer_now_ms() - start));
}

TEST_HARNESS_MAIN
