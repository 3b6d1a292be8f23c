// SPDX-License-Identifier: MIT
/* Errors of vgpuctl: messages, JSON objects and exit statuses. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

	switch (ret) {
	case 0:
		return 0;
	case -ENOENT:
	case -ECONNREFUSED:
		return fail(EXIT_NO_VGPU,
			    "vgpud does not run on this machine (%s): start it with 'systemctl start vgpud'",
			    path);
	default:
		return fail(exit_status(ret), "%s: %s", path, strerror(-ret));
	}
}

int agent_failed(struct vgpu_agent *agent, int error)
{
	const char *message = vgpu_agent_message(agent);

	return fail(exit_status(error), "%s", *message ? message : strerror(-error));
}
