/* SPDX-License-Identifier: MIT */
/* vgpuctl: what its files offer each other. */
#ifndef VGPUCTL_H
#define VGPUCTL_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "vgpu.h"

/* Documented in vgpuctl(1). */
enum {
	EXIT_FAILED = 1,	/* anything else */
	EXIT_USAGE = 2,		/* wrong arguments */
	EXIT_NO_VGPU = 3,	/* no agent runs here, and no guest module */
	EXIT_DENIED = 4,	/* not allowed: be root */
	EXIT_NOT_FOUND = 5,	/* no such device, export or guest */
	EXIT_IN_USE = 6,	/* name or port taken, or a guest uses the device */
	EXIT_WRONG_DEVICE = 7,	/* not a device that can be exported */
	/* The statuses from here on say why a guest has no device. */
	EXIT_NO_HOST = 8,	/* nobody answers */
	EXIT_REFUSED = 9,	/* the host does not let it in */
	EXIT_WRONG_VERSION = 10,	/* host and guest are too far apart */
	EXIT_NOTHING = 11,	/* the host has none for it */
};

enum { OPT_TO = 1, OPT_NAME, OPT_ANY_PORT, OPT_MASTER, OPT_NO_DEMAND, OPT_READ_ONLY, OPT_FORCE,
       OPT_JSON, OPT_SOCKET, OPT_SIZE, OPT_OWNER, OPT_NVIDIA, OPT_MEMORY, OPT_HELP, OPT_VERSION };

#define ALLOW(option) (1U << (option))

/* Most guests of one command. */
#define GUESTS_MAX	256

/**
 * struct options - what stands on the line beside operands
 * @given: those of them that do, ALLOW() of each
 * @guests: all that --to names
 * @nr_guests: how many
 *
 * The others bear the options' own names.
 */
struct options {
	const char *socket;
	const char *name;
	bool any_port;
	bool master;
	bool no_demand;
	bool read_only;
	bool force;
	bool json;
	bool nvidia;
	bool memory;
	const char *size;
	const char *owner;
	unsigned int given;
	struct vgpu_guest_name guests[GUESTS_MAX];
	size_t nr_guests;
};

/* The name of an option, without its dashes. */
const char *option_name(int option);

/* --- error.c: what went wrong, in words or as JSON ----------------------- */

/* From now on it is told as JSON. */
void errors_as_json(void);
/* Says it on standard error. Return: @status. */
int fail(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The exit status that stands for a negative errno. */
int exit_status(int error);
/* Connects to the agent, or says why not. Return: 0 or an exit status. */
int open_agent(const struct options *options, struct vgpu_agent **agent);
/* Says in the agent's words what went wrong there. Return: an exit status. */
int agent_failed(struct vgpu_agent *agent, int error);

/* --- commands: each returns an exit status ------------------------------- */

int cmd_export(const char *path, const struct options *options);
int cmd_unexport(const char *name, const struct options *options);
int cmd_window(const char *verb, const struct options *options);
int cmd_reload(const char *unused, const struct options *options);
int cmd_diff(const char *unused, const struct options *options);

struct exposure;

/**
 * struct machine - both sides of vgpu on this machine
 * @host: NULL: no agent runs here
 * @exposures: one of each window of @host; NULL: nobody has asked for them
 * @is_guest: the guest module is loaded
 * @nodes: its devices
 * @nr_nodes: how many
 * @reach: hosts that it is to connect to
 * @nr_reach: how many
 */
struct machine {
	struct vgpu_host_info *host;
	struct exposure *exposures;
	bool is_guest;
	struct vgpu_node_info *nodes;
	size_t nr_nodes;
	struct vgpu_reach_info *reach;
	size_t nr_reach;
};

/* --- reach.c: why a guest has no device ----------------------------------- */

/* A host's problem and its remedy are put into @words, which is "" if there is no problem. */
void reach_words(const struct vgpu_reach_info *reach, char words[256]);
/*
 * The exit status of a machine that has no device, and exports none; else 0. What was listed says
 * why. @json: an error object does, too.
 */
int reach_status(const struct machine *machine, bool json);

/* --- exposure.c: what nobody but an administrator can mend -------------------- */

/**
 * struct opener - who may open a window's device file beside its own guest's hypervisor
 * @kind: "user", "group" or "everybody"
 * @name: the user's or group's, or its number; "" of everybody
 */
struct opener {
	const char *kind;
	char name[64];
};

/**
 * struct companion - a process that has the window and a file of VFIO's
 * @pid: the process
 * @path: the file, or one of them
 */
struct companion {
	uint32_t pid;
	char path[64];
};

/**
 * struct exposure - how the memory in a window may be reached by others than its guest
 * @seen: it could be looked at
 * @device: number of its device file; 0: it has none
 * @hypervisor: process ID of who has connected to it; 0: nobody
 * @openers: users, or groups of them, who may open it
 * @nr_openers: how many
 * @companions: processes that have a device of VFIO's as well
 * @nr_companions: how many
 * @companions_known: files of all processes could be seen
 * @marked: the process that is just looked at has the window
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

/* *exposures: one of each window of the host, for exposures_free(). 0 or -ENOMEM. */
int exposures_find(const struct vgpu_host_info *host, struct exposure **exposures);
void exposures_free(struct exposure *exposures, size_t nr);

/* --- counters.c ----------------------------------------------------------- */

/**
 * struct counter - a number that a struct of libvgpu has
 * @name: in JSON and in the manual; on the screen spaces stand for underscores
 * @offset: of the uint64_t in the struct
 * @bytes: a unit goes with it on the screen
 */
struct counter {
	const char *name;
	size_t offset;
	bool bytes;
};

/*
 * The arrays describe the numbers of struct vgpu_counters, vgpu_window_status and
 * vgpu_node_info, in this order. An entry whose @name is NULL ends each of them.
 */
extern const struct counter guest_counters[], window_counters[], node_counters[];

uint64_t counter_value(const struct counter *counter, const void *of);
/* Bytes with the largest unit of which there is one. */
void bytes_words(uint64_t bytes, char words[24]);
/* The numbers in @of are printed in lines that fit on the screen. */
void print_counters(const struct counter *counters, const void *of);

/* --- print.c, json.c ------------------------------------------------------ */

/* status: more than a list. */
void print_machine(const struct machine *machine, bool status);
void print_machine_json(const struct machine *machine, bool status);

void print_windows(const struct vgpu_host_info *host);
void print_windows_json(const struct vgpu_host_info *host);
/* How QEMU is told of a guest's window; port 0: the agent's. false: it has none. */
bool put_qemu_args(FILE *to, const struct vgpu_host_info *host, uint32_t cid, uint32_t port,
		   bool memory);
/* An object with these members, whose values are strings; NULL ends them. */
void print_pairs_json(const char *key, ...) __attribute__((sentinel));
/* An object with one member, an array of these lines. */
void print_lines_json(const char *key, const char *lines);
/* The error is printed as a JSON object, on standard error. */
void print_error_json(int status, const char *reason, const char *message);

#endif /* VGPUCTL_H */
