// SPDX-License-Identifier: MIT
/* vgpuctl: see and say what a host exports; see what a guest has. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vgpuctl.h"

/* How long a guest may take to move its mappings. */
#define DRAIN_SECONDS	30

/* Documented in vgpuctl(1). */
enum {
	EXIT_FAILED = 1,	/* anything else */
	EXIT_USAGE = 2,		/* wrong arguments */
	EXIT_NO_VGPU = 3,	/* no agent runs here, and no guest module */
	EXIT_DENIED = 4,	/* not allowed: be root */
	EXIT_NOT_FOUND = 5,	/* no such device, export or guest */
	EXIT_IN_USE = 6,	/* name or port taken, or a guest uses the device */
	EXIT_WRONG_DEVICE = 7,	/* not a device that can be exported */
};

struct options {
	const char *socket;
	const char *name;
	const char *to;
	bool any_port;
	bool master;
	bool read_only;
	bool force;
	bool json;
	bool nvidia;
	bool memory;
	const char *size;
	const char *owner;
	/* Which were given, to refuse those that a command does not have. */
	unsigned int given;
};

enum { OPT_TO = 1, OPT_NAME, OPT_ANY_PORT, OPT_MASTER, OPT_READ_ONLY, OPT_FORCE, OPT_JSON,
       OPT_SOCKET, OPT_SIZE, OPT_OWNER, OPT_NVIDIA, OPT_MEMORY, OPT_HELP, OPT_VERSION };

#define ALLOW(option) (1U << (option))

static const struct option long_options[] = {
	{ "to", required_argument, NULL, OPT_TO },
	{ "name", required_argument, NULL, OPT_NAME },
	{ "any-port", no_argument, NULL, OPT_ANY_PORT },
	{ "master", no_argument, NULL, OPT_MASTER },
	{ "read-only", no_argument, NULL, OPT_READ_ONLY },
	{ "force", no_argument, NULL, OPT_FORCE },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "size", required_argument, NULL, OPT_SIZE },
	{ "owner", required_argument, NULL, OPT_OWNER },
	{ "memory", no_argument, NULL, OPT_MEMORY },
	{ "nvidia", no_argument, NULL, OPT_NVIDIA },
	{ "socket", required_argument, NULL, OPT_SOCKET },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

static void usage(FILE *to)
{
	fputs("usage: vgpuctl export PATH --to CID[:PORT] [--name NAME] [--master]\n"
	      "               [--read-only] [--any-port]\n"
	      "       vgpuctl export --nvidia [N] --to CID[:PORT] [--any-port]\n"
	      "       vgpuctl unexport NAME [--to CID[:PORT]] [--force]\n"
	      "       vgpuctl unexport --nvidia [N] [--to CID[:PORT]] [--force]\n"
	      "       vgpuctl window create --to CID[:PORT] --size SIZE [--owner USER]\n"
	      "       vgpuctl window drain --to CID[:PORT]\n"
	      "       vgpuctl window fill --to CID[:PORT]\n"
	      "       vgpuctl window destroy --to CID[:PORT] [--force]\n"
	      "       vgpuctl window list [--json]\n"
	      "       vgpuctl window qemu-args --to CID[:PORT] [--memory]\n"
	      "       vgpuctl list [--json]\n"
	      "       vgpuctl status [--json]\n"
	      "       vgpuctl --help | --version\n"
	      "\n"
	      "On a host: lets a guest use a device file, takes it back, shows what is\n"
	      "exported and who uses it. In a guest: shows the devices that it has.\n"
	      "\n"
	      "  --to CID[:PORT]   the guest; its vsock context id, and the port of this\n"
	      "                    host that it connects to, if not the usual one\n"
	      "  --nvidia [N]      the device files of card N of NVIDIA's driver, or of all\n"
	      "  --name NAME       name of the export (default: last part of PATH)\n"
	      "  --master          the guest may become DRM master (mode setting)\n"
	      "  --read-only       the guest may open the device for reading only\n"
	      "  --any-port        the guest comes through a bridge that hides ports;\n"
	      "                    any user of it can then pose as its kernel\n"
	      "  --size SIZE       of the window, in bytes, or with K, M, G: 4G\n"
	      "  --owner USER      whose hypervisor opens it (default: libvirt's, or root)\n"
	      "  --memory          with a device by which QEMU shares the guest's memory, so\n"
	      "                    that devices can keep some\n"
	      "  --force           although programs use it (open files stay open), or a file\n"
	      "                    asks for it\n"
	      "  --json            print JSON\n"
	      "  --socket PATH     the agent's socket (default " VGPU_AGENT_SOCKET ")\n"
	      "\n"
	      "Exit status: 0 done; 1 failed; 2 wrong arguments; 3 neither agent nor guest\n"
	      "module here; 4 not allowed; 5 not found; 6 in use; 7 no device to export\n", to);
}

