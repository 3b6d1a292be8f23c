// SPDX-License-Identifier: MIT
/*
 * Guests and their programs, on a host: the module reports the process that makes a call, which is
 * the shadow of the program. vgpud knows which program that is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vgpuctl/trace/program.h"

/* Time in ms for which vgpud is not asked again about a shadow that it did not know. */
#define PROGRAMS_REST	100

/**
 * struct trace_program - a program of a guest
 * @shadow: process ID of its shadow
 * @pid: its process ID in the guest, as the guest says
 * @comm: its name, as the guest says
 * @guest: name of the guest, or its context ID
 */
struct trace_program {
	uint32_t shadow;
	uint32_t pid;
	char comm[17];
	char guest[TRACE_GUEST];
};

/**
 * struct trace_programs - programs that vgpud has told of
 * @agent: connection to vgpud
 * @asked: time in ms at which vgpud was asked last; 0: it was not
 * @list: array of programs, among them those that have ended: their last calls may still come
 * @nr: number of entries of @list
 */
struct trace_programs {
	struct vgpu_agent *agent;
	uint64_t asked;
	struct trace_program *list;
	size_t nr;
};

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ULL + now.tv_nsec / 1000000;
}

static struct trace_program *find(const struct trace_programs *programs, uint32_t shadow)
{
	size_t i;

	for (i = 0; i < programs->nr; i++)
		if (programs->list[i].shadow == shadow)
			return &programs->list[i];
	return NULL;
}

static void learn(struct trace_programs *programs, const struct vgpu_guest_info *guest,
		  const struct vgpu_program_info *info)
{
	struct trace_program *program = find(programs, info->shadow_pid), *more;

	if (!program) {
		more = reallocarray(programs->list, programs->nr + 1, sizeof(*more));
		if (!more)
			return;
		programs->list = more;
		program = &more[programs->nr++];
	}
	program->shadow = info->shadow_pid;
	program->pid = info->guest_pid;
	snprintf(program->comm, sizeof(program->comm), "%s", info->comm);
	if (*guest->name)
		snprintf(program->guest, sizeof(program->guest), "%s", guest->name);
	else
		snprintf(program->guest, sizeof(program->guest), "%u", guest->cid);
}

static void learn_all(struct trace_programs *programs, const struct vgpu_host_info *host)
{
	size_t i, j;

	programs->asked = now_ms();
	for (i = 0; i < host->nr_guests; i++)
		for (j = 0; j < host->guests[i]->nr_programs; j++)
			learn(programs, host->guests[i], host->guests[i]->programs[j]);
}

void trace_programs_name(struct trace_programs *programs, struct trace_call *call, bool all)
{
	struct trace_program *program = find(programs, call->tgid);
	struct vgpu_host_info *host;

	if (!program && now_ms() - programs->asked >= PROGRAMS_REST &&
	    !vgpu_agent_status(programs->agent, &host)) {
		learn_all(programs, host);
		vgpu_host_info_free(host);
		program = find(programs, call->tgid);
	}
	if (!program)
		return;
	call->tgid = program->pid;
	call->tid = program->pid;
	strcpy(call->comm, program->comm);
	if (all)
		strcpy(call->guest, program->guest);
}

/* Find out which guest is meant, by --to or by a word. Return: 0 or an exit status. */
static int find_guest(struct trace_programs *programs, const struct options *options,
		      const char *word, struct vgpu_guest_name *guest)
{
	const char *name;
	int ret;

	if (options->nr_guests) {
		*guest = options->guests[0];
		return 0;
	}
	ret = guest_parse(word, &name, guest);
	if (ret || !name)
		return ret;
	ret = vgpu_agent_find_guest(programs->agent, name, guest);
	return ret ? agent_failed(programs->agent, ret) : 0;
}

/* Find the user of a guest's shadows. Return: 0 or an exit status. */
static int find_user(const struct vgpu_host_info *host, const struct vgpu_guest_name *guest,
		     uint32_t *uid)
{
	size_t i;

	for (i = 0; i < host->nr_guests; i++)
		if (host->guests[i]->connected && host->guests[i]->cid == guest->cid &&
		    host->guests[i]->port == (guest->port ? guest->port : host->port)) {
			*uid = host->guests[i]->uid;
			return 0;
		}
	return fail(EXIT_NOT_FOUND, "the guest %u is not connected: 'vgpuctl status' shows those that are",
		    guest->cid);
}

int trace_programs_open(const struct options *options, const char *word,
			struct trace_programs **to, uint32_t *uid)
{
	struct trace_programs *programs = calloc(1, sizeof(*programs));
	struct vgpu_guest_name guest = { 0 };
	struct vgpu_host_info *host = NULL;
	int ret;

	if (!programs)
		return fail(EXIT_FAILED, "%s", strerror(ENOMEM));
	ret = open_agent(options, &programs->agent);
	if (ret)
		goto err_free;
	ret = vgpu_agent_status(programs->agent, &host);
	if (ret) {
		ret = agent_failed(programs->agent, ret);
		goto err_close;
	}
	if (host->user_engine)
		ret = fail(EXIT_FAILED,
			   "user-space engines serve the guests of this host, and no module sees their calls here: run 'vgpuctl trace' in the guest");
	else if (options->nr_guests || word)
		ret = find_guest(programs, options, word, &guest) ?: find_user(host, &guest, uid);
	learn_all(programs, host);
	vgpu_host_info_free(host);
	if (ret)
		goto err_close;
	*to = programs;
	return 0;

err_close:
	vgpu_agent_close(programs->agent);

err_free:
	free(programs->list);
	free(programs);
	return ret;
}

void trace_programs_close(struct trace_programs *programs)
{
	if (!programs)
		return;
	vgpu_agent_close(programs->agent);
	free(programs->list);
	free(programs);
}
