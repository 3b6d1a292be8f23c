// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program uses nouveau's own ioctls, on the real node and on the forwarded one, or on the one
 * that exists: parameters, buffers, a channel with its objects, and copies by the card's M2MF
 * engine that are checked byte by byte.
 *
 * The tests are for NV40 and newer. Up to NV4x the kernel puts addresses into the commands, by
 * relocations; from NV50 on buffers have addresses of the channel's own. Cards from Kepler on
 * have another engine for copies, which is not tested.
 */
#include <dirent.h>
#include <drm.h>
#include <drm/nouveau_drm.h>
#include <linux/dma-buf.h>
#include <xf86drm.h>

#include "vgpu_diff.h"

#define SECONDS		120	/* CPU_PREP alone may take 30 */
#define PAGE		4096u
#define LINES		15u
#define BYTES		((LINES + 1) * PAGE)

/* A program gives the objects of its channel these handles. */
#define VRAM		0xbeef0201
#define GART		0xbeef0202
#define NOTIFIER	0xbeef0301
#define M2MF		0xbeef3901

/* The header has only the ioctl's number. */
struct grobj_alloc {
	__s32 channel;
	__u32 handle;
	__s32 class;
};

#define GROBJ_ALLOC \
	DRM_IOW(DRM_COMMAND_BASE + DRM_NOUVEAU_GROBJ_ALLOC, struct grobj_alloc)
#define NOTIFIEROBJ_ALLOC \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NOUVEAU_NOTIFIEROBJ_ALLOC, \
		 struct drm_nouveau_notifierobj_alloc)
#define GPUOBJ_FREE \
	DRM_IOW(DRM_COMMAND_BASE + DRM_NOUVEAU_GPUOBJ_FREE, struct drm_nouveau_gpuobj_free)
#define NVIF(message) \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_NOUVEAU_NVIF, message)

/* --- nodes ---------------------------------------------------------------- */

/* Return: true if the node belongs to a device of an export. */
static bool is_forwarded(const char *node)
{
	char link[300], device[PATH_MAX], export[PATH_MAX];
	struct dirent *entry;
	bool found = false;
	struct stat st;
	DIR *dir;

	if (stat(node, &st))
		return false;
	snprintf(link, sizeof(link), "/sys/dev/char/%u:%u/device", major(st.st_rdev),
		 minor(st.st_rdev));
	dir = opendir("/sys/class/vgpu");
	if (!dir || !realpath(link, device))
		return false;
	while (!found && (entry = readdir(dir))) {
		snprintf(link, sizeof(link), "/sys/class/vgpu/%s/drm", entry->d_name);
		found = realpath(link, export) && !strcmp(export, device);
	}
	closedir(dir);
	return found;
}

static bool is_nouveau(const char *node)
{
	int fd = open(node, O_RDWR | O_CLOEXEC);
	drmVersion *version = fd < 0 ? NULL : drmGetVersion(fd);
	bool is = version && !strcmp(version->name, "nouveau");

	drmFreeVersion(version);
	if (fd >= 0)
		close(fd);
	return is;
}

/*
 * Sets the nodes that the environment does not name to the first real and the first forwarded
 * node.
 */
static void __attribute__((constructor)) find_nodes(void)
{
	const char *real = getenv("VGPU_REAL_NOUVEAU_RENDER"), *fwd = getenv("VGPU_FWD_NOUVEAU_RENDER");
	static char nodes[2][32];
	char node[32];
	int i;

	for (i = 128; i < 192; i++) {
		snprintf(node, sizeof(node), "/dev/dri/renderD%d", i);
		if (!is_nouveau(node))
			continue;
		if (is_forwarded(node)) {
			if (!fwd)
				fwd = strcpy(nodes[1], node);
		} else if (!real) {
			real = strcpy(nodes[0], node);
		}
	}
	if (real || fwd) {
		setenv("VGPU_REAL_NOUVEAU_RENDER", real ? real : fwd, 1);
		setenv("VGPU_FWD_NOUVEAU_RENDER", fwd ? fwd : real, 1);
	} else {
		printf("# no render node of nouveau here\n");
	}
}

