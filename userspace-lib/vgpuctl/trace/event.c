// SPDX-License-Identifier: MIT
/*
 * Lines that the modules' tracepoints of calls print (drivers/common/call_event.h), and what they
 * say of calls.
 */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>

#include <linux/vgpu_wire.h>

#include "nvidia_rules.h"
#include "vgpuctl/trace/trace.h"
#include "vgpud/ioctls/ioctls.h"

/* Names of the tracepoint in vgpu_guest and in vgpu_host. */
static const char *const events[] = { "vgpu_file_call: ", "vgpu_host_file_call: " };

enum word_kind {
	WORD_SIGNED,
	WORD_UNSIGNED,
	WORD_BOOL,
	WORD_STRING,		/* bytes in hexadecimal; becomes a string */
	WORD_BYTES,		/* bytes in hexadecimal */
};

#define WORD(key, kind, member) \
	{ key, kind, offsetof(struct trace_call, member), \
	  sizeof(((struct trace_call *)NULL)->member) }

/* Words of a line, all of which must be there. */
static const struct word {
	const char *key;
	enum word_kind kind;
	size_t offset;
	size_t size;
} words[] = {
	WORD("tgid", WORD_SIGNED, tgid),
	WORD("tid", WORD_SIGNED, tid),
	WORD("uid", WORD_UNSIGNED, uid),
	WORD("began", WORD_UNSIGNED, began),
	WORD("ns", WORD_UNSIGNED, cost.ns),
	WORD("op", WORD_UNSIGNED, op),
	WORD("object", WORD_UNSIGNED, object),
	WORD("fd", WORD_SIGNED, fd),
	WORD("result", WORD_SIGNED, result),
	WORD("trips", WORD_UNSIGNED, cost.trips),
	WORD("pages", WORD_UNSIGNED, cost.pages),
	WORD("out", WORD_UNSIGNED, cost.out),
	WORD("in", WORD_UNSIGNED, cost.in),
	WORD("cmd", WORD_UNSIGNED, ioctl.cmd),
	WORD("arg", WORD_UNSIGNED, arg),
	WORD("class", WORD_UNSIGNED, ioctl.class),
	WORD("kind", WORD_UNSIGNED, ioctl.kind),
	WORD("known", WORD_BOOL, ioctl.known),
	WORD("compat", WORD_BOOL, ioctl.compat),
	WORD("a0", WORD_UNSIGNED, args[0]),
	WORD("a1", WORD_UNSIGNED, args[1]),
	WORD("a2", WORD_UNSIGNED, args[2]),
	WORD("a3", WORD_UNSIGNED, args[3]),
	WORD("comm", WORD_STRING, comm),
	WORD("driver", WORD_STRING, ioctl.driver),
	WORD("name", WORD_STRING, ioctl.name),
	WORD("path", WORD_STRING, path),
	WORD("before", WORD_BYTES, ioctl.before),
	WORD("after", WORD_BYTES, ioctl.after),
};

#define NR_WORDS	(sizeof(words) / sizeof(words[0]))

/* Read hexadecimal digits. Return: number of bytes; -1: there are others, or too many. */
static ssize_t read_bytes(const char *text, size_t len, uint8_t *to, size_t max)
{
	char pair[3] = "";
	char *end;
	size_t i;

	if (len % 2 || len / 2 > max)
		return -1;
	for (i = 0; i < len / 2; i++) {
		memcpy(pair, text + 2 * i, 2);
		to[i] = strtoul(pair, &end, 16);
		if (end != pair + 2)
			return -1;
	}
	return len / 2;
}

static bool read_number(const struct word *word, const char *text, size_t len, uint8_t *to)
{
	char digits[24];
	uint64_t number;
	char *end;

	if (!len || len >= sizeof(digits))
		return false;
	memcpy(digits, text, len);
	digits[len] = '\0';
	number = word->kind == WORD_SIGNED ? (uint64_t)strtoll(digits, &end, 0) :
		strtoull(digits, &end, 0);
	if (*end)
		return false;
	if (word->kind == WORD_BOOL)
		*(bool *)to = number;
	else if (word->size == sizeof(uint64_t))
		memcpy(to, &number, sizeof(number));
	else
		*(uint32_t *)(void *)to = number;
	return true;
}

static bool read_word(const struct word *word, const char *text, size_t len,
		      struct trace_call *call)
{
	uint8_t *to = (uint8_t *)call + word->offset;
	ssize_t bytes;

	switch (word->kind) {
	case WORD_STRING:
		return read_bytes(text, len, to, word->size - 1) >= 0;
	case WORD_BYTES:
		bytes = read_bytes(text, len, to, word->size);
		if (bytes >= 0)
			call->ioctl.len = bytes;
		return bytes >= 0;
	default:
		return read_number(word, text, len, to);
	}
}

