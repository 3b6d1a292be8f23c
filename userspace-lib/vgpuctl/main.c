// SPDX-License-Identifier: MIT
/* vgpuctl: shows and changes what a host exports, and shows the devices of a guest. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vgpuctl.h"

/* Table of the options. Help texts are made from this table and the table of commands. */
static const struct option_words {
	const char *name;
	const char *operand;		/* NULL: none */
	const char *help;
} options_words[NR_OPTIONS] = {
	[OPT_TO] = { "to", "GUEST",
		     "the guest: its vsock context id CID, or CID:PORT with the\n"
		     "vsock port of this host that the guest connects to, or the\n"
		     "NAME of its section [guest NAME] in the host's settings;\n"
		     "export and unexport take several --to" },
	[OPT_NVIDIA] = { "nvidia", NULL,
			 "all device files of NVIDIA's card N, or of all cards" },
	[OPT_NAME] = { "name", "NAME", "name of the export (default: last part of PATH)" },
	[OPT_MASTER] = { "master", NULL, "the guest may become DRM master (mode setting)" },
	[OPT_NO_DEMAND] = { "no-demand", NULL,
			    "the driver never waits for memory of guests' programs" },
	[OPT_READ_ONLY] = { "read-only", NULL, "the guest may open the device for reading only, and make\n"
			    "only ioctls that query it" },
	[OPT_PROFILE] = { "profile", "PROFILE",
			  "ioctls that the guest may make: those of render, display,\n"
			  "compute, of several (render,display), or all (default)" },
	[OPT_AUDIT] = { "audit", NULL,
			"let ioctls through that PROFILE does not have, count them\n"
			"(vgpuctl status) and log them" },
	[OPT_ANY_PORT] = { "any-port", NULL,
			   "accept a guest behind a bridge that hides ports; then any\n"
			   "user of that guest can pose as the guest's kernel" },
	[OPT_SIZE] = { "size", "SIZE",
		       "size of the window: bytes, or with K, M, G, T, such as 4G" },
	[OPT_OWNER] = { "owner", "USER",
			"user of the hypervisor (default: libvirt's user, or root)" },
	[OPT_MEMORY] = { "memory", NULL,
			 "add a device by which QEMU shares the guest's memory:\n"
			 "devices of the host can keep memory only with it" },
	[OPT_SAVE] = { "save", NULL,
		       "also write the limits to a file of the host, so that they last" },
	[OPT_FORCE] = { "force", NULL,
			"do it even if programs use the device (open files stay\n"
			"open) or the window, or a file in exports.d asks for it" },
	[OPT_NOW] = { "now", NULL,
		      "as --force, but close files that programs have open as well" },
	[OPT_JSON] = { "json", NULL, "print JSON, also for errors" },
	[OPT_SOCKET] = { "socket", "PATH",
			 "socket of vgpud (default " VGPU_AGENT_SOCKET ")" },
	[OPT_ROOT] = { "root", "DIR",
		       "examine the system whose root directory is DIR, such as a\n"
		       "mounted image, and not this one" },
	[OPT_VERBOSE] = { "verbose", NULL, "say also what was examined and is right" },
	[OPT_HELP] = { "help", NULL, "print help for a command, or for all commands" },
	[OPT_VERSION] = { "version", NULL, "print the version of vgpuctl" },
};

/* Order of the options in help texts. */
static const int options_order[] = {
	OPT_TO, OPT_NVIDIA, OPT_NAME, OPT_MASTER, OPT_NO_DEMAND, OPT_READ_ONLY, OPT_PROFILE,
	OPT_AUDIT, OPT_ANY_PORT,
	OPT_SIZE, OPT_OWNER, OPT_MEMORY, OPT_SAVE, OPT_FORCE, OPT_NOW, OPT_ROOT, OPT_VERBOSE,
	OPT_JSON, OPT_SOCKET, OPT_HELP, OPT_VERSION,
};

/* Options of all commands. */
#define COMMON_OPTIONS	(ALLOW(OPT_SOCKET) | ALLOW(OPT_JSON) | ALLOW(OPT_HELP))

static int cmd_list(const char *unused, const struct options *options);
static int cmd_status(const char *unused, const struct options *options);
static int cmd_help(const char *name, const struct options *options);

