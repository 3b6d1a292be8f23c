// SPDX-License-Identifier: GPL-2.0-only
/*
 * babble requests SECONDS NODE...
 * babble wire SECONDS PORT
 *
 * A hostile guest's program that asks for nonsense, for the step "tenants".
 *
 * requests: several processes make random requests at device files of NVIDIA's driver. None of
 * them could change a card even if the host let all of them through: the numbers are those that
 * allocate, free and look at objects of the program's own clients, handles and cards' names are
 * ones that do not exist, and addresses and sizes are random.
 *
 * wire: speaks to the host in place of the guest's module, which must not be loaded: garbage,
 * messages that are wrong or are not finished, lanes, sessions. It makes no ioctl.
 *
 * The last line says how much was done.
 *
 * cc -D_GNU_SOURCE -std=gnu11 -Iuapi -Itests/selftests -o babble tests/gpu/babble.c
 */
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "hostile_peer.h"
#include "../../drivers/common/nvidia_rm.h"

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))
#define TALKERS		4
#define HOST		2	/* CID */
#define LANES		24
/* No client and no object has such a handle. */
#define NO_HANDLE()	(0xbad00000u | (random() & 0xfffff))

struct told {
	unsigned long done, refused, failed;	/* results of requests */
	unsigned long connections, lanes, messages, ends;
};

static struct told *told;
static unsigned char bytes[1 << 16];

static uint32_t word(void)
{
	return random() << 16 ^ random();
}

static void fill(void *data, size_t len)
{
	unsigned char *at = data;

	while (len--)
		*at++ = random() >> 7;
}

/* --- requests at device files ------------------------------------------------------ */

/* Returns an address: of a buffer, of nothing, of a page that cannot be written, of the kernel. */
static uint64_t address(void)
{
	static const char constant[4096] = "constant";

	switch (random() % 8) {
	case 0:
		return 0;
	case 1:
		return 0xffff888000000000 | (uint64_t)word() << 4;
	case 2:
		return (uintptr_t)constant;
	case 3:
		return (uint64_t)word() << 16 | word() % 4096;
	case 4:
		return (uintptr_t)bytes + sizeof(bytes) - 8;
	default:
		return (uintptr_t)bytes;
	}
}

static uint32_t length(void)
{
	switch (random() % 6) {
	case 0:
		return 0;
	case 1:
		return word();
	case 2:
		return random() % 65536;
	default:
		return random() % 512;
	}
}

static int ask(int fd, unsigned long cmd, void *arg)
{
	int ret = ioctl(fd, cmd, arg);

	__sync_fetch_and_add(ret ? &told->failed : &told->done, 1);
	return ret;
}

/* Makes a client of the driver's. Return: its handle, or 0. */
static uint32_t make_client(int fd)
{
	struct rm_alloc alloc = { .class = RM_CLASS_CLIENT };

	return ask(fd, RM_IOCTL_ALLOC, &alloc) || alloc.status ? 0 : alloc.object;
}

/* Makes a request of a client that exists, or of none, about objects that do not exist. */
static void ask_rm(int fd, uint32_t client)
{
	static const unsigned int classes[] = {
		RM_CLASS_SYSTEM, RM_CLASS_DEVICE, RM_CLASS_SUBDEVICE, RM_CLASS_GROUP, 0x40, 0x90f1,
		0x79, 0xc86f, 0xcbc0, 0xfffffff0,
	};
	struct rm_alloc alloc = {
		.client = random() % 2 ? client : NO_HANDLE(), .parent = NO_HANDLE(),
		.object = NO_HANDLE(), .class = classes[random() % COUNT(classes)],
		.params = address(), .params_size = length(),
	};
	struct rm_control control = {
		.client = alloc.client, .object = NO_HANDLE(), .cmd = word(),
		.params = address(), .params_size = length(),
	};
	struct rm_free freed = {
		.client = alloc.client, .parent = NO_HANDLE(), .object = NO_HANDLE(),
	};
	int ret = 0;

	switch (random() % 3) {
	case 0:
		ret = ask(fd, RM_IOCTL_ALLOC, &alloc) ? 0 : alloc.status;
		break;
	case 1:
		ret = ask(fd, RM_IOCTL_CONTROL, &control) ? 0 : control.status;
		break;
	default:
		ret = ask(fd, RM_IOCTL_FREE, &freed) ? 0 : freed.status;
	}
	if (ret)
		__sync_fetch_and_add(&told->refused, 1);
}

/*
 * Makes a request whose size, direction or type is wrong, at an address that may be wrong, with
 * nothing but handles that do not exist. Its number is that of a request that a program may make
 * about objects of its own, or of none at all: the driver looks at the number alone.
 */