static int usage_error(const char *message, const char *what)
{
	fprintf(stderr, "vgpuctl: %s%s (vgpuctl --help)\n", message, what);
	return EXIT_USAGE;
}

static int exit_status(int error)
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

static int open_agent(const struct options *options, struct vgpu_agent **agent)
{
	const char *path = options->socket ? options->socket : VGPU_AGENT_SOCKET;
	int ret = vgpu_agent_open(options->socket, agent);

	switch (ret) {
	case 0:
		return 0;
	case -ENOENT:
	case -ECONNREFUSED:
		fprintf(stderr, "vgpuctl: vgpud does not run on this machine (%s): start it with 'systemctl start vgpud'\n",
			path);
		return EXIT_NO_VGPU;
	default:
		fprintf(stderr, "vgpuctl: %s: %s\n", path, strerror(-ret));
		return exit_status(ret);
	}
}

/* What went wrong at the agent, in its words. */
static int agent_failed(struct vgpu_agent *agent, int error)
{
	const char *message = vgpu_agent_message(agent);

	fprintf(stderr, "vgpuctl: %s\n", *message ? message : strerror(-error));
	return exit_status(error);
}

static bool parse_u32(const char *text, const char **end, uint32_t *value)
{
	unsigned long long number;
	char *after;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	number = strtoull(text, &after, 0);
	*end = after;
	*value = number;
	return !errno && number && number < UINT32_MAX;
}

static bool parse_guest(const char *text, uint32_t *cid, uint32_t *port)
{
	const char *end;

	*port = 0;
	if (!parse_u32(text, &end, cid))
		return false;
	if (*end == ':' && !parse_u32(end + 1, &end, port))
		return false;
	return !*end;
}

static int bad_guest(const char *text)
{
	fprintf(stderr, "vgpuctl: --to %s: give the guest's context id, a number from 1 to 4294967294, and a port if need be: --to 3, --to 3:22590\n",
		text);
	return EXIT_USAGE;
}

/* The number of a card of NVIDIA's driver; none means all. */
static bool parse_card(const char *text, int *card)
{
	size_t digits = text ? strspn(text, "0123456789") : 0;

	*card = text ? atoi(text) : VGPU_NVIDIA_ALL;
	return !text || (digits && digits < 4 && !text[digits]);
}

static int bad_card(const char *text)
{
	fprintf(stderr, "vgpuctl: --nvidia %s: give the number of the card, that of /dev/nvidiaN, or none for all\n",
		text);
	return EXIT_USAGE;
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
	if (ret)
		ret = agent_failed(agent, ret);
	else if (!request->nvidia)
		printf("%s: %s to guest %s\n", name, request->path, options->to);
	else if (request->card == VGPU_NVIDIA_ALL)
		printf("all cards of NVIDIA's to guest %s\n", options->to);
	else
		printf("nvidia%d and what it needs to guest %s\n", request->card, options->to);
	vgpu_agent_close(agent);
	return ret;
}

static int cmd_export(const char *path, const struct options *options)
{
	struct vgpu_export_request request = {
		.name = options->name,
		.any_port = options->any_port,
		.master = options->master,
		.read_only = options->read_only,
		.nvidia = options->nvidia,
	};
	char *real = NULL;
	int ret;

	if (!options->to)
		return usage_error("export needs --to CID", "");
	if (!parse_guest(options->to, &request.cid, &request.port))
		return bad_guest(options->to);
	if (options->nvidia) {
		if (options->given & (ALLOW(OPT_NAME) | ALLOW(OPT_MASTER) | ALLOW(OPT_READ_ONLY)))
			return usage_error("--nvidia goes with --to and --any-port only", "");
		if (!parse_card(path, &request.card))
			return bad_card(path);
		return export_agent(options, &request);
	}
	/* As the agent has another working directory. Links may be meant to move. */
	if (path[0] != '/') {
		real = realpath(path, NULL);
		if (!real) {
			fprintf(stderr, "vgpuctl: %s: %s\n", path, strerror(errno));
			return exit_status(-errno);
		}
	}
	request.path = real ? real : path;
	ret = export_agent(options, &request);
	free(real);
	return ret;
}

