// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of vgpuctl's trace (userspace-lib/vgpuctl/trace): lines of the tracepoint become lines as
 * strace prints them, JSON, and sums.
 */
#include <drm/drm.h>
#include <drm/virtgpu_drm.h>
#include <linux/videodev2.h>
#include <linux/vgpu_wire.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "vgpuctl/make.h"
#include "vgpuctl/trace/fields.h"
#include "vgpuctl/trace/trace.h"

/* vgpuctl ends here where it has no memory; the test has enough. */
void end_without_memory(void)
{
	abort();
}

/**
 * struct line - words of a line of the tracepoint
 * @op: VGPU_OP_*
 * @fd: file descriptor
 * @result: result
 * @cmd: command of an ioctl
 * @arg: argument or length
 * @class: class that the schema lacks
 * @kind: VGPU_EXPORT_*
 * @known: the module has a schema
 * @compat: the program has 32 bits
 * @args: arguments of another call
 * @comm: name of the thread
 * @driver: name of the driver
 * @name: name in the schema
 * @path: path of the file
 * @before: bytes before the call
 * @after: bytes after it
 * @len: number of bytes
 */
struct line {
	unsigned int op;
	int fd;
	long long result;
	unsigned int cmd;
	unsigned long long arg;
	unsigned int class;
	unsigned int kind;
	bool known;
	bool compat;
	unsigned long long args[4];
	const char *comm;
	const char *driver;
	const char *name;
	const char *path;
	const void *before;
	const void *after;
	size_t len;
};

static void put_hex(FILE *to, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;

	while (len--)
		fprintf(to, "%02x", *at++);
}

static void put_text(FILE *to, const char *key, const char *text)
{
	fprintf(to, " %s=", key);
	if (text)
		put_hex(to, text, strlen(text));
}

/* Return: the line as the kernel prints it, to be freed. */
static char *line_of(const struct line *line)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	fprintf(to, "vgpu_file_call: tgid=41 tid=42 uid=7 began=77 ns=1234567 op=%u object=9 fd=%d result=%lld trips=%u pages=2 out=300 in=200 cmd=%#x arg=%#llx class=%#x kind=%u known=%d compat=%d a0=%#llx a1=%#llx a2=%#llx a3=%#llx",
		line->op, line->fd, line->result, 1 + line->compat, line->cmd, line->arg,
		line->class, line->kind, line->known, line->compat, line->args[0], line->args[1],
		line->args[2], line->args[3]);
	put_text(to, "comm", line->comm ?: "prog");
	put_text(to, "driver", line->driver);
	put_text(to, "name", line->name);
	put_text(to, "path", line->path);
	fputs(" before=", to);
	put_hex(to, line->before, line->len);
	fputs(" after=", to);
	put_hex(to, line->after, line->len);
	fclose(to);
	return text;
}

static bool parse(const struct line *line, struct trace_call *call)
{
	char *text = line_of(line);
	uint64_t lost;
	bool ok = trace_parse(text, call, &lost) == TRACE_LINE_CALL;

	free(text);
	return tap_expect(ok, "the line is a call");
}

#define TAIL	" <0.001234> [1 round trip, 2 pages]\n"

static void expect(const struct line *line, bool pid, const char *want)
{
	struct trace_call call;
	char *text = NULL;
	size_t len;
	FILE *to;

	if (!parse(line, &call))
		return;
	to = open_memstream(&text, &len);
	trace_print_text(to, &call, pid);
	fclose(to);
	tap_expect(!strcmp(text, want), "\n  %s  is not\n  %s", text, want);
	free(text);
}

static const struct drm_gem_close gem_close = { .handle = 3 };

#define CARD	.fd = 5, .path = "/dev/dri/renderD128", .kind = VGPU_EXPORT_DRM_RENDER, \
		.driver = "virtio_gpu", .known = true, .op = VGPU_OP_IOCTL
