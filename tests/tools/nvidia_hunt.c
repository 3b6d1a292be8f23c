// SPDX-License-Identifier: GPL-2.0-only
/*
 * nvidia_hunt MARK SECONDS [blind]: allocates memory of an NVIDIA card, or of the stand-in for
 * its driver, maps it, writes words with that MARK (1 to 254), checks that they stay, and frees
 * it, again and again, in another order each time. With "blind" it does not check, as a hunter
 * (tests/tools/hunter) writes to all that this machine's window shows. In a guest whose host is
 * too slow to show memory in time, mmap() fails (ENOMEM), which is counted.
 *
 * Prints what was done. Exit status 1 if a word had changed, 3 if no memory could be mapped.
 */
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../gpu/memory.h"
#include "hunt.h"

#define PIECES	6
/* Cards allocate memory in units of 64 KiB. */
#define UNIT	(64UL << 10)

struct piece {
	uint32_t object;	/* handle of the memory, or 0 */
	uint64_t words;
	uint64_t serial;	/* serial number of the first word */
	int file;
	volatile uint64_t *memory;
};

static struct piece pieces[PIECES];
static unsigned int mark;
static bool blind;
static uint64_t serial;
static struct {
	uint64_t takes, pages, late, words, wrong;
} done;

static uint64_t chance(uint64_t below)
{
	static uint64_t state;

	state = vgpu_mock_mix64(state + mark);
	return state % below;
}

static void release(struct piece *piece)
{
	if (rm_release(rm.client, piece->object))
		errx(2, "memory cannot be freed: status %#x", rm.status);
	piece->object = 0;
}

static void take(struct piece *piece)
{
	uint64_t size = (1 + chance(HUNT_PAGES * HUNT_PAGE / UNIT)) * UNIT, i;
	uint32_t status = rm_memory(CLASS_VIDEO, size, &piece->object);

	if (status)
		errx(2, "no memory: status %#x", status);
	piece->memory = rm_map(piece->object, size, 0, &piece->file);
	if (piece->memory == MAP_FAILED) {
		if (rm.status || errno != ENOMEM)
			errx(2, "no mapping: status %#x, errno %d", rm.status, errno);
		done.late++;
		close(piece->file);
		release(piece);
		return;
	}
	piece->words = size / sizeof(uint64_t);
	piece->serial = serial;
	serial += piece->words;
	for (i = 0; i < piece->words; i++)
		piece->memory[i] = hunt_word(mark, piece->serial + i);
	done.takes++;
	done.pages += size / HUNT_PAGE;
}

static void look(const struct piece *piece)
{
	uint64_t i, word, right;

	for (i = 0; i < piece->words && !blind; i++) {
		word = piece->memory[i];
		right = hunt_word(mark, piece->serial + i);
		done.words++;
		if (word != right && done.wrong++ < 3)
			printf("word %llu of %llu: 0x%016llx instead of 0x%016llx, %u's\n",
			       (unsigned long long)i, (unsigned long long)piece->words,
			       (unsigned long long)word, (unsigned long long)right,
			       hunt_mark(word));
	}
}

static void unmap(struct piece *piece)
{
	if (munmap((void *)piece->memory, piece->words * sizeof(uint64_t)))
		err(2, "munmap");
	close(piece->file);
}

static void give_back(struct piece *piece)
{
	bool first = chance(2);

	/* A program may free memory before it unmaps it. */
	if (first)
		unmap(piece);
	release(piece);
	if (!first)
		unmap(piece);
}

int main(int argc, char **argv)
{
	struct piece *piece;
	time_t until;

	blind = argc == 4 && !strcmp(argv[3], "blind");
	if (argc != 3 && !blind)
		errx(2, "usage: nvidia_hunt MARK SECONDS [blind]");
	mark = atoi(argv[1]) & 0xff;
	until = time(NULL) + atoi(argv[2]);
	/* The driver does not start the card while no file of the card is open. */
	if (open_node(0) < 0)
		err(2, "the card");
	if (rm_begin())
		errx(2, "no card: status %#x", rm.status);
	while (time(NULL) < until && !done.wrong) {
		piece = &pieces[chance(PIECES)];
		if (!piece->object) {
			take(piece);
			continue;
		}
		look(piece);
		if (chance(2))
			give_back(piece);
	}
	printf("%llu pieces, %llu pages, %llu too late, %llu words checked, %llu wrong\n",
	       (unsigned long long)done.takes, (unsigned long long)done.pages,
	       (unsigned long long)done.late, (unsigned long long)done.words,
	       (unsigned long long)done.wrong);
	return done.wrong ? 1 : done.takes ? 0 : 3;
}
