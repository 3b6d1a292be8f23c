// SPDX-License-Identifier: MIT
/*
 * Small files of the host that guests get, too: a thread reads them, and the loop passes them
 * to their receiver.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <linux/vgpu_host.h>
#include <linux/vgpu_wire.h>

#include "device/device.h"
#include "device/files.h"
#include "device/nvidia.h"
#include "shared/log.h"
#include "shared/loop.h"

/* Files of a connector; some kernels lack some of them. */
static const struct {
	const char *name;
	enum files which;
} connector_files[] = {
	{ "status", FILES_QUICK }, { "enabled", FILES_QUICK }, { "dpms", FILES_QUICK },
	{ "modes", FILES_ALL }, { "edid", FILES_ALL }, { "connector_id", FILES_ALL },
};

struct request {
	uint32_t number;
	uint32_t which;
	struct device device;
};

/**
 * struct answer_file - content of a file; an empty name ends the answer
 * @number: number of the export, from the request
 * @which: enum files, from the request
 * @len: number of bytes in @data
 * @name: name of the file in the guest
 * @data: content of the file
 */
struct answer_file {
	uint32_t number;
	uint32_t which;
	uint32_t len;
	char name[VGPU_FILE_NAME_LEN];
	char data[VGPU_FILE_MAX];
};

#define ANSWER_HEAD	offsetof(struct answer_file, data)

/* --- the thread ----------------------------------------------------------- */

static int thread_fd;