#define CLOSE	CARD, .cmd = DRM_IOCTL_GEM_CLOSE, .name = "DRM_IOCTL_GEM_CLOSE", \
		.before = &gem_close, .after = &gem_close, .len = sizeof(gem_close)

static void test_fields(void)
{
	struct drm_prime_handle before = { .handle = 1, .flags = 0x80000, .fd = -1 }, after = before;
	const struct line close = { CLOSE };
	const struct line prime = {
		CARD, .cmd = DRM_IOCTL_PRIME_HANDLE_TO_FD, .name = "DRM_IOCTL_PRIME_HANDLE_TO_FD",
		.before = &before, .after = &after, .len = sizeof(before),
	};
	struct v4l2_capability no = { 0 }, cap = { .driver = "viv\"id", .version = 6,
						   .capabilities = 0x85200001, .reserved = { 7 } };
	const struct line query = {
		.op = VGPU_OP_IOCTL, .fd = 4, .path = "/dev/video0", .known = true,
		.cmd = VIDIOC_QUERYCAP, .name = "VIDIOC_QUERYCAP", .before = &no, .after = &cap,
		.len = sizeof(cap),
	};

	after.fd = 6;
	expect(&close, false, "ioctl(5</dev/dri/renderD128>, DRM_IOCTL_GEM_CLOSE, {handle=3, pad=0}) = 0" TAIL);
	expect(&close, true, "[pid 42<prog>] ioctl(5</dev/dri/renderD128>, DRM_IOCTL_GEM_CLOSE, {handle=3, pad=0}) = 0" TAIL);
	expect(&prime, false, "ioctl(5</dev/dri/renderD128>, DRM_IOCTL_PRIME_HANDLE_TO_FD, {handle=1, flags=0x80000, fd=-1 => 6}) = 0" TAIL);
	/* The driver only writes: what was there before means nothing. Reserved bytes have no name. */
	expect(&query, false, "ioctl(4</dev/video0>, VIDIOC_QUERYCAP, {driver=\"viv\\042id\", card=\"\", bus_info=\"\", version=6, capabilities=0x85200001, device_caps=0, [92..103]=07000000 00000000 00000000}) = 0" TAIL);
	tap_subject("fields");
}

static void test_results(void)
{
	struct line close = { CLOSE, .result = -2 };

	expect(&close, false, "ioctl(5</dev/dri/renderD128>, DRM_IOCTL_GEM_CLOSE, {handle=3, pad=0}) = -1 ENOENT (No such file or directory)" TAIL);
	close.result = -512;
	expect(&close, false, "ioctl(5</dev/dri/renderD128>, DRM_IOCTL_GEM_CLOSE, {handle=3, pad=0}) = ? ERESTARTSYS" TAIL);
	close.result = 7;
	expect(&close, false, "ioctl(5</dev/dri/renderD128>, DRM_IOCTL_GEM_CLOSE, {handle=3, pad=0}) = 7" TAIL);
	tap_subject("results");
}

static void test_bytes(void)
{
	static const unsigned char before[] = { 1, 2, 3, 4, 5, 6 }, after[] = { 1, 2, 3, 4, 5, 0xff };
	static const unsigned int short_close = 3;
	struct line line = {
		.op = VGPU_OP_IOCTL, .fd = 3, .path = "/dev/vgpu0", .driver = "strange\033",
		.cmd = _IOC(_IOC_READ | _IOC_WRITE, 'x', 0x81, 16), .before = before,
		.after = after, .len = sizeof(before),
	};
	struct line close = { CLOSE };

	expect(&line, false, "ioctl(3</dev/vgpu0>, _IOC(_IOC_READ|_IOC_WRITE, 0x78, 0x81, 0x10), {01020304 0506 => 01020304 05ff, ...}) = 0 <0.001234> [1 round trip, 2 pages] no schema\n");
	/* The module's name counts, and the agent's where the module has none. */
	line.kind = VGPU_EXPORT_DRM_RENDER;
	line.driver = "virtio_gpu";
	line.cmd = DRM_IOCTL_VIRTGPU_WAIT;
	line.len = 0;
	line.arg = 0x7000;
	expect(&line, false, "ioctl(3</dev/vgpu0>, DRM_IOCTL_VIRTGPU_WAIT, 0x7000) = 0 <0.001234> [1 round trip, 2 pages] no schema\n");
	/* A struct of another size: an older one, or, in a 32-bit program, another layout. */
	close.before = &short_close;
	close.after = &short_close;
	close.len = sizeof(short_close);
	close.cmd = _IOC(_IOC_WRITE, 'd', 9, 4);
	expect(&close, false, "ioctl(5</dev/dri/renderD128>, DRM_IOCTL_GEM_CLOSE, {handle=3}) = 0" TAIL);
	close.compat = true;
	expect(&close, false, "ioctl(5</dev/dri/renderD128>, DRM_IOCTL_GEM_CLOSE, {03000000}) = 0 <0.001234> [2 round trips, 2 pages]\n");
	tap_subject("bytes without a name");
}

