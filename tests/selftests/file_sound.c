// SPDX-License-Identifier: GPL-2.0-only
/*
 * These tests play sound through a forwarded file. ALSA's status and control pages, which the
 * kernel and the program change without any call, cannot be mapped, so libraries use an ioctl
 * instead. The ring of samples can be mapped, and the samples that are written there are
 * played. A mixer gives the same answers as on the real node.
 *
 * The tests export a loopback card, and the mixer of a dummy card, to the guest of this
 * machine, as root: in the loopback and user tiers only.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sound/asound.h>
#include <sound/tlv.h>

#include "tool.h"

#include "kselftest_harness.h"

#define PAGE		4096UL
#define RATE		48000
#define PERIOD		1200	/* in frames */
#define FRAMES		28800	/* frames of the ring; one has 2 bytes */
#define HEARD		4800	/* frames that are recorded */
#define LOUD		100	/* least sample that is played */

FIXTURE(sound) {
	int play;	/* forwarded file */
	int listen;	/* real file of the loop's other end */
};

FIXTURE_SETUP(sound)
{
	self->play = -1;
	self->listen = -1;
	if (!tool_has_host())
		SKIP(return, "needs the host in the same machine: loopback or user");
	if (geteuid())
		SKIP(return, "needs root");
	if (system("modprobe -q snd-aloop"))
		SKIP(return, "no snd-aloop on this kernel");
	ASSERT_EQ(0, system("c=$(readlink /proc/asound/Loopback) && c=${c#card} && "
			    "vgpuctl export /dev/snd/pcmC${c}D0p --to 1 --name sound >/dev/null && "
			    "ln -sf /dev/snd/pcmC${c}D0p /run/vgpu-play && "
			    "ln -sf /dev/snd/pcmC${c}D1c /run/vgpu-listen"));
	self->play = tool_open_export("sound");
	ASSERT_GE(self->play, 0);
	self->listen = open("/run/vgpu-listen", O_RDWR);
	ASSERT_GE(self->listen, 0);
}

FIXTURE_TEARDOWN(sound)
{
	if (self->play < 0)
		return;
	close(self->listen);
	close(self->play);
	EXPECT_EQ(0, system("vgpuctl unexport sound --force >/dev/null"));
}

TEST_F(sound, live_pages)
{
	static const unsigned long live[] = {
		SNDRV_PCM_MMAP_OFFSET_STATUS_OLD, SNDRV_PCM_MMAP_OFFSET_CONTROL_OLD,
		SNDRV_PCM_MMAP_OFFSET_STATUS_NEW, SNDRV_PCM_MMAP_OFFSET_CONTROL_NEW,
	};
	unsigned int i;

	for (i = 0; i < sizeof(live) / sizeof(live[0]); i++) {
		errno = 0;
		EXPECT_TRUE(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, self->play, live[i]) ==
			    MAP_FAILED);
		EXPECT_EQ(ENXIO, errno);
	}
}

static void choose(struct snd_pcm_hw_params *params, int what, unsigned int value)
{
	if (what <= SNDRV_PCM_HW_PARAM_LAST_MASK) {
		struct snd_mask *mask = &params->masks[what - SNDRV_PCM_HW_PARAM_FIRST_MASK];

		memset(mask, 0, sizeof(*mask));
		mask->bits[value / 32] = 1u << value % 32;
	} else {
		struct snd_interval *interval =
			&params->intervals[what - SNDRV_PCM_HW_PARAM_FIRST_INTERVAL];

		interval->min = value;
		interval->max = value;
		interval->integer = 1;
	}
}

