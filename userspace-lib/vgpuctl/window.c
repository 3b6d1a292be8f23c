// SPDX-License-Identifier: MIT
/* Command window: changes and shows the windows of guests. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "shared/number.h"
#include "vgpuctl.h"

/* Time in seconds that a guest may take to move its mappings. */
#define DRAIN_SECONDS	30

/* Each of the next functions returns an exit status. */

static int window_create(struct vgpu_agent *agent, const struct vgpu_window_request *request,
			 const struct options *options)
{
	char path[48];
	int ret;

	ret = vgpu_agent_window_create(agent, request, path);
	if (ret)
		return agent_failed(agent, ret);
	if (option_given(options, OPT_JSON))
		print_pairs_json("path", path, NULL);
	else
		puts(path);
	return 0;
}

static int window_destroy(struct vgpu_agent *agent, const struct vgpu_window_request *request,
			  const struct options *options)
{
	int ret = vgpu_agent_window_destroy(agent, request->cid, request->port,
					    option_given(options, OPT_FORCE));

	return ret ? agent_failed(agent, ret) : 0;
}

/* Wait until the window holds no mapping of the guest. */
static int window_await_empty(struct vgpu_agent *agent, const struct vgpu_window_request *request)
{
	struct vgpu_host_info *host;
	uint64_t bindings = 0;
	unsigned int tries;
	size_t i;
	int ret;

	for (tries = 0; tries < DRAIN_SECONDS * 10; tries++) {
		ret = vgpu_agent_status(agent, &host);
		if (ret)
			return agent_failed(agent, ret);
		bindings = 0;
		for (i = 0; i < host->nr_windows; i++)
			if (host->windows[i]->cid == request->cid &&
			    host->windows[i]->port == (request->port ? request->port : host->port))
				bindings = host->windows[i]->bindings;
		vgpu_host_info_free(host);
		if (!bindings)
			return 0;
		usleep(100000);
	}
	return fail(EXIT_IN_USE, "%" PRIu64 " mappings of guest %" PRIu32 " are still in the window: wait and try again, or end the guest's programs",
		    bindings, request->cid);
}

static int window_drain(struct vgpu_agent *agent, const struct vgpu_window_request *request,
			const struct options *unused)
{
	int ret = vgpu_agent_window_drain(agent, request->cid, request->port, true);

	(void)unused;
	return ret ? agent_failed(agent, ret) : window_await_empty(agent, request);
}

static int window_fill(struct vgpu_agent *agent, const struct vgpu_window_request *request,
		       const struct options *unused)
{
	int ret = vgpu_agent_window_drain(agent, request->cid, request->port, false);

	(void)unused;
	return ret ? agent_failed(agent, ret) : 0;
}

static int window_list(struct vgpu_agent *agent, const struct vgpu_window_request *unused,
		       const struct options *options)
{
	struct vgpu_host_info *host;
	int ret = vgpu_agent_status(agent, &host);

	(void)unused;
	if (ret)
		return agent_failed(agent, ret);
	if (option_given(options, OPT_JSON))
		print_windows_json(host);
	else
		print_windows(host);
	vgpu_host_info_free(host);
	return 0;
}

static int window_qemu_args(struct vgpu_agent *agent, const struct vgpu_window_request *request,
			    const struct options *options)
{
	bool memory = option_given(options, OPT_MEMORY);
	struct vgpu_host_info *host;
	char *text = NULL;
	size_t len;
	FILE *to;
	int ret = vgpu_agent_status(agent, &host);

	if (ret)
		return agent_failed(agent, ret);
	to = open_memstream(&text, &len);
	if (!to || !put_qemu_args(to, host, request->cid, request->port, memory))
		ret = fail(EXIT_NOT_FOUND,
			   "guest %" PRIu32 " has no window%s: 'vgpuctl window list' shows all windows, 'vgpuctl window create' makes one",
			   request->cid, memory ? " that shares the guest's memory" : "");
	vgpu_host_info_free(host);
	if (to)
		fclose(to);
	if (!ret && option_given(options, OPT_JSON))
		print_pairs_json("arguments", text, NULL);
	else if (!ret)
		puts(text);
	free(text);
	return ret;
}

const struct verb window_verbs[] = {
	{ "create", "make the window of a guest",
	  ALLOW(OPT_TO) | ALLOW(OPT_SIZE) | ALLOW(OPT_OWNER),
	  ALLOW(OPT_TO) | ALLOW(OPT_SIZE), window_create },
	{ "drain", "have the guest move its mappings out of the window",
	  ALLOW(OPT_TO), ALLOW(OPT_TO), window_drain },
	{ "fill", "let the guest use the window again",
	  ALLOW(OPT_TO), ALLOW(OPT_TO), window_fill },
	{ "destroy", "take the window away",
	  ALLOW(OPT_TO) | ALLOW(OPT_FORCE), ALLOW(OPT_TO), window_destroy },
	{ "list", "list all windows", 0, 0, window_list },
	{ "qemu-args", "print QEMU's arguments for the window",
	  ALLOW(OPT_TO) | ALLOW(OPT_MEMORY), ALLOW(OPT_TO), window_qemu_args },
	{ .name = NULL },
};

/* Print a usage error that names the first of these options. */
static int window_option_error(const char *verb, const char *how, uint64_t which)
{
	return fail(EXIT_USAGE, "window %s %s --%s (vgpuctl help window)", verb, how,
		    option_name(option_first(which)));
}

int cmd_window(const char *name, const struct options *options)
{
	struct vgpu_window_request request = {
		.struct_size = sizeof(request),
		.cid = options->guests[0].cid,
		.port = options->guests[0].port,
		.owner = options->values[OPT_OWNER],
	};
	uint64_t given = options->given & ~(ALLOW(OPT_SOCKET) | ALLOW(OPT_JSON));
	const struct verb *verb = window_verbs;
	unsigned long long size;
	struct vgpu_agent *agent;
	int ret;

	while (verb->name && strcmp(verb->name, name))
		verb++;
	if (!verb->name)
		return fail(EXIT_USAGE,
			    "window has no command %s: use create, drain, fill, destroy, list or qemu-args (vgpuctl help window)",
			    name);
	if (given & ~verb->options)
		return window_option_error(name, "has no", given & ~verb->options);
	if (verb->needed & ~given)
		return window_option_error(name, "needs", verb->needed & ~given);
	if (options->nr_guests > 1)
		return fail(EXIT_USAGE, "window %s is for one guest: give --to once", name);
	if (option_given(options, OPT_SIZE)) {
		if (!number_parse_size(options->values[OPT_SIZE], &size) || !size)
			return fail(EXIT_USAGE,
				    "--size %s: give a number of bytes, or a number with K, M, G or T (vgpuctl help window)",
				    options->values[OPT_SIZE]);
		request.size = size;
	}
	ret = open_agent(options, &agent);
	if (ret)
		return ret;
	ret = verb->run(agent, &request, options);
	vgpu_agent_close(agent);
	return ret;
}
