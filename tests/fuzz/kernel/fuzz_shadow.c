// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzzer of shadows and agents: a process that has the host module's files, and makes ioctls and
 * mappings of them while threads serve lanes. Each input has a process of its own, which is killed
 * after a while. Then nothing of it must be left in the module.
 *
 * The program ends vgpud, and does not start it again: its caller does, or it is the last one in a
 * machine.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cover.h"
#include "fuzz.h"
#include "shadow.h"

/* Time in units of 10 ms for an input, and for the module to forget its process. */
#define PLAY_TRIES	300
#define GONE_TRIES	3000

/* Return: number of references of the host module. */
static int references(void)
{
	FILE *file = fopen("/sys/module/vgpu_host/refcnt", "r");
	int nr = -1;

	if (!file)
		return -1;
	if (fscanf(file, "%d", &nr) != 1)
		nr = -1;
	fclose(file);
	return nr;
}

static const char *await_none(void)
{
	unsigned int i;

	for (i = 0; i < GONE_TRIES; i++) {
		if (!references())
			return NULL;
		usleep(10000);
	}
	return "the host module has references of a process that is gone";
}

static bool start(void)
{
	/* The agent may have been ended before. */
	if (!getenv("VGPU_REAL") || system("pid=$(pidof vgpud); [ -z \"$pid\" ] || kill $pid"))
		return false;
	return !await_none();
}

static const char *run(struct input *input)
{
	struct step *step = NULL;
	unsigned int i;
	int status;
	pid_t pid;

	/* Those of the process are not known, as it may be killed. */
	while ((step = input_next(input, step)))
		fuzz_messages += step->kind == SHADOW_SEND || step->kind == SHADOW_IOCTL;
	pid = fork();
	if (!pid) {
		cover_own();
		shadow_play(input);
		_exit(0);
	}
	for (i = 0; i < PLAY_TRIES && !waitpid(pid, &status, WNOHANG); i++)
		usleep(10000);
	if (i == PLAY_TRIES) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
	return await_none();
}

static const char *stop(void)
{
	return await_none();
}

static const struct fuzz fuzz_shadow = {
	.name = "fuzz_shadow",
	.start = start,
	.make = shadow_make,
	.change = shadow_change,
	.run = run,
	.stop = stop,
};

int main(int argc, char **argv)
{
	return fuzz_main(&fuzz_shadow, argc, argv);
}