/* Prepares a stream of one channel of 16 bits, which only SNDRV_PCM_IOCTL_START starts. */
static int prepare(int fd, int access)
{
	struct snd_pcm_sw_params sw = {
		.avail_min = PERIOD, .start_threshold = 10 * FRAMES,
		.stop_threshold = 1UL << 30, .boundary = FRAMES << 15, .proto = SNDRV_PCM_VERSION,
	};
	struct snd_pcm_hw_params hw;
	unsigned int i;

	memset(&hw, 0, sizeof(hw));
	memset(hw.masks, 0xff, sizeof(hw.masks));
	for (i = 0; i < sizeof(hw.intervals) / sizeof(hw.intervals[0]); i++)
		hw.intervals[i].max = ~0u;
	hw.rmask = ~0u;
	choose(&hw, SNDRV_PCM_HW_PARAM_ACCESS, access);
	choose(&hw, SNDRV_PCM_HW_PARAM_FORMAT, SNDRV_PCM_FORMAT_S16_LE);
	choose(&hw, SNDRV_PCM_HW_PARAM_SUBFORMAT, SNDRV_PCM_SUBFORMAT_STD);
	choose(&hw, SNDRV_PCM_HW_PARAM_CHANNELS, 1);
	choose(&hw, SNDRV_PCM_HW_PARAM_RATE, RATE);
	choose(&hw, SNDRV_PCM_HW_PARAM_PERIOD_SIZE, PERIOD);
	choose(&hw, SNDRV_PCM_HW_PARAM_BUFFER_SIZE, FRAMES);
	if (ioctl(fd, SNDRV_PCM_IOCTL_HW_PARAMS, &hw) ||
	    ioctl(fd, SNDRV_PCM_IOCTL_SW_PARAMS, &sw))
		return -1;
	return ioctl(fd, SNDRV_PCM_IOCTL_PREPARE);
}

/* The recorded samples must be a part of 100, 101, 102, ... behind silence. */
TEST_F(sound, plays_what_is_mapped)
{
	struct snd_pcm_sync_ptr sync = { .flags = 0 };
	static short heard[HEARD];
	struct snd_xferi xfer = { .buf = heard, .frames = HEARD };
	unsigned int i, first;
	short *ring;

	ASSERT_EQ(0, prepare(self->play, SNDRV_PCM_ACCESS_MMAP_INTERLEAVED));
	ASSERT_EQ(0, prepare(self->listen, SNDRV_PCM_ACCESS_RW_INTERLEAVED));
	ring = mmap(NULL, FRAMES * sizeof(*ring), PROT_READ | PROT_WRITE, MAP_SHARED, self->play, 0);
	ASSERT_TRUE(ring != MAP_FAILED);
	for (i = 0; i < FRAMES; i++)
		ring[i] = LOUD + i;
	sync.c.control.appl_ptr = FRAMES;
	sync.c.control.avail_min = PERIOD;
	ASSERT_EQ(0, ioctl(self->play, SNDRV_PCM_IOCTL_SYNC_PTR, &sync));
	EXPECT_EQ(SNDRV_PCM_STATE_PREPARED, sync.s.status.state);
	ASSERT_EQ(0, ioctl(self->play, SNDRV_PCM_IOCTL_START));
	ASSERT_EQ(0, ioctl(self->listen, SNDRV_PCM_IOCTL_START));
	ASSERT_EQ(0, ioctl(self->listen, SNDRV_PCM_IOCTL_READI_FRAMES, &xfer));
	ASSERT_EQ(HEARD, xfer.result);
	for (first = 0; first < HEARD && !heard[first]; first++)
		;
	ASSERT_LT(first, HEARD);
	EXPECT_GE(heard[first], LOUD);
	/* A slow machine may play the ring a second time, and so record its begin after its end. */
	for (i = first + 1; i < HEARD; i++)
		if (heard[i] != (heard[i - 1] == LOUD + FRAMES - 1 ? LOUD : heard[i - 1] + 1))
			break;
	EXPECT_EQ(HEARD, i);
	/* The position advances without the status page, too. */
	sync.flags = SNDRV_PCM_SYNC_PTR_HWSYNC;
	ASSERT_EQ(0, ioctl(self->play, SNDRV_PCM_IOCTL_SYNC_PTR, &sync));
	EXPECT_EQ(SNDRV_PCM_STATE_RUNNING, sync.s.status.state);
	EXPECT_GT(sync.s.status.hw_ptr, 0);
	EXPECT_EQ(FRAMES, sync.c.control.appl_ptr);
	EXPECT_EQ(0, ioctl(self->play, SNDRV_PCM_IOCTL_DROP));
	ASSERT_EQ(0, munmap(ring, FRAMES * sizeof(*ring)));
}

/*
 * The ioctl's number says that the driver only reads its argument, but the driver writes the
 * number of frames there.
 */
