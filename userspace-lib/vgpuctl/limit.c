// SPDX-License-Identifier: MIT
/* Command limit. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vgpuctl.h"

/* Most limits of one command. */
#define CHANGES_MAX	64

#define NS_PER_MS	1000000

/* Print for what the guest's calls had to wait. */
static void print_waits(const struct vgpu_limits_info *info)
{
	if (info->delayed)
		printf("%" PRIu64 " calls had to wait for a rate\n", info->delayed);
	if (info->device_ns)
		printf("%" PRIu64 " ms of devices' time; %" PRIu64 " calls had to wait for others\n",
		       info->device_ns / NS_PER_MS, info->queued);
}

static int show(struct vgpu_agent *agent, const struct vgpu_limit_request *request, bool json)
{
	struct vgpu_limits_info *info;
	int ret = vgpu_agent_limits(agent, request->name, &request->guest, &info);

	if (ret)
		return agent_failed(agent, ret);
	if (json) {
		print_limits_json(info);
	} else {
		print_limits(info);
		print_waits(info);
	}
	vgpu_limits_info_free(info);
	return 0;
}

static int change(struct vgpu_agent *agent, const struct vgpu_limit_request *request, bool json)
{
	char *notes;
	int ret = vgpu_agent_limit(agent, request, &notes);

	if (ret)
		return agent_failed(agent, ret);
	if (json)
		print_lines_json("notes", notes);
	else
		fputs(notes, stdout);
	free(notes);
	return 0;
}

/* Split the arguments KEY=VALUE, which are changed. Return: 0 or an exit status. */
static int take_changes(const struct options *options, struct vgpu_limit_change *changes)
{
	size_t i;
	char *at;

	for (i = 0; i < options->nr_more; i++) {
		at = strchr(options->more[i], '=');
		if (!at || at == options->more[i])
			return fail(EXIT_USAGE, "limit: %s: give KEY=VALUE, such as sessions=32 (vgpuctl help limit)",
				    options->more[i]);
		*at = '\0';
		changes[i].name = options->more[i];
		changes[i].value = at + 1;
	}
	return 0;
}

int cmd_limit(const char *guest, const struct options *options)
{
	const bool json = option_given(options, OPT_JSON);
	struct vgpu_limit_change changes[CHANGES_MAX];
	struct vgpu_limit_request request = {
		.struct_size = sizeof(request),
		.changes = changes,
		.nr_changes = options->nr_more,
		.save = option_given(options, OPT_SAVE),
	};
	struct vgpu_agent *agent;
	int ret;

	if (options->nr_more > CHANGES_MAX)
		return fail(EXIT_USAGE, "limit: give at most %d limits, and the others by another command",
			    CHANGES_MAX);
	if (request.save && !options->nr_more)
		return fail(EXIT_USAGE, "--save needs KEY=VALUE, such as sessions=32 (vgpuctl help limit)");
	ret = guest_parse(guest, &request.name, &request.guest);
	if (!ret)
		ret = take_changes(options, changes);
	if (!ret)
		ret = open_agent(options, &agent);
	if (ret)
		return ret;
	ret = options->nr_more ? change(agent, &request, json) : show(agent, &request, json);
	vgpu_agent_close(agent);
	return ret;
}
