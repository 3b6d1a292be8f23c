// SPDX-License-Identifier: MIT
/* Commands freeze, thaw and evict. */
#include <stdio.h>
#include <stdlib.h>

#include "vgpuctl.h"

/* The limit by which a guest is frozen, as Documentation/admin/sharing.rst describes it. */
#define WEIGHT	"device-weight"

/* Print notes of the agent, or with --json an object with them. */
static void print_notes(const struct options *options, const char *notes)
{
	if (option_given(options, OPT_JSON))
		print_lines_json("notes", notes);
	else
		fputs(notes, stdout);
}

/* Give a guest another weight. @weight: "" for that of the settings. Return: an exit status. */
static int weigh(const char *guest, const struct options *options, const char *weight)
{
	struct vgpu_limit_change change = { WEIGHT, weight };
	struct vgpu_limit_request request = {
		.struct_size = sizeof(request),
		.changes = &change,
		.nr_changes = 1,
	};
	struct vgpu_agent *agent;
	char *notes;
	int ret;

	ret = guest_parse(guest, &request.name, &request.guest);
	if (!ret)
		ret = open_agent(options, &agent);
	if (ret)
		return ret;
	ret = vgpu_agent_limit(agent, &request, &notes);
	if (ret) {
		ret = agent_failed(agent, ret);
	} else {
		print_notes(options, notes);
		free(notes);
	}
	vgpu_agent_close(agent);
	return ret;
}

int cmd_freeze(const char *guest, const struct options *options)
{
	return weigh(guest, options, "0");
}

int cmd_thaw(const char *guest, const struct options *options)
{
	return weigh(guest, options, "");
}

int cmd_evict(const char *guest, const struct options *options)
{
	struct vgpu_guest_name number = { 0 };
	struct vgpu_agent *agent;
	const char *name;
	int ret;

	ret = guest_parse(guest, &name, &number);
	if (!ret)
		ret = open_agent(options, &agent);
	if (ret)
		return ret;
	ret = vgpu_agent_evict(agent, name, &number, option_given(options, OPT_FORCE));
	if (ret)
		ret = agent_failed(agent, ret);
	else
		print_notes(options, "");
	vgpu_agent_close(agent);
	return ret;
}
