// SPDX-License-Identifier: GPL-2.0-only
/*
 * nvidia_use DEVICE [VERSION]: uses a node of the stand-in for NVIDIA's driver from a guest: an
 * ioctl with a pointer, write, read, mmap; on cards and the control file also that driver's own
 * ioctls, with libraries of a VERSION that is not the driver's, and the card's address. Prints
 * the node's name as the driver has it. Exit status 1 if a result is wrong. With "card" as the
 * version it makes objects of the card by the control file; with "race" it makes requests while
 * another thread changes them.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../drivers/common/nvidia_rm.h"
#include "vgpu_mock_nvidia.h"

/*
 * CMD_ANY stands for all commands that reach the driver. CMD_DENIED asks for the owners of the
 * card's memory, and the host answers it itself.
 */
#define CMD_ANY		0x20800110
#define CMD_DENIED	0x20801349
#define NOT_SUPPORTED	0x56
/* No request returns this status. */
#define UNTOUCHED	77

/*
 * Least number of rounds of a race in an ordinary run, and in a run with "race"; number of rounds
 * after which a race has failed if all, or none, of its requests were denied.
 */
#define RACE_FEW	40
#define RACE_MANY	500
#define RACE_MOST	20000

/* Number of threads that use the card at once, and of rounds of each thread. */
#define CARD_THREADS	4
#define CARD_ROUNDS	100

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))

static unsigned char params[VGPU_MOCK_NVIDIA_PARAMS];

/*
 * Ways to make a request: by the ioctl itself, or wrapped in another ioctl; each with the type of
 * the driver's ioctls ('F'), which the driver ignores, and with another type.
 */
static const struct way {
	unsigned int type;
	bool wrapped;
} ways[] = { { 'F', false }, { 'F', true }, { 'V', false }, { 'V', true } };

/* Makes a request in one of these ways. Return: the result of ioctl(). */
static int ask(int fd, unsigned int cmd, void *arg, const struct way *way)
{
	struct vgpu_mock_nvidia_xfer xfer = {
		.nr = _IOC_NR(cmd), .size = _IOC_SIZE(cmd), .arg = (unsigned long)arg,
	};

	memset(params, 0x35, sizeof(params));
	if (way->wrapped)
		return ioctl(fd, _IOWR(way->type, 0xd3, struct vgpu_mock_nvidia_xfer), &xfer);
	return ioctl(fd, _IOC(_IOC_READ | _IOC_WRITE, way->type, _IOC_NR(cmd), _IOC_SIZE(cmd)),
		     arg);
}

/*
 * Return: true if the request failed because the guest did not send the wrapped argument: no
 * schema describes the wrapping ioctl with another type.
 */
static bool comes_not_along(int ret, const struct way *way)
{
	return ret && way->wrapped && way->type != 'F' && errno == EFAULT;
}

static void fill_control(struct vgpu_mock_nvidia_control *control, unsigned int cmd)
{
	memset(control, 0, sizeof(*control));
	control->cmd = cmd;
	control->params = (unsigned long)params;
	control->size = sizeof(params) - 1;
	control->status = UNTOUCHED;
}

static void use_controls(int fd)
{
	struct vgpu_mock_nvidia_control control;
	const struct way *way;
	int ret;

	for (way = ways; way < ways + COUNT(ways); way++) {
		fill_control(&control, CMD_ANY);
		ret = ask(fd, VGPU_MOCK_NVIDIA_CONTROL, &control, way);
		if (comes_not_along(ret, way))
			continue;
		if (ret)
			err(1, "a control of type %c", way->type);
		if (control.status || params[0] != 0xca || params[sizeof(params) - 2] != 0xca ||
		    params[sizeof(params) - 1] != 0x35)
			errx(1, "a control of type %c: status %#x, %#x", way->type, control.status,
			     params[0]);
	}
}

/*
 * Makes requests that the host answers itself. The driver's own counter tells whether it was
 * asked.
 */
