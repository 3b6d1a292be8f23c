// SPDX-License-Identifier: MIT
/* Samples: what vgpud has counted up to a moment, by guest, export and program. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libvgpu/request.h"
#include "vgpuctl/metrics/sample.h"
#include "vgpuctl/vgpuctl.h"

/**
 * struct field - a number in the answer and in a struct
 * @key: name in the answer
 * @offset: offset of the uint64_t in the struct, in bytes
 */
struct field {
	const char *key;
	size_t offset;
};

#define CALLS(type)							\
	{ "calls", offsetof(struct type, sums.calls) },			\
	{ "errors", offsetof(struct type, sums.errors) },		\
	{ "bytes_in", offsetof(struct type, sums.bytes_in) },		\
	{ "bytes_out", offsetof(struct type, sums.bytes_out) },		\
	{ "ns", offsetof(struct type, sums.ns) }
#define TOTAL(name)	{ #name, offsetof(struct sample_guest, totals.name) }
#define NOW(name)	{ #name, offsetof(struct sample_guest, now.name) }

static const struct field export_fields[] = { CALLS(sample_export), { NULL, 0 } };
static const struct field program_fields[] = {
	{ "number", offsetof(struct sample_program, number) },
	{ "guest_pid", offsetof(struct sample_program, guest_pid) },
	{ "shadow_pid", offsetof(struct sample_program, shadow_pid) },
	CALLS(sample_program), { NULL, 0 },
};
static const struct field guest_fields[] = {
	TOTAL(connections), TOTAL(calls), TOTAL(round_trips), TOTAL(bytes_in), TOTAL(bytes_out),
	TOTAL(fetched_pages), TOTAL(written_pages), TOTAL(fetch_timeouts), TOTAL(refused),
	TOTAL(malformed), TOTAL(stray_fds), TOTAL(cancels), TOTAL(delayed), TOTAL(queued),
	TOTAL(device_ns),
	NOW(sessions), NOW(lanes), NOW(objects), NOW(mappings), NOW(mapped_bytes),
	NOW(kept_bytes), NOW(owned_bytes), NOW(patience_ms), { NULL, 0 },
};

static uint64_t number_in(struct json_object *object, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(object, key, &value) ? json_object_get_int64(value) : 0;
}

static void take_text(struct json_object *object, const char *key, char *text, size_t size)
{
	struct json_object *value;
	const char *found = NULL;

	if (json_object_object_get_ex(object, key, &value) && value)
		found = json_object_get_string(value);
	snprintf(text, size, "%s", found ? found : "");
}

static void take_fields(struct json_object *object, const struct field *field, void *to)
{
	for (; field->key; field++)
		*(uint64_t *)((char *)to + field->offset) = number_in(object, field->key);
}

/* Find an array, and make as many structs of @size bytes. Return: 0 or -1: no memory. */
static int take_array(struct json_object *object, const char *key, struct json_object **array,
		      size_t *nr, size_t size, void *to)
{
	*nr = 0;
	if (!json_object_object_get_ex(object, key, array) ||
	    !json_object_is_type(*array, json_type_array))
		return 0;
	*(void **)to = calloc(json_object_array_length(*array) + 1, size);
	if (!*(void **)to)
		return -1;
	*nr = json_object_array_length(*array);
	return 0;
}

static void take_export(struct json_object *object, struct sample_export *export)
{
	struct json_object *array;
	size_t i;

	take_text(object, "name", export->name, sizeof(export->name));
	take_fields(object, export_fields, export);
	if (!json_object_object_get_ex(object, "buckets", &array) ||
	    !json_object_is_type(array, json_type_array))
		return;
	for (i = 0; i < json_object_array_length(array) && i < VGPU_HOST_BUCKETS; i++)
		export->buckets[i] = json_object_get_int64(json_object_array_get_idx(array, i));
}

static int take_guest(struct json_object *object, struct sample_guest *guest)
{
	struct json_object *array, *value;
	size_t i;

	take_text(object, "name", guest->name, sizeof(guest->name));
	if (!*guest->name)
		snprintf(guest->name, sizeof(guest->name), "%" PRIu64 ":%" PRIu64,
			 number_in(object, "cid"), number_in(object, "port"));
	take_fields(object, guest_fields, guest);
	guest->now.connected = json_object_object_get_ex(object, "connected", &value) &&
		json_object_get_boolean(value);
	if (take_array(object, "exports", &array, &guest->nr_exports, sizeof(guest->exports[0]),
		       &guest->exports))
		return -1;
	for (i = 0; i < guest->nr_exports; i++)
		take_export(json_object_array_get_idx(array, i), &guest->exports[i]);
	if (take_array(object, "programs", &array, &guest->nr_programs, sizeof(guest->programs[0]),
		       &guest->programs))
		return -1;
	for (i = 0; i < guest->nr_programs; i++) {
		value = json_object_array_get_idx(array, i);
		take_text(value, "comm", guest->programs[i].comm, sizeof(guest->programs[i].comm));
		take_fields(value, program_fields, &guest->programs[i]);
	}
	return 0;
}

struct sample *sample_parse(struct json_object *answer)
{
	struct sample *sample = calloc(1, sizeof(*sample));
	struct json_object *array;
	size_t i;

	if (!sample)
		return NULL;
	take_text(answer, "version", sample->version, sizeof(sample->version));
	take_text(answer, "engine", sample->engine, sizeof(sample->engine));
	if (take_array(answer, "guests", &array, &sample->nr_guests, sizeof(sample->guests[0]),
		       &sample->guests))
		goto err;
	for (i = 0; i < sample->nr_guests; i++) {
		if (take_guest(json_object_array_get_idx(array, i), &sample->guests[i]))
			goto err;
		sample->programs_hidden |= !sample->guests[i].programs;
	}
	return sample;

err:
	sample_free(sample);
	return NULL;
}

int sample_take(const struct options *options, struct sample **sample)
{
	struct json_object *answer;
	struct request request;
	struct vgpu_agent *agent;
	struct timespec now;
	int ret;

	ret = open_agent(options, &agent);
	if (ret)
		return ret;
	request = request_new("metrics");
	clock_gettime(CLOCK_MONOTONIC, &now);
	ret = agent_ask(agent, &request, &answer);
	if (ret) {
		ret = agent_failed(agent, ret);
	} else {
		*sample = sample_parse(answer);
		json_object_put(answer);
		if (*sample)
			(*sample)->ns = now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
		else
			ret = fail(EXIT_FAILED, "out of memory");
	}
	vgpu_agent_close(agent);
	return ret;
}

void sample_free(struct sample *sample)
{
	size_t i;

	if (!sample)
		return;
	for (i = 0; i < sample->nr_guests; i++) {
		free(sample->guests[i].exports);
		free(sample->guests[i].programs);
	}
	free(sample->guests);
	free(sample);
}

const struct sample_guest *sample_guest_in(const struct sample *sample, const char *name)
{
	size_t i;

	for (i = 0; i < sample->nr_guests; i++)
		if (!strcmp(sample->guests[i].name, name))
			return &sample->guests[i];
	return NULL;
}

const struct sample_export *sample_export_in(const struct sample_guest *guest, const char *name)
{
	size_t i;

	for (i = 0; guest && i < guest->nr_exports; i++)
		if (!strcmp(guest->exports[i].name, name))
			return &guest->exports[i];
	return NULL;
}

const struct sample_program *sample_program_in(const struct sample_guest *guest, uint64_t number)
{
	size_t i;

	for (i = 0; guest && i < guest->nr_programs; i++)
		if (guest->programs[i].number == number)
			return &guest->programs[i];
	return NULL;
}
