// SPDX-License-Identifier: MIT
/*
 * Exporters: a thread for each card of NVIDIA's driver that guests have, which keeps a page of
 * the card exported.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "device/exporter.h"
#include "device/usage.h"
#include "engine/memory/nvidia.h"
#include "shared/log.h"
#include "shared/loop.h"

#define NVIDIACTL	"/dev/nvidiactl"
/*
 * Milliseconds between two attempts for a card, and until the log says that its driver does not
 * answer.
 */
#define RETRY_MS	5000
#define STACK_SIZE	(64UL << 10)

/**
 * struct exporter - a card, and the thread that keeps a page of it exported
 * @node: entry of exporters
 * @rdev: device number of the card
 * @path: path of the card's device file
 * @link: vgpud's end of the socket to the thread, which ends when vgpud closes it; its fd is -1
 *	if the thread failed and has ended
 * @thread_fd: thread's end of the socket, until the thread has a file table of its own; then -1
 * @is_ready: true if guests may have the card
 * @warned: true if the log says that guests do not get the card
 * @asked: true if the thread was asked who uses the card, and has not answered yet
 */
struct exporter {
	LIST_ENTRY(exporter) node;
	dev_t rdev;
	char path[64];
	struct source link;
	int thread_fd;
	bool is_ready;
	bool warned;
	bool asked;
};

static LIST_HEAD(, exporter) exporters = LIST_HEAD_INITIALIZER(exporters);
static const struct exporter_ops *owner;

void exporters_init(const struct exporter_ops *ops)
{
	owner = ops;
}

/* --- the threads ------------------------------------------------------------ */

/* Open a device file, and check its device number. Return: the file, or a negative errno. */
static int node_open(const char *path, dev_t rdev)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && S_ISCHR(st.st_mode) && st.st_rdev == rdev)
		return fd;
	close(fd);
	return -ENODEV;
}

/*
 * Export a page of the card. It stays exported until the thread's end closes its files. Return:
 * 0 or a negative errno.
 */
static int page_export(const struct exporter *exporter)
{
	const dev_t rdev = makedev(RM_MAJOR, RM_MINOR_CTL);
	int card = node_open(exporter->path, exporter->rdev);
	int control = node_open(NVIDIACTL, rdev);
	int file = node_open(NVIDIACTL, rdev);
	struct nvidia nvidia;
	int ret;

	if (card < 0)
		return card;
	if (control < 0)
		return control;
	if (file < 0)
		return file;
	ret = nvidia_begin_apart(&nvidia, control);
	if (ret)
		return ret;
	ret = nvidia_export(&nvidia, minor(exporter->rdev), file);
	nvidia_end(&nvidia);
	return ret;
}

/*
 * Export a page in a thread of its own, and keep it exported until vgpud closes the socket.
 * Only this thread waits for the driver, also when files are closed. It copies its argument,
 * because vgpud may free the exporter after the answer. It allocates nothing: vgpud forks, and
 * a child could find a lock of malloc() taken.
 */
static void *thread_run(void *data)
{
	const struct exporter exporter = *(const struct exporter *)data;
	const int fd = exporter.thread_fd;
	struct nvidia nvidia = { .control = -1 };
	int error = 0;
	char none;

	if (unshare(CLONE_FILES))
		error = -errno;
	send(fd, &error, sizeof(error), MSG_NOSIGNAL);
	if (error)
		return NULL;
	if (fd > 0)
		close_range(0, fd - 1, 0);
	close_range(fd + 1, ~0U, 0);
	error = page_export(&exporter);
	send(fd, &error, sizeof(error), MSG_NOSIGNAL);
	/* vgpud closes its end when the page need not stay exported. */
	while (!error) {
		ssize_t len = recv(fd, &none, sizeof(none), 0);

		if (!len || (len < 0 && errno != EINTR))
			break;
		if (len > 0)
			usage_answer(&nvidia, fd, minor(exporter.rdev));
	}
	return NULL;
}

/* --- the event loop --------------------------------------------------------- */

static void try_again(struct timer *timer);
static struct timer retry = { .expired = try_again };

static void exporter_end(struct exporter *exporter)
{
	LIST_REMOVE(exporter, node);
	source_close(&exporter->link);
	free(exporter);
}

static void thread_fd_close(struct exporter *exporter)
{
	if (exporter->thread_fd >= 0)
		close(exporter->thread_fd);
	exporter->thread_fd = -1;
}

/* Handle a thread that has ended or could not start. */
static void exporter_failed(struct exporter *exporter, int error)
{
	thread_fd_close(exporter);
	source_close(&exporter->link);
	if (error == -EINVAL || error == -EOPNOTSUPP) {
		exporter->is_ready = true;
		log_warning("%s: vgpud cannot export memory of this driver (%s), so the driver gives the first guest that exports memory access to the memory that other guests export",
			    exporter->path, strerror(-error));
	} else if (!exporter->warned) {
		exporter->warned = true;
		log_warning("%s: guests cannot use this device yet, because vgpud cannot use it: %s",
			    exporter->path, strerror(-error));
	}
}

