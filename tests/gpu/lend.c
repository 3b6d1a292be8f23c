// SPDX-License-Identifier: GPL-2.0-only
/*
 * lend [--unowned]: tests that memory of an NVIDIA card stays the guest's as long as an engine
 * lends it to the hypervisor (userspace-lib/engine/memory/nvidia.c). Needs a card, and root for
 * processes of several users.
 *
 * The processes are an owner, like a guest program's shadow; an engine of the same user; and a
 * stranger, like another guest's shadow. The main process takes the place of a hypervisor: it has
 * only mappings of files that the engine has lent. The owner writes a pattern, and the engine lends
 * the memory. Then the owner frees all and ends, and another user allocates all of the card's free
 * memory and writes to it. The hypervisor must still see the pattern, also after the engine was
 * killed.
 *
 * With --unowned the hypervisor maps the owner's own files: the test must fail then.
 *
 * cc -D_GNU_SOURCE -Iuserspace-lib -o lend tests/gpu/lend.c \
 *	userspace-lib/engine/memory/nvidia.c userspace-lib/engine/base/packet.c
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/packet.h"
#include "engine/memory/nvidia.h"
#include "memory.h"

#define GUEST_UID	61001
#define STRANGER_UID	61002
#define MIB		(1UL << 20)
/* Classes of the doorbell page: of Hopper, and of Volta and later cards. */
#define CLASS_USERMODE		0xc661
#define CLASS_USERMODE_OLD	0xc361

#define HOG_BYTES	(256 * MIB)
#define HOG_MOST	1024
#define HOG_STEP	(64UL << 10)
#define HOG_SYSTEM	64
/* Numbers of older clients, of newer clients, and of objects in each, that HUNT tries. */
#define HUNT_CLIENTS	256
#define HUNT_SINCE	16
#define HUNT_OBJECTS	1024

enum { SYSTEM, VIDEO, DOORBELL, OBJECTS };

static const char *const names[OBJECTS] = { "system memory", "video memory", "doorbell page" };
/* Bytes of each object, few because a word of video memory takes a microsecond to read. */
static const uint64_t sizes[OBJECTS] = { 8 * MIB, 16 * MIB, 64UL << 10 };

enum op {
	OWN,		/* make and map all objects, write the pattern */
	BEGIN,		/* make a client; answer with @client */
	SHARE,		/* share @memory[i] with @client */
	LEND,		/* let a file own @memory[i]; answer with the file */
	GIVE,		/* answer with the own file of @memory[i] */
	FREE,		/* free all own objects */
	MATE,		/* let another client of the same process take @memory[i] */
	STEAL,		/* share @client's @memory[i] with the own client */
	RELEASE,	/* free object @memory[i] of client @client */
	EXPORT,		/* export memory to an own file */
	HUNT,		/* duplicate objects by guessed numbers; @bytes: their count */
	HOG,		/* allocate all memory and write to it */
	QUIT,
};

struct message {
	uint32_t op;
	int32_t result;
	uint32_t index;
	uint32_t client;
	struct nvidia_memory memory[OBJECTS];
	uint64_t bytes;
	uint32_t status;
};

static unsigned int failed;

__attribute__((format(printf, 2, 3)))
static bool check(bool good, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("%s  ", good ? "ok  " : "FAIL");
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	failed += !good;
	return good;
}

__attribute__((noreturn, format(printf, 1, 2)))
static void die(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("FAIL  ");
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	exit(1);
}

/* --- the other processes --------------------------------------------------------- */

static struct nvidia_lent system_lent;
static int files[OBJECTS] = { -1, -1, -1 };

static uint64_t pattern(int index, uint64_t word)
{
	return (word + 1) * 0x9e3779b97f4a7c15 ^ (uint64_t)(index + 1) << 56;
}

/* Return: number of words that differ from the pattern. */
static uint64_t differ(int index, const volatile uint64_t *words)
{
	uint64_t i, n = 0;

	for (i = 0; i < sizes[index] / 8; i++)
		n += words[i] != pattern(index, i);
	return n;
}

