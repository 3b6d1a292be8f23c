// SPDX-License-Identifier: MIT
/* Guests that options name, by numbers or by the names that the host's settings give them. */
#include <ctype.h>
#include <string.h>

#include "shared/number.h"
#include "vgpuctl.h"

/* Tell a name from a number that is wrong. The agent knows which names there are. */
static bool is_name(const char *word)
{
	const char *at;

	for (at = word; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("._-", *at))
			return false;
	return *word && word[strspn(word, "0123456789")] && strncmp(word, "0x", 2) &&
	       word[0] != '-' && word[0] != '.';
}

static bool is_same(const struct options *options, size_t i, size_t j)
{
	if (options->names[i] || options->names[j])
		return options->names[i] && options->names[j] &&
		       !strcmp(options->names[i], options->names[j]);
	return options->guests[i].cid == options->guests[j].cid &&
	       options->guests[i].port == options->guests[j].port;
}

bool guest_is(const char *word, const char **name, struct vgpu_guest_name *guest)
{
	*name = is_name(word) ? word : NULL;
	return *name || number_parse_guest(word, &guest->cid, &guest->port);
}

int guest_parse(const char *word, const char **name, struct vgpu_guest_name *guest)
{
	if (guest_is(word, name, guest))
		return 0;
	return fail(EXIT_USAGE,
		    "'%s' is no guest: give the guest's context id, a number from 1 to 4294967294, and a port if need be, or the guest's name: 3, 3:22590, web",
		    word);
}

int guests_add(struct options *options, const char *word)
{
	const size_t at = options->nr_guests;
	size_t i;
	int ret;

	if (at == GUESTS_MAX)
		return fail(EXIT_USAGE, "--to: give at most %d guests, and the others by another command", GUESTS_MAX);
	ret = guest_parse(word, &options->names[at], &options->guests[at]);
	if (ret)
		return ret;
	for (i = 0; i < at && !is_same(options, i, at); i++)
		;
	options->nr_guests += i == at;
	return 0;
}

int guests_resolve(struct options *options)
{
	struct vgpu_agent *agent = NULL;
	int ret = 0;
	size_t i;

	for (i = 0; !ret && i < options->nr_guests; i++) {
		if (!options->names[i])
			continue;
		if (!agent)
			ret = open_agent(options, &agent);
		if (ret)
			return ret;
		ret = vgpu_agent_find_guest(agent, options->names[i], &options->guests[i]);
		if (ret)
			ret = agent_failed(agent, ret);
	}
	vgpu_agent_close(agent);
	return ret;
}
