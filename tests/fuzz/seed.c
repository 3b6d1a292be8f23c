// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes the fuzzers' seeds to DIR/<target>/<name>: every valid message, and for the
 * marshaller every ioctl of every schema, with valid pointers.
 */
#include <sys/stat.h>

#include "fuzz.h"
#include "fuzz_marshal.h"
#include "wire_sample.h"

static void write_seed(const char *dir, const char *target, const char *name,
		       const void *head, size_t head_len, const struct wire_buf *first,
		       const struct wire_buf *second)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, target);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/%s/%s", dir, target, name);
	file = fopen(path, "wb");
	if (!file || (head_len && fwrite(head, head_len, 1, file) != 1) ||
	    fwrite(first->words, first->len, 1, file) != 1 ||
	    (second && fwrite(second->words, second->len, 1, file) != 1) || fclose(file)) {
		perror(path);
		exit(1);
	}
}

/* Writes the seed of an ioctl: all counts are 2, and each pointer leads to other memory. */
static void write_ioctl(const char *dir, u32 schema, u32 nr,
			const struct vgpu_schema_ioctl *ioctl)
{
	struct marshal_head head = { .schema = schema, .ioctl = nr, .options = OPT_FDS };
	static struct wire_buf memory;
	char name[64];
	u32 i, used = 0;

	for (i = 0; i < ioctl->body.nr_fields && used < NR_RELOCS; i++) {
		const struct vgpu_schema_field *field = &ioctl->body.fields[i];

		if (field->type != VGPU_FIELD_PTR && field->type != VGPU_FIELD_CHAIN)
			continue;
		head.relocs[used].at = field->offset;
		head.relocs[used].to = 512 + 128 * used;
		used++;
	}
	memory.len = 1536;
	for (i = 0; i < memory.len / 8; i++)
		memory.words[i] = cpu_to_le64(2ULL << 32 | 2);
	snprintf(name, sizeof(name), "%s-%u", marshal_schemas[schema]->name, nr);
	write_seed(dir, "fuzz_marshal", name, &head, sizeof(head), &memory, NULL);
}

static void write_ioctls(const char *dir)
{
	u32 i, nr;

	for (i = 0; i < ARRAY_SIZE(marshal_schemas); i++) {
		const struct vgpu_schema *schema = marshal_schemas[i];

		for (nr = 0; nr < schema->nr_ioctls; nr++)
			write_ioctl(dir, i, nr, &schema->ioctls[nr]);
		for (nr = 0; nr < schema->nr_compat; nr++)
			write_ioctl(dir, i, schema->nr_ioctls + nr, &schema->compat[nr]);
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
			write_seed(argv[1], "fuzz_reply", sample->name, &head, sizeof(head), &call,
				   &buf);
		} else if (!strncmp(sample->name, "call_", 5)) {
			write_seed(argv[1], "fuzz_call", sample->name, &head, sizeof(head), &buf,
				   NULL);
		} else {
			write_seed(argv[1], "fuzz_control", sample->name, &head, sizeof(head), &buf,
				   NULL);
		}
		write_seed(argv[1], "fuzz_diff", sample->name, NULL, 0, &buf, &buf);
	}
	write_ioctls(argv[1]);
	return 0;
}