static void exporter_answers(struct source *source, uint32_t events)
{
	struct exporter *exporter = container_of(source, struct exporter, link);
	const bool was_ready = exporter->is_ready;
	static union {
		int error;
		struct card_usage usage;
	} answer;
	ssize_t len;
	int error;

	(void)events;
	len = recv(source->fd, &answer, sizeof(answer), MSG_DONTWAIT);
	if (len == sizeof(answer.usage)) {
		exporter->asked = false;
		owner->sampled(&answer.usage);
		return;
	}
	error = len == sizeof(answer.error) ? answer.error : -EIO;
	if (error)
		exporter_failed(exporter, error);
	else if (exporter->thread_fd >= 0)
		thread_fd_close(exporter);
	else
		exporter->is_ready = true;
	if (exporter->is_ready && !was_ready)
		owner->ready(exporter->rdev);
	/* The guests of the card may have gone before the answer. */
	exporters_review();
}

/* Start the thread of an exporter. Return: 0 or a negative errno. */
static int thread_start(struct exporter *exporter)
{
	pthread_attr_t attr;
	sigset_t all, before;
	pthread_t thread;
	int ret;

	ret = pthread_attr_init(&attr);
	if (ret)
		return -ret;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	/* glibc caches the stacks of threads that ended, and frees large ones. */
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	/* Signals are for the loop, so the thread blocks them. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	ret = pthread_create(&thread, &attr, thread_run, exporter);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -ret;
}

static void exporter_start(struct exporter *exporter)
{
	int pair[2], ret;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		exporter_failed(exporter, -errno);
		return;
	}
	exporter->link.fd = pair[0];
	exporter->thread_fd = pair[1];
	ret = source_add(&exporter->link, EPOLLIN);
	if (!ret)
		ret = thread_start(exporter);
	/*
	 * This failure says nothing of the driver, so guests have to wait: -EAGAIN leads to a
	 * retry.
	 */
	if (ret)
		exporter_failed(exporter, -EAGAIN);
}

static void try_again(struct timer *timer)
{
	struct exporter *exporter;
	bool waits = false;

	LIST_FOREACH(exporter, &exporters, node) {
		if (exporter->is_ready)
			continue;
		waits = true;
		if (exporter->link.fd < 0) {
			exporter_start(exporter);
		} else if (!exporter->warned) {
			exporter->warned = true;
			log_warning("%s: guests cannot use this device yet, because its driver does not answer",
				    exporter->path);
		}
	}
	if (waits)
		timer_set(timer, RETRY_MS);
}

static struct exporter *exporter_find(dev_t rdev)
{
	struct exporter *exporter;

	LIST_FOREACH(exporter, &exporters, node)
		if (exporter->rdev == rdev)
			return exporter;
	return NULL;
}

bool exporter_is_ready(const char *path, dev_t rdev)
{
	struct exporter *exporter = exporter_find(rdev);

	if (exporter)
		return exporter->is_ready;
	exporter = calloc(1, sizeof(*exporter));
	if (!exporter) {
		log_error("%s: out of memory: a guest cannot use this device until the guest connects again",
			  path);
		return false;
	}
	exporter->rdev = rdev;
	snprintf(exporter->path, sizeof(exporter->path), "%s", path);
	exporter->link.fd = -1;
	exporter->link.ready = exporter_answers;
	exporter->thread_fd = -1;
	LIST_INSERT_HEAD(&exporters, exporter, node);
	exporter_start(exporter);
	timer_set(&retry, RETRY_MS);
	return false;
}

void exporters_sample(void)
{
	const char ask = 0;
	struct exporter *exporter;

	LIST_FOREACH(exporter, &exporters, node) {
		if (!exporter->is_ready || exporter->link.fd < 0 || exporter->asked)
			continue;
		if (send(exporter->link.fd, &ask, sizeof(ask), MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
			exporter->asked = true;
	}
}

static void review_expired(struct timer *timer)
{
	struct exporter *exporter, *next;

	(void)timer;
	for (exporter = LIST_FIRST(&exporters); exporter; exporter = next) {
		next = LIST_NEXT(exporter, node);
		/* A thread that has not answered may still read its exporter. */
		if ((exporter->is_ready || exporter->link.fd < 0) &&
		    !owner->is_used(exporter->rdev))
			exporter_end(exporter);
	}
}

static struct timer review = { .expired = review_expired };

void exporters_review(void)
{
	if (!LIST_EMPTY(&exporters))
		timer_set(&review, 0);
}