static const struct command {
	const char *name;
	const char *synopsis;		/* lines that follow "vgpuctl" */
	const char *operand;		/* NULL: none */
	unsigned int options;
	int (*run)(const char *operand, const struct options *options);
} commands[] = {
	{ "export",
	  "export PATH --to GUEST... [--name NAME] [--master]\n"
	  "              [--no-demand] [--read-only] [--profile PROFILE [--audit]]\n"
	  "              [--any-port]\n"
	  "export --nvidia [N] --to GUEST... [--any-port]\n",
	  "the PATH of a device file",
	  ALLOW(OPT_TO) | ALLOW(OPT_NAME) | ALLOW(OPT_ANY_PORT) | ALLOW(OPT_MASTER) |
	  ALLOW(OPT_NO_DEMAND) | ALLOW(OPT_READ_ONLY) | ALLOW(OPT_PROFILE) | ALLOW(OPT_AUDIT) |
	  ALLOW(OPT_NVIDIA),
	  cmd_export },
	{ "unexport",
	  "unexport NAME [--to GUEST]... [--force | --now]\n"
	  "unexport --nvidia [N] [--to GUEST]... [--force | --now]\n",
	  "the NAME of an export",
	  ALLOW(OPT_TO) | ALLOW(OPT_FORCE) | ALLOW(OPT_NOW) | ALLOW(OPT_NVIDIA), cmd_unexport },
	{ "window",
	  "window create --to GUEST --size SIZE [--owner USER]\n"
	  "window drain --to GUEST\n"
	  "window fill --to GUEST\n"
	  "window destroy --to GUEST [--force]\n"
	  "window list\n"
	  "window qemu-args --to GUEST [--memory]\n",
	  "a command: create, destroy, drain, fill, list or qemu-args",
	  ALLOW(OPT_TO) | ALLOW(OPT_SIZE) | ALLOW(OPT_OWNER) | ALLOW(OPT_FORCE) |
	  ALLOW(OPT_MEMORY), cmd_window },
	{ "limit", "limit GUEST [KEY=VALUE... [--save]]\n", "a GUEST", ALLOW(OPT_SAVE), cmd_limit },
	{ "reload", "reload\n", NULL, 0, cmd_reload },
	{ "diff", "diff\n", NULL, 0, cmd_diff },
	{ "list", "list\n", NULL, 0, cmd_list },
	{ "status", "status\n", NULL, 0, cmd_status },
	{ "doctor", "doctor [host | guest] [--root DIR] [--verbose]\n", NULL,
	  ALLOW(OPT_ROOT) | ALLOW(OPT_VERBOSE), cmd_doctor },
	{ "help", "help [COMMAND]\n", NULL, 0, cmd_help },
};

#define NR_COMMANDS	(sizeof(commands) / sizeof(commands[0]))

const char *option_name(int option)
{
	return options_words[option].name;
}

static const struct command *find_command(const char *name)
{
	const struct command *command;

	for (command = commands; command < commands + NR_COMMANDS; command++)
		if (!strcmp(command->name, name))
			return command;
	return NULL;
}

/* Print the lines of @text: the first one after @first, the others with the same indentation. */
static void put_lines(FILE *to, const char *first, const char *text)
{
	const char *line, *end;

	for (line = text; *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		fprintf(to, "%*s%.*s\n", line == text ? 0 : (int)strlen(first),
			line == text ? first : "", (int)(end - line), line);
	}
}

static void put_synopsis(FILE *to, const struct command *command, bool first)
{
	const char *line, *end;

	for (line = command->synopsis; *line; line = end + 1) {
		end = strchr(line, '\n');
		/* A line that begins with a blank continues the one before it. */
		fprintf(to, "%s %s%.*s\n", first ? "usage:" : "      ",
			*line == ' ' ? "" : "vgpuctl ", (int)(end - line), line);
		first = false;
	}
}