#define NOUVEAU_TEST(name)	DIFF_TEST_NODE(name, "NOUVEAU_RENDER", SECONDS)

/* --- parameters ----------------------------------------------------------- */

static int getparam(int fd, __u64 param, __u64 *value)
{
	struct drm_nouveau_getparam get = { .param = param };
	int ret = ioctl(fd, DRM_IOCTL_NOUVEAU_GETPARAM, &get);

	*value = get.value;
	return ret;
}

static unsigned int chipset(int fd)
{
	__u64 value;

	MUST(!getparam(fd, NOUVEAU_GETPARAM_CHIPSET_ID, &value));
	MUST(value >= 0x40);
	return value;
}

/*
 * is_curie() is true for NV4x and the NV6x that are like them, and is_tesla() for NV50 to NVAx;
 * NVCx and NVDx are newer.
 */
static bool is_curie(unsigned int chip)
{
	return chip < 0x50 || (chip & 0xf0) == 0x60;
}

static bool is_tesla(unsigned int chip)
{
	return !is_curie(chip) && chip < 0xc0;
}

/* Returns the class of the chip's M2MF engine, or 0 if it has none. */
static __s32 m2mf_class(unsigned int chip)
{
	if (is_curie(chip))
		return 0x0039;
	if (is_tesla(chip))
		return 0x5039;
	return chip < 0xe0 ? 0x9039 : 0;
}

NOUVEAU_TEST(parameters)
{
	static const __u64 constant[] = {
		NOUVEAU_GETPARAM_PCI_VENDOR, NOUVEAU_GETPARAM_PCI_DEVICE,
		NOUVEAU_GETPARAM_BUS_TYPE, NOUVEAU_GETPARAM_FB_SIZE, NOUVEAU_GETPARAM_AGP_SIZE,
		NOUVEAU_GETPARAM_CHIPSET_ID, NOUVEAU_GETPARAM_GRAPH_UNITS,
		NOUVEAU_GETPARAM_HAS_BO_USAGE, NOUVEAU_GETPARAM_HAS_PAGEFLIP,
	};
	__u64 value, then, now;
	int fd = open_device(O_RDWR);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(constant); i++) {
		LOG_CALL(getparam(fd, constant[i], &value));
		log_line("parameter %llu is %llx", constant[i], value);
	}
	CHECK(!getparam(fd, NOUVEAU_GETPARAM_PCI_VENDOR, &value) && value == 0x10de);
	CHECK(LOG_CALL(getparam(fd, 12345, &value)) == -1 && errno == EINVAL);
	CHECK(!getparam(fd, NOUVEAU_GETPARAM_PTIMER_TIME, &then));
	sleep_ms(1);
	CHECK(!getparam(fd, NOUVEAU_GETPARAM_PTIMER_TIME, &now));
	CHECK(now > then);
	log_line("chipset %x", chipset(fd));
}

/* The device object is made, asked, and removed, as libdrm does when it opens a device. */
NOUVEAU_TEST(nvif_device)
{
	struct head {
		__u8 version, type, pad[4], owner, route;
		__u64 token, object;
	};
	struct {
		struct head head;
		__u8 version, pad[6], route;
		__u64 token, object;
		__u32 handle;
		__s32 class;
		__u64 device[2];	/* version 0, any device */
	} new = {
		.head = { .type = 2, .owner = 0xff }, .token = 0x1234, .object = 0x1234,
		.class = 0x80, .device = { 0, ~0ULL },
	};
	struct {
		struct head head;
		__u8 version, method, pad[6];
		struct {
			__u8 version, platform;
			__u16 chipset;
			__u8 revision, family, pad[2];
			__u64 ram_size, ram_user;
			char chip[16], name[64];
		} info;
	} info = { .head = { .type = 4, .owner = 0xff, .object = 0x1234 } };
	struct head del = { .type = 3, .owner = 0xff, .object = 0x1234 };
	int fd = open_device(O_RDWR);

	CHECK(!LOG_CALL(ioctl(fd, NVIF(new), &new)));
	CHECK(!LOG_CALL(ioctl(fd, NVIF(info), &info)));
	CHECK(info.info.chipset == chipset(fd) && info.info.ram_user <= info.info.ram_size);
	log_line("platform %u, family %u, ram %llx %llx", info.info.platform, info.info.family,
		 info.info.ram_size, info.info.ram_user);
	/* Linux 6.1 returns 1. */
	CHECK(LOG_CALL(ioctl(fd, NVIF(del), &del)) >= 0);
	del.version = 9;
	LOG_CALL(ioctl(fd, NVIF(del), &del));
	/* The message is shorter than the head of every message. */
	LOG_CALL(ioctl(fd, NVIF(__u64), &del));
}