static int cmd_unexport(const char *name, const struct options *options)
{
	uint32_t cid = 0, port = 0;
	struct vgpu_agent *agent;
	int card = 0, ret;

	if (options->to && !parse_guest(options->to, &cid, &port))
		return bad_guest(options->to);
	if (options->nvidia && !parse_card(name, &card))
		return bad_card(name);
	ret = open_agent(options, &agent);
	if (ret)
		return ret;
	if (options->nvidia)
		ret = vgpu_agent_unexport_nvidia(agent, card, cid, port, options->force);
	else
		ret = vgpu_agent_unexport(agent, name, cid, port, options->force);
	if (ret)
		ret = agent_failed(agent, ret);
	vgpu_agent_close(agent);
	return ret;
}

/* Bytes, or 0. */
static uint64_t parse_size(const char *text)
{
	static const char units[] = "KMGT";
	unsigned long long size;
	const char *unit;
	char *end;

	if (*text < '0' || *text > '9')
		return 0;
	errno = 0;
	size = strtoull(text, &end, 0);
	unit = *end ? strchr(units, *end) : NULL;
	if (errno || (*end && (!unit || end[1])))
		return 0;
	for (; unit && unit >= units; unit--) {
		if (size > UINT64_MAX >> 10)
			return 0;
		size <<= 10;
	}
	return size;
}

static int window_create(struct vgpu_agent *agent, const struct vgpu_window_request *request)
{
	char path[48];
	int ret;

	ret = vgpu_agent_window_create(agent, request, path);
	if (ret)
		return agent_failed(agent, ret);
	puts(path);
	return 0;
}

/* As window_create(). */
static int window_destroy(struct vgpu_agent *agent, const struct vgpu_window_request *request,
			  bool force)
{
	int ret = vgpu_agent_window_destroy(agent, request->cid, request->port, force);

	return ret ? agent_failed(agent, ret) : 0;
}

/* Nothing of the guest is in its window any more. Return: as agent_failed(). */
static int window_await_empty(struct vgpu_agent *agent, const struct vgpu_window_request *request)
{
	struct vgpu_host_info *host;
	uint64_t bindings = 0;
	unsigned int tries;
	size_t i;
	int ret;

	for (tries = 0; tries < DRAIN_SECONDS * 10; tries++) {
		ret = vgpu_agent_status(agent, &host);
		if (ret)
			return agent_failed(agent, ret);
		bindings = 0;
		for (i = 0; i < host->nr_windows; i++)
			if (host->windows[i].cid == request->cid &&
			    host->windows[i].port == (request->port ? request->port : host->port))
				bindings = host->windows[i].bindings;
		vgpu_host_info_free(host);
		if (!bindings)
			return 0;
		usleep(100000);
	}
	fprintf(stderr, "vgpuctl: %" PRIu64 " mappings of guest %" PRIu32 " are in the window still\n",
		bindings, request->cid);
	return EXIT_IN_USE;
}

/* As window_create(). */
static int window_drain(struct vgpu_agent *agent, const struct vgpu_window_request *request,
			bool drain)
{
	int ret = vgpu_agent_window_drain(agent, request->cid, request->port, drain);

	if (ret)
		return agent_failed(agent, ret);
	return drain ? window_await_empty(agent, request) : 0;
}

/* All windows (cid 0), or how QEMU is told of one. */
static int window_show(struct vgpu_agent *agent, const struct vgpu_window_request *request,
		       const struct options *options)
{
	struct vgpu_host_info *host;
	int ret = vgpu_agent_status(agent, &host);

	if (ret)
		return agent_failed(agent, ret);
	if (!request->cid && options->json) {
		print_windows_json(host);
	} else if (!request->cid) {
		print_windows(host);
	} else if (!print_qemu_args(host, request->cid, request->port, options->memory)) {
		fprintf(stderr, "vgpuctl: guest %" PRIu32 " has no window%s: 'vgpuctl window list' shows them\n",
			request->cid, options->memory ? " with which memory is shared" : "");
		ret = EXIT_NOT_FOUND;
	}
	vgpu_host_info_free(host);
	return ret;
}