static void ask_wrongly(int fd)
{
	static const unsigned int numbers[] = { 0x29, 0x2a, 0x2b, 0x34, 0x4e, 0x4f, 0xf3, 0xfb };
	unsigned int number = numbers[random() % COUNT(numbers)], i;
	static const unsigned int types[] = { 'F', 'F', 'V', 0, 'd' };
	uint32_t *words = (uint32_t *)bytes;

	for (i = 0; i < 256; i++)
		words[i] = NO_HANDLE();
	ask(fd, _IOC(random() % 4, types[random() % COUNT(types)], number, random() % 0x3fff),
	    (void *)address());
}

/* Asks the driver for unified memory for ranges and cards that do not exist. */
static void ask_uvm(int fd)
{
	static const unsigned int commands[] = {
		0x30000001, 0x17, 0x18, 0x1a, 0x1c, 0x1f, 0x22, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x2b,
		0x2c, 0x2d, 0x2e, 0x2f, 0x42, 0x46, 0x48, 0x49, 0x50, 0x30000002,
	};
	uint64_t *words = (uint64_t *)bytes;
	unsigned int i;

	for (i = 0; i < 32; i++)
		switch (random() % 4) {
		case 0:
			words[i] = (uint64_t)word() << 12;
			break;
		case 1:
			words[i] = random() % 64 << 21;
			break;
		case 2:
			words[i] = 0;
			break;
		default:
			words[i] = (uint64_t)word() << 32 | word();
		}
	/* The first of them is for initialising, whose flags are few. */
	i = random() % 4 ? random() % COUNT(commands) : 0;
	if (!i)
		memset(bytes, 0, 16);
	ask(fd, commands[i], random() % 16 ? bytes : (void *)address());
}

/* Does to a file what is no ioctl. */
static void use_file(int fd)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN | POLLOUT };
	size_t len;
	void *map;

	switch (random() % 6) {
	case 0:
		len = (1 + random() % 64) * 4096;
		map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			   (uint64_t)word() << 12);
		if (map != MAP_FAILED)
			munmap(map, len);
		break;
	case 1:
		poll(&poller, 1, 0);
		break;
	case 2:
		if (read(fd, (void *)address(), length() % 65536) < 0)
			__sync_fetch_and_add(&told->failed, 1);
		break;
	case 3:
		if (write(fd, (void *)address(), length() % 65536) < 0)
			__sync_fetch_and_add(&told->failed, 1);
		break;
	case 4:
		lseek(fd, word(), random() % 3);
		break;
	default:
		/* A child has the file, and dies with it. */
		if (!fork()) {
			ask_wrongly(fd);
			_exit(0);
		}
		wait(NULL);
	}
}

static void request(char *const nodes[], int nr)
{
	const char *node = nodes[random() % nr];
	bool uvm = strstr(node, "uvm");
	int fd = open(node, O_RDWR | O_CLOEXEC), i;
	uint32_t client;

	if (fd < 0) {
		__sync_fetch_and_add(&told->failed, 1);
		usleep(10000);
		return;
	}
	client = uvm ? 0 : make_client(fd);
	for (i = random() % 40; i > 0; i--) {
		if (random() % 4 == 0)
			use_file(fd);
		else if (uvm)
			ask_uvm(fd);
		else if (random() % 2)
			ask_rm(fd, client);
		else
			ask_wrongly(fd);
	}
	/* Some clients and files are left to the end of the process. */
	if (random() % 8)
		close(fd);
}

