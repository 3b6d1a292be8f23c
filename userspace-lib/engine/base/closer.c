// SPDX-License-Identifier: MIT
/* Closing files: a driver's ->release may take long, so one thread closes all files in order. */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <unistd.h>

#include "engine/base/closer.h"
#include "shared/loop.h"

struct closing {
	STAILQ_ENTRY(closing) node;
	int fd;
	void (*done)(void *arg);
	void *arg;
};

STAILQ_HEAD(closing_list, closing);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static struct closing_list todo = STAILQ_HEAD_INITIALIZER(todo);
static struct closing_list finished = STAILQ_HEAD_INITIALIZER(finished);

static void closer_ready(struct source *source, uint32_t events)
{
	struct closing_list list = STAILQ_HEAD_INITIALIZER(list);
	struct closing *closing;
	uint64_t value;

	(void)events;
	if (read(source->fd, &value, sizeof(value)) != sizeof(value))
		return;
	pthread_mutex_lock(&lock);
	STAILQ_CONCAT(&list, &finished);
	pthread_mutex_unlock(&lock);
	while ((closing = STAILQ_FIRST(&list))) {
		STAILQ_REMOVE_HEAD(&list, node);
		if (closing->done)
			closing->done(closing->arg);
		free(closing);
	}
}

static struct source ready = { .fd = -1, .ready = closer_ready };

static void *closer_main(void *arg)
{
	const uint64_t one = 1;
	struct closing *closing;

	pthread_mutex_lock(&lock);
	for (;;) {
		while (!(closing = STAILQ_FIRST(&todo)))
			pthread_cond_wait(&work, &lock);
		STAILQ_REMOVE_HEAD(&todo, node);
		pthread_mutex_unlock(&lock);
		close(closing->fd);
		pthread_mutex_lock(&lock);
		STAILQ_INSERT_TAIL(&finished, closing, node);
		if (write(ready.fd, &one, sizeof(one)) != sizeof(one))
			abort();
	}
	return arg;
}

void closer_close(int fd, void (*done)(void *arg), void *arg)
{
	struct closing *closing = malloc(sizeof(*closing));

	/*
	 * Without memory the file cannot be queued, and this thread must not close it: the program
	 * ends, which closes all files.
	 */
	if (!closing)
		exit(EXIT_FAILURE);
	*closing = (struct closing) { .fd = fd, .done = done, .arg = arg };
	pthread_mutex_lock(&lock);
	STAILQ_INSERT_TAIL(&todo, closing, node);
	pthread_cond_signal(&work);
	pthread_mutex_unlock(&lock);
}

int closer_init(void)
{
	pthread_t thread;

	ready.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ready.fd < 0 || source_add(&ready, EPOLLIN))
		return -errno;
	return -pthread_create(&thread, NULL, closer_main, NULL);
}