TEST_F(sound, tells_what_is_written)
{
	static short samples[2 * PERIOD];
	struct snd_xferi xfer = { .result = -1, .buf = samples, .frames = 2 * PERIOD };
	snd_pcm_uframes_t back = PERIOD;

	ASSERT_EQ(0, prepare(self->play, SNDRV_PCM_ACCESS_RW_INTERLEAVED));
	ASSERT_EQ(0, ioctl(self->play, SNDRV_PCM_IOCTL_WRITEI_FRAMES, &xfer));
	EXPECT_EQ(2 * PERIOD, xfer.result);
	EXPECT_TRUE(xfer.buf == (void *)samples);
	ASSERT_EQ(0, ioctl(self->play, SNDRV_PCM_IOCTL_REWIND, &back));
	EXPECT_EQ(PERIOD, back);
	EXPECT_EQ(0, ioctl(self->play, SNDRV_PCM_IOCTL_DROP));
}

/* Stores the name of the export's node of ALSA, such as "controlC31", or "" if there is none. */
static void node_of(const char *export, char *name, size_t size)
{
	uint64_t deadline = tool_now_ms() + 10000;
	char link[64], real[PATH_MAX];

	name[0] = '\0';
	do {
		snprintf(link, sizeof(link), "/sys/class/vgpu/vgpu%d/sound", tool_find_export(export));
		if (realpath(link, real)) {
			snprintf(name, size, "%s", strrchr(real, '/') + 1);
			return;
		}
		usleep(50000);
	} while (tool_now_ms() < deadline);
}

/*
 * The export has a card of its own, with the files that alsa-lib looks for, and answers have
 * the card's number.
 */
TEST_F(sound, card)
{
	struct snd_ctl_card_info card = {}, real = {};
	struct snd_pcm_info pcm = {};
	char name[64], path[128];
	int number, fd, tries;

	if (access("/sys/class/sound", F_OK))
		SKIP(return, "this kernel has no class sound");
	node_of("sound", name, sizeof(name));
	ASSERT_EQ(1, sscanf(name, "pcmC%dD0p", &number));
	snprintf(path, sizeof(path), "/dev/snd/%s", name);
	EXPECT_EQ(0, tool_run("vgpuctl list | grep '^/dev/vgpu%d  *%s '", tool_find_export("sound"),
			      path)->status);
	fd = open(path, O_RDWR | O_CLOEXEC);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, ioctl(fd, SNDRV_PCM_IOCTL_INFO, &pcm));
	EXPECT_EQ(number, pcm.card);
	EXPECT_EQ(0, pcm.device);
	EXPECT_STREQ("Loopback PCM", (char *)pcm.name);
	EXPECT_EQ(0, prepare(fd, SNDRV_PCM_ACCESS_RW_INTERLEAVED));
	close(fd);
	/* The plain node gives the host's answer. */
	ASSERT_EQ(0, ioctl(self->play, SNDRV_PCM_IOCTL_INFO, &pcm));
	EXPECT_NE(number, pcm.card);

	ASSERT_EQ(0, system("c=$(readlink /proc/asound/Loopback) && c=${c#card} && "
			    "vgpuctl export /dev/snd/controlC$c --to 1 --name sound-control >/dev/null && "
			    "ln -sf /dev/snd/controlC$c /run/vgpu-control"));
	node_of("sound-control", name, sizeof(name));
	snprintf(path, sizeof(path), "controlC%d", number);
	EXPECT_STREQ(path, name);
	snprintf(path, sizeof(path), "/dev/snd/%s", name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, ioctl(fd, SNDRV_CTL_IOCTL_CARD_INFO, &card));
	EXPECT_EQ(number, card.card);
	close(fd);
	fd = open("/run/vgpu-control", O_RDWR | O_CLOEXEC);
	ASSERT_EQ(0, ioctl(fd, SNDRV_CTL_IOCTL_CARD_INFO, &real));
	close(fd);
	real.card = number;
	EXPECT_EQ(0, memcmp(&real, &card, sizeof(card)));
	snprintf(path, sizeof(path), "/sys/class/sound/card%d/%s/dev", number, name);
	EXPECT_EQ(0, access(path, R_OK));
	snprintf(path, sizeof(path), "/sys/class/sound/card%d/number", number);
	tool_read_line(path, name, sizeof(name));
	EXPECT_EQ(number, atoi(name));

	EXPECT_EQ(0, system("vgpuctl unexport sound-control --force >/dev/null"));
	snprintf(path, sizeof(path), "/dev/snd/controlC%d", number);
	for (tries = 0; tries < 200 && !access(path, F_OK); tries++)
		usleep(50000);
	EXPECT_NE(0, access(path, F_OK));
}