static void test_operations(void)
{
	static const struct {
		struct line line;
		const char *want;
	} ops[] = {
		{ { .op = VGPU_OP_OPEN, .fd = -1, .path = "/dev/dri/card0",
		    .args = { 4 | 02000002ULL << 32 } },
		  "open(\"/dev/dri/card0\", O_RDWR|O_CLOEXEC) = 0" TAIL },
		{ { .op = VGPU_OP_CLOSE, .fd = -1 }, "close(object 9) = 0" TAIL },
		{ { .op = VGPU_OP_READ, .fd = 3, .path = "/dev/x", .arg = 64, .result = 32 },
		  "read(3</dev/x>, 64) = 32" TAIL },
		{ { .op = VGPU_OP_WRITE, .fd = 3, .path = "/dev/x", .args = { 0x1000, 8 },
		    .result = -14 }, "write(3</dev/x>, 8) = -1 EFAULT (Bad address)" TAIL },
		{ { .op = VGPU_OP_LLSEEK, .fd = 3, .path = "/dev/x",
		    .args = { -1ULL, 2 }, .result = 99 },
		  "lseek(3</dev/x>, -1, SEEK_END) = 99" TAIL },
		{ { .op = VGPU_OP_POLL, .fd = 3, .path = "/dev/x", .args = { 5 } },
		  "poll(3</dev/x>, POLLIN|POLLOUT) = 0" TAIL },
		{ { .op = VGPU_OP_MMAP, .fd = 3, .path = "/dev/x",
		    .args = { 0x7f0000, 4096, 0x10000, 3 | 1ULL << 32 } },
		  "mmap(0x7f0000, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 3</dev/x>, 0x10000) = 0" TAIL },
		{ { .op = VGPU_OP_WRITE_PAGES, .fd = -1, .result = 8 }, "write_pages() = 8" TAIL },
		{ { .op = VGPU_OP_FDINFO, .fd = 3, .path = "/a\nb" }, "fdinfo(3</a\\012b>) = 0" TAIL },
		{ { .op = 99, .fd = -1 }, "call_99(object 9) = 0" TAIL },
	};
	size_t i;

	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		expect(&ops[i].line, false, ops[i].want);
	tap_subject("operations");
}

static void test_lines(void)
{
	const struct line close = { CLOSE };
	char *text = line_of(&close), *word;
	struct trace_call call;
	uint64_t lost = 0;

	tap_expect(trace_parse("CPU:1 [LOST 12 EVENTS]", &call, &lost) == TRACE_LINE_LOST &&
		   lost == 12, "12 events are lost");
	tap_expect(trace_parse("vgpu_call_start: op=3", &call, &lost) == TRACE_LINE_OTHER,
		   "another event");
	tap_expect(trace_parse("", &call, &lost) == TRACE_LINE_OTHER, "an empty line");
	/* An older module lacks a word, and one that is broken prints another kind of value. */
	word = strstr(text, "trips=");
	*word = 'X';
	tap_expect(trace_parse(text, &call, &lost) == TRACE_LINE_STRANGE, "a word is missing");
	*word = 't';
	word[strlen("trips=")] = 'z';
	tap_expect(trace_parse(text, &call, &lost) == TRACE_LINE_STRANGE, "no number");
	word[strlen("trips=")] = '1';
	tap_expect(trace_parse(text, &call, &lost) == TRACE_LINE_CALL, "the line is right again");
	word = strstr(text, "after=");
	word[strlen("after=")] = 'z';
	tap_expect(trace_parse(text, &call, &lost) == TRACE_LINE_STRANGE, "no bytes");
	free(text);
	tap_subject("lines");
}

