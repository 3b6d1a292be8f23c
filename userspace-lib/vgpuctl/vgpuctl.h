/* SPDX-License-Identifier: MIT */
/* vgpuctl: declarations of functions that its files share. */
#ifndef VGPUCTL_H
#define VGPUCTL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "vgpu.h"

/* Exit statuses, documented in vgpuctl(1). */
enum {
	EXIT_FAILED = 1,	/* any other failure */
	EXIT_USAGE = 2,		/* wrong arguments */
	EXIT_NO_VGPU = 3,	/* no agent runs here, and no guest module */
	EXIT_DENIED = 4,	/* permission denied: root is needed */
	EXIT_NOT_FOUND = 5,	/* no such device, export or guest */
	EXIT_IN_USE = 6,	/* name or port taken, or a guest uses the device */
	EXIT_WRONG_DEVICE = 7,	/* not a device that can be exported */
	/* Exit statuses from here on are reasons why a guest has no device. */
	EXIT_NO_HOST = 8,	/* no agent answers */
	EXIT_REFUSED = 9,	/* the host refuses the guest */
	EXIT_WRONG_VERSION = 10,	/* the versions of host and guest are too different */
	EXIT_NOTHING = 11,	/* the host exports no device to the guest */
};

enum { OPT_TO = 1, OPT_NAME, OPT_ANY_PORT, OPT_MASTER, OPT_NO_DEMAND, OPT_READ_ONLY, OPT_PROFILE,
       OPT_AUDIT, OPT_FORCE, OPT_NOW, OPT_JSON, OPT_SOCKET, OPT_SIZE, OPT_OWNER, OPT_NVIDIA,
       OPT_MEMORY, OPT_SAVE, OPT_ROOT, OPT_OUTPUT, OPT_VERBOSE, OPT_SECONDS,
       OPT_FOLLOW, OPT_SUMMARY, OPT_FILTER, OPT_UNKNOWN, OPT_TEXTFILE, OPT_HTTP,
       OPT_BATCH, OPT_COUNT, OPT_DELAY, OPT_SORT, OPT_HELP, OPT_VERSION,
       NR_OPTIONS };

#define ALLOW(option) (1ULL << (option))

/* Version of the objects that --json prints: it changes if a member gets another meaning. */
#define JSON_SCHEMA	1

/* Most guests of one command. */
#define GUESTS_MAX	256

/**
 * struct options - options of the command line
 * @given: bit mask of the options that were given, ALLOW() of each
 * @values: array of the options' values, by OPT_*; NULL: the option was not given or takes no
 *	value; --to has @guests instead
 * @guests: array of the guests that --to names; a guest given by name has CID 0 until
 *	guests_resolve() has found it
 * @names: array of the names that --to gives instead of numbers; NULL: numbers were given
 * @nr_guests: number of entries of @guests
 * @more: array of the arguments after the command's operand
 * @nr_more: number of entries of @more
 * @program: true if -- stands before the operands: for trace they are a COMMAND and its arguments,
 *	@more, which ends with NULL
 */
struct options {
	uint64_t given;
	const char *values[NR_OPTIONS];
	struct vgpu_guest_name guests[GUESTS_MAX];
	const char *names[GUESTS_MAX];
	size_t nr_guests;
	char **more;
	size_t nr_more;
	bool program;
};

static inline bool option_given(const struct options *options, int option)
{
	return options->given & ALLOW(option);
}

/* --- error.c: what went wrong, in words or as JSON ----------------------- */

