// SPDX-License-Identifier: MIT
/* Command trace: prints or counts the calls that guests forward, as strace does. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vgpuctl/trace/program.h"
#include "vgpuctl/trace/trace.h"
#include "vgpuctl/vgpuctl.h"

/* Time in ms after which lines are read although the kernel has not announced any. */
#define TRACE_WAKE	100

/**
 * struct trace - a run of the command
 * @to: file to which calls are printed
 * @words: words of -e, or NULL
 * @json: true for JSON
 * @pid: true if lines say which thread made the call
 * @strange: true if the module is of another version
 * @summary: sums; NULL: each call is printed
 * @programs: programs of guests; NULL: this is the guest
 * @all: true if the calls of all guests are traced
 * @source: the kernel's tracing
 * @child: process of the COMMAND; 0: none
 * @go: file that starts the COMMAND when it is written to; -1: none
 * @signal: signal that has ended the run; 0: none
 * @watched: pidfd of the process whose end ends the run; -1: none
 */
struct trace {
	FILE *to;
	const char *words;
	bool json;
	bool pid;
	bool strange;
	struct trace_summary *summary;
	struct trace_programs *programs;
	bool all;
	struct trace_source source;
	pid_t child;
	int go;
	int signal;
	int watched;
};

/* The kernel's tracing, which is to end before the process does. */
static struct trace_source *source_used;

static void end_source(void)
{
	if (source_used)
		trace_source_close(source_used);
	source_used = NULL;
}

static void take_lost(struct trace *trace, uint64_t lost)
{
	if (trace->summary)
		trace_summary_lost(trace->summary, lost);
	else if (trace->json)
		trace_print_lost_json(trace->to, lost);
	else
		fprintf(trace->to,
			"... %" PRIu64 " calls were not seen: the kernel's buffer was full\n", lost);
}

static bool take_line(void *data, const char *line)
{
	struct trace *trace = data;
	struct trace_call call;
	uint64_t lost;

	switch (trace_parse(line, &call, &lost)) {
	case TRACE_LINE_CALL:
		if (!trace_wanted(&call, trace->words))
			break;
		if (trace->programs && !trace->summary)
			trace_programs_name(trace->programs, &call, trace->all);
		if (trace->summary)
			trace_summary_add(trace->summary, &call);
		else if (trace->json)
			trace_print_json(trace->to, &call);
		else
			trace_print_text(trace->to, &call, trace->pid);
		break;
	case TRACE_LINE_LOST:
		take_lost(trace, lost);
		break;
	case TRACE_LINE_STRANGE:
		trace->strange = true;
		return false;
	case TRACE_LINE_OTHER:
		break;
	}
	return !ferror(trace->to);
}

/* --- processes ----------------------------------------------------------------- */

/* Start the COMMAND, which waits until it may go on. Return: 0 or an exit status. */
static int start_child(struct trace *trace, char **argv)
{
	int go[2];
	sigset_t none;
	char byte;

	if (pipe2(go, O_CLOEXEC))
		return fail(EXIT_FAILED, "%s", strerror(errno));
	fflush(NULL);
	trace->child = fork();
	if (trace->child < 0) {
		close(go[0]);
		close(go[1]);
		return fail(EXIT_FAILED, "%s", strerror(errno));
	}
	if (!trace->child) {
		close(go[1]);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		signal(SIGPIPE, SIG_DFL);
		/* No byte: the command has failed, and this process must not start anything. */
		if (read(go[0], &byte, 1) != 1)
			_exit(EXIT_FAILED);
		execvp(argv[0], argv);
		fprintf(stderr, "vgpuctl: %s: %s\n", argv[0], strerror(errno));
		_exit(errno == ENOENT ? 127 : 126);
	}
	close(go[0]);
	trace->go = go[1];
	return 0;
}

/* Find out which calls to trace: all, or those of a process. Return: 0 or an exit status. */
static int choose(struct trace *trace, const char *operand, const struct options *options)
{
	pid_t pid = trace->child;
	char *end;
	long number;
	int ret;

	if (operand && !pid) {
		errno = 0;
		number = strtol(operand, &end, 10);
		if (*end || end == operand || errno || number <= 0 || number > INT32_MAX)
			return fail(EXIT_USAGE,
				    "%s is no process: in a guest trace takes a PID, or -- and a COMMAND",
				    operand);
		pid = number;
		if (kill(pid, 0) && errno == ESRCH)
			return fail(EXIT_NOT_FOUND, TRACE_NO_PROCESS, pid);
	}
	trace->pid = !pid || option_given(options, OPT_FOLLOW);
	if (!pid) {
		if (option_given(options, OPT_FOLLOW))
			return fail(EXIT_USAGE,
				    "--follow needs a PID, or -- and a COMMAND: without them all processes are traced");
		return 0;
	}
	ret = trace_source_restrict(&trace->source, pid, option_given(options, OPT_FOLLOW));
	if (ret)
		return ret;
	trace->watched = syscall(SYS_pidfd_open, pid, 0);
	if (trace->watched < 0)
		return errno == ESRCH ? fail(EXIT_NOT_FOUND, TRACE_NO_PROCESS, pid) :
			fail(EXIT_FAILED, "process %d: %s", pid, strerror(errno));
	return 0;
}

/* Read calls until a signal comes, or the process has ended. */
static void read_calls(struct trace *trace, int signals)
{
	struct pollfd fds[] = {
		{ .fd = signals, .events = POLLIN },
		{ .fd = trace->watched, .events = POLLIN },
		{ .fd = trace->source.pipe, .events = POLLIN },
	};
	struct signalfd_siginfo info;
	bool over, ok;

	do {
		poll(fds, sizeof(fds) / sizeof(fds[0]), TRACE_WAKE);
		/* The lines are read after the end of the process was seen, so none is missed. */
		over = (fds[0].revents | fds[1].revents) & POLLIN;
		ok = trace_source_read(&trace->source, take_line, trace);
		if (!trace->summary && fflush(trace->to))
			ok = false;
	} while (ok && !over);
	if (fds[0].revents & POLLIN && read(signals, &info, sizeof(info)) == sizeof(info))
		trace->signal = info.ssi_signo;
}

