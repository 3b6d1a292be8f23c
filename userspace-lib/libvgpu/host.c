// SPDX-License-Identifier: MIT
/* Requests to the host's agent, and its status. */
#include <ctype.h>
#include <errno.h>
#include <json-c/json.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "counter.h"
#include "request.h"

/* --- requests ------------------------------------------------------------- */

static void put_card(struct request *request, int card)
{
	request_put(request, request->object, "nvidia", card == VGPU_NVIDIA_ALL ?
		    json_object_new_boolean(true) : json_object_new_int(card));
}

static void put_guests(struct request *request, const struct vgpu_guest_name *guests, size_t nr)
{
	struct json_object *array = json_object_new_array(), *object;
	size_t i;

	for (i = 0; i < nr; i++) {
		object = json_object_new_object();
		request_put(request, object, "cid", json_object_new_int64(guests[i].cid));
		if (guests[i].port)
			request_put(request, object, "port", json_object_new_int64(guests[i].port));
		request_append(request, array, object);
	}
	request_put(request, request->object, "guests", array);
}

static const char *get_string(struct json_object *object, const char *key)
{
	struct json_object *value;
	const char *text = NULL;

	if (json_object_object_get_ex(object, key, &value) && value)
		text = json_object_get_string(value);
	return text ? text : "";
}

static uint64_t get_number(struct json_object *object, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(object, key, &value) ? json_object_get_int64(value) : 0;
}

static bool get_bool(struct json_object *object, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(object, key, &value) && json_object_get_boolean(value);
}

/* Send a request whose answer holds no data. The request is freed. */
static int agent_tell(struct vgpu_agent *agent, struct request *request)
{
	struct json_object *answer;
	int ret = agent_ask(agent, request, &answer);

	if (!ret)
		json_object_put(answer);
	return ret;
}

VGPU_PUBLIC int vgpu_agent_export(struct vgpu_agent *agent,
				  const struct vgpu_export_request *given, char name[32])
{
	struct json_object *answer;
	struct request request;
	struct vgpu_export_request export;
	int ret = request_copy(agent, &export, sizeof(export), EXPORT_REQUEST_0_1, given);

	if (ret)
		return ret;
	request = request_new("export");
	request_string(&request, "path", export.path);
	request_string(&request, "name", export.name);
	if (export.nvidia)
		put_card(&request, export.card);
	request_number(&request, "cid", export.cid);
	request_number(&request, "port", export.port);
	put_guests(&request, export.others, export.nr_others);
	request_bool(&request, "any_port", export.any_port);
	request_bool(&request, "master", export.master);
	request_bool(&request, "no_demand", export.no_demand);
	request_bool(&request, "read_only", export.read_only);
	request_string(&request, "profile", export.profile);
	request_bool(&request, "audit", export.audit);
	ret = agent_ask(agent, &request, &answer);
	if (ret)
		return ret;
	if (name)
		snprintf(name, 32, "%s", get_string(answer, "name"));
	json_object_put(answer);
	return 0;
}

VGPU_PUBLIC int vgpu_agent_unexport_from(struct vgpu_agent *agent,
					 const struct vgpu_unexport_request *given)
{
	struct vgpu_unexport_request unexport;
	struct request request;
	int ret = request_copy(agent, &unexport, sizeof(unexport), UNEXPORT_REQUEST_0_1, given);

	if (ret)
		return ret;
	request = request_new("unexport");
	request_string(&request, "name", unexport.name);
	if (unexport.nvidia)
		put_card(&request, unexport.card);
	put_guests(&request, unexport.guests, unexport.nr_guests);
	request_bool(&request, "force", unexport.force);
	request_bool(&request, "now", unexport.now);
	return agent_tell(agent, &request);
}

VGPU_PUBLIC int vgpu_agent_unexport(struct vgpu_agent *agent, const char *name, uint32_t cid,
				    uint32_t port, bool force)
{
	struct vgpu_guest_name guest = { cid, port };
	struct vgpu_unexport_request request = {
		.struct_size = sizeof(request), .name = name, .guests = &guest,
		.nr_guests = cid ? 1 : 0, .force = force,
	};

	return vgpu_agent_unexport_from(agent, &request);
}