static void test_filter(void)
{
	const struct line close = { CLOSE }, map = { .op = VGPU_OP_MMAP, .fd = 3 };
	struct trace_call ioctl, mmap;

	if (!parse(&close, &ioctl) || !parse(&map, &mmap))
		return;
	tap_expect(trace_wanted(&ioctl, NULL), "no filter");
	tap_expect(trace_wanted(&ioctl, "DRM_IOCTL_GEM_CLOSE") &&
		   !trace_wanted(&mmap, "DRM_IOCTL_GEM_CLOSE"), "a name");
	tap_expect(trace_wanted(&ioctl, "open,drm_ioctl_gem_*") &&
		   !trace_wanted(&ioctl, "open,DRM_IOCTL_MODE_*"), "a pattern in a list");
	tap_expect(trace_wanted(&ioctl, "ioctl") && !trace_wanted(&mmap, "ioctl"), "all ioctls");
	tap_expect(!trace_wanted(&ioctl, "!ioctl") && trace_wanted(&mmap, "!ioctl"), "others");
	tap_expect(!trace_wanted(&ioctl, "!open,ioctl,") && !trace_wanted(&ioctl, "") &&
		   !trace_wanted(&ioctl, ","), "lists without this name");
	tap_subject("filter");
}

/* Return: the printed summary, to be freed. */
static char *summary_of(const struct line *lines, size_t nr, bool unknown, bool json)
{
	struct trace_summary *summary = trace_summary_new(unknown);
	struct trace_call call;
	char *text = NULL;
	size_t i, len;
	FILE *to;

	for (i = 0; i < nr; i++)
		if (parse(&lines[i], &call))
			trace_summary_add(summary, &call);
	trace_summary_lost(summary, 4);
	to = open_memstream(&text, &len);
	trace_summary_print(to, summary, json);
	fclose(to);
	trace_summary_free(summary);
	return text;
}

static void test_summary(void)
{
	static const struct line lines[] = {
		{ CLOSE }, { CLOSE, .result = -22 }, { .op = VGPU_OP_MMAP, .fd = 3 },
		{ .op = VGPU_OP_IOCTL, .cmd = 0xc0107881, .driver = "strange", .fd = 3 },
		{ .op = VGPU_OP_IOCTL, .cmd = 0xc0107881, .driver = "strange", .fd = 3 },
		{ .op = VGPU_OP_IOCTL, .cmd = 0xc020462b, .driver = "nvidia", .fd = 3,
		  .kind = VGPU_EXPORT_NVIDIA, .class = 0xc9b5, .name = "NV_RM_ALLOC" },
	};
	const size_t nr = sizeof(lines) / sizeof(lines[0]);
	char *text = summary_of(lines, nr, false, false);

	tap_expect(strstr(text, "\n 33.33    0.002469        1234         2         1         2         4        1000 DRM_IOCTL_GEM_CLOSE\n"),
		   "two closes, one failed: %s", text);
	tap_expect(strstr(text, "\n100.00    0.007407        1234         6         1         6        12        3000 total\n"),
		   "total: %s", text);
	tap_expect(strstr(text, "\n4 more calls were not seen"), "lost: %s", text);
	free(text);
	text = summary_of(lines, nr, true, false);
	tap_expect(strstr(text, "\n        2         0         2         4 0xc0107881 strange          _IOC(_IOC_READ|_IOC_WRITE, 0x78, 0x81, 0x10)\n"),
		   "an ioctl without a schema: %s", text);
	tap_expect(strstr(text, "0xc020462b nvidia           NV_ESC_RM_ALLOC class 0xc9b5\n"),
		   "a class without a schema: %s", text);
	tap_expect(!strstr(text, "GEM_CLOSE") && !strstr(text, "mmap"), "no others: %s", text);
	free(text);
	text = summary_of(lines, nr, true, true);
	tap_expect(!strncmp(text, "{\"schema\":1,\"type\":\"unknown\",\"calls\":[{\"name\":\"_IOC(", 52) &&
		   strstr(text, "\"class\":51637,\"calls\":1,"), "JSON: %s", text);
	free(text);
	text = summary_of(NULL, 0, true, false);
	tap_expect(!strncmp(text, "All ioctls have a schema.\n", 26), "none: %s", text);
	free(text);
	tap_subject("summary");
}

