// SPDX-License-Identifier: MIT
/* vgpuctl: shows and changes what a host exports, and shows the devices of a guest. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "vgpuctl.h"

/* Table of the options. */
const struct option_words options_words[NR_OPTIONS] = {
	[OPT_TO] = { "to", "GUEST",
		     "the guest: its vsock context id CID, or CID:PORT with the\n"
		     "vsock port of this host that the guest connects to, or the\n"
		     "NAME of its section [guest NAME] in the host's settings;\n"
		     "export and unexport take several --to", VALUE_GUEST },
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
			  "compute, of several (render,display), or all (default)",
			  VALUE_WORDS, "render display compute all" },
	[OPT_AUDIT] = { "audit", NULL,
			"let ioctls through that PROFILE does not have, count them\n"
			"(vgpuctl status) and log them" },
	[OPT_ANY_PORT] = { "any-port", NULL,
			   "accept a guest behind a bridge that hides ports; then any\n"
			   "user of that guest can pose as the guest's kernel" },
	[OPT_SIZE] = { "size", "SIZE",
		       "size of the window: bytes, or with K, M, G, T, such as 4G" },
	[OPT_OWNER] = { "owner", "USER",
			"user of the hypervisor (default: libvirt's user, or root)", VALUE_USER },
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
			 "socket of vgpud (default " VGPU_AGENT_SOCKET ")", VALUE_FILE },
	[OPT_ROOT] = { "root", "DIR",
		       "examine the system whose root directory is DIR, such as a\n"
		       "mounted image, and not this one", VALUE_DIR },
	[OPT_OUTPUT] = { "output", "FILE", "write FILE in place of standard output", VALUE_FILE,
			 .letter = 'o' },
	[OPT_FOLLOW] = { "follow", NULL, "trace also the processes that the process makes",
			 .letter = 'f' },
	[OPT_SUMMARY] = { "summary", NULL, "print no calls, but in the end their sums by name",
			  .letter = 'c' },
	[OPT_FILTER] = { "filter", "NAMES",
			 "only calls of these names, separated by commas, such as\n"
			 "mmap, ioctl or DRM_IOCTL_MODE_*; with a ! before them only\n"
			 "others", .letter = 'e' },
	[OPT_UNKNOWN] = { "unknown", NULL,
			  "in the end, print the ioctls without a schema and their counts" },
	[OPT_VERBOSE] = { "verbose", NULL, "say also what was examined and is right" },
	[OPT_TEXTFILE] = { "textfile", "PATH",
			   "write to a file, which readers see as it was or complete",
			   VALUE_FILE },
	[OPT_HTTP] = { "http", NULL,
		       "answer one request of HTTP on standard input and output\n"
		       "(vgpu-metrics.socket)" },
	[OPT_BATCH] = { "batch", NULL, "print each step as text, and do not take the terminal over",
			.letter = 'b' },
	[OPT_COUNT] = { "count", "N", "end after N steps, or N events (monitor)", .letter = 'n' },
	[OPT_DELAY] = { "delay", "SECONDS", "time of a step (default: 1)", .letter = 'd' },
	[OPT_SORT] = { "sort", "KEY",
		       "sort by calls (default), errors, bytes, p50, p99, device, busy,\n"
		       "waits or memory", VALUE_WORDS,
		       "calls errors bytes p50 p99 device busy waits memory" },
	[OPT_SECONDS] = { "seconds", "N", "time that the command takes (default: 20)" },
	[OPT_HELP] = { "help", NULL, "print help for a command, or for all commands", .letter = 'h' },
	[OPT_VERSION] = { "version", NULL, "print the version of vgpuctl", .letter = 'V' },
};