/* Two streams of one device have their rings at the same offset, but not in the same memory. */
TEST_F(sound, streams_are_apart)
{
	struct snd_pcm_sync_ptr sync = { .flags = SNDRV_PCM_SYNC_PTR_HWSYNC };
	int fd[2] = { self->play, tool_open_export("sound") };
	short *ring[2];
	unsigned int i;

	ASSERT_GE(fd[1], 0);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, prepare(fd[i], SNDRV_PCM_ACCESS_MMAP_INTERLEAVED));
		ring[i] = mmap(NULL, FRAMES * sizeof(short), PROT_READ | PROT_WRITE, MAP_SHARED,
			       fd[i], 0);
		ASSERT_TRUE(ring[i] != MAP_FAILED);
	}
	ring[0][5] = 1234;
	ASSERT_EQ(0, ioctl(fd[0], SNDRV_PCM_IOCTL_SYNC_PTR, &sync));
	EXPECT_EQ(0, ring[1][5]);
	ring[1][5] = 4321;
	ASSERT_EQ(0, ioctl(fd[1], SNDRV_PCM_IOCTL_SYNC_PTR, &sync));
	EXPECT_EQ(1234, ring[0][5]);
	EXPECT_EQ(4321, ring[1][5]);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, munmap(ring[i], FRAMES * sizeof(short)));
	close(fd[1]);
}

/* A stream does not see the samples that another one has written at the same offset before. */
TEST_F(sound, streams_take_turns)
{
	struct snd_pcm_sync_ptr sync = { .flags = SNDRV_PCM_SYNC_PTR_HWSYNC };
	int fd[2] = { self->play, tool_open_export("sound") };
	const size_t size = FRAMES * sizeof(short);
	short *ring;
	int i;

	ASSERT_GE(fd[1], 0);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, prepare(fd[i], SNDRV_PCM_ACCESS_MMAP_INTERLEAVED));
		ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd[i], 0);
		ASSERT_TRUE(ring != MAP_FAILED);
		ring[5] = 1234 + i;
		ASSERT_EQ(0, ioctl(fd[i], SNDRV_PCM_IOCTL_SYNC_PTR, &sync));
		ASSERT_EQ(0, munmap(ring, size));
	}
	for (i = 0; i < 4; i++) {
		ring = mmap(NULL, size, PROT_READ, MAP_SHARED, fd[i & 1], 0);
		ASSERT_TRUE(ring != MAP_FAILED);
		EXPECT_EQ(1234 + (i & 1), ring[5]);
		ASSERT_EQ(0, munmap(ring, size));
	}
	close(fd[1]);
}

#define LINK_STEPS	12

/* Links two streams, and stores the result of each step: 0, an errno, or a state. */
static void link_streams(const int fd[2], int *steps)
{
	struct snd_pcm_sync_ptr sync = { .flags = SNDRV_PCM_SYNC_PTR_HWSYNC };
	static short samples[2 * PERIOD];
	struct snd_xferi xfer = { .buf = samples, .frames = 2 * PERIOD };
	int closed = dup(fd[1]), zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	int i;

	close(closed);
#define STEP(c, arg)	(*steps++ = ioctl(fd[0], c, arg) ? errno : 0)
	STEP(SNDRV_PCM_IOCTL_LINK, fd[1]);
	for (i = 0; i < 2; i++)
		*steps++ = prepare(fd[i], SNDRV_PCM_ACCESS_RW_INTERLEAVED) ||
			ioctl(fd[i], SNDRV_PCM_IOCTL_WRITEI_FRAMES, &xfer) ? errno : 0;
	STEP(SNDRV_PCM_IOCTL_LINK, -1);
	STEP(SNDRV_PCM_IOCTL_LINK, zero);
	STEP(SNDRV_PCM_IOCTL_LINK, closed);
	STEP(SNDRV_PCM_IOCTL_LINK, fd[0]);
	STEP(SNDRV_PCM_IOCTL_LINK, fd[1]);
	STEP(SNDRV_PCM_IOCTL_LINK, fd[1]);
	STEP(SNDRV_PCM_IOCTL_START, 0);
	*steps++ = ioctl(fd[1], SNDRV_PCM_IOCTL_SYNC_PTR, &sync) ? errno : (int)sync.s.status.state;
	STEP(SNDRV_PCM_IOCTL_UNLINK, 0);
#undef STEP
	close(zero);
	for (i = 0; i < 2; i++)
		close(fd[i]);
}

