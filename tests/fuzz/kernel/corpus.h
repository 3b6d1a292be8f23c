/* SPDX-License-Identifier: GPL-2.0-only */
/* Corpus: the inputs that have run new code, and the last ones that ran. */
#ifndef CORPUS_H
#define CORPUS_H

#include <stdbool.h>

#include "input.h"

/* Reads the file @path into @input. */
bool corpus_read(const char *path, struct input *input);
/*
 * Reads all inputs of a folder. @shuffle: in any order, else smaller ones first. @use: gets each;
 * it returns false to end this.
 */
void corpus_load(const char *folder, bool shuffle, bool (*use)(struct input *input));
/* Adds an input, and writes it to @folder unless that is NULL. */
void corpus_add(const struct input *input, const char *folder);
unsigned int corpus_size(void);
/* Return: a hash of an input, which is its name in the corpus. */
uint64_t corpus_hash(const struct input *input);
/* Copies an input of the corpus that is chosen at random. Return: false: there is none. */
bool corpus_draw(struct input *input);
/* Notes that an input is about to run. */
void corpus_note(const struct input *input);
/* Writes the last inputs that ran to @folder, as last-00 and so on; the highest one ran last. */
void corpus_write_last(const char *folder);

#endif /* CORPUS_H */
