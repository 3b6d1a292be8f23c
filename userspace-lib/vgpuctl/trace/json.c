// SPDX-License-Identifier: MIT
/* Calls as lines of JSON. */
#include <json-c/json.h>
#include <string.h>

#include <linux/vgpu_wire.h>

#include "vgpuctl/make.h"
#include "vgpuctl/trace/trace.h"
#include "vgpuctl/trace/value.h"

static void put_words(struct json_object *to, const char *key, const char *text)
{
	make_member(to, key, make_string(text));
}

static void put_number(struct json_object *to, const char *key, uint64_t number)
{
	make_member(to, key, make_unsigned(number));
}

static void put_signed(struct json_object *to, const char *key, int64_t number)
{
	make_member(to, key, make_number(number));
}

static void put_bytes(struct json_object *to, const char *key, const uint8_t *at, size_t len)
{
	char text[2 * TRACE_BYTES + 1] = "";
	size_t i;

	for (i = 0; i < len; i++)
		snprintf(text + 2 * i, 3, "%02x", at[i]);
	put_words(to, key, text);
}

/* JSON is UTF-8: other bytes of programs and hosts become question marks, as do control bytes. */
static void put_plain(struct json_object *to, const char *key, const char *text, size_t max)
{
	char plain[TRACE_BYTES + 1];
	size_t i;

	for (i = 0; i < max && i < TRACE_BYTES && text[i]; i++)
		plain[i] = text[i] < ' ' || text[i] == 0x7f ? '?' : text[i];
	plain[i] = '\0';
	put_words(to, key, plain);
}

static void put_field(struct json_object *to, const struct trace_field *field, const uint8_t *at)
{
	struct json_object *array;
	size_t i;

	switch (field->kind) {
	case TRACE_KIND_STRING:
		put_plain(to, field->name, (const char *)at, field->size);
		break;
	case TRACE_KIND_ARRAY:
		array = make_array();
		for (i = 0; i < field->size; i += field->unit)
			make_element(array, make_unsigned(trace_value(at + i, field->unit, false)));
		make_member(to, field->name, array);
		break;
	case TRACE_KIND_SIGNED:
		put_signed(to, field->name, trace_value(at, field->size, true));
		break;
	default:
		put_number(to, field->name, trace_value(at, field->size, false));
	}
}

static void put_ioctl(struct json_object *to, const struct trace_call *call, const char *name)
{
	struct json_object *before = make_object();
	struct json_object *after = make_object();
	const struct trace_ioctl *ioctl = &call->ioctl;
	struct trace_argument argument;
	size_t i;

	put_number(to, "cmd", ioctl->cmd);
	put_number(to, "arg", call->arg);
	put_plain(to, "driver", ioctl->driver, sizeof(ioctl->driver));
	make_member(to, "schema_known", make_bool(ioctl->known));
	if (ioctl->class)
		put_number(to, "class", ioctl->class);
	trace_argument(call, name, &argument);
	for (i = 0; i < argument.nr; i++) {
		put_field(before, argument.fields[i], ioctl->before + argument.fields[i]->offset);
		put_field(after, argument.fields[i], ioctl->after + argument.fields[i]->offset);
	}
	make_member(to, "fields_before", before);
	make_member(to, "fields_after", after);
	put_bytes(to, "bytes_before", ioctl->before, ioctl->len);
	put_bytes(to, "bytes_after", ioctl->after, ioctl->len);
}

static void put_line(FILE *to, struct json_object *object)
{
	make_print(to, object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}

static struct json_object *line_new(const char *type)
{
	struct json_object *object = make_object();

	make_member(object, "schema", make_number(TRACE_SCHEMA));
	put_words(object, "type", type);
	return object;
}

void trace_print_json(FILE *to, const struct trace_call *call)
{
	struct json_object *object = line_new("call");
	const struct trace_cost *cost = &call->cost;
	char name[TRACE_NAME];
	const char *error;

	trace_name(call, name);
	if (*call->guest)
		put_plain(object, "guest", call->guest, sizeof(call->guest));
	put_signed(object, "pid", call->tgid);
	put_signed(object, "tid", call->tid);
	put_number(object, "uid", call->uid);
	put_plain(object, "comm", call->comm, sizeof(call->comm));
	put_number(object, "began_ns", call->began);
	put_words(object, "name", name);
	make_member(object, "ioctl", make_bool(call->op == VGPU_OP_IOCTL));
	put_signed(object, "fd", call->fd);
	put_plain(object, "path", call->path, sizeof(call->path));
	put_signed(object, "result", call->result);
	error = call->result < 0 && call->result >= -4095 ? trace_errno(-call->result) : NULL;
	if (error)
		put_words(object, "errno", error);
	put_number(object, "ns", cost->ns);
	put_number(object, "round_trips", cost->trips);
	put_number(object, "pages", cost->pages);
	put_number(object, "bytes_out", cost->out);
	put_number(object, "bytes_in", cost->in);
	if (call->op == VGPU_OP_IOCTL)
		put_ioctl(object, call, name);
	put_line(to, object);
}

void trace_print_lost_json(FILE *to, uint64_t lost)
{
	struct json_object *object = line_new("lost");

	put_number(object, "calls", lost);
	put_line(to, object);
}