static void use_denied(int fd)
{
	static const unsigned int controls[] = VGPU_MOCK_NVIDIA_DENIED;
	static const struct {
		unsigned int cmd;
		unsigned int at, value;
		unsigned int status;
	} others[] = {
		{ VGPU_MOCK_NVIDIA_ALLOC_MEMORY, VGPU_MOCK_NVIDIA_ALLOC_CLASS,
		  VGPU_MOCK_NVIDIA_FLA, 40 },
		{ VGPU_MOCK_NVIDIA_ALLOC, VGPU_MOCK_NVIDIA_ALLOC_CLASS, VGPU_MOCK_NVIDIA_FLA, 28 },
		{ VGPU_MOCK_NVIDIA_ALLOC_RIGHTS, VGPU_MOCK_NVIDIA_ALLOC_CLASS,
		  VGPU_MOCK_NVIDIA_FLA, 40 },
		{ VGPU_MOCK_NVIDIA_ALLOC_MEMORY, VGPU_MOCK_NVIDIA_ALLOC_CLASS,
		  VGPU_MOCK_NVIDIA_MULTICAST, 40 },
		{ VGPU_MOCK_NVIDIA_ALLOC, VGPU_MOCK_NVIDIA_ALLOC_CLASS,
		  VGPU_MOCK_NVIDIA_MULTICAST, 28 },
		{ VGPU_MOCK_NVIDIA_ALLOC_RIGHTS, VGPU_MOCK_NVIDIA_ALLOC_CLASS,
		  VGPU_MOCK_NVIDIA_MULTICAST, 40 },
		{ VGPU_MOCK_NVIDIA_ALLOC, VGPU_MOCK_NVIDIA_ALLOC_CLASS,
		  VGPU_MOCK_NVIDIA_OS_DESCRIPTOR, 28 },
		{ VGPU_MOCK_NVIDIA_ALLOC_RIGHTS, VGPU_MOCK_NVIDIA_ALLOC_CLASS,
		  VGPU_MOCK_NVIDIA_OS_DESCRIPTOR, 40 },
		{ VGPU_MOCK_NVIDIA_SHARE, VGPU_MOCK_NVIDIA_SHARE_WITH,
		  VGPU_MOCK_NVIDIA_SHARE_CLIENT, 20 },
	};
	struct vgpu_mock_nvidia_control control;
	struct vgpu_mock_nvidia_words words;
	const struct way *way;
	unsigned int i;
	int ret;

	for (i = 0; i < COUNT(controls) * COUNT(ways); i++) {
		way = &ways[i % COUNT(ways)];
		fill_control(&control, controls[i / COUNT(ways)]);
		ret = ask(fd, VGPU_MOCK_NVIDIA_CONTROL, &control, way);
		if (!comes_not_along(ret, way) &&
		    (ret || control.status != NOT_SUPPORTED || params[0] != 0x35))
			errx(1, "denied control %#x of type %c: %d, status %#x, %#x", control.cmd,
			     way->type, ret, control.status, params[0]);
	}
	for (i = 0; i < COUNT(others) * COUNT(ways); i++) {
		unsigned int nr = i / COUNT(ways);

		way = &ways[i % COUNT(ways)];
		memset(&words, 0, sizeof(words));
		words.word[others[nr].at / 4] = others[nr].value;
		words.word[others[nr].status / 4] = UNTOUCHED;
		ret = ask(fd, others[nr].cmd, &words, way);
		if (!comes_not_along(ret, way) &&
		    (ret || words.word[others[nr].status / 4] != NOT_SUPPORTED))
			errx(1, "denied ioctl %#x of type %c: %d, status %#x", others[nr].cmd,
			     way->type, ret, words.word[others[nr].status / 4]);
	}
}

/* struct flip: a word that another thread sets to each of two values in turn, until @over. */
static struct flip {
	volatile unsigned int *word;
	unsigned int values[2];
	volatile bool over;
} flipped;

static void *flip(void *unused)
{
	while (!flipped.over) {
		*flipped.word = flipped.values[0];
		sched_yield();
		*flipped.word = flipped.values[1];
		sched_yield();
	}
	return unused;
}

/* This is the memory of a race: arguments, and an argument that may wrap them. */
static struct {
	struct vgpu_mock_nvidia_control controls[2];
	struct vgpu_mock_nvidia_xfer xfer;
	struct rm_alloc alloc;
	struct rm_share share;
} raced __attribute__((aligned(4096)));

/*
 * Makes a request. Return: true if it was denied. This function and the following ones exit if
 * anything else than the allowed request was done.
 */
static bool race_control(int fd, bool wrapped)
{
	volatile unsigned int *status = &raced.controls[0].status;

	memset(params, 0x35, sizeof(params));
	*status = UNTOUCHED;
	if (wrapped ? ioctl(fd, VGPU_MOCK_NVIDIA_XFER, &raced.xfer) :
		      ioctl(fd, VGPU_MOCK_NVIDIA_CONTROL, &raced.controls[0]))
		err(1, "a control that is changed");
	if (*status == NOT_SUPPORTED && params[0] == 0x35)
		return true;
	if (*status || params[0] != 0xca)
		errx(1, "a control that is changed: status %#x, %#x", *status, params[0]);
	return false;
}

