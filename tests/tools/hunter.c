// SPDX-License-Identifier: GPL-2.0-only
/*
 * hunter SECONDS MARK...: reads and writes all that this machine's window shows for that time,
 * as a guest's kernel could (/dev/vgpu-hunter, tests/mock/hunter.c). Meanwhile programs of this
 * machine with these MARKs (1 to 254) have memory of devices shown and released; programs of other
 * machines have marks of their own. The window must show nothing that other machines have
 * written, and no page that was freed.
 *
 * Most of the window shows nothing: reads give ones or zeros there, depending on how the
 * hypervisor runs the machine, writes are lost, and each takes long. So a page is read all the
 * time as long as it shows something, as it may become another machine's at any time; less
 * often if it has shown something; and all pages are read seldom.
 *
 * Prints what was seen. Exit status 1 if the window showed something that it must not show, 3
 * if it showed nothing of a program of this machine, as that memory is not where the hunter
 * looks.
 */
#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "hunt.h"

#define WORDS		(HUNT_PAGE / sizeof(uint64_t))
/* Each look at a page reads so many of its words. */
#define SOME		8
/*
 * In a turn, each page that has ever shown something is read once; then those that show something
 * now are read for LOOK_MS. All pages are read after TURNS turns.
 */
#define LOOK_MS		200
#define TURNS		20
/* The hunter's own words have this mark. */
#define MARK		255
#define NOTHING		UINT64_MAX	/* word, like 0, that is read where nothing is shown */

static volatile uint64_t *memory;
static bool is_own[MARK + 1];
static uint32_t *seen, *there;	/* lists of pages */
static bool *is_seen;
static size_t nr_seen, nr_there;
static struct {
	uint64_t passes, words, written, own[MARK + 1], wrong;
} done;

static void judge(size_t at, uint64_t word)
{
	unsigned int mark = hunt_mark(word);

	done.words++;
	if (!word || word == NOTHING || mark == MARK)
		return;
	if (!mark && word != HUNT_POISON)
		mark = hunt_filled(word, at * sizeof(word) % HUNT_PAGE);
	if (is_own[mark])
		done.own[mark]++;
	else if (mark || word == HUNT_POISON)
		if (done.wrong++ < 3)
			printf("0x%016llx at 0x%zx\n", (unsigned long long)word,
			       at * sizeof(word));
}

/* Reads and writes a word. Return: true if the window shows something there. */
static bool look(size_t at)
{
	uint64_t word = memory[at], mine = hunt_word(MARK, done.written);

	judge(at, word);
	if (word == NOTHING)
		return false;
	memory[at] = mine;
	done.written++;
	return word || memory[at] == mine;
}

static void look_at_all(size_t pages)
{
	size_t page;

	for (page = 0; page < pages; page++) {
		if (!look(page * WORDS + done.passes % WORDS) || is_seen[page])
			continue;
		is_seen[page] = true;
		seen[nr_seen++] = page;
	}
	done.passes++;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ULL + now.tv_nsec / 1000000;
}

static void look_at_seen(void)
{
	size_t i;

	nr_there = 0;
	for (i = 0; i < nr_seen; i++)
		if (look(seen[i] * WORDS))
			there[nr_there++] = seen[i];
}

static void look_at_there(uint64_t turn)
{
	size_t i, j, at, nr = 0;

	for (i = 0; i < nr_there; i++) {
		at = there[i] * WORDS + turn * SOME % WORDS;
		if (!look(at))
			continue;
		for (j = 1; j < SOME; j++)
			judge(at + j, memory[at + j]);
		there[nr++] = there[i];
	}
	nr_there = nr;
}

int main(int argc, char **argv)
{
	size_t most = 0, pages;
	bool all_seen = true;
	uint64_t turn = 0, until, end;
	off_t size;
	int fd, i;

	if (argc < 3)
		errx(2, "usage: hunter SECONDS MARK...");
	for (i = 2; i < argc; i++)
		is_own[atoi(argv[i]) % MARK] = true;
	fd = open("/dev/vgpu-hunter", O_RDWR | O_CLOEXEC);
	size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	if (size < 0)
		err(2, "/dev/vgpu-hunter");
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		err(2, "mmap");
	pages = size / HUNT_PAGE;
	seen = calloc(pages, sizeof(*seen));
	there = calloc(pages, sizeof(*there));
	is_seen = calloc(pages, sizeof(*is_seen));
	if (!seen || !there || !is_seen)
		err(2, "no memory");
	until = now_ms() + atoi(argv[1]) * 1000ULL;
	do {
		look_at_all(pages);
		for (i = 0; i < TURNS && now_ms() < until; i++) {
			look_at_seen();
			most = nr_there > most ? nr_there : most;
			for (end = now_ms() + LOOK_MS; nr_there && now_ms() < end;)
				look_at_there(turn++);
		}
	} while (now_ms() < until);
	printf("%zu pages, all in %llu passes; %zu with something, %zu of them at once; "
	       "%llu words read, %llu written, %llu of others or nobody",
	       pages, (unsigned long long)done.passes, nr_seen, most,
	       (unsigned long long)done.words, (unsigned long long)done.written,
	       (unsigned long long)done.wrong);
	for (i = 1; i < MARK; i++) {
		if (!is_own[i])
			continue;
		printf(", %llu of its own %d's", (unsigned long long)done.own[i], i);
		all_seen &= done.own[i] > 0;
	}
	printf("\n");
	return done.wrong ? 1 : all_seen ? 0 : 3;
}
