// SPDX-License-Identifier: GPL-2.0-only
/*
 * mock_hunt DEVICE MARK SECONDS [blind]: makes buffers of a mock device and maps them, has the
 * program and the device write to them, in turns or at once, has the driver move them, unmaps
 * and frees them, and reads them at every step. Each must have exactly the bytes that were
 * written last. These have the program's MARK (1 to 254), so that bytes of another program that
 * hunts at the same time are recognized. MARK 255 is that of a hunter (tests/tools/hunter), which
 * takes words with it for its own. With "blind" the program does not compare, as a hunter writes to
 * the buffers.
 *
 * Prints what was done. Exit status 1 if a buffer had other bytes.
 */
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "hunt.h"
#include "vgpu_mock.h"

#define BUFFERS		8
#define WORDS		(HUNT_PAGES * HUNT_PAGE / sizeof(uint64_t))
/* Program and device write at once so many times, as one of them may be late. */
#define ROUNDS		4

struct buffer {
	uint32_t id;
	uint64_t words;
	uint64_t offset;		/* offset for mmap() */
	bool moves;			/* true if BUF_INVALIDATE moves it; false: only zaps PTEs */
	volatile uint64_t *memory;	/* mapping, or NULL */
	uint64_t expected[WORDS];
};

static struct buffer buffers[BUFFERS];
static int device;
static unsigned int mark;
static bool blind;
static uint64_t serial;
static struct {
	uint64_t maps, bindings, pages, moves, zaps, frees, fills, at_once, words, wrong;
} done;

static uint64_t chance(uint64_t below)
{
	static uint64_t state;

	state = vgpu_mock_mix64(state + mark);
	return state % below;
}

static void must(unsigned long cmd, void *argument, const char *what)
{
	if (ioctl(device, cmd, argument))
		err(2, "%s", what);
}
#define MUST(cmd, argument)	must(VGPU_MOCK_IOC_##cmd, argument, #cmd)

static void found(const struct buffer *buffer, uint64_t i, uint64_t word)
{
	unsigned int whose;

	if (done.wrong++ > 3)
		return;
	printf("buffer %u, word %llu: 0x%016llx instead of 0x%016llx", buffer->id,
	       (unsigned long long)i, (unsigned long long)word,
	       (unsigned long long)buffer->expected[i]);
	whose = hunt_mark(word) ?: hunt_filled(word, i * sizeof(word) % HUNT_PAGE);
	if (whose && whose != mark)
		printf(", which is %u's", whose);
	printf("\n");
}

/* Chooses some words of a buffer, from @first on. Return: their number. */
static uint64_t part(const struct buffer *buffer, uint64_t *first)
{
	*first = chance(buffer->words);
	return 1 + chance(buffer->words - *first);
}

static void check(struct buffer *buffer, uint64_t first, uint64_t count)
{
	uint64_t i, word;

	for (i = first; i < first + count; i++) {
		word = buffer->memory[i];
		if (word != buffer->expected[i] && !blind)
			found(buffer, i, word);
	}
	done.words += count;
}

/* Returns the number of the device's mappings that the window shows now, or -1 if unknown. */
static long in_window(void)
{
	static int file = -2;
	char line[32] = "";

	if (file == -2) {
		char path[96];
		struct stat st;

		if (fstat(device, &st))
			err(2, "fstat");
		snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/window_mappings",
			 major(st.st_rdev), minor(st.st_rdev));
		file = open(path, O_RDONLY | O_CLOEXEC);
	}
	return file < 0 || pread(file, line, sizeof(line) - 1, 0) <= 0 ? -1 : atol(line);
}

static void map(struct buffer *buffer)
{
	long before = in_window();
	void *memory = mmap(NULL, buffer->words * sizeof(uint64_t), PROT_READ | PROT_WRITE,
			    MAP_SHARED, device, buffer->offset);

	if (memory == MAP_FAILED)
		err(2, "mmap");
	buffer->memory = memory;
	done.maps++;
	if (in_window() > before) {
		done.bindings++;
		done.pages += buffer->words * sizeof(uint64_t) / HUNT_PAGE;
	}
	/* A new buffer is zero, and an old one is as it was. */
	check(buffer, 0, buffer->words);
}

static void unmap(struct buffer *buffer)
{
	if (munmap((void *)buffer->memory, buffer->words * sizeof(uint64_t)))
		err(2, "munmap");
	buffer->memory = NULL;
}

static void begin(struct buffer *buffer)
{
	struct vgpu_mock_buf_create create = {
		.size = (1 + chance(HUNT_PAGES)) * HUNT_PAGE,
		.flavour = chance(VGPU_MOCK_BUF_VMALLOC + 1),
	};

	MUST(BUF_CREATE, &create);
	buffer->id = create.out_id;
	buffer->offset = create.out_offset;
	buffer->moves = create.flavour <= VGPU_MOCK_BUF_MIXED;
	buffer->words = create.size / sizeof(uint64_t);
	memset(buffer->expected, 0, sizeof(buffer->expected));
	map(buffer);
}

