// SPDX-License-Identifier: GPL-2.0-only
/*
 * switches: a library to be preloaded (LD_PRELOAD) into a program of CUDA. It takes the program's
 * channels off the card and lets them run again, as the user-space engine does to share a card, at
 * moments that these variables say; each "-" takes channels off, each "+" lets them run:
 *
 * MADE		a channel was just made
 * BEFORE	a group is about to be let run: all of its channels
 * AFTER	a group was let run: all of its channels
 * LATER	the same, 50 ms later
 * TURNS	in turns of 21 ms: "run": all channels that were let run; "all": all channels
 *
 * It writes to stderr what it does, and what the driver says.
 *
 * cc -shared -fPIC -D_GNU_SOURCE -Idrivers/common -o switches.so tests/gpu/switches.c -pthread
 */
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nvidia_rm.h"

#define CHANNELS	512
#define LATER_US	50000
#define TURN_US		21650
/* Largest number of lines about turns, of which there are many. */
#define LINES		20

struct channel {
	uint32_t client;
	uint32_t group;
	uint32_t handle;
	int fd;
	bool scheduled;
};

/* A subdevice of each client, by the order in which they are made. */
static struct {
	uint32_t client;
	uint32_t subdevice;
} clients[64];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct channel channels[CHANNELS];
static unsigned int nr_channels, nr_clients, nr_lines;
static bool turns, is_off;

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

static uint32_t subdevice_of(uint32_t client)
{
	uint32_t found = 0;
	unsigned int i;

	for (i = 0; i < nr_clients; i++)
		if (clients[i].client == client)
			found = clients[i].subdevice;
	return found;
}

/* Switches those channels of a client that are wanted, by one call. Called with the lock held. */
static void switch_client(const char *when, uint32_t client, bool (*wanted)(const struct channel *),
			  bool off)
{
	struct rm_switch_channels params = { .off = off };
	struct rm_control args = {
		.client = client,
		.object = subdevice_of(client),
		.cmd = RM_CMD_SWITCH_CHANNELS,
		.params = (uintptr_t)&params,
		.params_size = sizeof(params),
	};
	int fd = -1, ret;
	unsigned int i;

	for (i = 0; i < nr_channels && params.nr < RM_SWITCH_MAX; i++) {
		if (channels[i].client != client || !wanted(&channels[i]))
			continue;
		fd = channels[i].fd;
		params.clients[params.nr] = client;
		params.channels[params.nr++] = channels[i].handle;
	}
	if (!params.nr)
		return;
	ret = syscall(SYS_ioctl, fd, RM_IOCTL_CONTROL, &args);
	if (strcmp(when, "turn") || ((ret || args.status) && nr_lines++ < LINES))
		fprintf(stderr, "switches: %s: %u channels of %#x from %#x %s: %d, status %#x\n",
			when, params.nr, client, params.channels[0], off ? "off" : "on", ret,
			args.status);
}

static void switch_all(const char *when, bool (*wanted)(const struct channel *), bool off)
{
	unsigned int i, k;

	for (i = 0; i < nr_clients; i++) {
		for (k = 0; k < i && clients[k].client != clients[i].client; k++)
			;
		if (k == i)
			switch_client(when, clients[i].client, wanted, off);
	}
}

static void act(const char *when, const char *what, bool (*wanted)(const struct channel *))
{
	for (; *what; what++)
		switch_all(when, wanted, *what == '-');
}

/* --- which channels ---------------------------------------------------------------------- */

/* The object that a command is about, under the lock. */
static uint32_t subject_client, subject;

static bool is_subject(const struct channel *channel)
{
	return channel->client == subject_client &&
	       (channel->handle == subject || channel->group == subject);
}

static bool has_turns(const struct channel *channel)
{
	return channel->scheduled || !strcmp(variable("TURNS"), "all");
}

static bool is_cut(const struct channel *channel)
{
	return is_subject(channel) && has_turns(channel);
}

/* --- threads ------------------------------------------------------------------------------ */

static void *later(void *arg)
{
	uint64_t *both = arg;

	usleep(LATER_US);
	pthread_mutex_lock(&lock);
	subject_client = *both;
	subject = *both >> 32;
	act("later", variable("LATER"), is_subject);
	pthread_mutex_unlock(&lock);
	free(both);
	return NULL;
}