static bool race_plain(int fd)
{
	return race_control(fd, false);
}

static bool race_wrapped(int fd)
{
	return race_control(fd, true);
}

/* Makes a wrapped request. Its address is that of a denied or of an allowed argument in turn. */
static bool race_address(int fd)
{
	memset(params, 0x35, sizeof(params));
	fill_control(&raced.controls[0], CMD_DENIED);
	fill_control(&raced.controls[1], CMD_ANY);
	if (ioctl(fd, VGPU_MOCK_NVIDIA_XFER, &raced.xfer))
		err(1, "an address that is changed");
	if (raced.controls[0].status == NOT_SUPPORTED && params[0] == 0x35)
		return true;
	if (raced.controls[1].status || params[0] != 0xca)
		errx(1, "an address that is changed: statuses %#x and %#x, %#x",
		     raced.controls[0].status, raced.controls[1].status, params[0]);
	return false;
}

static bool race_class(int fd)
{
	struct rm_free root = {};

	raced.alloc.object = 0;
	raced.alloc.status = UNTOUCHED;
	if (ioctl(fd, RM_IOCTL_ALLOC, &raced.alloc))
		err(1, "a class that is changed");
	if (raced.alloc.status == NOT_SUPPORTED && !raced.alloc.object)
		return true;
	root.client = raced.alloc.object;
	root.object = raced.alloc.object;
	if (raced.alloc.status || ioctl(fd, RM_IOCTL_FREE, &root) || root.status)
		errx(1, "a class that is changed: status %#x, then %#x", raced.alloc.status,
		     root.status);
	return false;
}

/* Asks to share an object of a client that does not exist: RM_OBJECT_NOT_FOUND if allowed. */
static bool race_share(int fd)
{
	raced.share.status = UNTOUCHED;
	if (ioctl(fd, RM_IOCTL_SHARE, &raced.share))
		err(1, "a share that is changed");
	if (raced.share.status != NOT_SUPPORTED && raced.share.status != RM_OBJECT_NOT_FOUND)
		errx(1, "a share that is changed: status %#x", raced.share.status);
	return raced.share.status == NOT_SUPPORTED;
}

static const struct race {
	const char *what;
	bool (*ask)(int fd);
	volatile unsigned int *word;
	unsigned int denied;
	unsigned int done;
} races[] = {
	{ "commands", race_plain, &raced.controls[0].cmd, CMD_DENIED, CMD_ANY },
	{ "wrapped commands", race_wrapped, &raced.controls[0].cmd, CMD_DENIED, CMD_ANY },
	/* The word is the lower half of the address, as both addresses are in one page. */
	{ "addresses", race_address, (unsigned int *)&raced.xfer.arg, 0, 0 },
	{ "classes", race_class, &raced.alloc.class, VGPU_MOCK_NVIDIA_FLA, RM_CLASS_CLIENT },
	{ "shares", race_share, (unsigned int *)&raced.share.with, RM_SHARE_WITH_CLIENT, 0 },
};

/*
 * Makes requests while another thread changes what they ask for. The driver must have done the
 * allowed request, or nothing.
 */
static void run_race(int fd, const struct race *race, unsigned int rounds)
{
	unsigned int i, denied = 0;
	pthread_t thread;

	memset(&raced, 0, sizeof(raced));
	fill_control(&raced.controls[0], CMD_DENIED);
	fill_control(&raced.controls[1], CMD_ANY);
	raced.xfer.nr = _IOC_NR(VGPU_MOCK_NVIDIA_CONTROL);
	raced.xfer.size = sizeof(raced.controls[0]);
	raced.xfer.arg = (unsigned long)&raced.controls[0];
	flipped.word = race->word;
	flipped.values[0] = race->denied;
	flipped.values[1] = race->done;
	if (race->word == (unsigned int *)&raced.xfer.arg) {
		flipped.values[0] = (unsigned long)&raced.controls[0];
		flipped.values[1] = (unsigned long)&raced.controls[1];
	}
	*flipped.word = flipped.values[0];
	flipped.over = false;
	if (pthread_create(&thread, NULL, flip, NULL))
		errx(1, "no thread");
	for (i = 0; i < RACE_MOST && (i < rounds || !denied || denied == i); i++)
		denied += race->ask(fd);
	flipped.over = true;
	pthread_join(thread, NULL);
	if (!denied || denied == i)
		errx(1, "of %u %s that were changed, %u were denied", i, race->what, denied);
}

