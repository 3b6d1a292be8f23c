// SPDX-License-Identifier: MIT
/* Calls as lines of text, in the form that strace(1) has. */
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/vgpu_wire.h>

#include "vgpuctl/trace/trace.h"
#include "vgpuctl/trace/value.h"

/* Errnos of the kernel that say how a call is to be repeated after a signal. */
static const char *const restart[] = {
	"ERESTARTSYS", "ERESTARTNOINTR", "ERESTARTNOHAND", "ENOIOCTLCMD", "ERESTART_RESTARTBLOCK",
};

const char *trace_errno(int error)
{
	if (error >= 512 && error < 512 + (int)(sizeof(restart) / sizeof(restart[0])))
		return restart[error - 512];
	return strerrorname_np(error);
}

void trace_put_string(FILE *to, const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f || *text == '"' || *text == '\\')
			fprintf(to, "\\%03o", (unsigned char)*text);
		else
			fputc(*text, to);
}

/* --- fields ----------------------------------------------------------------- */

static void put_array(FILE *to, const struct trace_field *field, const uint8_t *at)
{
	size_t i;

	for (i = 0; i < field->size; i += field->unit)
		fprintf(to, "%s%" PRIu64, i ? ", " : "[", trace_value(at + i, field->unit, false));
	fputc(']', to);
}

static void put_value(FILE *to, const struct trace_field *field, const uint8_t *at)
{
	char text[TRACE_BYTES + 1];
	uint64_t number;

	switch (field->kind) {
	case TRACE_KIND_STRING:
		memcpy(text, at, field->size);
		text[field->size] = '\0';
		fputc('"', to);
		trace_put_string(to, text);
		fputc('"', to);
		break;
	case TRACE_KIND_ARRAY:
		put_array(to, field, at);
		break;
	case TRACE_KIND_SIGNED:
		fprintf(to, "%" PRId64, (int64_t)trace_value(at, field->size, true));
		break;
	case TRACE_KIND_HEX:
		number = trace_value(at, field->size, false);
		fprintf(to, number ? "0x%" PRIx64 : "%" PRIu64, number);
		break;
	case TRACE_KIND_UNSIGNED:
		fprintf(to, "%" PRIu64, trace_value(at, field->size, false));
		break;
	}
}

static void put_bytes(FILE *to, const uint8_t *at, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		fprintf(to, "%s%02x", i && i % 4 == 0 ? " " : "", at[i]);
}

/* Print what the driver got, and what it has changed. */
static void put_argument(FILE *to, const struct trace_call *call, const char *name)
{
	const struct trace_ioctl *ioctl = &call->ioctl;
	const struct trace_field *field;
	struct trace_argument argument;
	const char *comma = "{";
	size_t begin, end, i;
	bool changed;

	trace_argument(call, name, &argument);
	for (i = 0; i < argument.nr; i++) {
		field = argument.fields[i];
		changed = memcmp(ioctl->before + field->offset, ioctl->after + field->offset,
				 field->size);
		fprintf(to, "%s%s=", comma, field->name);
		comma = ", ";
		put_value(to, field, (argument.in ? ioctl->before : ioctl->after) + field->offset);
		if (argument.in && changed) {
			fputs(" => ", to);
			put_value(to, field, ioctl->after + field->offset);
		}
	}
	while (trace_rest(call, &argument, &begin, &end)) {
		changed = memcmp(ioctl->before + begin, ioctl->after + begin, end - begin);
		fputs(comma, to);
		if (argument.nr)
			fprintf(to, "[%zu..%zu]=", begin, end - 1);
		comma = ", ";
		put_bytes(to, (argument.in ? ioctl->before : ioctl->after) + begin, end - begin);
		if (argument.in && changed) {
			fputs(" => ", to);
			put_bytes(to, ioctl->after + begin, end - begin);
		}
	}
	fputs(argument.cut ? ", ...}" : "}", to);
}

/* --- calls ------------------------------------------------------------------- */

static void put_file(FILE *to, const struct trace_call *call)
{
	if (call->fd >= 0)
		fprintf(to, "%d", call->fd);
	else if (!*call->path)
		fprintf(to, "object %u", call->object);
	if (*call->path) {
		fputc(call->fd >= 0 ? '<' : '"', to);
		trace_put_string(to, call->path);
		fputc(call->fd >= 0 ? '>' : '"', to);
	}
}

static const struct flag_name {
	uint64_t flag;
	const char *name;
} open_flags[] = {
	{ O_CREAT, "O_CREAT" }, { O_EXCL, "O_EXCL" }, { O_NOCTTY, "O_NOCTTY" },
	{ O_APPEND, "O_APPEND" }, { O_NONBLOCK, "O_NONBLOCK" }, { O_DIRECT, "O_DIRECT" },
	{ O_CLOEXEC, "O_CLOEXEC" }, { 0100000, "O_LARGEFILE" }, { 0 }
}, prot_flags[] = {
	{ PROT_READ, "PROT_READ" }, { PROT_WRITE, "PROT_WRITE" }, { PROT_EXEC, "PROT_EXEC" }, { 0 }
}, map_flags[] = {
	{ MAP_SHARED, "MAP_SHARED" }, { MAP_PRIVATE, "MAP_PRIVATE" }, { 0 }
}, poll_flags[] = {
	{ POLLIN, "POLLIN" }, { POLLPRI, "POLLPRI" }, { POLLOUT, "POLLOUT" },
	{ POLLERR, "POLLERR" }, { POLLHUP, "POLLHUP" }, { POLLRDNORM, "POLLRDNORM" },
	{ POLLRDBAND, "POLLRDBAND" }, { POLLWRNORM, "POLLWRNORM" },
	{ POLLWRBAND, "POLLWRBAND" }, { 0 }
};

