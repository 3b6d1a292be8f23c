// SPDX-License-Identifier: MIT
/* State and results of vgpuctl as JSON objects. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "libvgpu/counter.h"
#include "command.h"
#include "make.h"
#include "vgpuctl.h"

static void put_string(struct json_object *object, const char *key, const char *value)
{
	/* Unknown and missing strings are null, never empty. */
	make_member(object, key, value && *value ? make_string(value) : NULL);
}

static void put_number(struct json_object *object, const char *key, uint64_t value)
{
	make_member(object, key, make_number(value));
}

static void put_bool(struct json_object *object, const char *key, bool value)
{
	make_member(object, key, make_bool(value));
}

static struct json_object *put_array(struct json_object *object, const char *key)
{
	struct json_object *array = make_array();

	make_member(object, key, array);
	return array;
}

static struct json_object *put_element(struct json_object *array)
{
	struct json_object *object = make_object();

	make_element(array, object);
	return object;
}

static void print_json(struct json_object *object)
{
	put_number(object, "schema", JSON_SCHEMA);
	make_print(stdout, object, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE);
}

void print_pairs_json(const char *key, ...)
{
	struct json_object *object = make_object();
	va_list args;

	va_start(args, key);
	for (; key; key = va_arg(args, const char *))
		put_string(object, key, va_arg(args, const char *));
	va_end(args);
	print_json(object);
}

static void put_text(struct json_object *array, const char *text, size_t len)
{
	struct json_object *value = json_object_new_string_len(text, len);

	if (!value)
		end_without_memory();
	make_element(array, value);
}

void print_lines_json(const char *key, const char *lines)
{
	struct json_object *object = make_object(), *array = put_array(object, key);
	const char *line, *end;

	for (line = lines; *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		put_text(array, line, end - line);
	}
	print_json(object);
}