static void use_races(int fd, unsigned int nr, unsigned int rounds)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		run_race(fd, &races[i], rounds);
}

/* The driver gets a flag that the program has not set and does not see. */
static void use_flags(int fd)
{
	struct vgpu_mock_nvidia_uvm_init init;
	unsigned int flags;

	for (flags = 0; flags < 4; flags++) {
		memset(&init, 0, sizeof(init));
		init.flags = flags;
		if (ioctl(fd, VGPU_MOCK_NVIDIA_UVM_INIT, &init))
			err(1, "flags %u", flags);
		if (init.flags != flags || init.status != (flags | 2))
			errx(1, "flags %u: the driver saw %u, the program %llu", flags, init.status,
			     init.flags);
	}
}

static void use_files(int fd)
{
	int other = open("/dev/null", O_RDWR), ctl = open("/dev/nvidiactl", O_RDWR);

	if (ctl < 0 || ioctl(fd, VGPU_MOCK_NVIDIA_REGISTER, &ctl))
		err(1, "the control file");
	if (!ioctl(fd, VGPU_MOCK_NVIDIA_REGISTER, &other))
		errx(1, "another file is taken for it");
	close(ctl);
	close(other);
}

/* struct place: address of the card in this machine. */
struct place {
	unsigned int domain, bus, slot;
};

static struct place here(void)
{
	char path[256];
	ssize_t len = readlink("/sys/class/vgpu-nvidia/nvidia0/device", path, sizeof(path) - 1);
	struct place place = {};
	const char *name;

	if (len < 0)
		err(1, "the card's device");
	path[len] = '\0';
	name = strrchr(path, '/');
	if (!name || sscanf(name, "/%x:%x:%x.", &place.domain, &place.bus, &place.slot) != 3)
		errx(1, "the card's device is %s", path);
	return place;
}

static void is_here(unsigned int domain, unsigned int bus, unsigned int slot, const char *what)
{
	struct place place = here();

	if (domain != place.domain || bus != place.bus || slot != place.slot)
		errx(1, "%s: the card is %04x:%02x:%02x, not %04x:%02x:%02x", what, domain, bus, slot,
		     place.domain, place.bus, place.slot);
}

static void command(int fd, unsigned int cmd, void *about, unsigned int size, bool wrapped)
{
	struct vgpu_mock_nvidia_control control = {
		.cmd = cmd, .params = (unsigned long)about, .size = size, .status = 77,
	};
	struct vgpu_mock_nvidia_xfer xfer = {
		.nr = _IOC_NR(VGPU_MOCK_NVIDIA_CONTROL), .size = sizeof(control),
		.arg = (unsigned long)&control,
	};

	if (wrapped ? ioctl(fd, VGPU_MOCK_NVIDIA_XFER, &xfer) :
		      ioctl(fd, VGPU_MOCK_NVIDIA_CONTROL, &control))
		err(1, "command %#x", cmd);
	if (control.status)
		errx(1, "command %#x: status %#x", cmd, control.status);
}

static void is_listed(const struct vgpu_mock_nvidia_info *list, const char *what)
{
	is_here(list[1].data, list[0].data, list[3].data, what);
	if (list[2].data != 0x77)
		errx(1, "%s: what is not known becomes %#x", what, list[2].data);
}

/* A list may have any order, and may ask for the domain alone. */
static void use_bus_info(int fd)
{
	static const struct vgpu_mock_nvidia_info infos[] = {
		{ VGPU_MOCK_NVIDIA_INFO_BUS, 0 }, { VGPU_MOCK_NVIDIA_INFO_DOMAIN, 0 }, { 0x30, 0x77 },
		{ VGPU_MOCK_NVIDIA_INFO_DEVICE, 0 },
	};
	struct vgpu_mock_nvidia_info list[4], alone = { VGPU_MOCK_NVIDIA_INFO_DOMAIN, 0 };
	struct vgpu_mock_nvidia_bus_info info = { .count = 4, .list = (unsigned long)list };
	struct vgpu_mock_nvidia_bus_info_v2 v2 = { .count = 4 };
	int i;

	for (i = 0; i < 2; i++) {
		memcpy(list, infos, sizeof(list));
		command(fd, VGPU_MOCK_NVIDIA_BUS_GET_INFO, &info, sizeof(info), i);
		is_listed(list, "a list");
		memcpy(v2.list, infos, sizeof(infos));
		command(fd, VGPU_MOCK_NVIDIA_BUS_GET_INFO_V2, &v2, sizeof(v2), i);
		is_listed(v2.list, "a list that is inside");
	}
	info.count = 1;
	info.list = (unsigned long)&alone;
	command(fd, VGPU_MOCK_NVIDIA_BUS_GET_INFO, &info, sizeof(info), false);
	is_here(alone.data, here().bus, here().slot, "the domain alone");
}