static int own(struct message *msg)
{
	static const uint32_t classes[] = { CLASS_SYSTEM, CLASS_VIDEO };
	uint64_t *words, i;
	uint32_t object;
	int index;

	if (rm_begin_by(nvidia_begin_apart))
		return -EIO;
	for (index = 0; index < OBJECTS; index++) {
		uint32_t card = index == SYSTEM ? RM_MINOR_CTL : 0;

		if (index == DOORBELL) {
			rm.status = rm_alloc(subdevice, CLASS_USERMODE, NULL, 0, &object);
			if (rm.status)
				rm.status = rm_alloc(subdevice, CLASS_USERMODE_OLD, NULL, 0,
						     &object);
		} else {
			rm.status = rm_memory(classes[index], sizes[index], &object);
		}
		if (rm.status) {
			if (index == DOORBELL)
				continue;
			return -EIO;
		}
		words = rm_map(object, sizes[index], card, &files[index]);
		if (words == MAP_FAILED)
			return -EIO;
		for (i = 0; index != DOORBELL && i < sizes[index] / 8; i++)
			words[i] = pattern(index, i);
		if (index != DOORBELL && differ(index, words))
			return -EILSEQ;
		msg->memory[index] = (struct nvidia_memory) {
			.client = rm.client, .memory = object, .card = card, .len = sizes[index],
		};
	}
	msg->client = rm.client;
	return 0;
}

/* Let another client of this process take @memory[@index]. */
static int mate(const struct message *msg)
{
	uint32_t index = msg->index;
	int file = open_node(msg->memory[index].card), ret;
	struct nvidia_lent lent;
	struct nvidia nvidia;

	ret = nvidia_begin(&nvidia, open_node(RM_MINOR_CTL));
	if (!ret)
		ret = nvidia_show(&nvidia, &msg->memory[index], file, &lent);
	rm.status = nvidia.status;
	nvidia_end(&nvidia);
	close(file);
	return ret;
}

static int lend(const struct message *msg)
{
	uint32_t index = msg->index;
	int file = open_node(msg->memory[index].card), ret;

	if (file < 0)
		return -errno;
	if (index == SYSTEM)
		ret = nvidia_lend_system(&rm, &msg->memory[index], file, &system_lent);
	else
		ret = nvidia_lend(&rm, &msg->memory[index], file, open_node(RM_MINOR_CTL));
	if (ret)
		close(file);
	else
		files[index] = file;
	return ret;
}

static uint32_t duplicate(uint32_t client, uint32_t object)
{
	struct rm_dup args = {
		.client = rm.client, .parent = device, .from_client = client,
		.from_object = object,
	};

	if (ioctl(rm.control, RM_IOCTL_DUP, &args))
		return RM_INVALID_CLIENT;
	if (!args.status)
		rm_release(rm.client, args.object);
	return args.status;
}

/* Try to duplicate objects of other clients, whose numbers RM assigns in sequence. Return: 0. */
static int hunt(struct message *msg)
{
	uint32_t client, object, status;

	msg->bytes = 0;
	for (client = rm.client - HUNT_CLIENTS; client < rm.client + HUNT_SINCE; client++) {
		for (object = 1; client != rm.client && object < HUNT_OBJECTS; object++) {
			status = duplicate(client, object);
			if (status == RM_INVALID_CLIENT || status == RM_INVALID_OBJECT_HANDLE)
				break;
			msg->bytes += !status;
		}
	}
	return 0;
}