VGPU_PUBLIC int vgpu_agent_unexport_nvidia(struct vgpu_agent *agent, int card, uint32_t cid,
					   uint32_t port, bool force)
{
	struct vgpu_guest_name guest = { cid, port };
	struct vgpu_unexport_request request = {
		.struct_size = sizeof(request), .nvidia = true, .card = card, .guests = &guest,
		.nr_guests = cid ? 1 : 0, .force = force,
	};

	return vgpu_agent_unexport_from(agent, &request);
}

/*
 * Add a user to a request. The agent knows only users of passwd files, because it waits for no
 * name service: a name is resolved here and sent as numbers. The agent reports a user who is
 * unknown here, too.
 */
static void put_owner(struct request *request, const char *owner)
{
	const struct passwd *user = owner && !isdigit((unsigned char)owner[0]) ? getpwnam(owner) : NULL;
	char ids[32];

	if (user) {
		snprintf(ids, sizeof(ids), "%lu:%lu", (unsigned long)user->pw_uid,
			 (unsigned long)user->pw_gid);
		owner = ids;
	}
	request_string(request, "owner", owner);
}

/* Return the name of a user for whom the agent knows only a number. */
static const char *owner_name(const char *owner)
{
	const struct passwd *user = NULL;

	if (isdigit((unsigned char)owner[0]))
		user = getpwuid(strtoul(owner, NULL, 10));
	return user ? user->pw_name : owner;
}

VGPU_PUBLIC int vgpu_agent_window_create(struct vgpu_agent *agent,
					 const struct vgpu_window_request *given, char path[48])
{
	struct json_object *answer;
	struct request request;
	struct vgpu_window_request window;
	int ret = request_copy(agent, &window, sizeof(window), WINDOW_REQUEST_0_1, given);

	if (ret)
		return ret;
	request = request_new("window-create");
	request_number(&request, "cid", window.cid);
	request_number(&request, "port", window.port);
	request_number(&request, "size", window.size);
	put_owner(&request, window.owner);
	ret = agent_ask(agent, &request, &answer);
	if (ret)
		return ret;
	snprintf(path, 48, "%s", get_string(answer, "path"));
	json_object_put(answer);
	return 0;
}

VGPU_PUBLIC int vgpu_agent_window_drain(struct vgpu_agent *agent, uint32_t cid, uint32_t port,
					bool drain)
{
	struct request request = request_new("window-drain");

	request_number(&request, "cid", cid);
	request_number(&request, "port", port);
	request_bool(&request, "drain", drain);
	return agent_tell(agent, &request);
}

VGPU_PUBLIC int vgpu_agent_window_destroy(struct vgpu_agent *agent, uint32_t cid, uint32_t port,
					  bool force)
{
	struct request request = request_new("window-destroy");

	request_number(&request, "cid", cid);
	request_number(&request, "port", port);
	request_bool(&request, "force", force);
	return agent_tell(agent, &request);
}

/* Send a request whose answer is a text, and return a copy of the text. */
static int agent_ask_text(struct vgpu_agent *agent, const char *op, char **text)
{
	struct request request = request_new(op);
	struct json_object *answer;
	int ret = agent_ask(agent, &request, &answer);

	if (ret)
		return ret;
	*text = strdup(get_string(answer, "changes"));
	json_object_put(answer);
	return *text ? 0 : -ENOMEM;
}

VGPU_PUBLIC int vgpu_agent_reload(struct vgpu_agent *agent, char **changes)
{
	return agent_ask_text(agent, "reload", changes);
}

VGPU_PUBLIC int vgpu_agent_diff(struct vgpu_agent *agent, char **changes)
{
	return agent_ask_text(agent, "diff", changes);
}

VGPU_PUBLIC int vgpu_agent_find_guest(struct vgpu_agent *agent, const char *name,
				      struct vgpu_guest_name *guest)
{
	struct request request = request_new("guest");
	struct json_object *answer;
	int ret;