static bool read_call(const char *line, struct trace_call *call)
{
	uint32_t found = 0;
	const char *value;
	size_t i, len;

	memset(call, 0, sizeof(*call));
	for (; *line; line += line[len] ? len + 1 : len) {
		len = strcspn(line, " ");
		value = memchr(line, '=', len);
		if (!value)
			continue;
		value++;
		for (i = 0; i < NR_WORDS; i++) {
			if (strlen(words[i].key) != (size_t)(value - 1 - line) ||
			    strncmp(words[i].key, line, value - 1 - line))
				continue;
			if (!read_word(&words[i], value, line + len - value, call))
				return false;
			found |= BIT(i);
		}
	}
	return found == BIT(NR_WORDS) - 1;
}

enum trace_line trace_parse(const char *line, struct trace_call *call, uint64_t *lost)
{
	const char *at;
	size_t i;

	for (i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (!strncmp(line, events[i], strlen(events[i])))
			return read_call(line + strlen(events[i]), call) ? TRACE_LINE_CALL :
				TRACE_LINE_STRANGE;
	at = strstr(line, "[LOST ");
	if (strncmp(line, "CPU:", 4) || !at)
		return TRACE_LINE_OTHER;
	*lost = strtoull(at + strlen("[LOST "), NULL, 10);
	return TRACE_LINE_LOST;
}

/* Operations by the names of the system calls that programs make, where there is such a call. */
static const char *const ops[] = {
	[VGPU_OP_OPEN] = "open",
	[VGPU_OP_CLOSE] = "close",
	[VGPU_OP_IOCTL] = "ioctl",
	[VGPU_OP_READ] = "read",
	[VGPU_OP_WRITE] = "write",
	[VGPU_OP_LLSEEK] = "lseek",
	[VGPU_OP_POLL] = "poll",
	[VGPU_OP_MMAP] = "mmap",
	[VGPU_OP_READ_PAGES] = "read_pages",
	[VGPU_OP_WRITE_PAGES] = "write_pages",
	[VGPU_OP_FDINFO] = "fdinfo",
	[VGPU_OP_BIND] = "bind",
	[VGPU_OP_PROTECT] = "mprotect",
	[VGPU_OP_CLOCK] = "clock",
};

static const char *op_name(uint32_t op)
{
	return op < sizeof(ops) / sizeof(ops[0]) ? ops[op] : NULL;
}

void trace_name(const struct trace_call *call, char name[TRACE_NAME])
{
	const struct trace_ioctl *ioctl = &call->ioctl;
	const char *known;
	uint32_t key;

	if (call->op != VGPU_OP_IOCTL) {
		known = op_name(call->op);
		if (known)
			snprintf(name, TRACE_NAME, "%s", known);
		else
			snprintf(name, TRACE_NAME, "call_%u", call->op);
		return;
	}
	/* The schema has names of its own for the ioctls of NVIDIA's driver. */
	key = ioctl->kind == VGPU_EXPORT_NVIDIA ? vgpu_nvidia_key(ioctl->cmd) :
		ioctl->cmd & 0xffff;
	known = !*ioctl->name || ioctl->kind == VGPU_EXPORT_NVIDIA ?
		ioctl_name(ioctls_tables(ioctl->kind, ioctl->driver), key) : NULL;
	if (!known && *ioctl->name)
		known = ioctl->name;
	if (known)
		snprintf(name, TRACE_NAME, "%s", known);
	else
		snprintf(name, TRACE_NAME, "_IOC(%s%s%s, 0x%x, 0x%x, 0x%x)",
			 _IOC_DIR(ioctl->cmd) & _IOC_READ ? "_IOC_READ" :
			 _IOC_DIR(ioctl->cmd) ? "" : "_IOC_NONE",
			 _IOC_DIR(ioctl->cmd) == (_IOC_READ | _IOC_WRITE) ? "|" : "",
			 _IOC_DIR(ioctl->cmd) & _IOC_WRITE ? "_IOC_WRITE" : "",
			 _IOC_TYPE(ioctl->cmd), _IOC_NR(ioctl->cmd), _IOC_SIZE(ioctl->cmd));
}

bool trace_is_unknown(const struct trace_call *call)
{
	return call->op == VGPU_OP_IOCTL && !call->ioctl.known;
}

bool trace_wanted(const struct trace_call *call, const char *list)
{
	char name[TRACE_NAME], word[TRACE_NAME];
	const char *end;
	bool others;

	if (!list)
		return true;
	trace_name(call, name);
	others = *list == '!';
	for (list += others; *list; list = *end ? end + 1 : end) {
		end = strchrnul(list, ',');
		if ((size_t)(end - list) >= sizeof(word))
			continue;
		memcpy(word, list, end - list);
		word[end - list] = '\0';
		if (!fnmatch(word, name, FNM_CASEFOLD) ||
		    (call->op == VGPU_OP_IOCTL && !strcasecmp(word, "ioctl")))
			return !others;
	}
	return others;
}
