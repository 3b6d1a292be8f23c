// SPDX-License-Identifier: GPL-2.0-only
/* Corpus of a fuzzer, see corpus.h. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "corpus.h"
#include "draw.h"

#define CORPUS_MAX	4096
#define LAST_MAX	32

struct entry {
	size_t len;
	uint8_t *bytes;
};

static struct entry entries[CORPUS_MAX], last[LAST_MAX];
static unsigned int nr_entries, nr_last;

static bool entry_set(struct entry *entry, const struct input *input)
{
	uint8_t *bytes = malloc(input->len + 1);

	if (!bytes)
		return false;
	memcpy(bytes, input->bytes, input->len);
	free(entry->bytes);
	*entry = (struct entry){ .len = input->len, .bytes = bytes };
	return true;
}

static void entry_write(const struct entry *entry, const char *folder, const char *name)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	if (!file)
		return;
	fwrite(entry->bytes, 1, entry->len, file);
	fclose(file);
}

bool corpus_read(const char *path, struct input *input)
{
	static uint8_t bytes[INPUT_MAX];
	FILE *file = fopen(path, "r");
	size_t len;

	if (!file)
		return false;
	len = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	input_take(input, bytes, len);
	return true;
}

void corpus_load(const char *folder, void (*use)(struct input *input))
{
	static struct input input;
	struct dirent **names;
	char path[512];
	int nr, i;

	nr = scandir(folder, &names, NULL, alphasort);
	for (i = 0; i < nr; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]->d_name);
		if (names[i]->d_name[0] != '.' && corpus_read(path, &input) && input.len)
			use(&input);
		free(names[i]);
	}
	if (nr >= 0)
		free(names);
}

uint64_t corpus_hash(const struct input *input)
{
	uint64_t hash = 0xcbf29ce484222325ULL;
	size_t i;

	for (i = 0; i < input->len; i++)
		hash = (hash ^ input->bytes[i]) * 0x100000001b3ULL;
	return hash;
}

void corpus_add(const struct input *input, const char *folder)
{
	char name[32];

	if (nr_entries == CORPUS_MAX || !entry_set(&entries[nr_entries], input))
		return;
	snprintf(name, sizeof(name), "%016llx", (unsigned long long)corpus_hash(input));
	if (folder)
		entry_write(&entries[nr_entries], folder, name);
	nr_entries++;
}

unsigned int corpus_size(void)
{
	return nr_entries;
}

bool corpus_draw(struct input *input)
{
	unsigned int i;

	if (!nr_entries)
		return false;
	/* Newer inputs reach code that older ones do not: half of the time a new one is taken. */
	i = draw_below(nr_entries);
	if (draw_one_in(2) && nr_entries > 16)
		i = nr_entries - 1 - draw_below(16);
	input->len = entries[i].len;
	memcpy(input->bytes, entries[i].bytes, input->len);
	return true;
}

void corpus_note(const struct input *input)
{
	entry_set(&last[nr_last++ % LAST_MAX], input);
}

void corpus_write_last(const char *folder)
{
	unsigned int nr = nr_last < LAST_MAX ? nr_last : LAST_MAX, i;
	char name[32];

	for (i = 0; i < nr; i++) {
		snprintf(name, sizeof(name), "last-%02u", i);
		entry_write(&last[(nr_last - nr + i) % LAST_MAX], folder, name);
	}
}