static void put_options(FILE *to, unsigned int which)
{
	const struct option_words *words;
	char name[48];
	size_t i;

	fputc('\n', to);
	for (i = 0; i < sizeof(options_order) / sizeof(options_order[0]); i++) {
		if (!(which & ALLOW(options_order[i])))
			continue;
		words = &options_words[options_order[i]];
		snprintf(name, sizeof(name), "%s--%s%s%s%s", options_order[i] == OPT_HELP ? "-h, " :
			 options_order[i] == OPT_VERSION ? "-V, " : "", words->name,
			 words->operand ? " " : "", words->operand ? words->operand : "",
			 options_order[i] == OPT_NVIDIA ? " [N]" : "");
		snprintf(name, sizeof(name), "  %-18s", strdupa(name));
		put_lines(to, name, words->help);
	}
}

static void usage(FILE *to)
{
	size_t i;

	for (i = 0; i < NR_COMMANDS; i++)
		put_synopsis(to, &commands[i], !i);
	fputs("       vgpuctl --version\n"
	      "\n"
	      "On a host: let a guest use a device file, take the file back, show exports\n"
	      "and their users. In a guest: show its devices and the state of its hosts.\n"
	      "On both: say what is wrong and what to do (doctor).\n", to);
	put_options(to, ~0U);
	fputs("\n"
	      "Exit status: 0 done; 1 failed; 2 wrong arguments; 3 neither vgpud nor module\n"
	      "vgpu_guest here; 4 not allowed; 5 not found; 6 in use; 7 no device to export.\n"
	      "In a guest without a device: 8 no host answers; 9 the host refuses this guest;\n"
	      "10 the host has another version; 11 the host exports nothing to this guest\n", to);
}

static int command_help(const struct command *command)
{
	put_synopsis(stdout, command, true);
	put_options(stdout, command->options | COMMON_OPTIONS);
	return EXIT_SUCCESS;
}

static int cmd_help(const char *name, const struct options *options)
{
	const struct command *command = name ? find_command(name) : NULL;

	(void)options;
	if (name && !command)
		return fail(EXIT_USAGE, "there is no command %s (vgpuctl help)", name);
	if (command)
		return command_help(command);
	usage(stdout);
	return EXIT_SUCCESS;
}

