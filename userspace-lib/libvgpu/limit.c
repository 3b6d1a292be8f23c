// SPDX-License-Identifier: MIT
/* Requests to the host's agent about guests: their limits, and their end. */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "request.h"

static struct request request_about(const char *op, const char *name,
				    const struct vgpu_guest_name *guest)
{
	struct request request = request_new(op);

	request_string(&request, "name", name);
	if (!name) {
		request_number(&request, "cid", guest->cid);
		request_number(&request, "port", guest->port);
	}
	return request;
}

/* Return a member of an object; NULL: there is none, or it is null. */
static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(object, key, &value) ? value : NULL;
}

static void read_text(struct json_object *object, const char *key, char *text, size_t size)
{
	struct json_object *value = member(object, key);

	snprintf(text, size, "%s", value ? json_object_get_string(value) : "");
}

static void read_limit(struct json_object *object, struct vgpu_limit_info *limit)
{
	read_text(object, "name", limit->name, sizeof(limit->name));
	read_text(object, "origin", limit->origin, sizeof(limit->origin));
	limit->limit = json_object_get_int64(member(object, "limit"));
	limit->used = member(object, "use");
	limit->use = json_object_get_int64(member(object, "use"));
	limit->most = json_object_get_int64(member(object, "most"));
	limit->bytes = json_object_get_boolean(member(object, "bytes"));
}

VGPU_PUBLIC int vgpu_agent_evict(struct vgpu_agent *agent, const char *name,
				 const struct vgpu_guest_name *guest, bool force)
{
	struct request request = request_about("evict", name, guest);
	struct json_object *answer;
	int ret;

	request_bool(&request, "force", force);
	ret = agent_ask(agent, &request, &answer);
	if (!ret)
		json_object_put(answer);
	return ret;
}

VGPU_PUBLIC int vgpu_agent_limits(struct vgpu_agent *agent, const char *name,
				  const struct vgpu_guest_name *guest,
				  struct vgpu_limits_info **info)
{
	struct request request = request_about("limits", name, guest);
	struct json_object *answer, *array;
	struct vgpu_limits_info *limits;
	size_t i;
	int ret;

	ret = agent_ask(agent, &request, &answer);
	if (ret)
		return ret;
	limits = calloc(1, sizeof(*limits));
	array = member(answer, "limits");
	if (limits && json_object_is_type(array, json_type_array)) {
		limits->nr_limits = json_object_array_length(array);
		limits->limits = infos_alloc(limits->nr_limits, sizeof(**limits->limits));
	}
	if (!limits || !limits->limits) {
		free(limits);
		json_object_put(answer);
		return -ENOMEM;
	}
	limits->struct_size = sizeof(*limits);
	read_text(answer, "name", limits->name, sizeof(limits->name));
	limits->cid = json_object_get_int64(member(answer, "cid"));
	limits->port = json_object_get_int64(member(answer, "port"));
	limits->connected = json_object_get_boolean(member(answer, "connected"));
	limits->delayed = json_object_get_int64(member(answer, "delayed"));
	limits->queued = json_object_get_int64(member(answer, "queued"));
	limits->device_ns = json_object_get_int64(member(answer, "device-ns"));
	for (i = 0; i < limits->nr_limits; i++)
		read_limit(json_object_array_get_idx(array, i), limits->limits[i]);
	json_object_put(answer);
	*info = limits;
	return 0;
}

VGPU_PUBLIC void vgpu_limits_info_free(struct vgpu_limits_info *info)
{
	if (!info)
		return;
	infos_free(info->limits, info->nr_limits);
	free(info);
}

/* Join the texts of an array, one a line. Return: NULL: no memory. */
static char *join(struct json_object *array)
{
	size_t i, nr = json_object_is_type(array, json_type_array) ?
		json_object_array_length(array) : 0, len;
	char *text = NULL;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		return NULL;
	for (i = 0; i < nr; i++)
		fprintf(to, "%s\n", json_object_get_string(json_object_array_get_idx(array, i)));
	return fclose(to) ? NULL : text;
}

VGPU_PUBLIC int vgpu_agent_limit(struct vgpu_agent *agent,
				 const struct vgpu_limit_request *given, char **notes)
{
	struct json_object *set, *answer;
	struct vgpu_limit_request limit;
	struct request request;
	size_t i;
	int ret = request_copy(agent, &limit, sizeof(limit), LIMIT_REQUEST_0_1, given);

	if (ret)
		return ret;
	request = request_about("limit", limit.name, &limit.guest);
	set = json_object_new_object();
	for (i = 0; i < limit.nr_changes; i++)
		request_put(&request, set, limit.changes[i].name,
			    json_object_new_string(limit.changes[i].value));
	request_put(&request, request.object, "set", set);
	request_bool(&request, "save", limit.save);
	ret = agent_ask(agent, &request, &answer);
	if (ret)
		return ret;
	*notes = join(member(answer, "notes"));
	json_object_put(answer);
	return *notes ? 0 : -ENOMEM;
}