static void test_json(void)
{
	struct drm_gem_close after = gem_close;
	struct line close = { CLOSE, .result = -22, .comm = "a\"\xff\n" };
	struct trace_call call;
	char *text = NULL;
	size_t len;
	FILE *to;

	after.handle = 0xffffffff;
	close.after = &after;
	if (!parse(&close, &call))
		return;
	to = open_memstream(&text, &len);
	trace_print_json(to, &call);
	fclose(to);
	tap_expect(!strcmp(text, "{\"schema\":1,\"type\":\"call\",\"pid\":41,\"tid\":42,\"uid\":7,\"comm\":\"a\\\"??\",\"began_ns\":77,\"name\":\"DRM_IOCTL_GEM_CLOSE\",\"ioctl\":true,\"fd\":5,\"path\":\"/dev/dri/renderD128\",\"result\":-22,\"errno\":\"EINVAL\",\"ns\":1234567,\"round_trips\":1,\"pages\":2,\"bytes_out\":300,\"bytes_in\":200,\"cmd\":1074291721,\"arg\":0,\"driver\":\"virtio_gpu\",\"schema_known\":true,\"fields_before\":{\"handle\":3,\"pad\":0},\"fields_after\":{\"handle\":4294967295,\"pad\":0},\"bytes_before\":\"0300000000000000\",\"bytes_after\":\"ffffffff00000000\"}\n"),
		   "%s", text);
	free(text);
	tap_subject("JSON");
}

static const struct trace_fields *const tables[] = {
	trace_fields_drm, trace_fields_drm_mode, trace_fields_virtio_gpu, trace_fields_nouveau,
	trace_fields_v4l2, trace_fields_sound, trace_fields_nvidia,
};

/* Fields are in their structs, do not overlap, and can be printed. */
static void test_tables(void)
{
	const struct trace_fields *fields;
	const struct trace_field *field;
	size_t i, j, end, nr = 0;

	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (fields = tables[i]; fields->name; fields++) {
			tap_expect(trace_fields_find(fields->name) == fields, "%s is there once",
				   fields->name);
			tap_expect(fields->nr <= 64, "%s has few fields", fields->name);
			for (j = 0, end = 0; j < fields->nr; j++, nr++) {
				field = &fields->fields[j];
				tap_expect(field->offset >= end, "%s: %s follows", fields->name,
					   field->name);
				end = field->offset + field->size;
				tap_expect(!fields->size || end <= fields->size, "%s: %s is inside",
					   fields->name, field->name);
				tap_expect(field->kind >= TRACE_KIND_STRING ||
					   (field->size <= 8 && !field->unit),
					   "%s: %s is an integer", fields->name, field->name);
			}
		}
	tap_expect(nr > 300, "%zu fields are known", nr);
	tap_subject("tables");
}

int main(void)
{
	test_fields();
	test_results();
	test_bytes();
	test_operations();
	test_lines();
	test_filter();
	test_summary();
	test_json();
	test_tables();
	return tap_done();
}