/* Allocate and write all memory; @bytes becomes its amount. Return: 0 or -EIO. */
static int hog(struct message *msg)
{
	unsigned int i;
	uint64_t at;

	if (rm_begin())
		return -EIO;
	for (i = 0; i < HOG_SYSTEM + HOG_MOST; i++) {
		bool video = i >= HOG_SYSTEM;
		uint64_t size = video ? HOG_BYTES : 8 * MIB;
		uint8_t *bytes;
		uint32_t object;
		int file;

		rm.status = rm_memory(video ? CLASS_VIDEO : CLASS_SYSTEM, size, &object);
		/* The rest of the card's memory is allocated in pages of 2 MiB. */
		if (rm.status && video) {
			size = 2 * MIB;
			rm.status = rm_memory(CLASS_VIDEO, size, &object);
		}
		if (rm.status)
			break;
		bytes = rm_map(object, size, video ? 0 : RM_MINOR_CTL, &file);
		if (bytes == MAP_FAILED)
			break;
		for (at = 0; at < size; at += HOG_STEP)
			memset(bytes + at, 0xa5, 4096);
		munmap(bytes, size);
		close(file);
		msg->bytes += size;
	}
	return 0;
}

static int act(struct message *msg, int *file)
{
	uint32_t index = msg->index;
	int ret = 0, i;

	rm.status = 0;
	switch (msg->op) {
	case OWN:
		return own(msg);
	case BEGIN:
		ret = nvidia_begin_apart(&rm, open_node(RM_MINOR_CTL));
		msg->client = rm.client;
		return ret;
	case SHARE:
		return rm_share(rm.client, msg->memory[index].memory, msg->client);
	case LEND:
		ret = lend(msg);
		*file = files[index];
		return ret;
	case GIVE:
		*file = files[index];
		return *file < 0 ? -ENOENT : 0;
	case MATE:
		return mate(msg);
	case STEAL:
		return rm_share(msg->client, msg->memory[index].memory, rm.client);
	case RELEASE:
		return rm_release(msg->client, msg->memory[index].memory);
	case EXPORT:
		return nvidia_export(&rm, 0, open_node(RM_MINOR_CTL));
	case HUNT:
		return hunt(msg);
	case HOG:
		return hog(msg);
	case FREE:
		for (i = 0; i < OBJECTS; i++)
			if (msg->memory[i].memory)
				ret |= rm_release(rm.client, msg->memory[i].memory);
		return ret;
	default:
		exit(0);
	}
}

__attribute__((noreturn))
static void child(int sock, unsigned int uid)
{
	struct message msg;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		exit(2);
	for (;;) {
		struct pollfd ready = { .fd = sock, .events = POLLIN };
		struct iovec iov = { .iov_base = &msg, .iov_len = sizeof(msg) };
		int fd = -1;

		poll(&ready, 1, -1);
		if (packet_recv(sock, &msg, sizeof(msg), &fd) != sizeof(msg))
			exit(0);
		fd = -1;
		msg.bytes = 0;
		msg.result = act(&msg, &fd);
		msg.status = rm.status;
		if (packet_send(sock, &iov, 1, fd))
			exit(0);
		/* The hypervisor has a file of its own now. */
		if (msg.op == LEND && fd >= 0) {
			close(fd);
			files[msg.index] = -1;
		}
	}
}

/* --- the main process -------------------------------------------------------------- */

struct process {
	const char *name;
	pid_t pid;
	int sock;
};

static struct process start(const char *name, unsigned int uid)
{
	struct process process = { .name = name };
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		die("socketpair: %s", strerror(errno));
	process.pid = fork();
	if (process.pid < 0)
		die("fork: %s", strerror(errno));
	if (!process.pid) {
		close(pair[0]);
		child(pair[1], uid);
	}
	close(pair[1]);
	process.sock = pair[0];
	return process;
}

/* Ask a process to do @op; @msg becomes its answer. Return: the result in the answer. */
static int ask(struct process *process, enum op op, struct message *msg, int *file)
{
	struct iovec iov = { .iov_base = msg, .iov_len = sizeof(*msg) };
	struct pollfd ready = { .fd = process->sock, .events = POLLIN };
	int fd = -1;

	msg->op = op;
	if (packet_send(process->sock, &iov, 1, -1))
		die("the %s does not listen", process->name);
	if (poll(&ready, 1, 120000) != 1)
		die("the %s does not answer", process->name);
	if (packet_recv(process->sock, msg, sizeof(*msg), &fd) != sizeof(*msg))
		die("the %s has ended", process->name);
	if (file)
		*file = fd;
	else if (fd >= 0)
		close(fd);
	return msg->result;
}

