// SPDX-License-Identifier: GPL-2.0-only
/*
 * nvidia_use DEVICE [VERSION]: uses a node of the stand-in for NVIDIA's driver from a guest
 * (ioctl with a pointer, write, read, mmap, on cards and the control file that driver's own
 * ioctls, with libraries of a VERSION that is not the driver's), and says what that calls it;
 * exit status 1 where anything is wrong. With "card" as the version it asks the control file for
 * the card.
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
#include <unistd.h>

#include "../../userspace-lib/engine/nvidia_rm.h"
#include "vgpu_mock_nvidia.h"

/* Any command, and one that the host answers by itself: which processes use the card. */
#define CMD_ANY		0x20800110
#define CMD_PIDS	0x2080018d
#define NOT_SUPPORTED	0x56

/* Threads that ask for the card at once, and how often each does. */
#define CARD_THREADS	4
#define CARD_ROUNDS	100

static unsigned char params[VGPU_MOCK_NVIDIA_PARAMS];

/* Makes the command, of an ioctl of that type, or wrapped. Return: ioctl()'s. */
static int control(int fd, unsigned int cmd, unsigned int type, bool wrapped, unsigned int *status)
{
	struct vgpu_mock_nvidia_control control = {
		.cmd = cmd, .params = (unsigned long)params, .size = sizeof(params) - 1, .status = 77,
	};
	struct vgpu_mock_nvidia_xfer xfer = {
		.nr = _IOC_NR(VGPU_MOCK_NVIDIA_CONTROL), .size = sizeof(control),
		.arg = (unsigned long)&control,
	};
	int ret;

	memset(params, 0x35, sizeof(params));
	if (wrapped)
		ret = ioctl(fd, _IOWR(type, 0xd3, struct vgpu_mock_nvidia_xfer), &xfer);
	else
		ret = ioctl(fd, _IOWR(type, 0x2a, struct vgpu_mock_nvidia_control), &control);
	*status = control.status;
	return ret;
}

static void use_controls(int fd)
{
	static const unsigned int types[] = { 'F', 'V' };
	unsigned int i, status;

	for (i = 0; i < 4; i++) {
		bool wrapped = i & 1;
		unsigned int type = types[i / 2];

		/* No schema knows what another type wraps: its argument does not come along. */
		if (control(fd, CMD_ANY, type, wrapped, &status)) {
			if (!wrapped || type == 'F' || errno != EFAULT)
				err(1, "control %u", i);
		} else if (status || params[0] != 0xca || params[sizeof(params) - 2] != 0xca ||
			   params[sizeof(params) - 1] != 0x35) {
			errx(1, "control %u: status %#x, %#x", i, status, params[0]);
		}
		if (control(fd, CMD_PIDS, type, wrapped, &status)) {
			if (!wrapped || type == 'F' || errno != EFAULT)
				err(1, "denied control %u", i);
		} else if (status != NOT_SUPPORTED || params[0] != 0x35) {
			errx(1, "denied control %u: status %#x, %#x", i, status, params[0]);
		}
	}
}

static struct vgpu_mock_nvidia_control raced;
static volatile bool race_over;

static void *race(void *unused)
{
	volatile unsigned int *cmd = &raced.cmd;

	while (!race_over) {
		*cmd = CMD_PIDS;
		sched_yield();
		*cmd = CMD_ANY;
		sched_yield();
	}
	return unused;
}

/*
 * Another thread changes the command all the time, of an ioctl and of one that is wrapped: either
 * the driver has done what may be done, or nothing.
 */
static void use_race(int fd)
{
	struct vgpu_mock_nvidia_xfer xfer = {
		.nr = _IOC_NR(VGPU_MOCK_NVIDIA_CONTROL), .size = sizeof(raced),
		.arg = (unsigned long)&raced,
	};
	unsigned int i, done = 0, denied = 0;
	pthread_t thread;

	raced.params = (unsigned long)params;
	raced.size = sizeof(params);
	if (pthread_create(&thread, NULL, race, NULL))
		errx(1, "no thread");
	for (i = 0; i < 5000 && (i < 40 || !done || !denied); i++) {
		memset(params, 0x35, sizeof(params));
		if (i & 1 ? ioctl(fd, VGPU_MOCK_NVIDIA_XFER, &xfer) :
			    ioctl(fd, VGPU_MOCK_NVIDIA_CONTROL, &raced))
			err(1, "a control that is changed");
		if (raced.status == NOT_SUPPORTED && params[0] == 0x35)
			denied++;
		else if (!raced.status && params[0] == 0xca)
			done++;
		else
			errx(1, "a control that is changed: status %#x, %#x", raced.status, params[0]);
	}
	race_over = true;
	pthread_join(thread, NULL);
	if (!done || !denied)
		errx(1, "of %u controls that were changed, %u were done", i, done);
}

/* The driver sees a flag that the program did not set, and does not see. */
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

/* One of several threads, whose calls are made by several of the host's. */
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

/* The driver looks for a file of the card among those of its caller, which need not be used. */
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
	/* One file is enough, and the last one takes the card along. */
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
}

/* The driver takes its own version, and corrects another one. */
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

static bool maps(int fd, int prot, off_t offset)
{
	void *memory = mmap(NULL, 4096, prot, MAP_SHARED, fd, offset);

	if (memory == MAP_FAILED) {
		if (errno != ENOMEM)
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

/* There is no window here, so all mappings are copies, which do not do where programs poll. */
static void use_mappings(int fd)
{
	if (!maps(fd, PROT_READ, 0) || !maps(fd, PROT_WRITE, 0))
		errx(1, "what is read or written only cannot be mapped");
	if (maps(fd, PROT_READ | PROT_WRITE, 0))
		errx(1, "what is polled is mapped as a copy");
	if (widens(fd, PROT_READ) || widens(fd, PROT_WRITE))
		errx(1, "what is polled becomes a copy");
}

/* A pool alone of unified memory may be a copy. */
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
		errx(2, "usage: nvidia_use DEVICE [VERSION]");
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
		use_controls(fd);
		use_race(fd);
		use_files(fd);
		if (argc == 3 && !strcmp(argv[2], "card"))
			use_card(fd);
		else if (argc == 3)
			use_versions(fd, argv[2]);
	} else {
		use_flags(fd);
		use_pool(fd);
	}
	use_mappings(fd);
	puts(name);
	return 0;
}