static void use_links(int fd)
{
	static struct vgpu_mock_nvidia_links links;

	command(fd, VGPU_MOCK_NVIDIA_LINK_STATUS, &links, sizeof(links), false);
	is_here(links.links[0].local.domain, links.links[0].local.bus, links.links[0].local.device,
		"a link");
	is_here(links.links[0].remote.domain, links.links[0].remote.bus,
		links.links[0].remote.device, "the other end of a link");
	is_here(links.links[1].local.domain, links.links[1].local.bus, links.links[1].local.device,
		"another link");
	if (links.links[1].remote.domain >= 0x8000)
		errx(1, "a switch is in domain %#x", links.links[1].remote.domain);
}

/* The driver's answers have the address of the card's device in sysfs. */
static void use_address(int fd)
{
	struct place place = here();
	struct vgpu_mock_nvidia_status_code code = {
		.domain = place.domain, .bus = place.bus, .slot = place.slot, .status = 77,
	};
	static struct vgpu_mock_nvidia_card_info cards;
	static struct vgpu_mock_nvidia_bfd bfd;
	struct vgpu_mock_nvidia_pci_info info;
	struct vgpu_mock_nvidia_xfer xfer = {
		.nr = _IOC_NR(VGPU_MOCK_NVIDIA_CARD_INFO), .size = sizeof(cards),
		.arg = (unsigned long)&cards,
	};
	int i;

	for (i = 0; i < 2; i++) {
		memset(&cards, i ? 0xff : 0, sizeof(cards));
		if (i ? ioctl(fd, VGPU_MOCK_NVIDIA_XFER, &xfer) :
			ioctl(fd, VGPU_MOCK_NVIDIA_CARD_INFO, &cards))
			err(1, "cards");
		is_here(cards.cards[0].domain, cards.cards[0].bus, cards.cards[0].slot, "cards");
		if (cards.cards[1].domain || cards.cards[1].valid)
			errx(1, "a card that is not there is in domain %#x", cards.cards[1].domain);
		memset(&info, i ? 0xff : 0, sizeof(info));
		command(fd, VGPU_MOCK_NVIDIA_GET_PCI_INFO, &info, sizeof(info), i);
		is_here(info.domain, info.bus, info.slot, "a card's id");
		memset(&bfd, 0, sizeof(bfd));
		command(fd, VGPU_MOCK_NVIDIA_BUS_GET_BFD, &bfd, sizeof(bfd), i);
		is_here(bfd.devices[0].domain, bfd.devices[0].bus, bfd.devices[0].device, "devices");
		if (bfd.devices[1].domain >= 0x8000)
			errx(1, "a bridge of the host is in domain %#x", bfd.devices[1].domain);
	}
	use_bus_info(fd);
	use_links(fd);
	if (ioctl(fd, VGPU_MOCK_NVIDIA_STATUS_CODE, &code))
		err(1, "status");
	if (code.status || code.domain != place.domain)
		errx(1, "status of the card: %#x, domain %#x", code.status, code.domain);
	code.slot++;
	if (ioctl(fd, VGPU_MOCK_NVIDIA_STATUS_CODE, &code))
		err(1, "status");
	if (code.status != VGPU_MOCK_NVIDIA_NO_CARD || code.domain != place.domain)
		errx(1, "status of no card: %#x, domain %#x", code.status, code.domain);
}

static unsigned int rm_alloc(int fd, struct rm_alloc *args)
{
	if (ioctl(fd, RM_IOCTL_ALLOC, args))
		err(1, "class %#x", args->class);
	return args->status;
}

static unsigned int alloc_device(int fd, unsigned int client)
{
	struct rm_device device = {};
	struct rm_alloc args = {
		.class = RM_CLASS_DEVICE, .client = client, .parent = client,
		.params = (unsigned long)&device, .params_size = sizeof(device),
	};

	return rm_alloc(fd, &args);
}

static int open_card(void)
{
	int card = open("/dev/nvidia0", O_RDWR);

	if (card < 0)
		err(1, "/dev/nvidia0");
	return card;
}

/* Several threads make calls on these, for which the host has several threads as well. */
static struct {
	int fd;
	unsigned int client;
	volatile bool card_comes_and_goes;
} cards;

