// SPDX-License-Identifier: MIT
/* Reasons why a guest has no device. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "vgpuctl.h"

/* Exit statuses for the states of struct vgpu_reach_info. The most telling states come first. */
static const struct {
	const char *state;
	int status;
} states[] = {
	{ "connected", EXIT_NOTHING },
	{ "nothing exported", EXIT_NOTHING },
	{ "wrong version", EXIT_WRONG_VERSION },
	{ "refused", EXIT_REFUSED },
	{ "no host", EXIT_NO_HOST },
	{ "connecting", EXIT_NO_HOST },
};

static const char *refused_words(int error)
{
	switch (error) {
	case EACCES:
		return "the connection does not come from a port below 1024: does a bridge hide this guest's port? See any-port in vgpud(8)";
	case EBUSY:
		return "an older connection of this guest still exists";
	case EMFILE:
		return "the host has no room for another guest";
	default:
		return strerror(error);
	}
}

void reach_words(const struct vgpu_reach_info *reach, char words[256])
{
	const char *state = reach->state;

	words[0] = '\0';
	if (!strcmp(state, "no host"))
		snprintf(words, 256, "nobody answers there (%s): does vgpud run on the host, and does it listen on that port?",
			 strerror(reach->error));
	else if (!strcmp(state, "refused"))
		snprintf(words, 256, "%s", refused_words(reach->error));
	else if (!strcmp(state, "wrong version"))
		snprintf(words, 256, "the host speaks another version of the protocol: install the same vgpu on both machines");
	else if (!strcmp(state, "nothing exported"))
		snprintf(words, 256, "the host exports nothing to this guest: run 'vgpuctl export PATH --to CID' there");
}

int reach_status(const struct machine *machine, bool json)
{
	const struct vgpu_reach_info *reach;
	char words[256];
	size_t i, j;

	if (machine->host || !machine->is_guest || machine->nr_nodes)
		return 0;
	for (i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		for (j = 0; j < machine->nr_reach; j++) {
			reach = &machine->reach[j];
			if (strcmp(reach->state, states[i].state))
				continue;
			if (!json)
				return states[i].status;
			reach_words(reach, words);
			return fail(states[i].status, "host %s: %s%s%s", reach->host, reach->state,
				    *words ? ": " : "", words);
		}
	return json ? fail(EXIT_NO_HOST, "the module vgpu_guest has no host configured") : EXIT_NO_HOST;
}
