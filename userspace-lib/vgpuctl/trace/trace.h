/* SPDX-License-Identifier: MIT */
/* Command trace: calls as a module reports them, and how they are printed. */
#ifndef VGPUCTL_TRACE_H
#define VGPUCTL_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Version of the JSON that the command prints. Keys may be added to it. */
#define TRACE_SCHEMA	1

/* Most bytes of an argument that the module reports. */
#define TRACE_BYTES	256
/* Message: there is no such process. */
#define TRACE_NO_PROCESS	"there is no process %d: give the number of a process that runs"

/* Room for the name of a call, and of a guest. */
#define TRACE_NAME	64
#define TRACE_GUEST	32

/**
 * struct trace_cost - cost of a call
 * @ns: time that it took in nanoseconds
 * @out: number of bytes sent to the host
 * @in: number of bytes received
 * @trips: number of round trips
 * @pages: number of pages of the program's memory that the host has fetched
 */
struct trace_cost {
	uint64_t ns;
	uint64_t out;
	uint64_t in;
	uint32_t trips;
	uint32_t pages;
};

/**
 * struct trace_ioctl - what is known of an ioctl
 * @cmd: command; 0: the call is no ioctl
 * @kind: VGPU_EXPORT_* of the file's export
 * @class: class in the argument that the module's schema lacks; 0: none
 * @known: true if the module has a schema for the ioctl and its class
 * @compat: true if the program has 32 bits
 * @name: name in the module's schema; "": none
 * @driver: name of the host's driver
 * @len: number of bytes of @before and @after
 * @before: beginning of the argument before the call
 * @after: beginning of the argument after the call
 */
struct trace_ioctl {
	uint32_t cmd;
	uint32_t kind;
	uint32_t class;
	bool known;
	bool compat;
	char name[49];
	char driver[65];
	size_t len;
	uint8_t before[TRACE_BYTES];
	uint8_t after[TRACE_BYTES];
};

/**
 * struct trace_call - a call that a guest has forwarded
 * @tgid: process, as the first PID namespace numbers it; on a host the shadow, until
 *	trace_programs_name() has put the guest's process here
 * @tid: thread
 * @uid: user of the process; on a host that of the guest's shadows
 * @comm: name of the thread; any bytes
 * @guest: guest of the process, if lines say which; ""
 * @began: time at which it began, CLOCK_MONOTONIC in nanoseconds
 * @op: VGPU_OP_*
 * @object: number of the host's file; 0: none
 * @fd: lowest file descriptor for the file; -1: none
 * @path: path of the file; any bytes, "": none
 * @result: result of the call, or a negative errno
 * @arg: argument of an ioctl; length in bytes of the memory of another call
 * @args: arguments of another call, as the wire has them
 * @cost: cost of the call
 * @ioctl: the ioctl
 */
struct trace_call {
	int32_t tgid;
	int32_t tid;
	uint32_t uid;
	char comm[17];
	char guest[TRACE_GUEST];
	uint64_t began;
	uint32_t op;
	uint32_t object;
	int32_t fd;
	char path[129];
	int64_t result;
	uint64_t arg;
	uint64_t args[4];
	struct trace_cost cost;
	struct trace_ioctl ioctl;
};

/* --- event.c ---------------------------------------------------------------- */

enum trace_line {
	TRACE_LINE_CALL,	/* a call */
	TRACE_LINE_LOST,	/* calls were lost */
	TRACE_LINE_STRANGE,	/* a call of another version of the module */
	TRACE_LINE_OTHER,	/* anything else */
};

/*
 * Read a line that the kernel has printed, without its line feed. @call: filled in for CALL.
 * @lost: number of calls that were lost, for LOST.
 */
enum trace_line trace_parse(const char *line, struct trace_call *call, uint64_t *lost);
/* Write the name of a call: that of the ioctl or of the operation. */
void trace_name(const struct trace_call *call, char name[TRACE_NAME]);
/* Return true if the call is an ioctl that the module knows only by demand paging. */
bool trace_is_unknown(const struct trace_call *call);
/*
 * Check a call against the words of -e, separated by commas: names or patterns of names, ioctl for
 * all ioctls; a ! in front of the first word stands for all other calls. @words: NULL: any call.
 */
bool trace_wanted(const struct trace_call *call, const char *words);

/* --- text.c, json.c: print a call in a line ----------------------------------- */

/* @pid: say which thread made the call. */
void trace_print_text(FILE *to, const struct trace_call *call, bool pid);
void trace_print_json(FILE *to, const struct trace_call *call);
void trace_print_lost_json(FILE *to, uint64_t lost);
/* Print a string of a program or a host without bytes that could control a terminal. */
void trace_put_string(FILE *to, const char *text);
/* Return the name of an errno, such as ENOENT; NULL: it has none. */
const char *trace_errno(int error);

/* --- summary.c ---------------------------------------------------------------- */

struct trace_summary;

/* @unknown: count only ioctls without a schema. Return: NULL if there is no memory. */
struct trace_summary *trace_summary_new(bool unknown);
void trace_summary_add(struct trace_summary *summary, const struct trace_call *call);
void trace_summary_lost(struct trace_summary *summary, uint64_t lost);
void trace_summary_print(FILE *to, struct trace_summary *summary, bool json);
void trace_summary_free(struct trace_summary *summary);

/* --- source.c: the kernel's tracing ------------------------------------------- */

enum trace_side {
	TRACE_SIDE_GUEST,	/* vgpu_guest reports the calls */
	TRACE_SIDE_HOST,	/* vgpu_host reports the calls of its guests */
};

/**
 * struct trace_source - an instance of the kernel's tracing, which belongs to this process
 * @side: module that reports
 * @path: its directory; "": there is none
 * @pipe: file from which lines are read; -1: none
 * @used: number of bytes in @buf
 * @buf: part of a line that has not been read as a whole yet
 */
struct trace_source {
	enum trace_side side;
	char path[128];
	int pipe;
	size_t used;
	char buf[32768];
};

/*
 * Make an instance, after those that processes have left that are gone. Errors are printed.
 * Return: 0 or an exit status.
 */
int trace_source_open(struct trace_source *source, enum trace_side side);
/*
 * Restrict the instance to a process. @follow: also to processes that it will make. Errors are
 * printed. Return: 0 or an exit status.
 */
int trace_source_restrict(struct trace_source *source, pid_t pid, bool follow);
/* Restrict the instance to processes of a user. Errors are printed. Return: 0 or an exit status. */
int trace_source_restrict_user(struct trace_source *source, uint32_t uid);
/* Begin. Errors are printed. Return: 0 or an exit status. */
int trace_source_start(struct trace_source *source);
/*
 * Give all lines that there are to @take, which returns false to end this. Return: false if it
 * did, or if reading fails.
 */
bool trace_source_read(struct trace_source *source, bool (*take)(void *data, const char *line),
		       void *data);
/* End, and remove the instance. */
void trace_source_close(struct trace_source *source);

#endif /* VGPUCTL_TRACE_H */