/* --- buffers -------------------------------------------------------------- */

struct buffer {
	struct drm_nouveau_gem_info info;
	__u8 *map;
};

static struct buffer buffer_new(int fd, __u32 domain, __u64 size)
{
	struct drm_nouveau_gem_new new = {
		.info = { .domain = domain | NOUVEAU_GEM_DOMAIN_MAPPABLE, .size = size },
		.align = PAGE,
	};
	struct buffer buffer;

	MUST(!ioctl(fd, DRM_IOCTL_NOUVEAU_GEM_NEW, &new));
	buffer.info = new.info;
	MUST(new.info.handle && new.info.size >= size);
	buffer.map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			  new.info.map_handle);
	MUST(buffer.map != MAP_FAILED);
	return buffer;
}

static int cpu_prep(int fd, const struct buffer *buffer, __u32 flags)
{
	struct drm_nouveau_gem_cpu_prep prep = {
		.handle = buffer->info.handle, .flags = flags,
	};

	return ioctl(fd, DRM_IOCTL_NOUVEAU_GEM_CPU_PREP, &prep);
}

static int cpu_fini(int fd, const struct buffer *buffer)
{
	struct drm_nouveau_gem_cpu_fini fini = { .handle = buffer->info.handle };

	return ioctl(fd, DRM_IOCTL_NOUVEAU_GEM_CPU_FINI, &fini);
}

static void buffer_fill(int fd, const struct buffer *buffer, __u64 seed)
{
	CHECK(!cpu_prep(fd, buffer, NOUVEAU_GEM_CPU_PREP_WRITE));
	vgpu_mock_pattern(buffer->map, BYTES, seed, 0);
	CHECK(!cpu_fini(fd, buffer));
}

static void buffer_test(__u32 domain)
{
	int fd = open_device(O_RDWR);
	struct buffer buffer = buffer_new(fd, domain, BYTES);
	struct drm_nouveau_gem_info info = { .handle = buffer.info.handle };
	struct drm_gem_close gone = { .handle = buffer.info.handle };
	__u8 *again;

	CHECK(!LOG_CALL(ioctl(fd, DRM_IOCTL_NOUVEAU_GEM_INFO, &info)));
	CHECK(info.size == buffer.info.size && info.map_handle == buffer.info.map_handle);
	CHECK(info.domain & domain);
	log_line("domain %x, size %llx, tiles %x %x", info.domain, info.size, info.tile_mode,
		 info.tile_flags);

	buffer_fill(fd, &buffer, 1);
	again = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, info.map_handle);
	MUST(again != MAP_FAILED);
	CHECK(!LOG_CALL(cpu_prep(fd, &buffer, NOUVEAU_GEM_CPU_PREP_NOWAIT)));
	CHECK(!memcmp(again, buffer.map, BYTES));
	log_bytes("buffer", again, BYTES);

	CHECK(!LOG_CALL(ioctl(fd, DRM_IOCTL_GEM_CLOSE, &gone)));
	CHECK(LOG_CALL(cpu_prep(fd, &buffer, 0)) == -1 && errno == ENOENT);
	CHECK(LOG_CALL(ioctl(fd, DRM_IOCTL_NOUVEAU_GEM_INFO, &info)) == -1 && errno == ENOENT);
	/* The mapping keeps the memory. */
	log_bytes("buffer", again, BYTES);
}

