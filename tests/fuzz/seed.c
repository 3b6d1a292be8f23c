// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes the fuzzers' seeds: every valid message, under each of the limits, as
 * DIR/<target>/<name>.
 */
#include <sys/stat.h>

#include "fuzz.h"
#include "wire_sample.h"

static void write_seed(const char *dir, const char *target, const char *name,
		       const struct fuzz_head *head, const struct wire_buf *first,
		       const struct wire_buf *second)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, target);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/%s/%s", dir, target, name);
	file = fopen(path, "wb");
	if (!file || (head && fwrite(head, sizeof(*head), 1, file) != 1) ||
	    fwrite(first->words, first->len, 1, file) != 1 ||
	    (second && fwrite(second->words, second->len, 1, file) != 1) || fclose(file)) {
		perror(path);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	static struct wire_buf buf, call;
	u32 i;

	if (argc != 2) {
		fprintf(stderr, "usage: %s DIR\n", argv[0]);
		return 2;
	}
	mkdir(argv[1], 0777);
	for (i = 0; i < wire_nr_samples; i++) {
		const struct wire_sample *sample = &wire_samples[i];
		struct fuzz_head head = {};

		sample->fill(&buf);
		if (sample->answers) {
			wire_sample_find(sample->answers)->fill(&call);
			head.first = call.len / 8;
			write_seed(argv[1], "fuzz_reply", sample->name, &head, &call, &buf);
		} else if (!strncmp(sample->name, "call_", 5)) {
			write_seed(argv[1], "fuzz_call", sample->name, &head, &buf, NULL);
		} else {
			write_seed(argv[1], "fuzz_control", sample->name, &head, &buf, NULL);
		}
		write_seed(argv[1], "fuzz_diff", sample->name, NULL, &buf, &buf);
	}
	return 0;
}
