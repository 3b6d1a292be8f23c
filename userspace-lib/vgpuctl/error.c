// SPDX-License-Identifier: MIT
/*
 * Errors of vgpuctl: messages, JSON objects and exit statuses. Also the reasons why a guest has no
 * device.
 */
#include <errno.h>
#include <grp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "make.h"
#include "vgpuctl.h"

static bool as_json;

/* Names of the exit statuses in JSON: the reason of an error. */
static const char *const reasons[] = {
	[EXIT_FAILED] = "failed",
	[EXIT_USAGE] = "usage",
	[EXIT_NO_VGPU] = "no-vgpu",
	[EXIT_DENIED] = "denied",
	[EXIT_NOT_FOUND] = "not-found",
	[EXIT_IN_USE] = "in-use",
	[EXIT_WRONG_DEVICE] = "wrong-device",
	[EXIT_NO_HOST] = "no-host",
	[EXIT_REFUSED] = "refused",
	[EXIT_WRONG_VERSION] = "wrong-version",
	[EXIT_NOTHING] = "nothing-exported",
};

void errors_as_json(void)
{
	as_json = true;
}

int fail(int status, const char *fmt, ...)
{
	char *message = NULL;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&message, fmt, args) < 0)
		message = NULL;
	va_end(args);
	if (as_json)
		print_error_json(status, reasons[status], message ? message : "");
	else
		fprintf(stderr, "vgpuctl: %s\n", message ? message : strerror(ENOMEM));
	free(message);
	return status;
}

void end_without_memory(void)
{
	if (as_json)
		fprintf(stderr, "{\"error\":{\"status\":%d,\"reason\":\"failed\",\"message\":\"out of memory\"}}\n",
			EXIT_FAILED);
	else
		fprintf(stderr, "vgpuctl: out of memory\n");
	exit(EXIT_FAILED);
}

int exit_status(int error)
{
	switch (-error) {
	case EPERM:
	case EACCES:
		return EXIT_DENIED;
	case ENOENT:
		return EXIT_NOT_FOUND;
	case EEXIST:
	case EBUSY:
	case EADDRINUSE:
		return EXIT_IN_USE;
	case ENOTTY:
	case EXDEV:
		return EXIT_WRONG_DEVICE;
	case EINVAL:
	case ENAMETOOLONG:
		return EXIT_USAGE;
	default:
		return EXIT_FAILED;
	}
}

int open_agent(const struct options *options, struct vgpu_agent **agent)
{
	const char *given = options->values[OPT_SOCKET], *path = given ? given : VGPU_AGENT_SOCKET;
	int ret = vgpu_agent_open(path, agent);

	return ret ? open_failed(path, ret) : 0;
}

/* Print an error: the user may not open the socket. Return: an exit status. */
static int open_denied(const char *path)
{
	struct group *group = NULL;
	struct stat stat;

	if (!lstat(path, &stat) && S_ISSOCK(stat.st_mode) && stat.st_gid)
		group = getgrgid(stat.st_gid);
	if (group)
		return fail(EXIT_DENIED,
			    "%s: only root and members of the group '%s' may ask vgpud: use sudo, or join the group ('usermod -aG %s USER') and log in again",
			    path, group->gr_name, group->gr_name);
	return fail(EXIT_DENIED, "%s: only root may ask vgpud: use sudo", path);
}

int open_failed(const char *path, int error)
{
	struct stat stat;

	switch (error) {
	case -EACCES:
		return open_denied(path);
	case -ENOENT:
	case -ECONNREFUSED:
		if (!lstat(path, &stat) && !S_ISSOCK(stat.st_mode))
			return fail(EXIT_USAGE, "%s is no socket: give vgpud's control socket with --socket, or leave --socket out",
				    path);
		return fail(EXIT_NO_VGPU,
			    "vgpud does not run on this machine (%s): start it with 'systemctl start vgpud'",
			    path);
	case -ENAMETOOLONG:
		return fail(EXIT_USAGE, "--socket: the path has more than %zu characters: give a shorter one",
			    sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1);
	case -EAGAIN:
		return fail(EXIT_FAILED, "%s: too many programs ask vgpud at once: try again",
			    path);
	default:
		return fail(exit_status(error), "%s: %s: see 'systemctl status vgpud'", path,
			    strerror(-error));
	}
}

int agent_failed(struct vgpu_agent *agent, int error)
{
	const char *message = vgpu_agent_message(agent);

	return fail(exit_status(error), "%s", *message ? message : strerror(-error));
}

/* --- reasons why a guest has no device ----------------------------------------- */

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
		return "an older connection of this guest still exists: wait, or see 'vgpuctl status' there";
	case EMFILE:
		return "the host has no room for another guest: see 'journalctl -u vgpud' there";
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
			reach = machine->reach[j];
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