const struct command commands[] = {
	{ "export",
	  "export PATH --to GUEST... [--name NAME] [--master]\n"
	  "              [--no-demand] [--read-only] [--profile PROFILE [--audit]]\n"
	  "              [--any-port]\n"
	  "export --nvidia [N] --to GUEST... [--any-port]\n",
	  "the PATH of a device file",
	  ALLOW(OPT_TO) | ALLOW(OPT_NAME) | ALLOW(OPT_ANY_PORT) | ALLOW(OPT_MASTER) |
	  ALLOW(OPT_NO_DEMAND) | ALLOW(OPT_READ_ONLY) | ALLOW(OPT_PROFILE) | ALLOW(OPT_AUDIT) |
	  ALLOW(OPT_NVIDIA),
	  cmd_export, .summary = "let a guest use a device file", .value = VALUE_DEVICE },
	{ "unexport",
	  "unexport NAME [--to GUEST]... [--force | --now]\n"
	  "unexport --nvidia [N] [--to GUEST]... [--force | --now]\n",
	  "the NAME of an export",
	  ALLOW(OPT_TO) | ALLOW(OPT_FORCE) | ALLOW(OPT_NOW) | ALLOW(OPT_NVIDIA), cmd_unexport,
	  .summary = "take a device file back", .value = VALUE_EXPORT },
	{ "window",
	  "window create --to GUEST --size SIZE [--owner USER]\n"
	  "window drain --to GUEST\n"
	  "window fill --to GUEST\n"
	  "window destroy --to GUEST [--force]\n"
	  "window list\n"
	  "window qemu-args --to GUEST [--memory]\n",
	  "a command: create, destroy, drain, fill, list or qemu-args",
	  ALLOW(OPT_TO) | ALLOW(OPT_SIZE) | ALLOW(OPT_OWNER) | ALLOW(OPT_FORCE) |
	  ALLOW(OPT_MEMORY), cmd_window,
	  .summary = "make and manage windows, in which guests see device memory",
	  .verbs = window_verbs },
	{ "limit", "limit GUEST [KEY=VALUE... [--save]]\n", "a GUEST", ALLOW(OPT_SAVE), cmd_limit,
	  .summary = "show or change the limits of a guest",
	  .value = VALUE_GUEST, .more = VALUE_LIMIT },
	{ "freeze", "freeze GUEST\n", "a GUEST", 0, cmd_freeze,
	  .summary = "let a guest's work wait at devices, until it is thawed",
	  .value = VALUE_GUEST },
	{ "thaw", "thaw GUEST\n", "a GUEST", 0, cmd_thaw,
	  .summary = "let a frozen guest's work go on", .value = VALUE_GUEST },
	{ "evict", "evict GUEST [--force]\n", "a GUEST", ALLOW(OPT_FORCE), cmd_evict,
	  .summary = "end a guest's connection, and all that it has open",
	  .value = VALUE_GUEST },
	{ "reload", "reload\n", NULL, 0, cmd_reload,
	  .summary = "read the files of guests and exports again" },
	{ "diff", "diff\n", NULL, 0, cmd_diff,
	  .summary = "show what a reload would change" },
	{ "list", "list\n", NULL, 0, cmd_list,
	  .summary = "list exports, or the devices of a guest" },
	{ "status", "status\n", NULL, 0, cmd_status,
	  .summary = "show exports, guests, windows and counters" },
	{ "show", "show EXPORT | GUEST | DEVICE\n", "the name of an export, a guest or a device", 0,
	  cmd_show, .summary = "show one export, guest, or device of this guest",
	  .value = VALUE_SHOWN },
	{ "doctor", "doctor [host | guest] [--root DIR] [--verbose]\n", "host or guest",
	  ALLOW(OPT_ROOT) | ALLOW(OPT_VERBOSE), cmd_doctor,
	  .summary = "say what is wrong and what to do",
	  .value = VALUE_WORDS, .words = "host guest", .optional = true },
	{ "trace",
	  "trace [PID] [--follow] [--filter NAMES] [--summary | --unknown]\n"
	  "              [--output FILE]\n"
	  "trace [--follow] ... -- COMMAND [ARGUMENT...]\n"
	  "trace [GUEST | --to GUEST] [--filter NAMES] [--summary] [--output FILE]\n",
	  "a PID, a GUEST, or -- and a COMMAND",
	  ALLOW(OPT_TO) | ALLOW(OPT_OUTPUT) | ALLOW(OPT_FOLLOW) | ALLOW(OPT_SUMMARY) |
	  ALLOW(OPT_FILTER) | ALLOW(OPT_UNKNOWN), cmd_trace,
	  .summary = "print the calls of programs on forwarded devices",
	  .value = VALUE_GUEST, .optional = true },
	{ "metrics",
	  "metrics [prometheus | openmetrics] [--textfile PATH]\n"
	  "metrics --http\n",
	  "prometheus or openmetrics", ALLOW(OPT_TEXTFILE) | ALLOW(OPT_HTTP), cmd_metrics,
	  .summary = "print counters of guests for Prometheus",
	  .value = VALUE_WORDS, .words = "prometheus openmetrics", .optional = true },
	{ "top", "top [--batch] [--count N] [--delay SECONDS] [--sort KEY]\n", NULL,
	  ALLOW(OPT_BATCH) | ALLOW(OPT_COUNT) | ALLOW(OPT_DELAY) | ALLOW(OPT_SORT), cmd_top,
	  .summary = "show what guests, exports and programs do, live" },
	{ "monitor", "monitor [--count N] [--delay SECONDS]\n", NULL,
	  ALLOW(OPT_COUNT) | ALLOW(OPT_DELAY), cmd_monitor,
	  .summary = "print events of guests, exports and programs" },
	{ "bench", "bench [DEVICE] [--seconds N]\n", "a DEVICE", ALLOW(OPT_SECONDS), cmd_bench,
	  .summary = "measure calls and memory of a device in this guest",
	  .value = VALUE_SHOWN, .optional = true },
	{ "cdi", "cdi [--output FILE] [--root DIR]\n", NULL, ALLOW(OPT_OUTPUT) | ALLOW(OPT_ROOT),
	  cmd_cdi, .summary = "print a specification by which containers get devices" },
	{ "completion", "completion bash | zsh | fish\n"
	  "completion exports | guests | names\n"
	  "completion limits GUEST\n",
	  "a shell (bash, zsh or fish) or a kind of words (exports, guests, names or limits GUEST)",
	  0, cmd_completion,
	  .summary = "print a script for a shell, or the words that it offers",
	  .value = VALUE_WORDS, .words = "bash zsh fish exports guests names limits",
	  .more = VALUE_GUEST },
	{ "help", "help [COMMAND]\n", "a COMMAND", 0, cmd_help,
	  .summary = "print help for a command, or for all commands",
	  .value = VALUE_COMMAND, .optional = true },
	{ .name = NULL },
};