NOUVEAU_TEST(buffer_in_vram)
{
	buffer_test(NOUVEAU_GEM_DOMAIN_VRAM);
}

NOUVEAU_TEST(buffer_in_gart)
{
	buffer_test(NOUVEAU_GEM_DOMAIN_GART);
}

/* Two handles of two files, and a mapping of the fd, are the same memory. */
NOUVEAU_TEST(prime)
{
	int fd = open_device(O_RDWR), other = open_device(O_RDWR);
	struct buffer buffer = buffer_new(fd, NOUVEAU_GEM_DOMAIN_GART, BYTES);
	struct drm_prime_handle prime = {
		.handle = buffer.info.handle, .flags = DRM_CLOEXEC | DRM_RDWR,
	};
	struct drm_nouveau_gem_info info = { };
	__u8 *mapped, *theirs;
	__u32 own = buffer.info.handle;

	buffer_fill(fd, &buffer, 2);
	CHECK(!LOG_CALL(ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime)));
	prime.handle = 0;
	CHECK(!LOG_CALL(ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime)));
	CHECK(prime.handle == own);
	CHECK(!LOG_CALL(ioctl(other, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime)));
	info.handle = prime.handle;
	LOG_CALL(ioctl(other, DRM_IOCTL_NOUVEAU_GEM_INFO, &info));
	if (info.map_handle) {
		theirs = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, other, info.map_handle);
		MUST(theirs != MAP_FAILED);
		CHECK(!memcmp(theirs, buffer.map, BYTES));
	}
	mapped = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, prime.fd, 0);
	log_line("mapping of the fd: %s", mapped == MAP_FAILED ? "no" : "yes");
	if (mapped != MAP_FAILED)
		log_bytes("dma-buf", mapped, BYTES);
	log_line("size %lld", (long long)lseek(prime.fd, 0, SEEK_END));
}

/* --- channels ------------------------------------------------------------- */

struct channel {
	struct drm_nouveau_channel_alloc alloc;
	__u32 suffix[2];
	unsigned int chip;
};

static void channel_new(int fd, struct channel *channel)
{
	struct drm_nouveau_gem_pushbuf nothing = { };
	int ret;

	*channel = (struct channel) {
		.alloc = { .fb_ctxdma_handle = VRAM, .tt_ctxdma_handle = GART },
		.chip = chipset(fd),
	};
	ret = LOG_CALL(ioctl(fd, DRM_IOCTL_NOUVEAU_CHANNEL_ALLOC, &channel->alloc));
	if (ret && errno == ENODEV)
		diff_skip("this card does no work for programs");
	MUST(!ret);
	/* The answer says with which words commands have to end. */
	nothing.channel = channel->alloc.channel;
	MUST(!ioctl(fd, DRM_IOCTL_NOUVEAU_GEM_PUSHBUF, &nothing));
	CHECK(nothing.vram_available);
	channel->suffix[0] = nothing.suffix0;
	channel->suffix[1] = nothing.suffix1;
	log_line("domains %x, suffix %x %x, %u subchannels", channel->alloc.pushbuf_domains,
		 channel->suffix[0], channel->suffix[1], channel->alloc.nr_subchan);
}

static int grobj_alloc(int fd, const struct channel *channel, __u32 handle, __s32 class)
{
	struct grobj_alloc alloc = { channel->alloc.channel, handle, class };

	return ioctl(fd, GROBJ_ALLOC, &alloc);
}