enum window_verb {
	WINDOW_CREATE, WINDOW_DRAIN, WINDOW_FILL, WINDOW_DESTROY, WINDOW_LIST, WINDOW_QEMU_ARGS,
};

static const struct {
	const char *name;
	unsigned int options;
	unsigned int needed;
} window_verbs[] = {
	[WINDOW_CREATE] = { "create", ALLOW(OPT_TO) | ALLOW(OPT_SIZE) | ALLOW(OPT_OWNER),
			    ALLOW(OPT_TO) | ALLOW(OPT_SIZE) },
	[WINDOW_DRAIN] = { "drain", ALLOW(OPT_TO), ALLOW(OPT_TO) },
	[WINDOW_FILL] = { "fill", ALLOW(OPT_TO), ALLOW(OPT_TO) },
	[WINDOW_DESTROY] = { "destroy", ALLOW(OPT_TO) | ALLOW(OPT_FORCE), ALLOW(OPT_TO) },
	[WINDOW_LIST] = { "list", ALLOW(OPT_JSON), 0 },
	[WINDOW_QEMU_ARGS] = { "qemu-args", ALLOW(OPT_TO) | ALLOW(OPT_MEMORY), ALLOW(OPT_TO) },
};

/* A usage error that names one of these options. */
static int window_option_error(const char *verb, const char *how, unsigned int which)
{
	const struct option *option;

	for (option = long_options; !(which & ALLOW(option->val)); option++)
		;
	fprintf(stderr, "vgpuctl: window %s %s --%s (vgpuctl --help)\n", verb, how, option->name);
	return EXIT_USAGE;
}

static int cmd_window(const char *name, const struct options *options)
{
	struct vgpu_window_request request = { .owner = options->owner };
	unsigned int given = options->given & ~ALLOW(OPT_SOCKET);
	const size_t nr = sizeof(window_verbs) / sizeof(window_verbs[0]);
	struct vgpu_agent *agent;
	size_t verb = 0;
	int ret;

	while (verb < nr && strcmp(window_verbs[verb].name, name))
		verb++;
	if (verb == nr)
		return usage_error("windows are for create, drain, fill, destroy, list and qemu-args, not ", name);
	if (given & ~window_verbs[verb].options)
		return window_option_error(name, "has no", given & ~window_verbs[verb].options);
	if (window_verbs[verb].needed & ~given)
		return window_option_error(name, "needs", window_verbs[verb].needed & ~given);
	if (options->to && !parse_guest(options->to, &request.cid, &request.port))
		return bad_guest(options->to);
	if (options->size) {
		request.size = parse_size(options->size);
		if (!request.size)
			return usage_error("a size is a number, perhaps with K, M, G or T: not ",
					   options->size);
	}
	ret = open_agent(options, &agent);
	if (ret)
		return ret;
	if (verb == WINDOW_CREATE)
		ret = window_create(agent, &request);
	else if (verb == WINDOW_DRAIN || verb == WINDOW_FILL)
		ret = window_drain(agent, &request, verb == WINDOW_DRAIN);
	else if (verb == WINDOW_DESTROY)
		ret = window_destroy(agent, &request, options->force);
	else
		ret = window_show(agent, &request, options);
	vgpu_agent_close(agent);
	return ret;
}

static int cmd_show(const struct options *options, bool status)
{
	struct machine machine = { NULL };
	struct vgpu_agent *agent;
	int ret;

	machine.is_guest = !vgpu_nodes(&machine.nodes, &machine.nr_nodes);
	ret = vgpu_agent_open(options->socket, &agent);
	if (!ret) {
		ret = vgpu_agent_status(agent, &machine.host);
		if (ret)
			ret = agent_failed(agent, ret);
		vgpu_agent_close(agent);
	} else if (ret != -ENOENT && ret != -ECONNREFUSED) {
		fprintf(stderr, "vgpuctl: agent: %s\n", strerror(-ret));
		ret = exit_status(ret);
	} else if (!machine.is_guest || options->socket) {
		fputs("vgpuctl: this machine is neither a host (vgpud does not run) nor a guest (vgpu_guest is not loaded): 'systemctl start vgpud' or 'modprobe vgpu_guest'\n",
		      stderr);
		ret = EXIT_NO_VGPU;
	} else {
		ret = 0;
	}
	if (!ret && options->json)
		print_machine_json(&machine, status);
	else if (!ret)
		print_machine(&machine, status);
	vgpu_host_info_free(machine.host);
	if (machine.is_guest)
		vgpu_nodes_free(machine.nodes, machine.nr_nodes);
	return ret;
}

