// SPDX-License-Identifier: GPL-2.0-only
/*
 * nvidia_client owner: allocates memory of an NVIDIA card, or of the stand-in for its driver,
 * prints the handles of its client, its device and that memory, waits for SIGTERM, and checks
 * that all three still exist. Before that it exports the memory, and checks that exports of
 * other programs cannot be had by their numbers.
 *
 * nvidia_client stranger CLIENT DEVICE MEMORY: makes all requests that name handles, with the
 * handles of another user's program, each of which must fail, and then with its own, which must
 * succeed.
 *
 * nvidia_client guest CLIENT DEVICE MEMORY: the same in a guest, for a program that is not of this
 * guest. The host must also refuse requests that the driver grants for any client.
 *
 * Exit status 1 if a result is wrong, 2 if there is no card.
 */
#include <err.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../gpu/memory.h"

#define SIZE	(64UL << 10)

/* Clients from a little before this program's own on, and the first objects of each, are tried. */
#define CLIENTS		1024
#define CLIENT_FIRST	0xc1d00000
#define CLIENTS_SINCE	16
#define OBJECTS		64

/* The command returns the address space of memory: the card's or the machine's. */
#define CMD_ADDRESS_SPACE	0xd01

struct address_space {
	uint32_t object;
	uint32_t flags;
	uint32_t type;
};

struct handles {
	uint32_t client;
	uint32_t device;
	uint32_t memory;
};

static struct handles own;

/* This function and the following ones return a status, or exit. */
static uint32_t ask_control(const struct handles *of)
{
	struct address_space space = { .object = of->memory };
	struct rm_control args = {
		.client = of->client, .object = of->client, .cmd = CMD_ADDRESS_SPACE,
		.params = (uintptr_t)&space, .params_size = sizeof(space),
	};

	if (ioctl(rm.control, RM_IOCTL_CONTROL, &args))
		err(1, "RM_CONTROL");
	return args.status;
}

static uint32_t ask_alloc(const struct handles *of)
{
	struct rm_memory_params params = { .owner = of->client, .attr = ATTR_VIDEO, .size = SIZE };
	struct rm_alloc args = {
		.client = of->client, .parent = of->device, .class = CLASS_VIDEO,
		.params = (uintptr_t)&params, .params_size = sizeof(params),
	};

	if (ioctl(rm.control, RM_IOCTL_ALLOC, &args))
		err(1, "RM_ALLOC");
	return args.status;
}

static uint32_t ask_map(const struct handles *of)
{
	struct rm_map args = {
		.client = of->client, .device = of->device, .memory = of->memory, .len = SIZE,
		.fd = open_node(0),
	};

	if (args.fd < 0 || ioctl(rm.control, RM_IOCTL_MAP, &args))
		err(1, "RM_MAP_MEMORY");
	close(args.fd);
	return args.status;
}

/* The duplicate would belong to this program. */
static uint32_t ask_dup(const struct handles *of)
{
	struct rm_dup args = {
		.client = own.client, .parent = own.device,
		.from_client = of->client, .from_object = of->memory,
	};

	if (ioctl(rm.control, RM_IOCTL_DUP, &args))
		err(1, "RM_DUP_OBJECT");
	return args.status;
}

static uint32_t ask_free_object(const struct handles *of)
{
	struct rm_free args = { .client = of->client, .parent = of->device, .object = of->memory };

	if (ioctl(rm.control, RM_IOCTL_FREE, &args))
		err(1, "RM_FREE of memory");
	return args.status;
}

static uint32_t ask_free_client(const struct handles *of)
{
	struct rm_free args = { .client = of->client, .object = of->client };

	if (ioctl(rm.control, RM_IOCTL_FREE, &args))
		err(1, "RM_FREE of a client");
	return args.status;
}