/* A stream starts with another one, whose fd is the ioctl's argument itself. */
TEST_F(sound, streams_are_linked)
{
	int fwd[2] = { dup(self->play), tool_open_export("sound") };
	int real[2], i, steps[2][LINK_STEPS] = {};

	close(self->play);
	self->play = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (i = 0; i < 2; i++) {
		real[i] = open("/run/vgpu-play", O_RDWR | O_CLOEXEC);
		ASSERT_GE(real[i], 0);
		ASSERT_GE(fwd[i], 0);
	}
	link_streams(real, steps[0]);
	link_streams(fwd, steps[1]);
	for (i = 0; i < LINK_STEPS; i++)
		EXPECT_EQ(steps[0][i], steps[1][i]) TH_LOG("step %d", i);
	EXPECT_EQ(EBADFD, steps[1][3]);
	EXPECT_EQ(0, steps[1][7]);
	EXPECT_EQ(EALREADY, steps[1][8]);
	EXPECT_EQ(SNDRV_PCM_STATE_RUNNING, steps[1][10]);
}

/* --- the mixer ------------------------------------------------------------ */

#define TLV_WORDS	5000	/* more words than the guest sends along with a call */

FIXTURE(mixer) {
	int real;
	int fwd;
	unsigned int scale;	/* numid of an element with a dB scale */
};

static struct snd_ctl_elem_id ids[2][200];

/* Lists elements from @offset on, with space for @space of them. */
static int list_elems(int fd, struct snd_ctl_elem_id *to, struct snd_ctl_elem_list *list,
		      unsigned int offset, unsigned int space)
{
	memset(list, 0, sizeof(*list));
	list->offset = offset;
	list->space = space;
	list->pids = to;
	return ioctl(fd, SNDRV_CTL_IOCTL_ELEM_LIST, list) ? errno : 0;
}

static int elem_info(int fd, unsigned int numid, struct snd_ctl_elem_info *info)
{
	memset(info, 0, sizeof(*info));
	info->id.numid = numid;
	return ioctl(fd, SNDRV_CTL_IOCTL_ELEM_INFO, info) ? errno : 0;
}

FIXTURE_SETUP(mixer)
{
	struct snd_ctl_elem_list list;
	struct snd_ctl_elem_info info;
	unsigned int i;

	self->real = -1;
	if (!tool_has_host())
		SKIP(return, "needs the host in the same machine: loopback or user");
	if (geteuid())
		SKIP(return, "needs root");
	if (system("modprobe -q snd-dummy"))
		SKIP(return, "no snd-dummy on this kernel");
	ASSERT_EQ(0, system("c=$(readlink /proc/asound/Dummy) && c=${c#card} && "
			    "vgpuctl export /dev/snd/controlC$c --to 1 --name mixer >/dev/null && "
			    "ln -sf /dev/snd/controlC$c /run/vgpu-mixer"));
	self->real = open("/run/vgpu-mixer", O_RDWR | O_CLOEXEC);
	ASSERT_GE(self->real, 0);
	self->fwd = tool_open_export("mixer");
	ASSERT_GE(self->fwd, 0);
	ASSERT_EQ(0, list_elems(self->real, ids[0], &list, 0, 200));
	for (i = 0; i < list.used && !self->scale; i++)
		if (!elem_info(self->real, ids[0][i].numid, &info) &&
		    (info.access & SNDRV_CTL_ELEM_ACCESS_TLV_READ))
			self->scale = ids[0][i].numid;
	ASSERT_NE(0, self->scale);
}

FIXTURE_TEARDOWN(mixer)
{
	if (self->real < 0)
		return;
	close(self->real);
	close(self->fwd);
	EXPECT_EQ(0, system("vgpuctl unexport mixer --force >/dev/null"));
}