	request_string(&request, "name", name);
	ret = agent_ask(agent, &request, &answer);
	if (ret)
		return ret;
	guest->cid = get_number(answer, "cid");
	guest->port = get_number(answer, "port");
	json_object_put(answer);
	return guest->cid ? 0 : -EPROTO;
}

/* --- status --------------------------------------------------------------- */

/* Each of the next functions fills in one struct. They return false if there is no memory. */

/*
 * Make C structs of @size bytes from the JSON array @key. @to: pointer to the array of pointers to
 * them. Return: false if there is no memory.
 */
static bool read_array(struct json_object *object, const char *key, size_t size,
		       bool (*read_one)(struct json_object *object, void *to),
		       void *to, size_t *nr)
{
	struct json_object *array;
	void **infos;
	size_t i, len = 0;

	if (json_object_object_get_ex(object, key, &array) &&
	    json_object_is_type(array, json_type_array))
		len = json_object_array_length(array);
	if (!len)
		return true;
	infos = infos_alloc(len, size);
	if (!infos)
		return false;
	/* Publish the array first, so that a half-filled one can be freed. */
	memcpy(to, &infos, sizeof(infos));
	*nr = len;
	for (i = 0; i < len; i++)
		if (!read_one(json_object_array_get_idx(array, i), infos[i]))
			return false;
	return true;
}

static bool read_denial(struct json_object *object, void *to)
{
	struct vgpu_denial_info *denial = to;

	denial->ioctl = strdup(get_string(object, "ioctl"));
	denial->denied = get_number(object, "denied");
	denial->audited = get_number(object, "audited");
	return denial->ioctl;
}

static bool read_grant(struct json_object *object, void *to)
{
	struct vgpu_grant_info *grant = to;

	grant->cid = get_number(object, "cid");
	grant->port = get_number(object, "port");
	snprintf(grant->name, sizeof(grant->name), "%s", get_string(object, "guest_name"));
	grant->any_port = get_bool(object, "any_port");
	grant->read_only = get_bool(object, "read_only");
	grant->connected = get_bool(object, "connected");
	return read_array(object, "denials", sizeof(**grant->denials), read_denial, &grant->denials,
			  &grant->nr_denials);
}

static bool read_export(struct json_object *object, void *to)
{
	struct vgpu_export_info *export = to;

	export->name = strdup(get_string(object, "name"));
	export->path = strdup(get_string(object, "path"));
	export->driver = strdup(get_string(object, "driver"));
	export->kind = strdup(get_string(object, "kind"));
	export->bus = strdup(get_string(object, "bus"));
	export->origin = strdup(get_string(object, "origin"));
	export->profile = strdup(get_string(object, "profile"));
	export->ready = !strcmp(get_string(object, "state"), "ready");
	export->master = get_bool(object, "master");
	export->no_demand = get_bool(object, "no_demand");
	export->audit = get_bool(object, "audit");
	return export->name && export->path && export->driver && export->kind &&
	       export->bus && export->origin && export->profile &&
	       read_array(object, "to", sizeof(**export->grants), read_grant, &export->grants,
			  &export->nr_grants);
}

static bool read_program(struct json_object *object, void *to)
{
	struct vgpu_program_info *program = to;

	program->guest_pid = get_number(object, "guest_pid");
	program->shadow_pid = get_number(object, "shadow_pid");
	program->comm = strdup(get_string(object, "comm"));
	return program->comm;
}

static void read_counters(struct json_object *object, const struct counter *counter, void *to)
{
	for (; counter->name; counter++)
		*counter_in(counter, to) = get_number(object, counter->name);
}

