// SPDX-License-Identifier: MIT
/* A guest: its module, and whether it reaches its hosts. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vgpuctl/doctor/doctor.h"
#include "vgpuctl/vgpuctl.h"

#define HOSTS	"/sys/module/vgpu_guest/hosts"

/* Names of findings about states of a host. An error of 0 stands for all others. */
static const struct {
	const char *state;
	int error;
	const char *name;
	const char *remedy;
} states[] = {
	{ "no host", 0, "host-silent",
	  "on the host: vgpuctl doctor host; does vgpud run there, and listen on this port?" },
	{ "refused", EACCES, "host-refuses-port",
	  "a bridge hides this guest's port: on the host, add any-port to the export (vgpu-exports(5))" },
	{ "refused", EBUSY, "host-refuses-twice",
	  "wait some seconds; if it stays so, two guests have one context id: compare guest-cid= of the QEMUs" },
	{ "refused", EMFILE, "host-full",
	  "on the host: raise uid-count in [shadow] of vgpud.conf, or end other guests" },
	{ "refused", 0, "host-refuses", "on the host: journalctl -u vgpud says why" },
	{ "wrong version", 0, "host-other-version",
	  "install the same version of vgpu on the host and in this guest" },
	{ "nothing exported", 0, "host-exports-nothing",
	  "on the host: vgpuctl export PATH --to CID, with the context id of this guest" },
};

void guest_module_examine(struct doctor *doctor)
{
	module_examine_own(doctor, "vgpu_guest");
	module_examine(doctor, FINDING_ERROR, "vgpu_guest", "this guest has no devices of its host");
	if (kernel_before(doctor, 6, 1)) {
		found(doctor, ERROR, "kernel-old", "",
		      "kernel %s is older than 6.1, the oldest with which vgpu works",
		      doctor->release);
		advise(doctor, "start a kernel from 6.1 on");
	}
}

static void examine_host(struct doctor *doctor, char *host)
{
	char path[320], state[256], error[256], words[256];
	struct vgpu_reach_info reach = { .host = host, .state = state };
	size_t i;

	snprintf(path, sizeof(path), HOSTS "/%s/state", host);
	if (!root_line(&doctor->root, path, state))
		return;
	snprintf(path, sizeof(path), HOSTS "/%s/error", host);
	reach.error = root_line(&doctor->root, path, error) ? atoi(error) : 0;
	reach_words(&reach, words);
	if (!strcmp(state, "connected")) {
		found(doctor, PASSED, "host-connected", host, "host %s is connected", host);
		return;
	}
	if (!strcmp(state, "connecting")) {
		found(doctor, NOTE, "host-connecting", host,
		      "host %s has not answered yet", host);
		advise(doctor, "ask again in some seconds");
		return;
	}
	for (i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (!strcmp(state, states[i].state) &&
		    (!states[i].error || states[i].error == reach.error))
			break;
	if (i == sizeof(states) / sizeof(states[0])) {
		found(doctor, ERROR, "host-unknown-state", host, "host %s: %s", host, state);
		advise(doctor, "install the vgpuctl and the vgpu_guest of one version");
		return;
	}
	found(doctor, ERROR, states[i].name, host, "host %s: %s: %s", host, state, words);
	advise(doctor, "%s", states[i].remedy);
}

void guest_reach_examine(struct doctor *doctor)
{
	DIR *dir = root_dir(&doctor->root, HOSTS);
	struct dirent *entry;
	size_t nr = 0;

	while (dir && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0])) {
			examine_host(doctor, entry->d_name);
			nr++;
		}
	if (dir && !nr) {
		found(doctor, ERROR, "host-missing", "vgpu_guest", "vgpu_guest has no host to connect to");
		advise(doctor, "rmmod vgpu_guest && modprobe vgpu_guest, without cid= in /etc/modprobe.d");
	}
	if (dir)
		closedir(dir);
}