/* Wait for the COMMAND, which gets the signal that has ended the run. Return: its exit status. */
static int end_child(struct trace *trace)
{
	int status;

	if (trace->go >= 0)
		close(trace->go);
	if (!trace->child)
		return 0;
	if (trace->signal)
		kill(trace->child, trace->signal);
	while (waitpid(trace->child, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_FAILED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/*
 * Choose the module that reports the calls: that of a guest, or that of a host if this is no guest
 * or --to is given. Return: 0 or an exit status.
 */
static int choose_side(const struct options *options, enum trace_side *side)
{
	if (option_given(options, OPT_TO))
		*side = TRACE_SIDE_HOST;
	else if (!access("/sys/module/vgpu_guest", F_OK))
		*side = TRACE_SIDE_GUEST;
	else if (!access("/sys/module/vgpu_host", F_OK))
		*side = TRACE_SIDE_HOST;
	else
		return fail(EXIT_NO_VGPU,
			    "no module of vgpu is loaded: in a guest, 'modprobe vgpu_guest'. A host needs vgpu_host; where user-space engines serve its guests, run 'vgpuctl trace' in the guest");
	return 0;
}

/*
 * Find out which guest is meant, or that all guests of this host are. @uid: user of its shadows.
 * Return: 0 or an exit status.
 */
static int choose_guest(struct trace *trace, const char *operand, const struct options *options,
			uint32_t *uid)
{
	if (options->nr_more || option_given(options, OPT_FOLLOW))
		return fail(EXIT_USAGE,
			    "a COMMAND and --follow are for guests: on a host, trace takes a GUEST");
	if (option_given(options, OPT_UNKNOWN))
		return fail(EXIT_USAGE,
			    "only a guest knows which ioctls have a schema: run 'vgpuctl trace --unknown' there");
	if (options->nr_guests > 1 || (options->nr_guests && operand))
		return fail(EXIT_USAGE, "trace takes one guest, or none for all of them");
	trace->pid = true;
	trace->all = !options->nr_guests && !operand;
	return trace_programs_open(options, operand, &trace->programs, uid);
}

static int trace_run(struct trace *trace, const char *operand, const struct options *options)
{
	enum trace_side side;
	bool is_program = options->nr_more;
	uint32_t uid = 0;
	sigset_t set;
	int signals, status, ret;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (signals < 0)
		return fail(EXIT_FAILED, "%s", strerror(errno));
	ret = choose_side(options, &side);
	if (!ret && side == TRACE_SIDE_HOST)
		ret = choose_guest(trace, operand, options, &uid);
	/* For want of memory the process may end at any line that it prints. */
	source_used = &trace->source;
	if (!ret && atexit(end_source))
		ret = fail(EXIT_FAILED, "%s", strerror(ENOMEM));
	if (!ret)
		ret = trace_source_open(&trace->source, side);
	if (!ret && side == TRACE_SIDE_HOST && !trace->all)
		ret = trace_source_restrict_user(&trace->source, uid);
	if (!ret && is_program)
		ret = start_child(trace, options->more);
	if (!ret && side == TRACE_SIDE_GUEST)
		ret = choose(trace, operand, options);
	if (!ret)
		ret = trace_source_start(&trace->source);
	if (!ret) {
		if (is_program && write(trace->go, "", 1) != 1)
			ret = fail(EXIT_FAILED, "%s", strerror(errno));
		else
			read_calls(trace, signals);
	}
	end_source();
	if (trace->watched >= 0)
		close(trace->watched);
	close(signals);
	if (!ret && trace->strange)
		ret = fail(EXIT_FAILED,
			   "the module that is loaded is of another version than vgpuctl: load the one of this version");
	status = end_child(trace);
	return ret ? ret : status;
}

int cmd_trace(const char *operand, const struct options *options)
{
	bool unknown = option_given(options, OPT_UNKNOWN);
	const char *path = options->values[OPT_OUTPUT];
	struct trace *trace = calloc(1, sizeof(*trace));
	int ret;

	if (!trace)
		return fail(EXIT_FAILED, "%s", strerror(ENOMEM));
	trace->to = path ? fopen(path, "we") : stdout;
	trace->words = options->values[OPT_FILTER];
	trace->json = option_given(options, OPT_JSON);
	trace->go = -1;
	trace->watched = -1;
	trace->source.pipe = -1;
	if (!trace->to) {
		ret = fail(exit_status(-errno), "%s: %s: give another file with --output", path,
			   strerror(errno));
		free(trace);
		return ret;
	}
	if (unknown || option_given(options, OPT_SUMMARY)) {
		trace->summary = trace_summary_new(unknown);
		if (!trace->summary) {
			ret = fail(EXIT_FAILED, "%s", strerror(ENOMEM));
			goto out_close;
		}
	}
	ret = trace_run(trace, operand, options);
	if (trace->summary && (!ret || trace->child))
		trace_summary_print(trace->to, trace->summary, trace->json);
	trace_programs_close(trace->programs);
	trace_summary_free(trace->summary);

out_close:
	if ((path ? fclose(trace->to) : fflush(trace->to)) && errno != EPIPE && !ret)
		ret = fail(EXIT_FAILED, "%s: %s", path ? path : "standard output", strerror(errno));
	free(trace);
	return ret;
}
