// SPDX-License-Identifier: MIT
/* Commands reload and diff. */
#include <stdlib.h>

#include "vgpuctl.h"

static int ask(const struct options *options,
	       int (*fn)(struct vgpu_agent *agent, char **changes))
{
	struct vgpu_agent *agent;
	char *changes = NULL;
	int ret;

	ret = open_agent(options, &agent);
	if (ret)
		return ret;
	ret = fn(agent, &changes);
	if (ret)
		ret = agent_failed(agent, ret);
	else if (option_given(options, OPT_JSON))
		print_lines_json("changes", changes);
	else
		fputs(changes, stdout);
	free(changes);
	vgpu_agent_close(agent);
	return ret;
}

int cmd_reload(const char *unused, const struct options *options)
{
	(void)unused;
	return ask(options, vgpu_agent_reload);
}

int cmd_diff(const char *unused, const struct options *options)
{
	(void)unused;
	return ask(options, vgpu_agent_diff);
}