static void *use_card_again(void *unused)
{
	unsigned int i, status;

	for (i = 0; i < CARD_ROUNDS; i++) {
		status = alloc_device(cards.fd, cards.client);
		if (status && (!cards.card_comes_and_goes || status != RM_INSUFFICIENT_PERMISSIONS))
			errx(1, "a device in a thread: status %#x", status);
	}
	return unused;
}

static void use_card_by_threads(void)
{
	pthread_t threads[CARD_THREADS];
	unsigned int i;

	for (i = 0; i < CARD_THREADS; i++)
		if (pthread_create(&threads[i], NULL, use_card_again, NULL))
			errx(1, "no thread");
	for (i = 0; cards.card_comes_and_goes && i < CARD_ROUNDS; i++)
		close(open_card());
	for (i = 0; i < CARD_THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* Starts a process with a client, which ends when @end is closed. Return: its pid. */
static pid_t start_another(int *end)
{
	struct rm_alloc client = { .class = RM_CLASS_CLIENT };
	int ready[2], over[2], fd;
	char byte = 0;
	pid_t pid;

	if (pipe(ready) || pipe(over))
		err(1, "pipe");
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (!pid) {
		close(over[1]);
		fd = open("/dev/nvidiactl", O_RDWR);
		if (fd < 0 || rm_alloc(fd, &client) || write(ready[1], &byte, 1) != 1)
			_exit(1);
		_exit(read(over[0], &byte, 1) != 0);
	}
	close(ready[1]);
	close(over[0]);
	if (read(ready[0], &byte, 1) != 1)
		errx(1, "another process has no client");
	close(ready[0]);
	*end = over[1];
	return pid;
}

/* The driver lists only this program, by its own pid, as a process that uses the card. */
static void use_pids(int fd)
{
	static struct vgpu_mock_nvidia_pid_infos infos = { .count = 3 };
	static struct vgpu_mock_nvidia_pids pids;
	unsigned int i, wrapped;
	int end, status;
	pid_t other = start_another(&end);

	for (wrapped = 0; wrapped < 2; wrapped++) {
		memset(&pids, 0, sizeof(pids));
		command(fd, VGPU_MOCK_NVIDIA_GET_PIDS, &pids, sizeof(pids), wrapped);
		for (i = 0; i < pids.count && pids.pids[i] == (unsigned int)getpid(); i++)
			;
		if (!pids.count || i < pids.count)
			errx(1, "of %u processes, number %u is %u", pids.count, i, pids.pids[i]);
		infos.infos[0].pid = 1;
		infos.infos[1].pid = getpid();
		infos.infos[2].pid = other;
		command(fd, VGPU_MOCK_NVIDIA_GET_PID_INFO, &infos, sizeof(infos), wrapped);
		if (infos.infos[0].clients || !infos.infos[1].clients || infos.infos[2].clients)
			errx(1, "process 1 has %llu clients, this one %llu, another one %llu",
			     infos.infos[0].clients, infos.infos[1].clients, infos.infos[2].clients);
		if (infos.infos[0].pid != 1 || infos.infos[1].pid != (unsigned int)getpid() ||
		    infos.infos[2].pid != (unsigned int)other)
			errx(1, "ids of processes change");
	}
	close(end);
	if (waitpid(other, &status, 0) != other || status)
		errx(1, "another process ends with status %#x", status);
}

static unsigned long long clock_of(unsigned int clock)
{
	struct timespec now;

	if (clock == VGPU_MOCK_NVIDIA_TSC)
		return __builtin_ia32_rdtsc();
	clock_gettime(clock == VGPU_MOCK_NVIDIA_RAW ? CLOCK_MONOTONIC_RAW : CLOCK_REALTIME, &now);
	return clock == VGPU_MOCK_NVIDIA_RAW ? now.tv_sec * 1000000000ULL + now.tv_nsec :
	       now.tv_sec * 1000000ULL + now.tv_nsec / 1000;
}

/* The driver's samples of the processor's clocks are times of this machine's clocks. */
static void use_times(int fd)
{
	static struct vgpu_mock_nvidia_times times;
	unsigned int clock, i, count = 3;
	unsigned long long from, second, now;

	for (clock = VGPU_MOCK_NVIDIA_REALTIME; clock <= VGPU_MOCK_NVIDIA_RAW; clock++) {
		from = clock_of(clock);
		usleep(100000);
		second = (clock_of(clock) - from) * 10;
		memset(&times, 0, sizeof(times));
		times.clock = clock;
		times.count = count;
		times.samples[count].cpu = 77;
		from = clock_of(clock);
		command(fd, VGPU_MOCK_NVIDIA_GET_TIMES, &times, sizeof(times), false);
		now = clock_of(clock);
		for (i = 0; i < (clock == VGPU_MOCK_NVIDIA_RAW ? 1 : count); i++)
			if (times.samples[i].cpu < from - second / 100 ||
			    times.samples[i].cpu > now + second / 100)
				errx(1, "clock %u shows %llu, between %llu and %llu", clock,
				     times.samples[i].cpu, from, now);
		if (times.samples[count].cpu != 77)
			errx(1, "a sample that nobody asked for is %llu", times.samples[count].cpu);
	}
}

/* The driver looks for a file of the card among the caller's files; it need not be used. */
static void use_card(int fd)
{
	struct rm_alloc client = { .class = RM_CLASS_CLIENT };
	unsigned int status;
	int card, other;

	if (rm_alloc(fd, &client))
		errx(1, "a client: status %#x", client.status);
	cards.fd = fd;
	cards.client = client.object;
	status = alloc_device(fd, client.object);
	if (status != RM_INSUFFICIENT_PERMISSIONS)
		errx(1, "a device without a card: status %#x", status);
	card = open_card();
	status = alloc_device(fd, client.object);
	if (status)
		errx(1, "a device with a card: status %#x", status);
	use_card_by_threads();
	/* A single file of the card is enough, and the card is gone with the last one. */
	other = open_card();
	close(card);
	status = alloc_device(fd, client.object);
	if (status)
		errx(1, "a device with another file of the card: status %#x", status);
	close(other);
	status = alloc_device(fd, client.object);
	if (status != RM_INSUFFICIENT_PERMISSIONS)
		errx(1, "a device after the card: status %#x", status);
	cards.card_comes_and_goes = true;
	use_card_by_threads();
	status = alloc_device(fd, client.object);
	if (status != RM_INSUFFICIENT_PERMISSIONS)
		errx(1, "a device after many cards: status %#x", status);
	use_pids(fd);
	use_times(fd);
}

/* The driver accepts its own version, and corrects another one. */
static void use_versions(int fd, const char *version)
{
	struct vgpu_mock_nvidia_version check = { .version = VGPU_MOCK_NVIDIA_IS };

	if (ioctl(fd, VGPU_MOCK_NVIDIA_VERSION, &check))
		err(1, "the driver's own version");
	snprintf(check.version, sizeof(check.version), "%s", version);
	if (!ioctl(fd, VGPU_MOCK_NVIDIA_VERSION, &check) || errno != EINVAL ||
	    strcmp(check.version, VGPU_MOCK_NVIDIA_IS))
		errx(1, "version %s becomes %s", version, check.version);
}

/*
 * errno with which mmap() of a card or of unified memory fails if the mapping could only be a copy
 * and a copy is not enough
 */
static int refusal = ENOMEM;

static bool maps(int fd, int prot, off_t offset)
{
	void *memory = mmap(NULL, 4096, prot, MAP_SHARED, fd, offset);

	if (memory == MAP_FAILED) {
		if (errno != refusal)
			err(1, "mmap of %d", prot);
		return false;
	}
	if (munmap(memory, 4096))
		err(1, "munmap");
	return true;
}

static bool widens(int fd, int prot)
{
	void *memory = mmap(NULL, 4096, prot, MAP_SHARED, fd, 0);
	bool did;

	if (memory == MAP_FAILED)
		err(1, "mmap of %d", prot);
	did = !mprotect(memory, 4096, PROT_READ | PROT_WRITE);
	if (!did && errno != EACCES)
		err(1, "mprotect of %d", prot);
	munmap(memory, 4096);
	return did;
}

/* Tells the driver which memory mmap() of the file maps: a page. The control file stays open. */
static void tell_file(int fd, unsigned int class)
{
	unsigned char params[128] = {}, number[56] = {};
	struct rm_alloc client = { .class = RM_CLASS_CLIENT };
	struct rm_alloc memory = {
		.class = class, .params = (unsigned long)params, .params_size = sizeof(params),
	};
	const unsigned long long size = 4096;
	struct rm_alloc device = { .class = RM_CLASS_DEVICE, .params = (unsigned long)number };
	struct rm_map map = { .len = size, .fd = fd };
	int control = open("/dev/nvidiactl", O_RDWR);

	if (control < 0)
		err(1, "the control file");
	memcpy(params + VGPU_MOCK_NVIDIA_VIDEO_SIZE, &size, sizeof(size));
	if (rm_alloc(control, &client))
		errx(1, "a client: status %#x", client.status);
	device.client = device.parent = memory.client = map.client = client.object;
	if (rm_alloc(control, &device))
		errx(1, "a device: status %#x", device.status);
	memory.parent = map.device = device.object;
	if (rm_alloc(control, &memory))
		errx(1, "memory: status %#x", memory.status);
	map.memory = memory.object;
	if (ioctl(control, RM_IOCTL_MAP, &map) || map.status)
		errx(1, "a mapping: status %#x", map.status);
}

/*
 * All mappings are copies, as there is no window here. A mapping that is readable and writable
 * may be polled, so it cannot be a copy.
 */
static void use_mappings(int fd)
{
	if (!maps(fd, PROT_READ, 0) || !maps(fd, PROT_WRITE, 0))
		errx(1, "what is read or written only cannot be mapped");
	if (maps(fd, PROT_READ | PROT_WRITE, 0))
		errx(1, "what is polled is mapped as a copy");
	if (widens(fd, PROT_READ) || widens(fd, PROT_WRITE))
		errx(1, "what is polled becomes a copy");
}

/* Maps unified memory: only a pool may be mapped as a copy. */
static void use_pool(int fd)
{
	struct vgpu_mock_nvidia_uvm_pool pool = { .base = 4096 };

	if (maps(fd, PROT_READ | PROT_WRITE, pool.base))
		errx(1, "a pool before there is one");
	if (ioctl(fd, VGPU_MOCK_NVIDIA_UVM_POOL, &pool))
		err(1, "a pool");
	if (!maps(fd, PROT_READ | PROT_WRITE, pool.base))
		errx(1, "a pool is not mapped");
	if (maps(fd, PROT_READ | PROT_WRITE, 0) || maps(fd, PROT_READ | PROT_WRITE, 2 * pool.base))
		errx(1, "memory beside the pool is mapped as a copy");
}

int main(int argc, char **argv)
{
	const char text[] = "written by nvidia_use";
	char name[VGPU_MOCK_NVIDIA_NAME] = "", back[sizeof(text)] = "";
	struct vgpu_mock_nvidia call = { .value = 0x1122334455667788, .name = (unsigned long)name };
	int fd;

	if (argc != 2 && argc != 3)
		errx(2, "usage: nvidia_use DEVICE [VERSION|card|race]");
	fd = open(argv[1], O_RDWR);
	if (fd < 0)
		err(1, "%s", argv[1]);
	if (ioctl(fd, VGPU_MOCK_NVIDIA_IOC, &call))
		err(1, "%s: ioctl", argv[1]);
	if (~call.value != 0x1122334455667788)
		errx(1, "%s: ioctl gave %llx", argv[1], (unsigned long long)call.value);
	if (write(fd, text, sizeof(text)) != sizeof(text) || lseek(fd, 0, SEEK_SET) ||
	    read(fd, back, sizeof(back)) != sizeof(back))
		err(1, "%s: write and read", argv[1]);
	if (memcmp(text, back, sizeof(text)))
		errx(1, "%s: read something else than was written", argv[1]);
	if (!strcmp(name, "nvidia0") || !strcmp(name, "nvidiactl")) {
		/* The control file may exist without a card. */
		if (!access("/dev/nvidia0", F_OK))
			use_address(fd);
		use_controls(fd);
		use_denied(fd);
		use_races(fd, 2, RACE_FEW);
		use_files(fd);
		if (argc == 3 && !strcmp(argv[2], "card"))
			use_card(fd);
		else if (argc == 3 && !strcmp(argv[2], "race"))
			use_races(fd, COUNT(races), RACE_MANY);
		else if (argc == 3)
			use_versions(fd, argv[2]);
	} else {
		use_flags(fd);
		refusal = EOPNOTSUPP;
		use_pool(fd);
	}
	if (!strcmp(name, "nvidia0"))
		tell_file(fd, VGPU_MOCK_NVIDIA_VIDEO);
	if (!strcmp(name, "nvidiactl") && !access("/dev/nvidia0", F_OK)) {
		/* The driver makes devices only of cards that the program has open. */
		if (open("/dev/nvidia0", O_RDWR) < 0)
			err(1, "the card");
		tell_file(fd, RM_CLASS_SYSTEM);
	} else if (!strcmp(name, "nvidiactl")) {
		if (mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED)
			errx(1, "a control file that was told nothing is mapped");
		if (errno != EINVAL)
			err(1, "mmap of a control file that was told nothing");
		puts(name);
		return 0;
	}
	use_mappings(fd);
	puts(name);
	return 0;
}