static void *take_turns(void *arg)
{
	for (;;) {
		pthread_mutex_lock(&lock);
		is_off = !is_off;
		switch_all("turn", has_turns, is_off);
		pthread_mutex_unlock(&lock);
		usleep(TURN_US);
	}
	return arg;
}

static void thread_begin(void *(*function)(void *arg), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, function, arg))
		fprintf(stderr, "switches: no thread\n");
	else
		pthread_detach(thread);
}

/* --- ioctls of the program ---------------------------------------------------------------- */

static void made(int fd, const struct rm_alloc *args)
{
	if (args->class == RM_CLASS_SUBDEVICE && nr_clients < 64) {
		clients[nr_clients].client = args->client;
		clients[nr_clients++].subdevice = args->object;
	} else if (args->class == RM_CLASS_GROUP) {
		fprintf(stderr, "switches: group %#x of %#x\n", args->object, args->client);
	} else if (rm_is_channel(args->class) && nr_channels < CHANNELS) {
		fprintf(stderr, "switches: channel %#x of %#x, group %#x\n", args->object,
			args->client, args->parent);
		channels[nr_channels++] = (struct channel) {
			.client = args->client, .group = args->parent, .handle = args->object,
			.fd = fd,
		};
		subject_client = args->client;
		subject = args->object;
		act("made", variable("MADE"), is_subject);
		if (turns && is_off)
			switch_all("made in a cut", is_cut, true);
		if (!turns && *variable("TURNS")) {
			turns = true;
			thread_begin(take_turns, NULL);
		}
	}
}

static void scheduled(const struct rm_control *args)
{
	uint64_t *both = malloc(sizeof(*both));
	unsigned int i;

	subject_client = args->client;
	subject = args->object;
	fprintf(stderr, "switches: %#x of %#x is let run: status %#x\n", args->object, args->client,
		args->status);
	for (i = 0; i < nr_channels; i++)
		channels[i].scheduled |= is_subject(&channels[i]);
	act("after", variable("AFTER"), is_subject);
	if (turns && is_off)
		switch_all("let run in a cut", is_cut, true);
	if (*variable("LATER") && both) {
		*both = args->client | (uint64_t)args->object << 32;
		thread_begin(later, both);
	} else {
		free(both);
	}
}

static bool schedules(unsigned long cmd, const struct rm_control *args)
{
	return cmd == RM_IOCTL_CONTROL &&
	       (args->cmd == RM_CMD_SCHEDULE_GROUP || args->cmd == RM_CMD_SCHEDULE_CHANNEL);
}

int ioctl(int fd, unsigned long cmd, ...)
{
	const size_t len = offsetof(struct rm_alloc, params_size);
	struct rm_alloc args = {};
	bool is_schedule;
	va_list list;
	void *arg;
	int ret;

	va_start(list, cmd);
	arg = va_arg(list, void *);
	va_end(list);
	is_schedule = arg && schedules(cmd, arg);
	if (is_schedule) {
		pthread_mutex_lock(&lock);
		subject_client = ((struct rm_control *)arg)->client;
		subject = ((struct rm_control *)arg)->object;
		act("before", variable("BEFORE"), is_subject);
		pthread_mutex_unlock(&lock);
	}
	ret = syscall(SYS_ioctl, fd, cmd, arg);
	if (ret)
		return ret;
	pthread_mutex_lock(&lock);
	if (is_schedule) {
		scheduled(arg);
	} else if (cmd == RM_IOCTL_ALLOC) {
		memcpy(&args, arg, sizeof(args));
		if (!args.status)
			made(fd, &args);
	} else if (_IOC_TYPE(cmd) == 'F' && _IOC_NR(cmd) == _IOC_NR(RM_IOCTL_ALLOC) &&
		   _IOC_SIZE(cmd) == len) {
		/* The form without rights, where 32 bits of size and the status are. */
		memcpy(&args, arg, len);
		if (!(args.rights >> 32))
			made(fd, &args);
	}
	pthread_mutex_unlock(&lock);
	return ret;
}