NOUVEAU_TEST(channel_and_objects)
{
	struct drm_nouveau_notifierobj_alloc notifier = { .handle = NOTIFIER, .size = 32 };
	struct drm_nouveau_channel_free gone;
	struct drm_nouveau_gpuobj_free object;
	struct drm_nouveau_gem_info info = { };
	int fd = open_device(O_RDWR);
	struct channel channel;

	channel_new(fd, &channel);
	info.handle = channel.alloc.notifier_handle;
	CHECK(!LOG_CALL(ioctl(fd, DRM_IOCTL_NOUVEAU_GEM_INFO, &info)));

	notifier.channel = channel.alloc.channel;
	LOG_CALL(ioctl(fd, NOTIFIEROBJ_ALLOC, &notifier));
	CHECK(errno || notifier.offset + 32 <= info.size);
	log_line("notifier at %x", notifier.offset);
	if (m2mf_class(channel.chip))
		CHECK(!LOG_CALL(grobj_alloc(fd, &channel, M2MF, m2mf_class(channel.chip))));
	/* The class, the handle and the channel do not exist, one after the other. */
	CHECK(LOG_CALL(grobj_alloc(fd, &channel, M2MF + 1, 0x7777)) == -1);
	CHECK(LOG_CALL(grobj_alloc(fd, &channel, ~0U, 0x39)) == -1 && errno == EINVAL);
	channel.alloc.channel += 1000;
	CHECK(LOG_CALL(grobj_alloc(fd, &channel, M2MF + 2, 0x39)) == -1 && errno == ENOENT);
	channel.alloc.channel -= 1000;

	object = (struct drm_nouveau_gpuobj_free) { channel.alloc.channel, 0xbeef9999 };
	CHECK(LOG_CALL(ioctl(fd, GPUOBJ_FREE, &object)) == -1 && errno == ENOENT);
	object.handle = NOTIFIER;
	LOG_CALL(ioctl(fd, GPUOBJ_FREE, &object));
	gone.channel = channel.alloc.channel;
	CHECK(!LOG_CALL(ioctl(fd, DRM_IOCTL_NOUVEAU_CHANNEL_FREE, &gone)));
	CHECK(LOG_CALL(ioctl(fd, DRM_IOCTL_NOUVEAU_CHANNEL_FREE, &gone)) == -1 &&
	      errno == ENOENT);
}

/* --- copies --------------------------------------------------------------- */

enum { PUSH, SRC, DST, NR_BUFFERS };

struct copy {
	int fd;
	const struct channel *channel;
	struct buffer buffers[NR_BUFFERS];
	struct drm_nouveau_gem_pushbuf_bo list[NR_BUFFERS];
	struct drm_nouveau_gem_pushbuf_reloc relocs[8];
	unsigned int nr_relocs;
	unsigned int words;
};

static void push_word(struct copy *copy, __u32 word)
{
	((__u32 *)copy->buffers[PUSH].map)[copy->words++] = word;
}

/* Begins a sequence of @count words for the methods from @method on, of subchannel 0. */
static void push_method(struct copy *copy, __u32 method, __u32 count)
{
	if (copy->channel->chip < 0xc0)
		push_word(copy, count << 18 | method);
	else
		push_word(copy, 0x20000000 | count << 16 | method >> 2);
}

/* Pushes a word that the kernel puts together. */
static void push_reloc(struct copy *copy, __u32 target, __u32 flags, __u32 data, __u32 vor,
		       __u32 tor)
{
	copy->relocs[copy->nr_relocs++] = (struct drm_nouveau_gem_pushbuf_reloc) {
		.reloc_bo_index = PUSH, .reloc_bo_offset = copy->words * 4,
		.bo_index = target, .flags = flags, .data = data, .vor = vor, .tor = tor,
	};
	push_word(copy, 0xdeadbeef);
}

static void push_last(struct copy *copy)
{
	push_word(copy, PAGE);		/* pitches */
	push_word(copy, PAGE);
	push_word(copy, PAGE);		/* length of a line */
	push_word(copy, LINES);
}