/* The owner of a locked element is given by its process id in the guest. */
TEST_F(mixer, lock_owner)
{
	struct snd_ctl_elem_info info;
	struct snd_ctl_elem_id id = { .numid = self->scale };
	int other = tool_open_export("mixer");

	ASSERT_GE(other, 0);
	ASSERT_EQ(0, elem_info(self->fwd, self->scale, &info));
	EXPECT_EQ(-1, info.owner);
	ASSERT_EQ(0, ioctl(self->fwd, SNDRV_CTL_IOCTL_ELEM_LOCK, &id));
	ASSERT_EQ(0, elem_info(self->fwd, self->scale, &info));
	EXPECT_TRUE(info.access & SNDRV_CTL_ELEM_ACCESS_OWNER);
	EXPECT_EQ(getpid(), info.owner);
	/* The owner of an element locked by another file is not shown as a host's pid, either. */
	ASSERT_EQ(0, elem_info(other, self->scale, &info));
	EXPECT_EQ(SNDRV_CTL_ELEM_ACCESS_LOCK,
		  info.access & (SNDRV_CTL_ELEM_ACCESS_LOCK | SNDRV_CTL_ELEM_ACCESS_OWNER));
	EXPECT_EQ(0, info.owner);
	ASSERT_EQ(0, ioctl(self->fwd, SNDRV_CTL_IOCTL_ELEM_UNLOCK, &id));
	ASSERT_EQ(0, elem_info(self->fwd, self->scale, &info));
	EXPECT_EQ(-1, info.owner);
	close(other);
}

static unsigned int tlv[2][TLV_WORDS];

/*
 * Makes one request with @length bytes behind the head on both files. Return: 0 or the errno of
 * both, or -1 if they differ in that or in the memory afterwards.
 */
static int same_tlv(const FIXTURE_DATA(mixer) *self, unsigned long cmd, unsigned int numid,
		    unsigned int length)
{
	const int fds[2] = { self->real, self->fwd };
	int error[2];
	unsigned int i, j;

	for (i = 0; i < 2; i++) {
		for (j = 0; j < TLV_WORDS; j++)
			tlv[i][j] = 0xa5000000 + j;
		tlv[i][0] = numid;
		tlv[i][1] = length;
		error[i] = ioctl(fds[i], cmd, tlv[i]) < 0 ? errno : 0;
	}
	return error[0] == error[1] && !memcmp(tlv[0], tlv[1], sizeof(tlv[0])) ? error[0] : -1;
}

/* The bytes behind the struct go both ways. */
TEST_F(mixer, decibels)
{
	static const unsigned int lengths[] = { 16, 64, 4096, 8184, 8188, 16000 };
	unsigned int i;

	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		EXPECT_EQ(0, same_tlv(self, SNDRV_CTL_IOCTL_TLV_READ, self->scale, lengths[i]));
		EXPECT_EQ(SNDRV_CTL_TLVT_DB_SCALE, tlv[1][2]);
		EXPECT_EQ(8, tlv[1][3]);
		EXPECT_EQ(0xa5000006, tlv[1][6]);
	}
	/*
	 * The length is too short for the scale, for a head, and for anything; the element does
	 * not exist; it cannot be written.
	 */
	EXPECT_EQ(ENOMEM, same_tlv(self, SNDRV_CTL_IOCTL_TLV_READ, self->scale, 12));
	EXPECT_EQ(EINVAL, same_tlv(self, SNDRV_CTL_IOCTL_TLV_READ, self->scale, 4));
	EXPECT_EQ(EINVAL, same_tlv(self, SNDRV_CTL_IOCTL_TLV_READ, self->scale, 0));
	EXPECT_EQ(ENOENT, same_tlv(self, SNDRV_CTL_IOCTL_TLV_READ, 12345, 64));
	EXPECT_EQ(ENXIO, same_tlv(self, SNDRV_CTL_IOCTL_TLV_WRITE, self->scale, 64));
	EXPECT_EQ(ENXIO, same_tlv(self, SNDRV_CTL_IOCTL_TLV_COMMAND, self->scale, 64));
}

