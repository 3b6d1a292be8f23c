// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzzer of the wire: a guest in user space that speaks to the host module over vsock_loopback, by
 * a control connection and lanes of two sessions, which end at any time. The host must stay whole,
 * take the guest back after the end of its connection, and in the end have none of its files.
 *
 * The program runs where the host is, as root, and has vgpud export the mock (VGPU_REAL) to itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "draw.h"
#include "fuzz.h"
#include "message.h"
#include "vgpu_mock.h"
#include "wire.h"

#define PORT		22601
/* The guest connects anew after this number of inputs, on average. */
#define INPUTS_OF_CONNECTION	48
/* Time in units of 100 ms for the host to close a guest's files. */
#define CLOSE_TRIES	300

static uint64_t files_before;

/* Return: number of open files of the mock, without the one of this function. */
static uint64_t open_files(void)
{
	static struct vgpu_mock_counters counters;
	int fd = open(getenv("VGPU_REAL"), O_RDWR | O_CLOEXEC);
	uint64_t files = UINT64_MAX;

	if (fd >= 0 && !ioctl(fd, VGPU_MOCK_IOC_COUNTERS, &counters))
		files = counters.out_files - 1;
	if (fd >= 0)
		close(fd);
	return files;
}

static bool start(void)
{
	const char *real = getenv("VGPU_REAL"), *wrong;
	char command[256];

	if (!real) {
		printf("# VGPU_REAL is not set\n");
		return false;
	}
	snprintf(command, sizeof(command),
		 "vgpuctl export %s --to 1:%u --name fuzz-wire >/dev/null", real, PORT);
	if (system(command))
		return false;
	files_before = open_files();
	wrong = wire_begin(PORT);
	if (wrong)
		printf("# %s\n", wrong);
	return !wrong;
}

static const char *run(struct input *input)
{
	struct step *step = NULL;
	const char *wrong = NULL;

	if (draw_one_in(INPUTS_OF_CONNECTION))
		wire_kill(0);
	while (!wrong && (step = input_next(input, step))) {
		unsigned int where = step->where % WIRE_CONNS;

		switch (step->kind % WIRE_STEPS) {
		case WIRE_SEND:
			fuzz_messages++;
			wrong = wire_send(where, step->data, step->len, step->flags);
			break;
		case WIRE_KILL:
			wire_kill(where);
			break;
		case WIRE_WAIT:
			wire_wait(where, step->flags);
			break;
		case WIRE_NAP:
			usleep((step->flags & 15) * 1000);
			break;
		}
	}
	/* Threads of the host report what they have run a moment after their answers. */
	usleep(2000);
	return wrong;
}

static const char *stop(void)
{
	const char *wrong = NULL;
	unsigned int i;

	wire_end();
	/* A new connection is taken only after the old one is cleaned up. */
	wrong = wire_begin(PORT);
	wire_end();
	for (i = 0; i < CLOSE_TRIES && open_files() > files_before; i++)
		usleep(100000);
	if (!wrong && open_files() > files_before)
		wrong = "the host still has files of a guest that is gone";
	if (system("vgpuctl unexport fuzz-wire --force >/dev/null") && !wrong)
		wrong = "vgpud does not answer";
	return wrong;
}

static const struct fuzz fuzz_wire = {
	.name = "fuzz_wire",
	.start = start,
	.make = wire_make,
	.change = message_change,
	.run = run,
	.stop = stop,
};

int main(int argc, char **argv)
{
	return fuzz_main(&fuzz_wire, argc, argv);
}