/* Copies all but the first page of SRC to all but the last page of DST. */
static void push_curie(struct copy *copy)
{
	push_method(copy, 0x0180, 3);	/* notifier, source, destination */
	push_word(copy, NOTIFIER);
	push_reloc(copy, SRC, NOUVEAU_GEM_RELOC_OR, 0, VRAM, GART);
	push_reloc(copy, DST, NOUVEAU_GEM_RELOC_OR, 0, VRAM, GART);
	push_method(copy, 0x030c, 8);
	push_reloc(copy, SRC, NOUVEAU_GEM_RELOC_LOW, PAGE, 0, 0);
	push_reloc(copy, DST, NOUVEAU_GEM_RELOC_LOW, 0, 0, 0);
	push_last(copy);
	push_word(copy, 0x0101);	/* formats: bytes */
	push_word(copy, 0);		/* starts the copy */
	push_method(copy, 0x0100, 1);
	push_word(copy, 0);
}

static void push_tesla(struct copy *copy, __u64 from, __u64 to)
{
	push_method(copy, 0x0180, 3);
	push_word(copy, NOTIFIER);
	push_word(copy, VRAM);		/* address space of the channel */
	push_word(copy, VRAM);
	push_method(copy, 0x0200, 1);	/* linear memory */
	push_word(copy, 1);
	push_method(copy, 0x021c, 1);
	push_word(copy, 1);
	push_method(copy, 0x0238, 2);
	push_word(copy, from >> 32);
	push_word(copy, to >> 32);
	push_method(copy, 0x030c, 8);
	push_word(copy, from);
	push_word(copy, to);
	push_last(copy);
	push_word(copy, 0x0101);
	push_word(copy, 0);
	push_method(copy, 0x0100, 1);
	push_word(copy, 0);
}

static void push_fermi(struct copy *copy, __u64 from, __u64 to)
{
	push_method(copy, 0x0238, 2);
	push_word(copy, to >> 32);
	push_word(copy, to);
	push_method(copy, 0x030c, 6);
	push_word(copy, from >> 32);
	push_word(copy, from);
	push_last(copy);
	push_method(copy, 0x0300, 1);
	push_word(copy, 0x00100110);	/* linear memory; starts the copy */
}

static void copy_build(struct copy *copy)
{
	__u64 from = copy->buffers[SRC].info.offset + PAGE;
	__u64 to = copy->buffers[DST].info.offset;
	unsigned int chip = copy->channel->chip;

	CHECK(!cpu_prep(copy->fd, &copy->buffers[PUSH], NOUVEAU_GEM_CPU_PREP_WRITE));
	push_method(copy, 0, 1);
	push_word(copy, chip < 0xc0 ? M2MF : (__u32)m2mf_class(chip));
	if (is_curie(chip))
		push_curie(copy);
	else if (is_tesla(chip))
		push_tesla(copy, from, to);
	else
		push_fermi(copy, from, to);
	if (copy->channel->suffix[0] || copy->channel->suffix[1]) {
		push_word(copy, copy->channel->suffix[0]);
		push_word(copy, copy->channel->suffix[1]);
	}
	CHECK(!cpu_fini(copy->fd, &copy->buffers[PUSH]));
}

static int copy_submit(struct copy *copy)
{
	struct drm_nouveau_gem_pushbuf_push push = {
		.bo_index = PUSH, .length = copy->words * 4,
	};
	struct drm_nouveau_gem_pushbuf pushbuf = {
		.channel = copy->channel->alloc.channel,
		.nr_buffers = NR_BUFFERS, .buffers = (uintptr_t)copy->list,
		.nr_relocs = copy->nr_relocs, .relocs = (uintptr_t)copy->relocs,
		.nr_push = 1, .push = (uintptr_t)&push,
		.suffix0 = copy->channel->suffix[0], .suffix1 = copy->channel->suffix[1],
	};
	int ret = ioctl(copy->fd, DRM_IOCTL_NOUVEAU_GEM_PUSHBUF, &pushbuf);

	CHECK(pushbuf.buffers == (uintptr_t)copy->list && pushbuf.push == (uintptr_t)&push);
	CHECK(pushbuf.relocs == (uintptr_t)copy->relocs);
	return ret;
}