static void end(struct process *process)
{
	int status;

	if (!process->pid)
		return;
	kill(process->pid, SIGKILL);
	if (waitpid(process->pid, &status, 0) < 0)
		die("waitpid: %s", strerror(errno));
	close(process->sock);
	process->pid = 0;
}

/* Return: MiB of memory in use by nvidia-smi's output; -1: there is none. */
static long in_use(void)
{
	FILE *smi = popen("nvidia-smi -i 0 --query-gpu=memory.used --format=csv,noheader,nounits",
			  "r");
	long mib = -1;

	if (!smi)
		return -1;
	if (fscanf(smi, "%ld", &mib) != 1)
		mib = -1;
	pclose(smi);
	return mib;
}

static long in_use_until(long most)
{
	const struct timespec step = { .tv_nsec = 200000000 };
	long mib = 0;
	int i;

	for (i = 0; i < 50; i++) {
		mib = in_use();
		if (mib <= most)
			break;
		nanosleep(&step, NULL);
	}
	return mib;
}

struct view {
	const volatile uint64_t *words[OBJECTS];
};

static void look(const struct view *view, const char *when)
{
	int index;

	for (index = 0; index < DOORBELL; index++) {
		uint64_t n;

		if (!view->words[index])
			continue;
		n = differ(index, view->words[index]);
		check(!n, "%s: %s is the pattern (%lu of %lu words differ)", when, names[index],
		      (unsigned long)n, (unsigned long)(sizes[index] / 8));
	}
}