static void requests(uint64_t until, char *const nodes[], int nr)
{
	pid_t pids[TALKERS] = { };
	int i;

	/* No talker lives for longer than three seconds; some die in the middle of a call. */
	while (peer_now_ms() < until) {
		for (i = 0; i < TALKERS; i++) {
			if (pids[i] && waitpid(pids[i], NULL, WNOHANG) != pids[i]) {
				if (random() % 200 == 0)
					kill(pids[i], SIGKILL);
				continue;
			}
			pids[i] = fork();
			if (pids[i])
				continue;
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			srandom(getpid() * 7919 + peer_now_ms());
			for (uint64_t end = peer_now_ms() + random() % 3000; peer_now_ms() < end;)
				request(nodes, nr);
			_exit(0);
		}
		usleep(20000);
	}
	for (i = 0; i < TALKERS; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}

/* --- the wire ------------------------------------------------------------------- */

static void send_some(int fd, const void *data, size_t len)
{
	/* The host may have closed the connection. */
	if (send(fd, data, len, MSG_NOSIGNAL) > 0)
		__sync_fetch_and_add(&told->messages, 1);
	else
		__sync_fetch_and_add(&told->ends, 1);
}

static void drain(int fd)
{
	char dropped[4096];

	while (recv(fd, dropped, sizeof(dropped), MSG_DONTWAIT) > 0)
		;
}

/* Sends bytes that are no message, or a first message that is nearly right. */
static void greet_wrongly(unsigned int port)
{
	struct vgpu_hello hello = peer_hello_msg();
	int fd = peer_connect(HOST, port, random() % 2);

	if (fd < 0)
		return;
	__sync_fetch_and_add(&told->connections, 1);
	if (random() % 2) {
		fill(bytes, 4096);
		send_some(fd, bytes, 1 + random() % 4096);
	} else {
		((unsigned char *)&hello)[random() % sizeof(hello)] ^= 1 << random() % 8;
		send_some(fd, &hello, random() % 4 ? sizeof(hello) : random() % sizeof(hello));
	}
	if (random() % 2)
		usleep(random() % 200000);
	drain(fd);
	close(fd);
}

/* Makes a message out of random bytes that is no ioctl. Return: its length. */
static size_t make_message(void)
{
	struct vgpu_call *call = (struct vgpu_call *)bytes;
	size_t len = sizeof(call->hdr) + random() % 700;

	fill(bytes, 1024);
	call->hdr.len = htole32(random() % 8 ? len : word());
	call->hdr.type = htole16(random() % 4 ? 1 + random() % 0x30 : random());
	if (random() % 2) {
		call->hdr.type = htole16(VGPU_MSG_CALL);
		call->op = htole16(random() % 20);
		call->object = htole32(random() % 4);
		call->nr_segs = htole16(random() % 4);
		call->nr_fixups = htole16(random() % 3);
	}
	if (le16toh(call->op) == VGPU_OP_IOCTL)
		call->op = htole16(VGPU_OP_POLL);
	return len;
}

/* Plays a guest: programs come and go, and send wrong messages. */
static void play(unsigned int port, uint64_t until)
{
	struct vgpu_session_close closed = {
		.hdr.len = htole32(sizeof(closed)),
		.hdr.type = htole16(VGPU_MSG_SESSION_CLOSE),
	};
	int lanes[LANES], next = 0, lane;
	uint64_t session = 1, seq = 1;
	struct peer peer;

	memset(lanes, -1, sizeof(lanes));
	if (peer_open(&peer, HOST, port)) {
		peer_close(&peer);
		usleep(100000);
		return;
	}
	__sync_fetch_and_add(&told->connections, 1);
	while (peer_now_ms() < until && random() % 100) {
		drain(peer.control);
		lane = peer_lane(&peer, session);
		if (lane < 0) {
			/* The host has ended the guest, or it has enough lanes. */
			if (!peer_ping(&peer))
				break;
			session++;
			continue;
		}
		__sync_fetch_and_add(&told->lanes, 1);
		if (lanes[next] >= 0)
			close(lanes[next]);
		lanes[next] = lane;
		next = (next + 1) % LANES;
		if (random() % 2)
			peer_open_device(&peer, lane, 1);
		switch (random() % 5) {
		case 0:
			/* The greatest part of a long message, which does not end. */
			((struct vgpu_call *)bytes)->hdr = (struct vgpu_hdr) {
				.len = htole32(8 << 20), .type = htole16(VGPU_MSG_CALL),
				.seq = htole64(2),
			};
			for (int i = 0; i < 64; i++)
				send_some(lane, bytes, sizeof(bytes));
			break;
		case 1:
			closed.session = htole64(session);
			closed.hdr.seq = htole64(seq++);
			send_some(peer.control, &closed, sizeof(closed));
			break;
		case 2:
			if (random() % 16 == 0)
				send_some(peer.control, bytes, make_message());
			break;
		default:
			send_some(lane, bytes, make_message());
		}
		session += random() % 3 == 0;
	}
	for (lane = 0; lane < LANES; lane++)
		if (lanes[lane] >= 0)
			close(lanes[lane]);
	peer_close(&peer);
}

/* A talker may wait for ever for a host that takes no more of a message, so each is killed. */
static void wire(uint64_t until, unsigned int port)
{
	uint64_t ends = 0;
	pid_t pid = 0;

	while (peer_now_ms() < until) {
		if (!pid) {
			ends = peer_now_ms() + 500 + random() % 4000;
			if (ends > until)
				ends = until;
			pid = fork();
		}
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			srandom(getpid() * 7919 + peer_now_ms());
			while (peer_now_ms() < ends)
				if (random() % 2)
					greet_wrongly(port);
				else
					play(port, ends);
			_exit(0);
		}
		usleep(20000);
		if (pid > 0 && peer_now_ms() >= ends)
			kill(pid, SIGKILL);
		if (pid < 0 || waitpid(pid, NULL, WNOHANG) == pid)
			pid = 0;
	}
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	uint64_t until;

	if (argc < 4)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (told == MAP_FAILED)
		return 2;
	srandom(time(NULL));
	until = peer_now_ms() + atoi(argv[2]) * 1000;
	if (!strcmp(argv[1], "wire"))
		wire(until, atoi(argv[3]));
	else if (!strcmp(argv[1], "requests"))
		requests(until, argv + 3, argc - 3);
	else
		return 2;
	if (told->done + told->refused + told->failed)
		printf("%lu requests taken, %lu of them refused by the driver, %lu failed\n",
		       told->done, told->refused, told->failed);
	else
		printf("%lu connections, %lu lanes, %lu messages, %lu sent to a closed connection\n",
		       told->connections, told->lanes, told->messages, told->ends);
	return 0;
}