/* Checks what the kernel has written: the places of buffers, and these in the commands. */
static void copy_check_relocs(struct copy *copy)
{
	const __u32 *words = (void *)copy->buffers[PUSH].map;
	unsigned int i;

	CHECK(!cpu_prep(copy->fd, &copy->buffers[PUSH], 0));
	for (i = 0; i < NR_BUFFERS; i++) {
		CHECK(!copy->list[i].presumed.valid);
		CHECK(copy->list[i].presumed.domain & copy->list[i].valid_domains);
	}
	for (i = 0; i < copy->nr_relocs; i++) {
		const struct drm_nouveau_gem_pushbuf_reloc *reloc = &copy->relocs[i];
		const struct drm_nouveau_gem_pushbuf_bo *to = &copy->list[reloc->bo_index];
		__u32 want = reloc->data;

		if (reloc->flags & NOUVEAU_GEM_RELOC_LOW)
			want += to->presumed.offset;
		if (reloc->flags & NOUVEAU_GEM_RELOC_OR)
			want |= to->presumed.domain == NOUVEAU_GEM_DOMAIN_GART ?
				reloc->tor : reloc->vor;
		if (!CHECK(words[reloc->reloc_bo_offset / 4] == want))
			log_line("relocation %u: %x, not %x", i,
				 words[reloc->reloc_bo_offset / 4], want);
	}
}

static void copy_check(struct copy *copy, const char *what)
{
	__u8 expected[BYTES], untouched[BYTES];

	vgpu_mock_pattern(expected, BYTES, 5, 0);
	vgpu_mock_pattern(untouched, BYTES, 6, 0);
	CHECK(!LOG_CALL(cpu_prep(copy->fd, &copy->buffers[DST], 0)));
	if (!CHECK(!memcmp(copy->buffers[DST].map, expected + PAGE, LINES * PAGE)))
		log_line("%s: not copied", what);
	if (!CHECK(!memcmp(copy->buffers[DST].map + LINES * PAGE, untouched + LINES * PAGE,
			   PAGE)))
		log_line("%s: more than that is changed", what);
	log_bytes(what, copy->buffers[DST].map, BYTES);
	CHECK(!cpu_fini(copy->fd, &copy->buffers[DST]));
}

static void copy_fill(struct copy *copy)
{
	buffer_fill(copy->fd, &copy->buffers[SRC], 5);
	buffer_fill(copy->fd, &copy->buffers[DST], 6);
}

static void copy_init(struct copy *copy, int fd, const struct channel *channel, __u32 from,
		      __u32 to)
{
	__u32 domains[NR_BUFFERS] = { NOUVEAU_GEM_DOMAIN_VRAM, from, to };
	unsigned int i;

	if (channel->alloc.pushbuf_domains & NOUVEAU_GEM_DOMAIN_GART)
		domains[PUSH] = NOUVEAU_GEM_DOMAIN_GART;
	*copy = (struct copy) { .fd = fd, .channel = channel };
	for (i = 0; i < NR_BUFFERS; i++) {
		copy->buffers[i] = buffer_new(fd, domains[i], BYTES);
		copy->list[i] = (struct drm_nouveau_gem_pushbuf_bo) {
			.user_priv = 77, .handle = copy->buffers[i].info.handle,
			.read_domains = i == DST ? 0 : domains[i],
			.write_domains = i == DST ? domains[i] : 0,
			.valid_domains = domains[i],
			/* address 0 is wrong, so the kernel has to correct it */
			.presumed = { .valid = 1 },
		};
	}
	copy_fill(copy);
	copy_build(copy);
}