void print_error_json(int status, const char *reason, const char *message)
{
	struct json_object *object = make_object(), *error = make_object();

	make_member(object, "error", error);
	put_number(error, "status", status);
	put_string(error, "reason", reason);
	put_string(error, "message", message);
	put_number(object, "schema", JSON_SCHEMA);
	make_print(stderr, object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}

static void put_denials(struct json_object *to, const struct vgpu_grant_info *grant)
{
	struct json_object *array = put_array(to, "denials"), *object;
	size_t i;

	for (i = 0; i < grant->nr_denials; i++) {
		object = put_element(array);
		put_string(object, "ioctl", grant->denials[i]->ioctl);
		put_number(object, "denied", grant->denials[i]->denied);
		put_number(object, "audited", grant->denials[i]->audited);
	}
}

static void put_exports(struct json_object *to, const struct vgpu_host_info *host)
{
	struct json_object *array = put_array(to, "exports"), *object, *grants;
	size_t i, j;

	for (i = 0; i < host->nr_exports; i++) {
		const struct vgpu_export_info *export = host->exports[i];

		object = put_element(array);
		put_string(object, "name", export->name);
		put_string(object, "path", export->path);
		put_string(object, "driver", export->driver);
		put_string(object, "kind", export->kind);
		put_string(object, "bus", export->bus);
		put_bool(object, "ready", export->ready);
		put_bool(object, "master", export->master);
		put_bool(object, "no_demand", export->no_demand);
		put_bool(object, "audit", export->audit);
		put_string(object, "profile", export->profile);
		put_string(object, "origin", export->origin);
		grants = put_array(object, "to");
		for (j = 0; j < export->nr_grants; j++) {
			const struct vgpu_grant_info *grant = export->grants[j];

			object = put_element(grants);
			put_number(object, "cid", grant->cid);
			put_number(object, "port", grant->port);
			put_string(object, "guest_name", grant->name);
			put_bool(object, "any_port", grant->any_port);
			put_bool(object, "read_only", grant->read_only);
			put_bool(object, "connected", grant->connected);
			put_denials(object, grant);
		}
	}
}

static void put_counters(struct json_object *object, const struct counter *counter, const void *of)
{
	for (; counter->name; counter++)
		put_number(object, counter->name, *counter_in(counter, of));
}

static void put_guests(struct json_object *to, const struct vgpu_host_info *host)
{
	struct json_object *array = put_array(to, "guests"), *object, *programs;
	size_t i, j;

	for (i = 0; i < host->nr_guests; i++) {
		const struct vgpu_guest_info *guest = host->guests[i];

		object = put_element(array);
		put_number(object, "cid", guest->cid);
		put_number(object, "port", guest->port);
		put_string(object, "name", guest->name);
		put_bool(object, "connected", guest->connected);
		put_number(object, "uid", guest->uid);
		put_number(object, "since", guest->since);
		put_counters(object, guest_counters, &guest->counters);
		put_bool(object, "cut_off", guest->counters.cut_off);
		if (guest->programs_hidden) {
			put_string(object, "programs", NULL);
			continue;
		}
		programs = put_array(object, "programs");
		for (j = 0; j < guest->nr_programs; j++) {
			object = put_element(programs);
			put_string(object, "comm", guest->programs[j]->comm);
			put_number(object, "guest_pid", guest->programs[j]->guest_pid);
			put_number(object, "shadow_pid", guest->programs[j]->shadow_pid);
		}
	}
}

static void put_exposure(struct json_object *to, const struct exposure *exposure)
{
	struct json_object *array = put_array(to, "open_to"), *object;
	size_t i;

	for (i = 0; i < exposure->nr_openers; i++) {
		object = put_element(array);
		put_string(object, "kind", exposure->openers[i].kind);
		put_string(object, "name", exposure->openers[i].name);
	}
	if (!exposure->companions_known) {
		put_string(to, "vfio", NULL);
		return;
	}
	array = put_array(to, "vfio");
	for (i = 0; i < exposure->nr_companions; i++) {
		object = put_element(array);
		put_number(object, "pid", exposure->companions[i].pid);
		put_string(object, "path", exposure->companions[i].path);
	}
}

/* Add the windows. @exposures: NULL if not requested. */
static void put_windows(struct json_object *to, const struct vgpu_host_info *host,
			const struct exposure *exposures)
{
	struct json_object *array = put_array(to, "windows"), *object;
	size_t i;

	for (i = 0; i < host->nr_windows; i++) {
		const struct vgpu_window_status *window = host->windows[i];

		object = put_element(array);
		put_string(object, "path", window->path);
		put_string(object, "memory_path", window->memory_path);
		put_number(object, "cid", window->cid);
		put_number(object, "port", window->port);
		put_string(object, "owner", window->owner);
		put_bool(object, "automatic", window->automatic);
		put_counters(object, window_counters, window);
		put_bool(object, "drain", window->drain);
		put_bool(object, "memory_huge", window->memory_huge);
		put_number(object, "hypervisor", window->hypervisor);
		if (exposures)
			put_exposure(object, &exposures[i]);
	}
}

void print_windows_json(const struct vgpu_host_info *host)
{
	struct json_object *object = make_object();

	put_windows(object, host, NULL);
	print_json(object);
}

static struct json_object *host_json(const struct machine *machine, bool status)
{
	const struct vgpu_host_info *host = machine->host;
	struct json_object *object;

	if (!host)
		return NULL;
	object = make_object();
	put_string(object, "version", host->version);
	put_number(object, "pid", host->pid);
	put_number(object, "port", host->port);
	put_exports(object, host);
	if (status) {
		put_string(object, "engine", host->user_engine ? "user" : "kernel");
		put_string(object, "scratch", host->scratch_keys ? "keys" : "random");
		put_bool(object, "cgroups", host->cgroups);
		put_guests(object, host);
		put_windows(object, host, machine->exposures);
	}
	return object;
}

static void put_unknown(struct json_object *to, const struct vgpu_node_info *node)
{
	struct json_object *array = put_array(to, "unknown_ioctls"), *object;
	char cmd[16], of[16];
	size_t i;

	for (i = 0; i < node->nr_unknown; i++) {
		object = put_element(array);
		snprintf(cmd, sizeof(cmd), "%#010" PRIx32, node->unknown[i]->cmd);
		put_string(object, "command", cmd);
		snprintf(of, sizeof(of), "%#010" PRIx32, node->unknown[i]->class_of);
		put_string(object, "class", node->unknown[i]->class_of ? of : "");
		snprintf(of, sizeof(of), "%#010" PRIx32, node->unknown[i]->command_of);
		put_string(object, "command_inside", node->unknown[i]->command_of ? of : "");
		put_number(object, "calls", node->unknown[i]->calls);
	}
	put_number(to, "unknown_ioctls_others", node->unknown_others);
}

static void put_reach(struct json_object *to, const struct machine *machine)
{
	struct json_object *array = put_array(to, "hosts"), *object;
	const struct vgpu_reach_info *reach;
	char words[256];
	size_t i;

	for (i = 0; i < machine->nr_reach; i++) {
		reach = machine->reach[i];
		reach_words(reach, words);
		object = put_element(array);
		put_string(object, "host", reach->host);
		put_string(object, "state", reach->state);
		put_number(object, "error", reach->error);
		put_string(object, "message", words);
	}
}

static struct json_object *guest_json(const struct machine *machine, bool status)
{
	struct json_object *guest, *array, *object;
	size_t i;

	if (!machine->is_guest)
		return NULL;
	guest = make_object();
	put_reach(guest, machine);
	array = put_array(guest, "nodes");
	for (i = 0; i < machine->nr_nodes; i++) {
		const struct vgpu_node_info *node = machine->nodes[i];

		object = put_element(array);
		put_string(object, "node", node->node);
		put_string(object, "drm_node", node->drm_node);
		put_string(object, "class_node", node->class_node);
		put_string(object, "name", node->name);
		put_string(object, "host", node->host);
		put_string(object, "path", node->path);
		put_string(object, "driver", node->driver);
		put_string(object, "bus", node->bus);
		put_string(object, "state", node->state);
		put_unknown(object, node);
		if (!status)
			continue;
		put_counters(object, node_counters, node);
	}
	return guest;
}

void print_limits_json(const struct vgpu_limits_info *info)
{
	struct json_object *object = make_object(), *array, *element;
	const struct vgpu_limit_info *limit;
	size_t i;

	put_string(object, "name", info->name);
	put_number(object, "cid", info->cid);
	put_number(object, "port", info->port);
	put_bool(object, "connected", info->connected);
	put_number(object, "delayed", info->delayed);
	put_number(object, "queued", info->queued);
	put_number(object, "device_ns", info->device_ns);
	array = put_array(object, "limits");
	for (i = 0; i < info->nr_limits; i++) {
		limit = info->limits[i];
		element = put_element(array);
		put_string(element, "name", limit->name);
		put_number(element, "value", limit->limit);
		make_member(element, "use", limit->used ?
				       make_number(limit->use) : NULL);
		make_member(element, "most", limit->used ?
				       make_number(limit->most) : NULL);
		put_string(element, "from", limit->origin);
	}
	print_json(object);
}

void print_machine_json(const struct machine *machine, bool status)
{
	struct json_object *object = make_object();

	make_member(object, "host", host_json(machine, status));
	make_member(object, "guest", guest_json(machine, status));
	print_json(object);
}

/* --- commands ------------------------------------------------------------------- */

static void put_option_names(struct json_object *to, uint64_t options)
{
	struct json_object *array = put_array(to, "options");
	int opt;

	for (opt = 1; opt < NR_OPTIONS; opt++)
		if (options & ALLOW(opt))
			make_element(array, make_string(option_name(opt)));
}

static void put_command(struct json_object *array, const struct command *command)
{
	struct json_object *object = put_element(array);
	const struct verb *verb;

	put_string(object, "name", command->name);
	put_string(object, "summary", command->summary);
	put_string(object, "synopsis", command->synopsis);
	put_option_names(object, command->options | COMMON_OPTIONS);
	array = put_array(object, "commands");
	for (verb = command->verbs; verb && verb->name; verb++) {
		object = put_element(array);
		put_string(object, "name", verb->name);
		put_string(object, "summary", verb->summary);
		put_option_names(object, verb->options | COMMON_OPTIONS);
	}
}

void print_commands_json(const struct command *command)
{
	struct json_object *object = make_object(), *array, *element;
	const struct command *at;
	int opt;

	array = put_array(object, "commands");
	for (at = commands; at->name; at++)
		if (!command || command == at)
			put_command(array, at);
	array = put_array(object, "options");
	for (opt = 1; opt < NR_OPTIONS; opt++) {
		element = put_element(array);
		put_string(element, "name", options_words[opt].name);
		put_string(element, "operand", options_words[opt].operand);
		put_string(element, "help", options_words[opt].help);
	}
	print_json(object);
}
