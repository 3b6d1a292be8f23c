// SPDX-License-Identifier: MIT
/* Command completion: scripts for shells, made from the tables of commands, and words for them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "vgpuctl/complete/complete.h"
#include "vgpuctl/vgpuctl.h"

void complete_put_options(uint64_t options, const char *before, const char *after)
{
	int opt;

	for (opt = 1; opt < NR_OPTIONS; opt++)
		if (options & ALLOW(opt))
			printf("%s--%s", before, option_name(opt));
	fputs(after, stdout);
}

uint64_t complete_options_with_value(void)
{
	uint64_t options = 0;
	int opt;

	for (opt = 1; opt < NR_OPTIONS; opt++)
		if (options_words[opt].operand)
			options |= ALLOW(opt);
	return options;
}

void complete_put_commands(void)
{
	const struct command *command;

	for (command = commands; command->name; command++)
		printf("%s ", command->name);
}

void complete_put_verbs(const struct command *command)
{
	const struct verb *verb;

	for (verb = command->verbs; verb->name; verb++)
		printf("%s ", verb->name);
}

/* --- words of vgpud -------------------------------------------------------------- */

static void print_exports(const struct vgpu_host_info *host)
{
	size_t i;

	for (i = 0; i < host->nr_exports; i++)
		puts(host->exports[i]->name);
}

/* Print the guests that are connected, and those that may use an export. */
static void print_guest_words(const struct vgpu_host_info *host)
{
	const struct vgpu_grant_info *grant;
	size_t i, j;

	for (i = 0; i < host->nr_guests; i++)
		printf("%" PRIu32 "\n%s%s", host->guests[i]->cid, host->guests[i]->name,
		       host->guests[i]->name[0] ? "\n" : "");
	for (i = 0; i < host->nr_exports; i++)
		for (j = 0; j < host->exports[i]->nr_grants; j++) {
			grant = host->exports[i]->grants[j];
			printf("%" PRIu32 "\n%s%s", grant->cid, grant->name,
			       grant->name[0] ? "\n" : "");
		}
}

static int print_limit_words(struct vgpu_agent *agent, const char *guest)
{
	struct vgpu_limits_info *info;
	struct vgpu_guest_name number = { 0 };
	const char *name;
	size_t i;
	int ret;

	ret = guest_parse(guest, &name, &number);
	if (ret)
		return ret;
	ret = vgpu_agent_limits(agent, name, &number, &info);
	if (ret)
		return agent_failed(agent, ret);
	for (i = 0; i < info->nr_limits; i++)
		printf("%s=\n", info->limits[i]->name);
	vgpu_limits_info_free(info);
	return 0;
}

/* Print the names of this guest's devices. Return: true if this is a guest. */
static bool print_nodes(void)
{
	struct vgpu_node_info **nodes;
	size_t nr, i;

	if (vgpu_nodes(&nodes, &nr))
		return false;
	for (i = 0; i < nr; i++)
		puts(nodes[i]->name);
	vgpu_nodes_free(nodes, nr);
	return true;
}

static int print_words(const char *what, const struct options *options)
{
	const bool all = !strcmp(what, "names"), guest = all && print_nodes();
	struct vgpu_host_info *host;
	struct vgpu_agent *agent;
	int ret;

	/* A guest need not be a host. */
	if (guest && vgpu_agent_open(options->values[OPT_SOCKET], &agent))
		return 0;
	ret = guest ? 0 : open_agent(options, &agent);
	if (ret)
		return ret;
	if (options->nr_more) {
		ret = print_limit_words(agent, options->more[0]);
		vgpu_agent_close(agent);
		return ret;
	}
	ret = vgpu_agent_status(agent, &host);
	if (ret) {
		ret = agent_failed(agent, ret);
	} else {
		if (all || !strcmp(what, "exports"))
			print_exports(host);
		if (all || !strcmp(what, "guests"))
			print_guest_words(host);
		vgpu_host_info_free(host);
	}
	vgpu_agent_close(agent);
	return ret;
}

int cmd_completion(const char *what, const struct options *options)
{
	static const struct {
		const char *name;
		void (*print)(void);
		size_t nr_more;
	} kinds[] = {
		{ "bash", complete_print_bash, 0 }, { "zsh", complete_print_zsh, 0 },
		{ "fish", complete_print_fish, 0 }, { "exports", NULL, 0 }, { "guests", NULL, 0 },
		{ "names", NULL, 0 }, { "limits", NULL, 1 },
	};
	size_t i;

	if (option_given(options, OPT_JSON))
		return fail(EXIT_USAGE, "completion prints text for shells: leave --json out (vgpuctl help completion)");
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].name, what))
			continue;
		if (options->nr_more != kinds[i].nr_more)
			return fail(EXIT_USAGE, "completion %s needs %s (vgpuctl help completion)",
				    what, kinds[i].nr_more ? "one GUEST" : "nothing after it");
		if (!kinds[i].print)
			return print_words(what, options);
		kinds[i].print();
		return EXIT_SUCCESS;
	}
	return fail(EXIT_USAGE,
		    "there is no completion for %s: use bash, zsh, fish, exports, guests, names or limits (vgpuctl help completion)",
		    what);
}