/* The length reaches beyond mapped memory: that is no error if the answer fits, as natively. */
TEST_F(mixer, decibels_at_the_end_of_memory)
{
	char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	struct snd_ctl_tlv *end;

	ASSERT_TRUE(pages != MAP_FAILED);
	ASSERT_EQ(0, munmap(pages + PAGE, PAGE));
	end = (struct snd_ctl_tlv *)(pages + PAGE - sizeof(*end) - 16);
	end->numid = self->scale;
	end->length = 4096;
	ASSERT_EQ(0, ioctl(self->fwd, SNDRV_CTL_IOCTL_TLV_READ, end));
	ASSERT_EQ(0, same_tlv(self, SNDRV_CTL_IOCTL_TLV_READ, self->scale, 64));
	EXPECT_EQ(0, memcmp(end->tlv, &tlv[0][2], 16));
	/* A word less is too little. */
	memmove((char *)end + 4, end, sizeof(*end));
	end = (struct snd_ctl_tlv *)((char *)end + 4);
	errno = 0;
	EXPECT_EQ(-1, ioctl(self->fwd, SNDRV_CTL_IOCTL_TLV_READ, end));
	EXPECT_EQ(EFAULT, errno);
	munmap(pages, PAGE);
}

TEST_F(mixer, lists)
{
	static const struct { unsigned int offset, space; } parts[] = {
		{ 0, 0 }, { 0, 200 }, { 3, 4 }, { 5, 1 }, { 150, 20 },
	};
	struct snd_ctl_elem_list list[2];
	unsigned int i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		memset(ids, 0x5a, sizeof(ids));
		EXPECT_EQ(0, list_elems(self->real, ids[0], &list[0], parts[i].offset,
					parts[i].space));
		EXPECT_EQ(0, list_elems(self->fwd, ids[1], &list[1], parts[i].offset,
					parts[i].space));
		EXPECT_TRUE(list[1].pids == &ids[1][0]);
		list[1].pids = list[0].pids;
		EXPECT_EQ(0, memcmp(&list[0], &list[1], sizeof(list[0])));
		EXPECT_EQ(0, memcmp(ids[0], ids[1], sizeof(ids[0])));
	}
	EXPECT_EQ(EFAULT, list_elems(self->real, NULL, &list[0], 0, 10));
	EXPECT_EQ(EFAULT, list_elems(self->fwd, NULL, &list[1], 0, 10));
}

/* A program adds an element, whose names and TLV the driver copies. */
TEST_F(mixer, elements_of_programs)
{
	static const char names[] = "one\0two\0three";
	static const unsigned int lengths[] = { 16, 4096, 12000 };
	struct snd_ctl_elem_info add = {
		.id = { .iface = SNDRV_CTL_ELEM_IFACE_MIXER, .name = "vgpu" },
		.type = SNDRV_CTL_ELEM_TYPE_ENUMERATED, .count = 1,
		.access = SNDRV_CTL_ELEM_ACCESS_READWRITE | SNDRV_CTL_ELEM_ACCESS_TLV_READWRITE,
	}, info;
	unsigned int i;

	add.value.enumerated.items = 3;
	add.value.enumerated.names_ptr = (uintptr_t)names;
	add.value.enumerated.names_length = sizeof(names);
	ASSERT_EQ(0, ioctl(self->fwd, SNDRV_CTL_IOCTL_ELEM_ADD, &add));
	EXPECT_EQ((uintptr_t)names, add.value.enumerated.names_ptr);
	memset(&info, 0, sizeof(info));
	info.id = add.id;
	info.value.enumerated.item = 2;
	ASSERT_EQ(0, ioctl(self->real, SNDRV_CTL_IOCTL_ELEM_INFO, &info));
	EXPECT_STREQ("three", info.value.enumerated.name);

	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		unsigned int words = lengths[i] / sizeof(tlv[0][0]), j;

		tlv[1][0] = info.id.numid;
		tlv[1][1] = lengths[i];
		for (j = 0; j < words; j++)
			tlv[1][2 + j] = 1000 * i + j;
		/* The result 1 means that the element had another TLV before. */
		ASSERT_EQ(1, ioctl(self->fwd, SNDRV_CTL_IOCTL_TLV_WRITE, tlv[1]));
		ASSERT_EQ(0, same_tlv(self, SNDRV_CTL_IOCTL_TLV_READ, info.id.numid, lengths[i]));
		for (j = 0; j < words && tlv[0][2 + j] == 1000 * i + j; j++)
			;
		EXPECT_EQ(words, j);
	}
	EXPECT_EQ(0, ioctl(self->fwd, SNDRV_CTL_IOCTL_ELEM_REMOVE, &info.id));
}

TEST_HARNESS_MAIN
