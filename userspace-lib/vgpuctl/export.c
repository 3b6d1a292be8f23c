// SPDX-License-Identifier: MIT
/* Commands export, unexport, reload and diff. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/number.h"
#include "vgpuctl.h"

/*
 * Parse the number of a card of NVIDIA's driver. @text: NULL: all cards. Return: 0 or an exit
 * status.
 */
static int parse_card(const char *text, int *card)
{
	unsigned long long number;

	*card = VGPU_NVIDIA_ALL;
	if (!text)
		return 0;
	if (!number_parse(text, &number) || number > INT_MAX)
		return fail(EXIT_USAGE,
			    "--nvidia %s: give the number N of a card /dev/nvidiaN, or no number for all cards",
			    text);
	*card = number;
	return 0;
}

static void print_guests(const struct options *options)
{
	const struct vgpu_guest_name *guest;

	printf(" to guest%s", options->nr_guests == 1 ? "" : "s");
	for (guest = options->guests; guest < options->guests + options->nr_guests; guest++) {
		printf("%s %" PRIu32, guest == options->guests ? "" : ",", guest->cid);
		if (guest->port)
			printf(":%" PRIu32, guest->port);
	}
	putchar('\n');
}

static int export_agent(const struct options *options, const struct vgpu_export_request *request)
{
	struct vgpu_agent *agent;
	char name[32];
	int ret;

	ret = open_agent(options, &agent);
	if (ret)
		return ret;
	ret = vgpu_agent_export(agent, request, name);
	if (ret) {
		ret = agent_failed(agent, ret);
	} else if (option_given(options, OPT_JSON)) {
		print_pairs_json("name", name, "path", request->path, NULL);
	} else {
		if (!request->nvidia)
			printf("%s: %s", name, request->path);
		else if (request->card == VGPU_NVIDIA_ALL)
			printf("all cards of NVIDIA's");
		else
			printf("nvidia%d and what it needs", request->card);
		print_guests(options);
	}
	vgpu_agent_close(agent);
	return ret;
}

int cmd_export(const char *path, const struct options *options)
{
	struct vgpu_export_request request = {
		.struct_size = sizeof(request),
		.name = options->values[OPT_NAME],
		.cid = options->guests[0].cid,
		.port = options->guests[0].port,
		.any_port = option_given(options, OPT_ANY_PORT),
		.master = option_given(options, OPT_MASTER),
		.no_demand = option_given(options, OPT_NO_DEMAND),
		.read_only = option_given(options, OPT_READ_ONLY),
		.profile = options->values[OPT_PROFILE],
		.audit = option_given(options, OPT_AUDIT),
		.nvidia = option_given(options, OPT_NVIDIA),
	};
	char *real = NULL;
	int ret;

	if (!options->nr_guests)
		return fail(EXIT_USAGE, "export needs --to GUEST, such as --to 3 (vgpuctl help export)");
	request.others = options->guests + 1;
	request.nr_others = options->nr_guests - 1;
	if (option_given(options, OPT_NVIDIA)) {
		if (options->given & (ALLOW(OPT_NAME) | ALLOW(OPT_MASTER) | ALLOW(OPT_NO_DEMAND) |
				      ALLOW(OPT_READ_ONLY) | ALLOW(OPT_PROFILE) |
				      ALLOW(OPT_AUDIT)))
			return fail(EXIT_USAGE,
				    "--nvidia can be combined only with --to and --any-port (vgpuctl help export)");
		ret = parse_card(path, &request.card);
		return ret ? ret : export_agent(options, &request);
	}
	/*
	 * Make a relative path absolute, since the agent has another working directory.
	 * Absolute paths keep their symlinks, whose targets may be meant to change.
	 */
	if (path[0] != '/') {
		real = realpath(path, NULL);
		if (!real)
			return fail(exit_status(-errno),
				    "%s: %s: give the path of a device file, such as /dev/dri/renderD128",
				    *path ? path : "''", strerror(errno));
	}
	request.path = real ? real : path;
	ret = export_agent(options, &request);
	free(real);
	return ret;
}

int cmd_unexport(const char *name, const struct options *options)
{
	struct vgpu_unexport_request request = {
		.struct_size = sizeof(request),
		.name = name,
		.nvidia = option_given(options, OPT_NVIDIA),
		.guests = options->guests,
		.nr_guests = options->nr_guests,
		.force = option_given(options, OPT_FORCE),
		.now = option_given(options, OPT_NOW),
	};
	struct vgpu_agent *agent;
	int ret = request.nvidia ? parse_card(name, &request.card) : 0;

	if (!ret)
		ret = open_agent(options, &agent);
	if (ret)
		return ret;
	ret = vgpu_agent_unexport_from(agent, &request);
	if (ret)
		ret = agent_failed(agent, ret);
	vgpu_agent_close(agent);
	return ret;
}

/*
 * Print the lines about changes of exports that @fn, a request to the agent, returns. Return: an
 * exit status.
 */
static int ask_changes(const struct options *options,
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
	return ask_changes(options, vgpu_agent_reload);
}

int cmd_diff(const char *unused, const struct options *options)
{
	(void)unused;
	return ask_changes(options, vgpu_agent_diff);
}