const struct command *command_find(const char *name)
{
	const struct command *command;

	for (command = commands; command->name; command++)
		if (!strcmp(command->name, name))
			return command;
	return NULL;
}

/* Check the number of arguments. Return: 0 or an exit status. */
static int check_operands(const struct command *command, int argc, char **argv,
			  const struct options *options)
{
	const char *name = command->name;

	if (argc > 0 && !command->operand)
		return fail(EXIT_USAGE, "too many arguments: %s takes none, leave %s out (vgpuctl help %s)",
			    name, argv[0], name);
	if (argc > 1 && !command->more)
		return fail(EXIT_USAGE, "too many arguments: %s takes only %s, leave %s out (vgpuctl help %s)",
			    name, command->operand, argv[1], name);
	if (!argc && command->operand && !command->optional && !option_given(options, OPT_NVIDIA))
		return fail(EXIT_USAGE, "%s needs %s (vgpuctl help %s)", name, command->operand,
			    name);
	return 0;
}

static int run_command(const struct command *command, int argc, char **argv,
		       struct options *options)
{
	uint64_t wrong = options->given & ~(command->options | COMMON_OPTIONS);
	const char *operand = argc ? argv[0] : NULL;
	int ret;

	if (option_given(options, OPT_HELP))
		return cmd_help(command->name, options);
	if (wrong)
		return fail(EXIT_USAGE, "%s has no option --%s (vgpuctl help %s)", command->name,
			    option_name(option_first(wrong)), command->name);
	if (command->run == cmd_trace && options->program && argc) {
		options->more = argv;
		options->nr_more = argc;
		argc = 1;
	}
	ret = check_operands(command, argc, argv, options);
	if (ret)
		return ret;
	if (argc > 1) {
		options->more = argv + 1;
		options->nr_more = argc - 1;
	}
	ret = guests_resolve(options);
	return ret ? ret : command->run(operand, options);
}

/* Write what stdout still holds, for example to a file. Return: 0 or an exit status. */
static int finish_output(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	return fail(EXIT_FAILED, "the output could not be written: %s: make room there, or give another file",
		    strerror(errno ? errno : EIO));
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
	ret = options_take(argc, argv, &options);
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
			help_print(stderr);
		return fail(EXIT_USAGE, "a command is missing: 'vgpuctl help' lists all, 'vgpuctl list' is a first one");
	}
	/* getopt_long() has moved the operands behind the --. */
	options.program = !strcmp(argv[optind - 1], "--");
	command = command_find(argv[optind]);
	if (!command)
		return help_no_command(argv[optind]);
	ret = run_command(command, argc - optind - 1, argv + optind + 1, &options);
	return ret ? ret : finish_output();
}