static int cmd_show(const struct options *options, bool status)
{
	const char *given = options->values[OPT_SOCKET];
	struct machine machine = { NULL };
	struct vgpu_agent *agent;
	int ret;

	machine.is_guest = !vgpu_nodes(&machine.nodes, &machine.nr_nodes);
	if (machine.is_guest)
		vgpu_reach(&machine.reach, &machine.nr_reach);
	ret = vgpu_agent_open(given, &agent);
	if (!ret) {
		ret = vgpu_agent_status(agent, &machine.host);
		if (ret)
			ret = agent_failed(agent, ret);
		vgpu_agent_close(agent);
	} else if (ret != -ENOENT && ret != -ECONNREFUSED) {
		ret = open_failed(given ? given : VGPU_AGENT_SOCKET, ret);
	} else if (!machine.is_guest || given) {
		ret = fail(EXIT_NO_VGPU,
			   "this machine is neither a host (vgpud does not run) nor a guest (vgpu_guest is not loaded): 'systemctl start vgpud' or 'modprobe vgpu_guest'");
	} else {
		ret = 0;
	}
	if (!ret && status && machine.host && exposures_find(machine.host, &machine.exposures))
		ret = fail(EXIT_FAILED, "%s", strerror(ENOMEM));
	if (!ret && option_given(options, OPT_JSON))
		print_machine_json(&machine, status);
	else if (!ret)
		print_machine(&machine, status);
	if (!ret)
		ret = reach_status(&machine, option_given(options, OPT_JSON));
	exposures_free(machine.exposures, machine.host ? machine.host->nr_windows : 0);
	vgpu_host_info_free(machine.host);
	vgpu_nodes_free(machine.nodes, machine.nr_nodes);
	vgpu_reach_free(machine.reach, machine.nr_reach);
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

/* --- command line -------------------------------------------------------------- */

/* Handle an option. Return: 0 or an exit status. */
static int take_option(int opt, struct options *options)
{
	/*
	 * A second value of an option is refused, because either of the two may be the one
	 * meant.
	 */
	if (optarg && opt != OPT_TO && option_given(options, opt))
		return fail(EXIT_USAGE, "--%s is given twice: give this option once",
			    option_name(opt));
	options->given |= ALLOW(opt);
	if (opt == OPT_TO)
		return guests_add(options, optarg);
	options->values[opt] = optarg;
	return 0;
}

/* Return the argument in which getopt_long() found the last option. */
static const char *option_word(char **argv)
{
	return optarg && optarg == argv[optind - 1] ? argv[optind - 2] : argv[optind - 1];
}

/* Handle all options. Return: 0 or an exit status. */
static int take_options(int argc, char **argv, struct options *options)
{
	struct option table[NR_OPTIONS] = { { NULL, 0, NULL, 0 } };
	int opt, ret, index;
	const char *word;
	size_t i;

	for (i = 1; i < NR_OPTIONS; i++)
		table[i - 1] = (struct option){ options_words[i].name,
			options_words[i].operand ? required_argument : no_argument, NULL, i };
	opterr = 0;
	for (;;) {
		index = -1;
		opt = getopt_long(argc, argv, ":hV", table, &index);
		if (opt < 0)
			return 0;
		word = option_word(argv);
		if (opt == ':')
			return fail(EXIT_USAGE, "--%s needs %s (vgpuctl --help)",
				    option_name(optopt), options_words[optopt].operand);
		if (opt == '?' && optopt > 0 && optopt < NR_OPTIONS)
			return fail(EXIT_USAGE, "--%s takes no value (vgpuctl --help)",
				    option_name(optopt));
		if (opt == '?' && optopt)
			return fail(EXIT_USAGE, "there is no option -%c (vgpuctl --help)", optopt);
		/* Refuse abbreviations, which getopt_long() takes and scripts should not use. */
		if (opt == '?' ||
		    (index >= 0 && strcspn(word + 2, "=") != strlen(table[index].name)))
			return fail(EXIT_USAGE, "there is no option %.*s (vgpuctl --help)",
				    (int)strcspn(word, "="), word);
		if (opt == 'h' || opt == 'V')
			opt = opt == 'h' ? OPT_HELP : OPT_VERSION;
		ret = take_option(opt, options);
		if (ret)
			return ret;
	}
}

static int run_command(const struct command *command, int argc, char **argv,
		       struct options *options)
{
	unsigned int wrong = options->given & ~(command->options | COMMON_OPTIONS);
	const char *operand = argc ? argv[0] : NULL;
	int ret;

	if (option_given(options, OPT_HELP))
		return command_help(command);
	if (wrong)
		return fail(EXIT_USAGE, "%s has no option --%s (vgpuctl --help)", command->name,
			    option_name(__builtin_ctz(wrong)));
	if (command->operand && argc > 1 && command->run == cmd_limit) {
		options->more = argv + 1;
		options->nr_more = argc - 1;
		argc = 1;
	}
	if (command->operand && argc != 1 && !(option_given(options, OPT_NVIDIA) && !argc))
		return fail(EXIT_USAGE, "%s needs %s (vgpuctl --help)", command->name,
			    command->operand);
	if (!command->operand &&
	    argc > (command->run == cmd_help || command->run == cmd_doctor ? 1 : 0))
		return fail(EXIT_USAGE, "too many arguments: %s (vgpuctl --help)", argv[argc - 1]);
	ret = guests_resolve(options);
	return ret ? ret : command->run(operand, options);
}

int main(int argc, char **argv)
{
	static struct options options;
	const struct command *command;
	int i, ret;

	/*
	 * The option --json also applies to errors in the arguments before it, so look for it
	 * first.
	 */
	for (i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--json"))
			errors_as_json();
	ret = take_options(argc, argv, &options);
	if (ret)
		return ret;
	if (option_given(&options, OPT_VERSION)) {
		puts("vgpuctl " VGPU_VERSION);
		return EXIT_SUCCESS;
	}
	if (optind == argc && option_given(&options, OPT_HELP))
		return cmd_help(NULL, &options);
	if (optind == argc) {
		if (!option_given(&options, OPT_JSON))
			usage(stderr);
		else
			fail(EXIT_USAGE, "a command is missing (vgpuctl help)");
		return EXIT_USAGE;
	}
	command = find_command(argv[optind]);
	if (!command)
		return fail(EXIT_USAGE, "there is no command %s (vgpuctl help)", argv[optind]);
	return run_command(command, argc - optind - 1, argv + optind + 1, &options);
}
