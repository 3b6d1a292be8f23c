// SPDX-License-Identifier: MIT
/*
 * Numbers of shadows' processes that must not be reused yet. NVIDIA's driver knows processes by
 * their numbers alone, and lets a process have what another process with the same number has made;
 * drivers/host/object/tgid.c has the details. So vgpud leaves a shadow that has ended a zombie as
 * long as a file exists that the shadow had, or another file of the same family. A family is a set
 * of processes and their files. Families merge when a process gets a file of another family, and
 * never split.
 *
 * A shadow may still have a file that it has reported closed, or have the file mapped. So a file
 * exists until lasting.c says that its last reference was dropped. The driver's ->release runs
 * after that, in whatever process dropped the reference, and gets some time.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "engine/base/agent.h"
#include "engine/base/lasting.h"
#include "engine/process/tgid.h"
#include "shared/loop.h"
#include "shared/proto.h"

/* Shortest and longest time in milliseconds between looks at the files. */
#define LOOK_MIN_MS	100
#define LOOK_MAX_MS	1000
/* Time in milliseconds that a driver's ->release gets. */
#define RELEASE_MS	3000

LIST_HEAD(file_list, tgid_file);
LIST_HEAD(tgid_list, tgid);

/**
 * struct family - files of a driver, and the processes that the driver may know by any of them
 * @files: list of the files, which are not released yet
 * @tgids: list of the processes
 */
struct family {
	struct file_list files;
	struct tgid_list tgids;
};

/**
 * struct tgid - the number of a shadow's process
 * @session: number of the session, as the guest chose it
 * @ended: true if the shadow has ended
 * @family: family of the files that the process has had; NULL: the process has had no file
 * @own: memory for the family that the process's first file makes
 */
struct tgid {
	LIST_ENTRY(tgid) node;
	uint64_t session;
	bool ended;
	struct family *family;
	struct family own;
};

/**
 * struct tgid_file - a file by which a driver may know processes
 * @family: family of the file
 * @tag: tag of the file in lasting.c; 0: the file's driver has no poll operation
 * @gone_ms: time of now_ms() at which the last reference was seen to be gone; 0: it is not gone
 */
struct tgid_file {
	LIST_ENTRY(tgid_file) node;
	LIST_ENTRY(tgid_file) closed_node;
	struct family *family;
	uint64_t tag;
	uint64_t gone_ms;
};

static void look(struct timer *timer);
static struct timer look_timer = { .expired = look };
static unsigned int look_ms;
/* List of the files that the engine has closed, and that are not released yet. */
static struct file_list closed_files = LIST_HEAD_INITIALIZER(closed_files);

struct tgid *tgid_new(uint64_t session)
{
	struct tgid *tgid = calloc(1, sizeof(*tgid));

	if (tgid)
		tgid->session = session;
	return tgid;
}

static void tgid_tell(struct tgid *tgid)
{
	agent_say(ENGINE_REAP, tgid->session);
	free(tgid);
}

void tgid_end(void *arg)
{
	struct tgid *tgid = arg;

	tgid->ended = true;
	if (!tgid->family)
		tgid_tell(tgid);
}

static void family_merge(struct family *to, struct family *from)
{
	struct tgid_file *file;
	struct tgid *tgid;

	while ((file = LIST_FIRST(&from->files))) {
		LIST_REMOVE(file, node);
		LIST_INSERT_HEAD(&to->files, file, node);
		file->family = to;
	}
	while ((tgid = LIST_FIRST(&from->tgids))) {
		LIST_REMOVE(tgid, node);
		LIST_INSERT_HEAD(&to->tgids, tgid, node);
		tgid->family = to;
	}
}

static int file_make(struct tgid_file **made, int fd)
{
	struct tgid_file *file = calloc(1, sizeof(*file));
	int ret;

	if (!file)
		return -ENOMEM;
	ret = lasting_add(fd, &file->tag);
	/*
	 * -EPERM: the driver has no poll operation. Such a file counts as closed as soon as the
	 * shadows report that it is closed.
	 */
	if (ret && ret != -EPERM) {
		free(file);
		return ret;
	}
	*made = file;
	return 0;
}

int tgid_use(struct tgid *tgid, struct tgid_file **made, int fd)
{
	int ret = *made ? 0 : file_make(made, fd);
	struct tgid_file *file = *made;

	if (ret)
		return ret;
	if (!tgid->family) {
		/*
		 * The family may be memory of another process's struct tgid, which is not freed
		 * before the family ends.
		 */
		tgid->family = file->family ? file->family : &tgid->own;
		LIST_INSERT_HEAD(&tgid->family->tgids, tgid, node);
	}
	if (!file->family) {
		file->family = tgid->family;
		LIST_INSERT_HEAD(&file->family->files, file, node);
	} else if (file->family != tgid->family) {
		family_merge(file->family, tgid->family);
	}
	return 0;
}

/* End a family without files: other processes may get the numbers of its processes. */
static void family_end(struct family *family)
{
	struct tgid_list ended = LIST_HEAD_INITIALIZER(ended);
	struct tgid *tgid;

	while ((tgid = LIST_FIRST(&family->tgids))) {
		LIST_REMOVE(tgid, node);
		tgid->family = NULL;
		if (tgid->ended)
			LIST_INSERT_HEAD(&ended, tgid, node);
	}
	/* Free the processes last, as the family is memory of one of them. */
	while ((tgid = LIST_FIRST(&ended))) {
		LIST_REMOVE(tgid, node);
		tgid_tell(tgid);
	}
}

static void file_released(struct tgid_file *file)
{
	LIST_REMOVE(file, closed_node);
	LIST_REMOVE(file, node);
	if (LIST_EMPTY(&file->family->files))
		family_end(file->family);
	free(file);
}

/* Return: true if the file exists, or its driver may still be releasing it. */
static bool file_is_used(struct tgid_file *file)
{
	if (file->tag && lasting_has(file->tag))
		return true;
	if (!file->gone_ms)
		file->gone_ms = now_ms();
	return now_ms() - file->gone_ms < RELEASE_MS;
}

static void look_later(unsigned int ms)
{
	look_ms = ms < LOOK_MAX_MS ? ms : LOOK_MAX_MS;
	timer_cancel(&look_timer);
	timer_set(&look_timer, look_ms);
}

static void look(struct timer *timer)
{
	struct tgid_file *file, *next;

	(void)timer;
	lasting_look();
	LIST_FOREACH_SAFE(file, &closed_files, closed_node, next)
		if (!file_is_used(file))
			file_released(file);
	if (!LIST_EMPTY(&closed_files))
		look_later(2 * look_ms);
}

void tgid_file_closed(struct tgid_file *file)
{
	if (!file)
		return;
	LIST_INSERT_HEAD(&closed_files, file, closed_node);
	if (!look_timer.set || look_ms > LOOK_MIN_MS)
		look_later(LOOK_MIN_MS);
}