/* @more: true if words were printed before, which a | separates from these. */
static void put_flags(FILE *to, const struct flag_name *names, uint64_t flags, bool more)
{
	for (; names->flag; names++) {
		if (!(flags & names->flag))
			continue;
		fprintf(to, "%s%s", more ? "|" : "", names->name);
		flags &= ~names->flag;
		more = true;
	}
	if (flags || !more)
		fprintf(to, "%s0x%" PRIx64, more ? "|" : "", flags);
}

static void put_open_flags(FILE *to, uint32_t flags)
{
	static const char *const modes[] = { "O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE" };

	fputs(modes[flags & O_ACCMODE], to);
	put_flags(to, open_flags, flags & ~O_ACCMODE, true);
}

static void put_seek(FILE *to, const struct trace_call *call)
{
	static const char *const names[] = { "SEEK_SET", "SEEK_CUR", "SEEK_END" };
	uint32_t whence = call->args[1];

	fprintf(to, ", %" PRId64 ", ", (int64_t)call->args[0]);
	if (whence < sizeof(names) / sizeof(names[0]))
		fputs(names[whence], to);
	else
		fprintf(to, "%u", whence);
}

static void put_ioctl(FILE *to, const struct trace_call *call, const char *name)
{
	put_file(to, call);
	fprintf(to, ", %s, ", name);
	if (call->ioctl.len)
		put_argument(to, call, name);
	else
		fprintf(to, call->arg ? "0x%" PRIx64 : "%" PRIu64, call->arg);
	if (call->ioctl.class)
		fprintf(to, " /* class 0x%x */", call->ioctl.class);
}

static void put_arguments(FILE *to, const struct trace_call *call, const char *name)
{
	const uint64_t *args = call->args;

	switch (call->op) {
	case VGPU_OP_IOCTL:
		put_ioctl(to, call, name);
		break;
	case VGPU_OP_OPEN:
		put_file(to, call);
		fputs(", ", to);
		put_open_flags(to, args[0] >> 32);
		break;
	case VGPU_OP_READ:
	case VGPU_OP_WRITE:
		put_file(to, call);
		/* A buffer that cannot be read as a whole goes by its address and length. */
		fprintf(to, ", %" PRIu64,
			call->op == VGPU_OP_WRITE && args[0] ? (uint32_t)args[1] : call->arg);
		break;
	case VGPU_OP_LLSEEK:
		put_file(to, call);
		put_seek(to, call);
		break;
	case VGPU_OP_POLL:
		put_file(to, call);
		fputs(", ", to);
		put_flags(to, poll_flags, (uint32_t)args[0], false);
		break;
	case VGPU_OP_MMAP:
		fprintf(to, "0x%" PRIx64 ", %" PRIu64 ", ", args[0], args[1]);
		put_flags(to, prot_flags, (uint32_t)args[3], false);
		fputs(", ", to);
		put_flags(to, map_flags, args[3] >> 32, false);
		fputs(", ", to);
		put_file(to, call);
		fprintf(to, ", 0x%" PRIx64, args[2]);
		break;
	case VGPU_OP_READ_PAGES:
	case VGPU_OP_BIND:
		fprintf(to, "0x%" PRIx64 ", %" PRIu64, args[0], args[1]);
		break;
	case VGPU_OP_PROTECT:
		fprintf(to, "0x%" PRIx64 ", %" PRIu64 ", ", args[0], args[1]);
		put_flags(to, prot_flags, (uint32_t)args[2], false);
		break;
	case VGPU_OP_WRITE_PAGES:
	case VGPU_OP_CLOCK:
		break;
	default:
		put_file(to, call);
	}
}

static void put_result(FILE *to, const struct trace_call *call)
{
	const char *name;

	if (call->result >= 0 || call->result < -4095) {
		fprintf(to, " = %" PRId64, call->result);
		return;
	}
	name = trace_errno(-call->result);
	if (call->result <= -512 || !name)
		fprintf(to, " = ? %s", name ? name : "");
	else
		fprintf(to, " = -1 %s (%s)", name, strerrordesc_np(-call->result));
}

void trace_print_text(FILE *to, const struct trace_call *call, bool pid)
{
	const struct trace_cost *cost = &call->cost;
	char name[TRACE_NAME];

	trace_name(call, name);
	if (pid) {
		fputc('[', to);
		if (*call->guest) {
			trace_put_string(to, call->guest);
			fputs(": ", to);
		}
		fprintf(to, "pid %d<", call->tid);
		trace_put_string(to, call->comm);
		fputs(">] ", to);
	}
	fprintf(to, "%s(", call->op == VGPU_OP_IOCTL ? "ioctl" : name);
	put_arguments(to, call, name);
	fputc(')', to);
	put_result(to, call);
	fprintf(to, " <%" PRIu64 ".%06" PRIu64 "> [%u round trip%s, %u page%s]%s\n",
		cost->ns / 1000000000, cost->ns / 1000 % 1000000, cost->trips,
		cost->trips == 1 ? "" : "s", cost->pages, cost->pages == 1 ? "" : "s",
		trace_is_unknown(call) ? " no schema" : "");
}