static void answer_send(const struct answer_file *answer)
{
	ssize_t sent;

	do {
		sent = send(thread_fd, answer, ANSWER_HEAD + answer->len, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
}

/* Read file @name in directory @dir. Return: its length; -1 if it is missing or too long. */
static ssize_t file_read(int dir, const char *name, char *data, size_t size)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t len = 0, got = -1;

	if (fd < 0)
		return -1;
	while ((size_t)len < size) {
		got = read(fd, data + len, size - len);
		if (got <= 0)
			break;
		len += got;
	}
	close(fd);
	return got ? -1 : len;
}

/* Send the content of file @name in directory @dir, which guests get as @known. */
static void file_tell(int dir, const char *name, const char *known, const struct request *request)
{
	static struct answer_file answer;
	ssize_t len = file_read(dir, name, answer.data, sizeof(answer.data));

	if (len >= 0 && !strcmp(name, NVIDIA_PROC "/params"))
		len = nvidia_params(answer.data, len, sizeof(answer.data));
	if (len < 0 || strlen(known) >= sizeof(answer.name))
		return;
	memset(answer.name, 0, sizeof(answer.name));
	strcpy(answer.name, known);
	answer.number = request->number;
	answer.which = request->which;
	answer.len = len;
	answer_send(&answer);
}

static void connector_read(int card, const char *dir, const char *name,
			   const struct request *request)
{
	int fd = openat(card, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	char known[2 * VGPU_FILE_NAME_LEN];
	size_t i;

	if (fd < 0)
		return;
	for (i = 0; i < sizeof(connector_files) / sizeof(connector_files[0]); i++) {
		if (connector_files[i].which > request->which)
			continue;
		snprintf(known, sizeof(known), "%s/%s", name, connector_files[i].name);
		file_tell(fd, connector_files[i].name, known, request);
	}
	close(fd);
}

/* Return the connector's name in a directory's name like "card0-HDMI-A-1", or NULL. */
static const char *connector_name(const char *dir)
{
	static const char digits[] = "0123456789";
	size_t len;

	if (strncmp(dir, "card", 4))
		return NULL;
	len = 4 + strspn(dir + 4, digits);
	return len > 4 && dir[len] == '-' ? dir + len + 1 : NULL;
}

static void card_read(const struct request *request)
{
	static char entries[8192] __attribute__((aligned(8)));
	const char *name;
	char path[64];
	long len, at;
	int card;

	snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/", major(request->device.rdev),
		 minor(request->device.rdev));
	card = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (card < 0)
		return;
	/* opendir() would allocate. */
	while ((len = syscall(SYS_getdents64, card, entries, sizeof(entries))) > 0) {
		for (at = 0; at < len;) {
			const struct dirent64 *entry = (const void *)(entries + at);

			at += entry->d_reclen;
			name = connector_name(entry->d_name);
			if (name)
				connector_read(card, entry->d_name, name, request);
		}
	}
	close(card);
}

/* Send a file that guests get by its path. */
static void proc_tell(const char *path, const struct request *request)
{
	file_tell(AT_FDCWD, path, path + 1, request);
}

/* Read files of NVIDIA's driver, whose changes no uevent reports. */
static void nvidia_read(const struct request *request)
{
	const struct device *device = &request->device;
	char path[128];

	if (!strcmp(device->title, "nvidiactl")) {
		proc_tell(NVIDIA_PROC "/params", request);
		proc_tell(NVIDIA_PROC "/version", request);
	} else if (device->identity.bus == VGPU_BUS_PCI) {
		snprintf(path, sizeof(path), NVIDIA_PROC "/gpus/%s/information",
			 device->identity.bus_id);
		proc_tell(path, request);
	}
}

/*
 * Serve requests in the thread. A driver that hangs keeps this thread and its files for ever,
 * so the thread first closes all files but its socket.
 */
static void *thread_run(void *data)
{
	static struct answer_file last;
	struct request request;

	(void)data;
	if (unshare(CLONE_FILES))
		return NULL;
	if (thread_fd > 0)
		close_range(0, thread_fd - 1, 0);
	close_range(thread_fd + 1, ~0U, 0);
	while (recv(thread_fd, &request, sizeof(request), 0) == sizeof(request)) {
		if (request.device.kind == VGPU_EXPORT_NVIDIA)
			nvidia_read(&request);
		else
			card_read(&request);
		last.number = request.number;
		last.which = request.which;
		answer_send(&last);
	}
	return NULL;
}

/* --- the event loop ------------------------------------------------------- */

static const struct files_ops *receiver;
static bool busy;

static void answer_take(const struct answer_file *answer)
{
	struct vgpu_host_export_file arg = {
		.export = answer->number,
		.flags = answer->name[0] ? 0 : VGPU_HOST_FILE_LAST,
		.data = (uintptr_t)answer->data,
		.len = answer->len,
	};
	int ret = 0;

	memcpy(arg.name, answer->name, sizeof(arg.name));
	/* After a quick read, the end does not mean that the files it left out are gone. */
	if (answer->name[0] || answer->which == FILES_ALL)
		ret = receiver->take(&arg);
	/* -ENOENT: the export may have been taken back meanwhile. */
	if (ret && ret != -ENOENT)
		log_warning("export %u: %s: %s", answer->number, answer->name, strerror(-ret));
	if (!answer->name[0]) {
		busy = false;
		receiver->end(answer->number);
	}
}

static void answer_ready(struct source *source, uint32_t events)
{
	static struct answer_file answer;
	ssize_t len;

	(void)events;
	for (;;) {
		len = recv(source->fd, &answer, sizeof(answer), MSG_DONTWAIT);
		if (len < (ssize_t)ANSWER_HEAD)
			break;
		answer.len = len - ANSWER_HEAD;
		answer_take(&answer);
	}
	/* The thread has ended: guests keep the files that they have. */
	if (!len)
		source_close(source);
}

static struct source answers = { .fd = -1, .ready = answer_ready };

int files_init(const struct files_ops *ops)
{
	pthread_t thread;
	sigset_t all, before;
	int pair[2], ret;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	receiver = ops;
	answers.fd = pair[0];
	thread_fd = pair[1];
	/*
	 * Block all signals in the thread: it would take, and lose, signals that the loop waits
	 * for.
	 */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	ret = pthread_create(&thread, NULL, thread_run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (ret)
		return -ret;
	pthread_detach(thread);
	return source_add(&answers, EPOLLIN);
}

bool files_ask(uint32_t number, const struct device *device, enum files which)
{
	const struct request request = { .number = number, .which = which, .device = *device };

	if (busy || answers.fd < 0)
		return false;
	busy = send(answers.fd, &request, sizeof(request), MSG_NOSIGNAL | MSG_DONTWAIT) ==
		sizeof(request);
	return busy;
}
