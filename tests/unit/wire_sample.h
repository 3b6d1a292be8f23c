/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A valid message of every kind: where the unit tests start from, and the seeds
 * of the fuzzers' corpus.
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
 * @name: the message's, unique
 * @fill: writes it
 * @answers: a reply's call
 */
struct wire_sample {
	const char *name;
	void (*fill)(struct wire_buf *buf);
	const char *answers;
};

extern const struct wire_sample wire_samples[];
extern const u32 wire_nr_samples;

/* Limits that all samples respect. */
extern const struct vgpu_wire_limits wire_sample_limits;

/* Return: the sample of that name; ends the program if there is none. */
const struct wire_sample *wire_sample_find(const char *name);

#endif /* WIRE_SAMPLE_H */