/* Print errors as JSON objects from now on. */
void errors_as_json(void);
/* Print an error to standard error. Return: @status. */
int fail(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Return the exit status for a negative errno. */
int exit_status(int error);
/* Connect to the agent, or print an error. Return: 0 or an exit status. */
int open_agent(const struct options *options, struct vgpu_agent **agent);
/* Print an error of vgpu_agent_open() for @path. Return: an exit status. */
int open_failed(const char *path, int error);
/* Print an error that the agent reported, in its words. Return: an exit status. */
int agent_failed(struct vgpu_agent *agent, int error);

/* --- name.c: guests by name ------------------------------------------------ */

/* Check whether a word can be a guest, and parse it as guest_parse() does. */
bool guest_is(const char *word, const char **name, struct vgpu_guest_name *guest);
/* Parse a guest, a name or numbers; *@name is NULL then. Return: 0 or an exit status. */
int guest_parse(const char *word, const char **name, struct vgpu_guest_name *guest);
/* Add the guest of a --to, by number or name. Return: 0 or an exit status. */
int guests_add(struct options *options, const char *word);
/* Ask the agent for the numbers of guests that are given by name. Return: 0 or an exit status. */
int guests_resolve(struct options *options);

/* --- commands: each returns an exit status ------------------------------- */

int cmd_export(const char *path, const struct options *options);
int cmd_unexport(const char *name, const struct options *options);
int cmd_window(const char *verb, const struct options *options);
int cmd_limit(const char *guest, const struct options *options);
int cmd_reload(const char *unused, const struct options *options);
int cmd_diff(const char *unused, const struct options *options);
int cmd_doctor(const char *side, const struct options *options);
int cmd_metrics(const char *format, const struct options *options);
int cmd_top(const char *unused, const struct options *options);
int cmd_monitor(const char *unused, const struct options *options);
int cmd_trace(const char *pid, const struct options *options);
int cmd_list(const char *unused, const struct options *options);
int cmd_show(const char *name, const struct options *options);
int cmd_freeze(const char *guest, const struct options *options);
int cmd_thaw(const char *guest, const struct options *options);
int cmd_evict(const char *guest, const struct options *options);
int cmd_status(const char *unused, const struct options *options);
int cmd_completion(const char *what, const struct options *options);
int cmd_bench(const char *device, const struct options *options);
int cmd_help(const char *name, const struct options *options);
int cmd_cdi(const char *unused, const struct options *options);

struct exposure;

/**
 * struct machine - state of this machine, as a host and as a guest
 * @host: state of the host; NULL: no agent runs here
 * @exposures: array with an entry for each window of @host; NULL: not requested
 * @is_guest: true if the guest module is loaded
 * @nodes: array of pointers to the guest's devices
 * @nr_nodes: number of entries of @nodes
 * @reach: array of pointers to the hosts to which the guest is to connect
 * @nr_reach: number of entries of @reach
 */
struct machine {
	struct vgpu_host_info *host;
	struct exposure *exposures;
	bool is_guest;
	struct vgpu_node_info **nodes;
	size_t nr_nodes;
	struct vgpu_reach_info **reach;
	size_t nr_reach;
};

/* --- show.c ----------------------------------------------------------------- */

/*
 * Print the export, guest or device of a name. The order of the machine's lists changes. Return: an
 * exit status.
 */
int machine_show_one(const struct machine *machine, const char *name, bool json);

/* --- error.c: reasons why a guest has no device ---------------------------- */

/* Describe a host's problem and its remedy in @words; "" if there is no problem. */
void reach_words(const struct vgpu_reach_info *reach, char words[256]);
/*
 * Return the exit status of a machine that has and exports no device; else 0. The list that was
 * printed shows the reason; with @json, an error object is printed, too.
 */
int reach_status(const struct machine *machine, bool json);

/* --- exposure.c: mistakes that only an administrator can correct -------------- */

/**
 * struct opener - users who may open a window beside its guest's hypervisor
 * @kind: "user", "group" or "everybody"
 * @name: name or number of the user or group; "" for everybody
 */
struct opener {
	const char *kind;
	char name[64];
};

/**
 * struct companion - a process that has a window and a file of VFIO
 * @pid: ID of the process
 * @path: path of one of these files
 */
struct companion {
	uint32_t pid;
	char path[64];
};

/**
 * struct exposure - ways by which others than its guest may reach a window's memory
 * @seen: true if the window could be examined
 * @device: device number of the window's device file; 0: it has none
 * @hypervisor: process ID of the hypervisor that is connected to the window; 0: none
 * @openers: array of the users and groups who may open the window
 * @nr_openers: number of entries of @openers
 * @companions: array of the processes that have the window and a device of VFIO
 * @nr_companions: number of entries of @companions
 * @companions_known: true if the files of all processes could be examined
 * @marked: true if the process that is being examined has the window
 */
struct exposure {
	bool seen;
	dev_t device;
	uint32_t hypervisor;
	struct opener *openers;
	size_t nr_openers;
	struct companion *companions;
	size_t nr_companions;
	bool companions_known;
	bool marked;
};

/* Examine all windows of the host. Free *@exposures by exposures_free(). Return: 0 or -ENOMEM. */
int exposures_find(const struct vgpu_host_info *host, struct exposure **exposures);
void exposures_free(struct exposure *exposures, size_t nr);

/* --- table.c ---------------------------------------------------------------- */

struct libscols_table;

/*
 * Make a table with these column heads; NULL ends them. A head that begins with > is for
 * numbers, which are aligned to the right. Return: NULL if there is no memory, which the other
 * functions accept.
 */
struct libscols_table *table_new(const char *head, ...) __attribute__((sentinel));
/*
 * Add a line, with a word for each column. The table escapes bytes that could control a
 * terminal.
 */
void table_add(struct libscols_table *table, ...);
/* Print the table, and free it. */
void table_print(struct libscols_table *table);

/* --- print.c, json.c ------------------------------------------------------ */

/* Print the state of the machine. @status: true for all of it, false for the lists only. */
void print_machine(const struct machine *machine, bool status);
void print_machine_json(const struct machine *machine, bool status);

void print_limits(const struct vgpu_limits_info *info);
void print_limits_json(const struct vgpu_limits_info *info);
void print_windows(const struct vgpu_host_info *host);
void print_windows_json(const struct vgpu_host_info *host);
/*
 * Print QEMU's arguments for a guest's window. @port: 0 is the default port. @memory: add the
 * device that reports the guest's memory. Return: false if the guest has no window, or the window
 * no socket for that device.
 */
bool put_qemu_args(FILE *to, const struct vgpu_host_info *host, uint32_t cid, uint32_t port,
		   bool memory);
/* Print an object of these keys and values, all strings; NULL ends them. */
void print_pairs_json(const char *key, ...) __attribute__((sentinel));
/* Print an object with one member, an array of these lines. */
void print_lines_json(const char *key, const char *lines);
/* Print a command, or all of them, with their options. @command: NULL: all. */
struct command;
void print_commands_json(const struct command *command);
/* Print an error as a JSON object to standard error. */
void print_error_json(int status, const char *reason, const char *message);

#endif /* VGPUCTL_H */