static int cmd_list(const char *unused, const struct options *options)
{
	(void)unused;
	return cmd_show(options, false);
}

static int cmd_status(const char *unused, const struct options *options)
{
	(void)unused;
	return cmd_show(options, true);
}

static const struct command {
	const char *name;
	const char *operand;		/* NULL: none */
	unsigned int options;
	int (*run)(const char *operand, const struct options *options);
} commands[] = {
	{ "export", "the PATH of a device file",
	  ALLOW(OPT_TO) | ALLOW(OPT_NAME) | ALLOW(OPT_ANY_PORT) | ALLOW(OPT_MASTER) |
	  ALLOW(OPT_READ_ONLY) | ALLOW(OPT_NVIDIA), cmd_export },
	{ "unexport", "the NAME of an export",
	  ALLOW(OPT_TO) | ALLOW(OPT_FORCE) | ALLOW(OPT_NVIDIA), cmd_unexport },
	{ "window", "a verb: create, destroy, drain, fill, list or qemu-args",
	  ALLOW(OPT_TO) | ALLOW(OPT_SIZE) | ALLOW(OPT_OWNER) | ALLOW(OPT_FORCE) |
	  ALLOW(OPT_JSON) | ALLOW(OPT_MEMORY), cmd_window },
	{ "list", NULL, ALLOW(OPT_JSON), cmd_list },
	{ "status", NULL, ALLOW(OPT_JSON), cmd_status },
};

static void take_option(int opt, struct options *options)
{
	options->given |= ALLOW(opt);
	switch (opt) {
	case OPT_TO:
		options->to = optarg;
		break;
	case OPT_NAME:
		options->name = optarg;
		break;
	case OPT_ANY_PORT:
		options->any_port = true;
		break;
	case OPT_MASTER:
		options->master = true;
		break;
	case OPT_READ_ONLY:
		options->read_only = true;
		break;
	case OPT_FORCE:
		options->force = true;
		break;
	case OPT_JSON:
		options->json = true;
		break;
	case OPT_NVIDIA:
		options->nvidia = true;
		break;
	case OPT_MEMORY:
		options->memory = true;
		break;
	case OPT_SIZE:
		options->size = optarg;
		break;
	case OPT_OWNER:
		options->owner = optarg;
		break;
	case OPT_SOCKET:
		options->socket = optarg;
		break;
	}
}

static int run_command(const struct command *command, int argc, char **argv,
		       const struct options *options)
{
	unsigned int wrong = options->given & ~(command->options | ALLOW(OPT_SOCKET));
	const struct option *option;

	for (option = long_options; option->name; option++)
		if (wrong & ALLOW(option->val)) {
			fprintf(stderr, "vgpuctl: %s has no option --%s (vgpuctl --help)\n",
				command->name, option->name);
			return EXIT_USAGE;
		}
	if (command->operand && argc != 1 && !(options->nvidia && !argc)) {
		fprintf(stderr, "vgpuctl: %s needs %s (vgpuctl --help)\n", command->name,
			command->operand);
		return EXIT_USAGE;
	}
	if (!command->operand && argc)
		return usage_error("too many arguments: ", argv[0]);
	return command->run(argc ? argv[0] : NULL, options);
}

int main(int argc, char **argv)
{
	struct options options = { NULL };
	size_t i;
	int opt;

	while ((opt = getopt_long(argc, argv, "", long_options, NULL)) >= 0) {
		switch (opt) {
		case OPT_HELP:
			usage(stdout);
			return EXIT_SUCCESS;
		case OPT_VERSION:
			puts("vgpuctl " VGPU_VERSION);
			return EXIT_SUCCESS;
		case '?':
			/* getopt has said what is wrong. */
			fputs("vgpuctl --help shows how to use it\n", stderr);
			return EXIT_USAGE;
		default:
			take_option(opt, &options);
			break;
		}
	}
	if (optind == argc) {
		usage(stderr);
		return EXIT_USAGE;
	}
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(commands[i].name, argv[optind]))
			return run_command(&commands[i], argc - optind - 1, argv + optind + 1,
					   &options);
	return usage_error("there is no command ", argv[optind]);
}
