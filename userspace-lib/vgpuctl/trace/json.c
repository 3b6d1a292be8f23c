// SPDX-License-Identifier: MIT
/* Calls as lines of JSON. */
#include <json-c/json.h>
#include <string.h>

#include <linux/vgpu_wire.h>

#include "vgpuctl/trace/trace.h"
#include "vgpuctl/trace/value.h"

static void put_words(struct json_object *to, const char *key, const char *text)
{
	json_object_object_add(to, key, json_object_new_string(text));
}

static void put_number(struct json_object *to, const char *key, uint64_t number)
{
	json_object_object_add(to, key, json_object_new_uint64(number));
}

static void put_signed(struct json_object *to, const char *key, int64_t number)
{
	json_object_object_add(to, key, json_object_new_int64(number));
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
		array = json_object_new_array();
		for (i = 0; i < field->size; i += field->unit)
			json_object_array_add(array, json_object_new_uint64(
					      trace_value(at + i, field->unit, false)));
		json_object_object_add(to, field->name, array);
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
	struct json_object *before = json_object_new_object();
	struct json_object *after = json_object_new_object();
	const struct trace_ioctl *ioctl = &call->ioctl;
	struct trace_argument argument;
	size_t i;

	put_number(to, "cmd", ioctl->cmd);
	put_number(to, "arg", call->arg);
	put_plain(to, "driver", ioctl->driver, sizeof(ioctl->driver));
	json_object_object_add(to, "schema_known", json_object_new_boolean(ioctl->known));
	if (ioctl->class)
		put_number(to, "class", ioctl->class);
	trace_argument(call, name, &argument);
	for (i = 0; i < argument.nr; i++) {
		put_field(before, argument.fields[i], ioctl->before + argument.fields[i]->offset);
		put_field(after, argument.fields[i], ioctl->after + argument.fields[i]->offset);
	}
	json_object_object_add(to, "fields_before", before);
	json_object_object_add(to, "fields_after", after);
	put_bytes(to, "bytes_before", ioctl->before, ioctl->len);
	put_bytes(to, "bytes_after", ioctl->after, ioctl->len);
}

static void put_line(FILE *to, struct json_object *object)
{
	fprintf(to, "%s\n", json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
							   JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(object);
}

static struct json_object *line_new(const char *type)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "schema", json_object_new_int(TRACE_SCHEMA));
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
	json_object_object_add(object, "ioctl", json_object_new_boolean(call->op == VGPU_OP_IOCTL));
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
