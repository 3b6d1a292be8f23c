/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A valid message of every kind: the starting points of the unit tests, and the
 * seeds of the fuzzers' corpus.
 */
#ifndef WIRE_SAMPLE_H
#define WIRE_SAMPLE_H

#include "wire.h"

#define WIRE_SAMPLE_MAX	(64 << 10)

struct wire_buf {
	u32 len;
	u64 words[WIRE_SAMPLE_MAX / 8];
};

/**
 * struct wire_sample - one valid message
 * @name: unique name of the message
 * @fill: function that writes the message
 * @answers: for a reply, the name of its call's sample
 */
struct wire_sample {
	const char *name;
	void (*fill)(struct wire_buf *buf);
	const char *answers;
};

extern const struct wire_sample wire_samples[];
extern const u32 wire_nr_samples;

/* Limits that all samples keep. */
extern const struct vgpu_wire_limits wire_sample_limits;

/* Finds a sample by its name, and ends the program if there is none. */
const struct wire_sample *wire_sample_find(const char *name);

#endif /* WIRE_SAMPLE_H */
