/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The loop of all fuzzers: it takes an input of the corpus, changes it, runs it, and keeps it if
 * new code of the modules ran. tests/harness/fuzz starts the fuzzers in a machine.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "input.h"

/* Exit status of a fuzzer that has found something. */
#define FUZZ_FOUND	3

/**
 * struct fuzz - a fuzzer
 * @name: name, also of its folder in the corpus
 * @own: true if coverage of this program's own system calls counts, too
 * @start: function that gets ready; returns false on errors
 * @make: function that adds a step to an input
 * @change: function that changes the data of a step; returns the new length
 * @run: function that runs an input. Returns NULL, or a sentence about what it has found
 * @stop: function that ends what @start has begun; returns as @run
 */
struct fuzz {
	const char *name;
	bool own;
	bool (*start)(void);
	void (*make)(struct input *input);
	size_t (*change)(struct step *step, size_t room);
	const char *(*run)(struct input *input);
	const char *(*stop)(void);
};

/* Number of messages, calls and other operations so far; fuzzers count them, for the summary. */
extern unsigned long fuzz_messages;

/*
 * Runs a fuzzer. Arguments: --seconds N, --seed N, --corpus FOLDER (inputs to begin with, in any
 * order), --out FOLDER (for inputs that ran new code, and for those before a finding), --keep, or
 * names of inputs, which are run once each, in this order.
 *
 * With --keep the inputs in --out can take the place of the corpus: all of its inputs run, in
 * addition to the time, the smallest ones first; of those that are found, steps without which the
 * new code runs as well are removed.
 * Return: exit status.
 */
int fuzz_main(const struct fuzz *fuzz, int argc, char **argv);

#endif /* FUZZ_H */