static void show(struct view *view, int index, int file)
{
	void *addr = mmap(NULL, sizes[index], PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	if (check(addr != MAP_FAILED, "%s: the hypervisor maps the file%s%s", names[index],
		  addr == MAP_FAILED ? ": " : "", addr == MAP_FAILED ? strerror(errno) : ""))
		view->words[index] = addr;
	/* A hypervisor keeps only the mapping, and no file. */
	close(file);
}

static void unshow(struct view *view)
{
	int index;

	for (index = 0; index < OBJECTS; index++) {
		if (!view->words[index])
			continue;
		munmap((void *)(uintptr_t)view->words[index], sizes[index]);
		view->words[index] = NULL;
	}
}

/* Check that the driver's own rules deny the memory to other clients. */
static void deny(struct process *owner, struct process *engine, struct process *stranger,
		 const struct message *owned)
{
	struct message msg = *owned;
	int index, ret;

	for (index = 0; index < DOORBELL; index++) {
		msg = *owned;
		msg.index = index;
		ret = ask(owner, MATE, &msg, NULL);
		check(ret == -EACCES, "%s: another client of its process gets %s (status %#x)",
		      names[index], strerror(-ret), msg.status);
	}
	for (index = 0; index < DOORBELL; index++) {
		msg = *owned;
		msg.index = index;
		ret = ask(engine, LEND, &msg, NULL);
		check(ret == -EACCES, "%s that nobody shared: the engine gets %s (status %#x)",
		      names[index], strerror(-ret), msg.status);
	}
	msg = *owned;
	msg.index = SYSTEM;
	msg.memory[SYSTEM].client = 0xc1dfffff;
	ret = ask(engine, LEND, &msg, NULL);
	check(ret < 0, "memory of a client that is not: the engine gets %s (status %#x)",
	      strerror(-ret), msg.status);
	msg = *owned;
	msg.index = SYSTEM;
	msg.memory[SYSTEM].memory = 0x12345678;
	ret = ask(engine, LEND, &msg, NULL);
	check(ret < 0, "an object that is not: the engine gets %s (status %#x)", strerror(-ret),
	      msg.status);
	msg = *owned;
	msg.index = VIDEO;
	ret = ask(stranger, LEND, &msg, NULL);
	check(ret == -EACCES, "video memory of another user: a stranger gets %s (status %#x)",
	      strerror(-ret), msg.status);
	msg = *owned;
	msg.index = VIDEO;
	ret = ask(stranger, RELEASE, &msg, NULL);
	check(ret < 0, "a stranger cannot free it (status %#x)", msg.status);
}

/*
 * Report whether a stranger can share another user's object with itself. This is no failure of the
 * engine, because shadows do not make that ioctl for their guests, but it should be known.
 */
static void steal(struct process *stranger, const struct message *owned)
{
	struct message msg = *owned;
	int ret;

	msg.index = VIDEO;
	ret = ask(stranger, STEAL, &msg, NULL);
	printf("note  a stranger who shares another user's object with itself: status %#x, %s\n",
	       msg.status, ret ? "refused" : "TAKEN");
	if (ret)
		return;
	msg = *owned;
	msg.index = VIDEO;
	ret = ask(stranger, LEND, &msg, NULL);
	printf("note  and then duplicates and maps it: %s (status %#x): the driver %s\n",
	       ret ? strerror(-ret) : "done", msg.status,
	       ret ? "refuses that" : "LETS ANY PROCESS HAVE ANY MEMORY");
}

/*
 * Export memory from two processes. All memory that is exported to files is in one client, of the
 * process that exports first. @held: another process has exported before. Return: number of objects
 * that the first of the two can duplicate by numbers after the other one's export.
 */
static unsigned long exports(bool held)
{
	struct process holder = {}, first, other;
	struct message msg = {};
	int ret = 0;

	if (held) {
		holder = start("holder", 0);
		ret = ask(&holder, BEGIN, &msg, NULL) ?: ask(&holder, EXPORT, &msg, NULL);
	}
	first = start("first to export", STRANGER_UID);
	other = start("other to export", GUEST_UID);
	ret = ret ?: ask(&first, OWN, &msg, NULL) ?: ask(&first, EXPORT, &msg, NULL);
	ret = ret ?: ask(&other, OWN, &msg, NULL) ?: ask(&other, EXPORT, &msg, NULL);
	check(!ret, "%s export memory: %s", held ? "three processes" : "two processes",
	      ret ? strerror(-ret) : "done");
	ask(&first, HUNT, &msg, NULL);
	end(&first);
	end(&other);
	if (held)
		end(&holder);
	return msg.bytes;
}

static void take(struct process *engine, struct process *owner, const struct message *owned,
		 uint32_t client, bool unowned, struct view *view)
{
	int index, file, ret;

	for (index = 0; index < OBJECTS; index++) {
		struct message msg = *owned;

		if (!owned->memory[index].memory) {
			printf("note  %s: the driver has none for this program\n", names[index]);
			continue;
		}
		msg.index = index;
		if (unowned) {
			ret = ask(owner, GIVE, &msg, &file);
			if (check(!ret, "%s: the owner gives its file", names[index]))
				show(view, index, file);
			continue;
		}
		msg.client = client;
		ret = ask(owner, SHARE, &msg, NULL);
		check(!ret, "%s: the owner shares it with the engine's client (status %#x)",
		      names[index], msg.status);
		msg = *owned;
		msg.index = index;
		ret = ask(engine, LEND, &msg, &file);
		if (check(!ret, "%s: the engine lends it: %s (status %#x)", names[index],
			  ret ? strerror(-ret) : "done", msg.status))
			show(view, index, file);
	}
	if (view->words[DOORBELL])
		printf("note  first word of the doorbell page: %#lx\n",
		       (unsigned long)*(const volatile uint32_t *)view->words[DOORBELL]);
}

static void hog_all(const char *when, const struct view *view)
{
	struct process other = start("other tenant", STRANGER_UID);
	struct message msg = {};
	int ret = ask(&other, HOG, &msg, NULL);

	check(!ret && msg.bytes > 1024 * MIB,
	      "%s: another tenant has taken %lu MiB and written to them (last status %#x)",
	      when, (unsigned long)(msg.bytes / MIB), msg.status);
	look(view, when);
	end(&other);
	look(view, "and after the other's end");
}

int main(int argc, char **argv)
{
	bool unowned = argc > 1 && !strcmp(argv[1], "--unowned");
	struct process owner, engine, stranger;
	struct message owned = {}, msg = {};
	int card, ret;
	struct view view = {};
	long before, now, least;
	unsigned long gets;
	uint32_t client;

	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGPIPE, SIG_IGN);
	if (geteuid())
		die("root is needed, for processes of several users");
	/* An open file keeps the card awake, so that this does not change the memory in use. */
	card = open_node(0);
	if (card < 0)
		die("/dev/nvidia0: %s", strerror(errno));
	before = in_use();
	printf("note  %ld MiB in use at first\n", before);

	owner = start("owner", GUEST_UID);
	engine = start("engine", GUEST_UID);
	stranger = start("stranger", STRANGER_UID);
	ret = ask(&engine, BEGIN, &msg, NULL);
	client = msg.client;
	check(!ret && client, "the engine's client is %#x (%s, status %#x)", client,
	      ret ? strerror(-ret) : "done", msg.status);
	msg = (struct message) {};
	ret = ask(&stranger, BEGIN, &msg, NULL);
	check(!ret, "the stranger's client is %#x", msg.client);
	ret = ask(&owner, OWN, &owned, NULL);
	if (!check(!ret, "the owner's client is %#x: it has mapped memory (%s, status %#x)",
		   owned.client, ret ? strerror(-ret) : "done", owned.status))
		return 1;

	deny(&owner, &engine, &stranger, &owned);
	if (!unowned) {
		printf("note  who is the first to export gets %lu objects by numbers\n",
		       exports(false));
		gets = exports(true);
		check(!gets, "and %lu if somebody else has exported before", gets);
	}
	take(&engine, &owner, &owned, client, unowned, &view);
	look(&view, "shown");
	if (!unowned) {
		msg = (struct message) { .client = client, .memory = { { .memory = client } } };
		ret = ask(&owner, RELEASE, &msg, NULL);
		check(ret < 0, "the owner cannot free the engine's client (status %#x)",
		      msg.status);
		steal(&stranger, &owned);
	}
	end(&stranger);

	msg = owned;
	ret = ask(&owner, FREE, &msg, NULL);
	check(!ret, "the owner frees its memory (status %#x)", msg.status);
	look(&view, "freed by its owner");
	end(&owner);
	look(&view, "after its owner's end");
	now = in_use();
	if (!unowned)
		check(now >= before + (long)(sizes[VIDEO] / MIB),
		      "%ld MiB in use: video memory is kept", now);
	hog_all("taken by another", &view);

	if (!unowned) {
		end(&engine);
		look(&view, "the engine was killed");
		hog_all("and taken by another again", &view);
		unshow(&view);
	} else {
		unshow(&view);
		end(&engine);
	}
	now = in_use_until(before + 1);
	check(now >= 0 && now <= before + 1, "%ld MiB in use after all, %ld at first", now, before);

	/* The same is tested again with an engine that goes on. */
	if (!unowned) {
		owned = (struct message) {};
		msg = (struct message) {};
		owner = start("owner", GUEST_UID);
		engine = start("engine", GUEST_UID);
		ret = ask(&engine, BEGIN, &msg, NULL);
		client = msg.client;
		ret = ret ? ret : ask(&owner, OWN, &owned, NULL);
		check(!ret, "again: the owner has memory");
		take(&engine, &owner, &owned, client, false, &view);
		end(&owner);
		look(&view, "again, after its owner's end");
		now = in_use();
		unshow(&view);
		least = now - (long)(sizes[VIDEO] / MIB);
		now = in_use_until(least);
		check(now <= least, "hidden memory is free while the engine goes on: %ld MiB", now);
		end(&engine);
		now = in_use_until(before + 1);
		check(now >= 0 && now <= before + 1, "%ld MiB in use after all, %ld at first", now,
		      before);
	}
	close(card);
	printf("%s: %u failed\n", failed ? "FAILED" : "passed", failed);
	return failed ? 1 : 0;
}