/* The requests that free memory and the client come last. */
static const struct {
	const char *what;
	uint32_t (*ask)(const struct handles *of);
} requests[] = {
	{ "RM_CONTROL", ask_control },
	{ "RM_ALLOC", ask_alloc },
	{ "RM_MAP_MEMORY", ask_map },
	{ "RM_DUP_OBJECT", ask_dup },
	{ "RM_FREE of memory", ask_free_object },
	{ "RM_FREE of a client", ask_free_client },
};

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))

static uint32_t ask_os_event(unsigned int cmd, const struct handles *of)
{
	struct {
		uint32_t client;
		uint32_t device;
		int32_t fd;
		uint32_t status;
	} args = { .client = of->client, .device = of->device, .fd = rm.control };

	if (ioctl(rm.control, _IOC(_IOC_READ | _IOC_WRITE, 'F', cmd, sizeof(args)), &args))
		err(1, "an OS event");
	return args.status;
}

static uint32_t ask_event(const struct handles *of)
{
	return ask_os_event(0xce, of);
}

static uint32_t ask_free_event(const struct handles *of)
{
	return ask_os_event(0xcf, of);
}

/* Exports memory of the client as a dma-buf; not all cards and drivers can. */
static uint32_t ask_dmabuf(const struct handles *of)
{
	union {
		int32_t fd;
		uint32_t words[652];
		uint64_t pairs[326];
	} args = { .fd = -1 };
	int card = open_node(0);

	args.words[1] = of->client;
	args.words[2] = 1;
	args.words[3] = 1;
	args.pairs[3] = SIZE;
	args.words[9] = of->memory;
	args.pairs[197] = SIZE;
	args.words[650] = 77;
	if (ioctl(card, _IOC(_IOC_READ | _IOC_WRITE, 'F', 0xd9, sizeof(args)), &args) &&
	    of != &own)
		err(1, "a dma-buf");
	if (args.fd >= 0)
		close(args.fd);
	close(card);
	return of == &own && args.words[650] != RM_NOT_SUPPORTED ? 0 : args.words[650];
}

/* The driver does these for any client, so only the host refuses them. */
static const struct {
	const char *what;
	uint32_t (*ask)(const struct handles *of);
} unchecked[] = {
	{ "an OS event", ask_event },
	{ "freeing an OS event", ask_free_event },
	{ "a dma-buf", ask_dmabuf },
};

/* Return: true if the host refuses these requests for other clients, and only for these. */
static bool host_refuses(const struct handles *of)
{
	bool right = true;
	uint32_t status;
	unsigned int i;

	for (i = 0; i < COUNT(unchecked); i++) {
		status = unchecked[i].ask(of);
		if (status != RM_NOT_SUPPORTED)
			warnx("%s, for a client of somebody else's: status %#x", unchecked[i].what, status);
		right &= status == RM_NOT_SUPPORTED;
		status = unchecked[i].ask(&own);
		if (status)
			warnx("%s, for a client of its own: status %#x", unchecked[i].what, status);
		right &= !status;
	}
	return right;
}

/*
 * Makes the requests with the other program's handles, and then with its own. The last ones
 * free its own objects. @guest: true if the host is to be tested, too
 */
static void be_stranger(const struct handles *of, bool guest)
{
	bool wrong = guest && !host_refuses(of);
	uint32_t status;
	unsigned int i;

	for (i = 0; i < COUNT(requests); i++) {
		status = requests[i].ask(of);
		if (status == RM_INVALID_CLIENT || status == RM_INSUFFICIENT_PERMISSIONS)
			continue;
		warnx("%s with a client of somebody else's: status %#x", requests[i].what, status);
		wrong = true;
	}
	for (i = 0; i < COUNT(requests); i++) {
		status = requests[i].ask(&own);
		if (!status)
			continue;
		warnx("%s with a client of its own: status %#x", requests[i].what, status);
		wrong = true;
	}
	if (wrong)
		exit(1);
	printf("%zu requests refused\n", COUNT(requests) + (guest ? COUNT(unchecked) : 0));
}

