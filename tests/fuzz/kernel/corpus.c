// SPDX-License-Identifier: GPL-2.0-only
/* Corpus of a fuzzer, see corpus.h. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/**
 * struct stored - a file of a folder
 * @size: size in bytes, or a random number
 * @name: name
 */
struct stored {
	uint64_t size;
	char name[NAME_MAX + 1];
};

static int compare_stored(const void *one, const void *other)
{
	const struct stored *a = one, *b = other;

	return a->size != b->size ? (a->size > b->size ? 1 : -1) : strcmp(a->name, b->name);
}

/* Return: the files of a folder, by their names; *@nr is their number. */
static struct stored *list_stored(const char *folder, unsigned int *nr)
{
	struct dirent **names;
	struct stored *list;
	struct stat stat;
	char path[512];
	int found, i;

	*nr = 0;
	found = scandir(folder, &names, NULL, alphasort);
	if (found < 0)
		return NULL;
	list = calloc(found + 1, sizeof(*list));
	for (i = 0; i < found; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]->d_name);
		if (list && names[i]->d_name[0] != '.' && !lstat(path, &stat)) {
			list[*nr].size = stat.st_size;
			strcpy(list[(*nr)++].name, names[i]->d_name);
		}
		free(names[i]);
	}
	free(names);
	return list;
}

void corpus_load(const char *folder, bool shuffle, bool (*use)(struct input *input))
{
	static struct input input;
	struct stored *list;
	unsigned int nr, i;
	char path[512];

	list = list_stored(folder, &nr);
	for (i = 0; shuffle && i < nr; i++)
		list[i].size = draw();
	if (list)
		qsort(list, nr, sizeof(*list), compare_stored);
	for (i = 0; i < nr; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, list[i].name);
		if (corpus_read(path, &input) && input.len && !use(&input))
			break;
	}
	free(list);
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