static void end(struct buffer *buffer)
{
	struct vgpu_mock_buf_range range = { .id = buffer->id };

	/* The buffer or its mapping goes first. */
	if (buffer->memory && chance(2))
		unmap(buffer);
	MUST(BUF_DESTROY, &range);
	if (buffer->memory) {
		check(buffer, 0, buffer->words);
		unmap(buffer);
	}
	buffer->id = 0;
	done.frees++;
}

static void store(struct buffer *buffer, uint64_t first, uint64_t count)
{
	uint64_t i;

	for (i = first; i < first + count; i++) {
		buffer->expected[i] = hunt_word(mark, ++serial);
		buffer->memory[i] = buffer->expected[i];
	}
}

static void fill(struct buffer *buffer, uint64_t first, uint64_t count)
{
	struct vgpu_mock_buf_range range = {
		.id = buffer->id,
		.seed = hunt_seed(mark, chance(HUNT_SEEDS)),
		.offset = first * sizeof(uint64_t),
		.length = count * sizeof(uint64_t),
	};

	MUST(BUF_FILL, &range);
	vgpu_mock_pattern(buffer->expected + first, range.length, range.seed, range.offset);
	done.fills++;
}

struct filler {
	struct vgpu_mock_buf_range range;
	pthread_t thread;
};

static void *filler_run(void *data)
{
	struct filler *filler = data;
	int i;

	for (i = 0; i < ROUNDS; i++)
		MUST(BUF_FILL, &filler->range);
	return NULL;
}

/* Has the device write to the first words and the program to the others at the same time. */
static void both(struct buffer *buffer)
{
	uint64_t split = 1 + chance(buffer->words - 1);
	struct filler filler = {
		.range = {
			.id = buffer->id,
			.seed = hunt_seed(mark, chance(HUNT_SEEDS)),
			.length = split * sizeof(uint64_t),
		},
	};
	int i;

	vgpu_mock_pattern(buffer->expected, filler.range.length, filler.range.seed, 0);
	if (pthread_create(&filler.thread, NULL, filler_run, &filler))
		errx(2, "no thread");
	for (i = 0; i < ROUNDS; i++)
		store(buffer, split, buffer->words - split);
	pthread_join(filler.thread, NULL);
	check(buffer, 0, buffer->words);
	done.at_once++;
}

static void sum(struct buffer *buffer)
{
	struct vgpu_mock_buf_range range = {
		.id = buffer->id, .length = buffer->words * sizeof(uint64_t),
	};

	MUST(BUF_SUM, &range);
	if (!blind &&
	    range.out_sum != vgpu_mock_sum(VGPU_MOCK_SUM_INIT, buffer->expected, range.length)) {
		done.wrong++;
		printf("the device has other bytes in buffer %u\n", buffer->id);
	}
	done.words += buffer->words;
}

static void step(struct buffer *buffer)
{
	struct vgpu_mock_buf_range range = { .id = buffer->id };
	uint64_t first, count;

	if (!buffer->id) {
		begin(buffer);
		return;
	}
	if (!buffer->memory) {
		map(buffer);
		return;
	}
	switch (chance(16)) {
	case 0:
		end(buffer);
		break;
	case 1:
		unmap(buffer);
		break;
	case 2 ... 4:
		MUST(BUF_INVALIDATE, &range);
		done.moves += buffer->moves;
		done.zaps += !buffer->moves;
		break;
	case 5 ... 6:
		count = part(buffer, &first);
		fill(buffer, first, count);
		break;
	case 7 ... 8:
		sum(buffer);
		break;
	case 9 ... 10:
		count = part(buffer, &first);
		store(buffer, first, count);
		break;
	case 11 ... 12:
		both(buffer);
		break;
	default:
		count = part(buffer, &first);
		check(buffer, first, count);
	}
}

int main(int argc, char **argv)
{
	time_t until;
	int i;

	blind = argc == 5 && !strcmp(argv[4], "blind");
	if (argc != 4 && !blind)
		errx(2, "usage: mock_hunt DEVICE MARK SECONDS [blind]");
	device = open(argv[1], O_RDWR | O_CLOEXEC);
	if (device < 0)
		err(2, "%s", argv[1]);
	mark = atoi(argv[2]) & 0xff;
	until = time(NULL) + atoi(argv[3]);
	while (time(NULL) < until && !done.wrong)
		step(&buffers[chance(BUFFERS)]);
	for (i = 0; i < BUFFERS; i++)
		if (buffers[i].id)
			end(&buffers[i]);
	printf("%llu maps, %llu bindings, %llu pages bound, %llu moves, %llu zaps, %llu fills, %llu at once, %llu frees, %llu words checked, %llu wrong\n",
	       (unsigned long long)done.maps, (unsigned long long)done.bindings,
	       (unsigned long long)done.pages, (unsigned long long)done.moves,
	       (unsigned long long)done.zaps, (unsigned long long)done.fills,
	       (unsigned long long)done.at_once, (unsigned long long)done.frees,
	       (unsigned long long)done.words, (unsigned long long)done.wrong);
	return done.wrong ? 1 : 0;
}