static void copy_run(int fd, const struct channel *channel, __u32 from, __u32 to,
		     const char *what)
{
	struct copy copy;
	unsigned int i;

	copy_init(&copy, fd, channel, from, to);
	MUST(!LOG_CALL(copy_submit(&copy)));
	copy_check(&copy, what);
	if (is_curie(channel->chip))
		copy_check_relocs(&copy);
	/* The second copy presumes the places that the kernel has returned. */
	for (i = 0; i < NR_BUFFERS; i++) {
		CHECK(copy.list[i].user_priv == 77);
		copy.list[i].presumed.valid = 1;
	}
	copy_fill(&copy);
	MUST(!LOG_CALL(copy_submit(&copy)));
	copy_check(&copy, what);
}

static void m2mf_init(int fd, struct channel *channel)
{
	struct drm_nouveau_notifierobj_alloc notifier = { .handle = NOTIFIER, .size = 32 };

	channel_new(fd, channel);
	if (!m2mf_class(channel->chip))
		diff_skip("this card has no M2MF");
	MUST(!LOG_CALL(grobj_alloc(fd, channel, M2MF, m2mf_class(channel->chip))));
	notifier.channel = channel->alloc.channel;
	if (channel->chip < 0xc0)
		MUST(!LOG_CALL(ioctl(fd, NOTIFIEROBJ_ALLOC, &notifier)));
}

NOUVEAU_TEST(copies_are_right)
{
	int fd = open_device(O_RDWR);
	struct channel channel;

	m2mf_init(fd, &channel);
	copy_run(fd, &channel, NOUVEAU_GEM_DOMAIN_GART, NOUVEAU_GEM_DOMAIN_VRAM, "to VRAM");
	copy_run(fd, &channel, NOUVEAU_GEM_DOMAIN_VRAM, NOUVEAU_GEM_DOMAIN_GART, "to GART");
	copy_run(fd, &channel, NOUVEAU_GEM_DOMAIN_VRAM, NOUVEAU_GEM_DOMAIN_VRAM, "in VRAM");
	copy_run(fd, &channel, NOUVEAU_GEM_DOMAIN_GART, NOUVEAU_GEM_DOMAIN_GART, "in GART");
}

/* A command with an error fails with its errno, and the channel still works. */
NOUVEAU_TEST(bad_commands)
{
	struct drm_nouveau_gem_pushbuf_push push = { .bo_index = 9, .length = 4 };
	struct drm_nouveau_gem_pushbuf pushbuf;
	int fd = open_device(O_RDWR);
	struct channel channel;
	struct copy copy;

	m2mf_init(fd, &channel);
	copy_init(&copy, fd, &channel, NOUVEAU_GEM_DOMAIN_GART, NOUVEAU_GEM_DOMAIN_GART);
	pushbuf = (struct drm_nouveau_gem_pushbuf) {
		.channel = channel.alloc.channel, .nr_push = 1, .push = (uintptr_t)&push,
		.nr_buffers = NR_BUFFERS, .buffers = (uintptr_t)copy.list,
	};
	CHECK(LOG_CALL(ioctl(fd, DRM_IOCTL_NOUVEAU_GEM_PUSHBUF, &pushbuf)) == -1 &&
	      errno == EINVAL);
	pushbuf.push = 64;
	CHECK(LOG_CALL(ioctl(fd, DRM_IOCTL_NOUVEAU_GEM_PUSHBUF, &pushbuf)) == -1 &&
	      errno == EFAULT);
	pushbuf.nr_push = NOUVEAU_GEM_MAX_PUSH + 1;
	CHECK(LOG_CALL(ioctl(fd, DRM_IOCTL_NOUVEAU_GEM_PUSHBUF, &pushbuf)) == -1 &&
	      errno == EINVAL);
	pushbuf.channel += 1000;
	CHECK(LOG_CALL(ioctl(fd, DRM_IOCTL_NOUVEAU_GEM_PUSHBUF, &pushbuf)) == -1 &&
	      errno == ENOENT);
	copy.list[DST].handle += 1000;
	CHECK(LOG_CALL(copy_submit(&copy)) == -1 && errno == ENOENT);
	copy.list[DST].handle -= 1000;
	MUST(!LOG_CALL(copy_submit(&copy)));
	copy_check(&copy, "after all");
}

TEST_HARNESS_MAIN
