// SPDX-License-Identifier: MIT
/* Commands list, status and show. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "make.h"
#include "vgpuctl.h"

/* Show the machine. @name: export, guest or device that is shown alone; NULL: all of them. */
static int show(const struct options *options, bool status, const char *name)
{
	const char *given = options->values[OPT_SOCKET];
	struct machine machine = { NULL };
	struct vgpu_agent *agent;
	int ret;

	ret = vgpu_nodes(&machine.nodes, &machine.nr_nodes);
	machine.is_guest = !ret;
	if (machine.is_guest)
		ret = vgpu_reach(&machine.reach, &machine.nr_reach);
	/* Any other error means that the module is not loaded. */
	if (ret == -ENOMEM)
		end_without_memory();
	ret = vgpu_agent_open(given, &agent);
	if (!ret) {
		ret = vgpu_agent_status(agent, &machine.host);
		if (ret)
			ret = agent_failed(agent, ret);
		vgpu_agent_close(agent);
	} else if (given || (ret != -ENOENT && ret != -ECONNREFUSED)) {
		ret = open_failed(given ? given : VGPU_AGENT_SOCKET, ret);
	} else if (!machine.is_guest) {
		ret = fail(EXIT_NO_VGPU,
			   "this machine is neither a host (vgpud does not run) nor a guest (vgpu_guest is not loaded): 'systemctl start vgpud' or 'modprobe vgpu_guest'");
	} else {
		ret = 0;
	}
	if (!ret && status && machine.host && exposures_find(machine.host, &machine.exposures))
		ret = fail(EXIT_FAILED, "%s", strerror(ENOMEM));
	if (!ret && name)
		ret = machine_show_one(&machine, name, option_given(options, OPT_JSON));
	else if (!ret && option_given(options, OPT_JSON))
		print_machine_json(&machine, status);
	else if (!ret)
		print_machine(&machine, status);
	if (!ret && !name)
		ret = reach_status(&machine, option_given(options, OPT_JSON));
	exposures_free(machine.exposures, machine.host ? machine.host->nr_windows : 0);
	vgpu_host_info_free(machine.host);
	vgpu_nodes_free(machine.nodes, machine.nr_nodes);
	vgpu_reach_free(machine.reach, machine.nr_reach);
	return ret;
}

int cmd_list(const char *unused, const struct options *options)
{
	(void)unused;
	return show(options, false, NULL);
}

int cmd_status(const char *unused, const struct options *options)
{
	(void)unused;
	return show(options, true, NULL);
}

int cmd_show(const char *name, const struct options *options)
{
	return show(options, true, name);
}