static int export_own(void)
{
	struct rm_export export = {
		.type = RM_EXPORT_OBJECT, .device = own.device, .parent = own.device,
		.object = own.memory, .file = open_node(RM_MINOR_CTL),
	};
	struct rm_control args = {
		.client = own.client, .object = own.client, .cmd = RM_CMD_EXPORT,
		.params = (uintptr_t)&export, .params_size = sizeof(export),
	};

	if (export.file < 0 || ioctl(rm.control, RM_IOCTL_CONTROL, &args))
		err(1, "export");
	if (args.status)
		errx(1, "export: status %#x", args.status);
	return export.file;
}

/* Duplicates an object, and frees the duplicate. Return: the status. */
static uint32_t duplicate(uint32_t client, uint32_t object)
{
	struct rm_dup args = {
		.client = own.client, .parent = own.device,
		.from_client = client, .from_object = object,
	};

	if (ioctl(rm.control, RM_IOCTL_DUP, &args))
		err(1, "RM_DUP_OBJECT");
	if (!args.status && rm_release(own.client, args.object))
		errx(1, "RM_FREE of a duplicate");
	return args.status;
}

/*
 * Checks that this process cannot duplicate exports. The driver keeps the exports of all programs
 * in one client, which it makes when the first program exports. If the client belonged to that
 * program, which may be this process, the program could have other programs' exports.
 */
static void look_for_exports(void)
{
	uint32_t first = own.client - CLIENTS, client, object, status;
	unsigned int seen = 0;

	if (first < CLIENT_FIRST)
		first = CLIENT_FIRST;
	/*
	 * The driver numbers clients in the order in which they come, and this program has
	 * exported before.
	 */
	for (client = first; client < own.client + CLIENTS_SINCE; client++) {
		if (client == own.client)
			continue;
		for (object = 1; object < OBJECTS; object++) {
			status = duplicate(client, object);
			if (!status)
				errx(1, "object %u of client %#x can be had", object, client);
			/* There is no such client. */
			if (status == RM_INVALID_CLIENT || status == RM_INVALID_OBJECT_HANDLE)
				break;
			seen += status == RM_INSUFFICIENT_PERMISSIONS;
		}
	}
	if (!seen)
		errx(1, "the client of exports was not found");
}

static void be_owner(void)
{
	int exported = export_own(), number;
	sigset_t signals;
	unsigned int i;

	look_for_exports();
	close(exported);
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	printf("%#x %#x %#x\n", own.client, own.device, own.memory);
	fflush(stdout);
	if (sigwait(&signals, &number))
		errx(2, "sigwait");
	for (i = 0; i < COUNT(requests); i++)
		if (requests[i].ask(&own))
			errx(1, "%s of the owner's fails", requests[i].what);
}

int main(int argc, char **argv)
{
	bool owner = argc == 2 && !strcmp(argv[1], "owner");
	bool guest = argc == 5 && !strcmp(argv[1], "guest");
	struct handles of = {};
	int card;

	if (guest || (argc == 5 && !strcmp(argv[1], "stranger"))) {
		of.client = strtoul(argv[2], NULL, 0);
		of.device = strtoul(argv[3], NULL, 0);
		of.memory = strtoul(argv[4], NULL, 0);
	} else if (!owner) {
		errx(2, "usage: nvidia_client owner|stranger|guest CLIENT DEVICE MEMORY");
	}
	/* The driver does not start the card while no file of the card is open. */
	card = open_node(0);
	if (card < 0)
		err(2, "the card");
	if (rm_begin())
		errx(2, "no card: status %#x", rm.status);
	own.client = rm.client;
	own.device = device;
	if (rm_memory(CLASS_VIDEO, SIZE, &own.memory))
		errx(2, "no memory");
	if (owner)
		be_owner();
	else
		be_stranger(&of, guest);
	close(card);
	return 0;
}