static bool read_guest(struct json_object *object, void *to)
{
	struct vgpu_guest_info *guest = to;
	struct json_object *counters, *programs;

	guest->cid = get_number(object, "cid");
	guest->port = get_number(object, "port");
	snprintf(guest->name, sizeof(guest->name), "%s", get_string(object, "name"));
	guest->uid = get_number(object, "uid");
	guest->since = get_number(object, "since");
	guest->connected = !strcmp(get_string(object, "state"), "connected");
	if (json_object_object_get_ex(object, "counters", &counters)) {
		read_counters(counters, guest_counters, &guest->counters);
		guest->counters.cut_off = get_bool(counters, "cut_off");
	}
	guest->programs_hidden = json_object_object_get_ex(object, "programs", &programs) && !programs;
	return read_array(object, "programs", sizeof(**guest->programs), read_program,
			  &guest->programs, &guest->nr_programs);
}

static bool read_window(struct json_object *object, void *to)
{
	struct vgpu_window_status *window = to;

	window->path = strdup(get_string(object, "path"));
	window->memory_path = strdup(get_string(object, "memory_path"));
	window->cid = get_number(object, "cid");
	window->port = get_number(object, "port");
	window->owner = strdup(owner_name(get_string(object, "owner")));
	window->automatic = get_bool(object, "automatic");
	read_counters(object, window_counters, window);
	window->drain = get_bool(object, "drain");
	window->memory_huge = get_bool(object, "memory_huge");
	window->hypervisor = get_number(object, "hypervisor");
	return window->path && window->memory_path && window->owner;
}

VGPU_PUBLIC int vgpu_agent_status(struct vgpu_agent *agent, struct vgpu_host_info **info)
{
	struct request request = request_new("status");
	struct json_object *answer;
	struct vgpu_host_info *host;
	int ret;

	ret = agent_ask(agent, &request, &answer);
	if (ret)
		return ret;
	host = calloc(1, sizeof(*host));
	if (host) {
		host->struct_size = sizeof(*host);
		host->version = strdup(get_string(answer, "version"));
		host->pid = get_number(answer, "pid");
		host->port = get_number(answer, "port");
		host->user_engine = !strcmp(get_string(answer, "engine"), "user");
		host->cgroups = get_bool(answer, "cgroups");
		host->scratch_keys = !strcmp(get_string(answer, "scratch"), "keys");
	}
	if (!host || !host->version ||
	    !read_array(answer, "exports", sizeof(**host->exports), read_export, &host->exports,
			&host->nr_exports) ||
	    !read_array(answer, "guests", sizeof(**host->guests), read_guest, &host->guests,
			&host->nr_guests) ||
	    !read_array(answer, "windows", sizeof(**host->windows), read_window, &host->windows,
			&host->nr_windows)) {
		vgpu_host_info_free(host);
		json_object_put(answer);
		return -ENOMEM;
	}
	json_object_put(answer);
	*info = host;
	return 0;
}

static void export_info_free(struct vgpu_export_info *export)
{
	size_t i, j;

	for (i = 0; i < export->nr_grants; i++) {
		for (j = 0; j < export->grants[i]->nr_denials; j++)
			free(export->grants[i]->denials[j]->ioctl);
		infos_free(export->grants[i]->denials, export->grants[i]->nr_denials);
	}
	free(export->name);
	free(export->path);
	free(export->driver);
	free(export->kind);
	free(export->bus);
	free(export->origin);
	free(export->profile);
	infos_free(export->grants, export->nr_grants);
}

static void guest_info_free(struct vgpu_guest_info *guest)
{
	size_t i;

	for (i = 0; i < guest->nr_programs; i++)
		free(guest->programs[i]->comm);
	infos_free(guest->programs, guest->nr_programs);
}

VGPU_PUBLIC void vgpu_host_info_free(struct vgpu_host_info *info)
{
	size_t i;

	if (!info)
		return;
	for (i = 0; i < info->nr_exports; i++)
		export_info_free(info->exports[i]);
	for (i = 0; i < info->nr_guests; i++)
		guest_info_free(info->guests[i]);
	for (i = 0; i < info->nr_windows; i++) {
		free(info->windows[i]->path);
		free(info->windows[i]->memory_path);
		free(info->windows[i]->owner);
	}
	infos_free(info->windows, info->nr_windows);
	infos_free(info->exports, info->nr_exports);
	infos_free(info->guests, info->nr_guests);
	free(info->version);
	free(info);
}
