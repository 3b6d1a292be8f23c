// SPDX-License-Identifier: MIT
/*
 * The table of open files, which all threads of the shadow share. Files of objects have high
 * numbers; files that drivers make have low ones (below FILES_LOW).
 *
 * An object's file stays in the table as long as the guest has the object, as closing an entry
 * calls the driver's ->flush. A file that appears at a low number was made by a call. If several
 * calls run at once, only the field in which a driver wrote the number tells which call made the
 * file. Files that no field names are closed when no call runs any more.
 */
#include <linux/errno.h>
#include <linux/fcntl.h>

#include "engine/shadow/base/lib.h"
#include "engine/shadow/call/files.h"
#include "engine/shadow/lane/channel.h"
#include "engine/shadow/thread/thread.h"
#include "shadow/layout.h"
#include "shadow/message.h"

static struct lock files_lock;
static struct file_entry *entries;
static u32 nr_entries;
/* Flags of the files that files_take() has given to a caller, and that are not closed yet. */
static u8 taken[FILES_LOW];
static u32 running;
/* Limits of calls that may have made files which are open below FILES_LOW. */
static u64 met;
/*
 * True if files may be open anywhere below FILES_LOW. Otherwise they are below the first gap, or
 * below @given.
 */
static bool unclean;
static int given;

void files_init(void)
{
	nr_entries = shared->limits.objects;
	entries = memory_get(nr_entries * sizeof(*entries));
	if (!entries)
		sys_exit_group(SHADOW_EXIT_MAP);
	sys3(__NR_close_range, 0, FILES_LOW - 1, 0);
	/* Occupy number 0, which drivers use for no file. */
	sys3(__NR_dup3, fd_engine, 0, O_CLOEXEC);
}

/* --- files of objects -------------------------------------------------------- */

/*
 * Searches the entries for the object @number (0: a free entry), from the place of @object in the
 * hash table on. Context: files_lock is held.
 */
static struct file_entry *entry_look(u32 object, u32 number)
{
	u32 i, at = object % nr_entries;

	for (i = 0; i < nr_entries; i++, at = at + 1 < nr_entries ? at + 1 : 0)
		if (entries[at].object == number && !entries[at].dropped)
			return &entries[at];
	return NULL;
}

static struct file_entry *entry_find(u32 object)
{
	return entry_look(object, object);
}

static void entry_free(struct file_entry *file)
{
	if (file->ioctls)
		memory_put(file->ioctls,
			   (file->policy.nr_ioctls + file->policy.nr_submits) * sizeof(u32));
	file->ioctls = NULL;
	file->dropped = false;
	file->object = 0;
}

static int entry_fill(struct file_entry *file, const struct eshadow_policy *policy)
{
	u32 len = (policy->nr_ioctls + policy->nr_submits) * sizeof(u32);

	file->policy = (struct vgpu_policy) {
		.kind = policy->kind,
		.master = policy->master,
		.read_only = policy->read_only,
		.audit = policy->audit,
		.deny = policy->deny,
		.nr_ioctls = policy->nr_ioctls,
		.nr_submits = policy->nr_submits,
	};
	file->kind = policy->object_kind;
	file->space = policy->space;
	file->rdev = policy->rdev;
	file->origin = policy->origin;
	file->limits = policy->limits;
	file->no_demand = policy->no_demand;
	file->device = policy->device;
	if (!len)
		return 0;
	file->ioctls = memory_get(len);
	if (!file->ioctls)
		return -ENOMEM;
	memcpy(file->ioctls, policy->ioctls, len);
	file->policy.ioctls = file->ioctls;
	file->policy.submits = file->ioctls + policy->nr_ioctls;
	return 0;
}

struct file_entry *file_arrives(u32 object, const struct eshadow_policy *policy, int fd)
{
	struct file_entry *file;

	lock_take(&files_lock);
	/* Another lane may have added the file first. */
	file = entry_find(object);
	if (!file) {
		/* Take a free entry, which has number 0. */
		file = entry_look(object, 0);
		if (file && entry_fill(file, policy)) {
			entry_free(file);
			file = NULL;
		}
		if (file) {
			file->object = object;
			file->fd = fd;
			file->users = 0;
			fd = -1;
		}
	}
	if (file)
		file->users++;
	lock_drop(&files_lock);
	if (fd >= 0)
		fd_close(fd);
	return file;
}

/* Asks the engine for a file that is not here yet. */
static int file_fetch(struct lane *lane, u32 object, struct file_entry **file)
{
	struct request request = {
		.msg = { .type = ESHADOW_FIND, .object = object },
		.fd = -1,
	};
	int ret;

	ret = channel_ask(lane, &request);
	*file = ret ? NULL : request.file;
	if (*file)
		return 0;
	/* Without an error there was no memory for the file that the engine has sent. */
	return !ret || ret == -ENOMEM ? -ENOMEM : -EBADF;
}

int file_find(struct lane *lane, u32 object, struct file_entry **file)
{
	lock_take(&files_lock);
	*file = entry_find(object);
	if (*file)
		(*file)->users++;
	lock_drop(&files_lock);
	return *file ? 0 : file_fetch(lane, object, file);
}

struct file_entry *file_of_device(u64 rdev, u32 *from)
{
	struct file_entry *file = NULL;

	lock_take(&files_lock);
	while (!file && *from < nr_entries) {
		file = &entries[(*from)++];
		if (!file->object || file->dropped || file->rdev != rdev)
			file = NULL;
	}
	if (file)
		file->users++;
	lock_drop(&files_lock);
	return file;
}

/* Closes the file without the lock, as the driver's ->flush and ->release may take long. */
void file_put(struct file_entry *file)
{
	u32 object = file->object;
	int fd = file->fd;
	bool close;

	lock_take(&files_lock);
	close = !--file->users && file->dropped;
	if (close)
		entry_free(file);
	lock_drop(&files_lock);
	if (!close)
		return;
	fd_close(fd);
	channel_tell(ESHADOW_DROPPED, object, 0, 0);
}

bool file_close(u32 object)
{
	struct file_entry *file;
	bool close = false;
	int fd = -1;

	lock_take(&files_lock);
	file = entry_find(object);
	if (file) {
		file->dropped = true;
		fd = file->fd;
		close = !file->users;
		if (close)
			entry_free(file);
	}
	lock_drop(&files_lock);
	if (close)
		fd_close(fd);
	return close || !file;
}

void file_drop(u32 object)
{
	/* If calls still use the file, the last of them tells the engine. */
	if (file_close(object))
		channel_tell(ESHADOW_DROPPED, object, 0, 0);
}

/* --- files that drivers make -------------------------------------------------- */

static bool fd_is_open(int fd)
{
	return sys3(__NR_fcntl, fd, F_GETFD, 0) >= 0;
}

/*
 * Receives a message. A file that comes with it is below FILES_LOW for a moment, where it must
 * not be taken for a driver's. Hence the lock.
 */
long files_receive(int sock, void *buf, u64 len, int base, int *fd)
{
	long ret;
	int low;

	*fd = -1;
	lock_take(&files_lock);
	ret = message_receive(sock, buf, len, MSG_DONTWAIT, &low);
	if (low >= 0) {
		*fd = fd_up(low, base);
		/*
		 * A driver may have made a file with a higher number meanwhile, so this number is
		 * a gap now.
		 */
		given = max(given, low + 1);
	}
	lock_drop(&files_lock);
	return ret;
}

void files_call_begins(u64 limits)
{
	lock_take(&files_lock);
	running++;
	met |= limits;
	lock_drop(&files_lock);
}

void files_call_meets(u64 limits)
{
	lock_take(&files_lock);
	met |= limits;
	lock_drop(&files_lock);
}

u64 files_call_met(void)
{
	u64 limits;

	lock_take(&files_lock);
	limits = met;
	lock_drop(&files_lock);
	return limits;
}

bool files_take(int fd)
{
	bool ok;

	if (fd < 1 || fd >= FILES_LOW)
		return false;
	lock_take(&files_lock);
	ok = !taken[fd] && fd_is_open(fd);
	if (ok)
		taken[fd] = 1;
	lock_drop(&files_lock);
	return ok;
}

u32 files_call_ends(void)
{
	u32 nr = 0;
	int fd;

	lock_take(&files_lock);
	if (--running) {
		unclean = true;
		lock_drop(&files_lock);
		return 0;
	}
	/*
	 * Files get the lowest free number, so they end at the first gap, unless files have been
	 * closed.
	 */
	for (fd = 1; fd < FILES_LOW; fd++) {
		if (!fd_is_open(fd)) {
			if (!unclean && fd >= given)
				break;
			continue;
		}
		if (taken[fd])
			continue;
		fd_close(fd);
		nr++;
	}
	unclean = false;
	given = 0;
	met = 0;
	lock_drop(&files_lock);
	return nr;
}

/* Closes a taken file, which may have a second number by now. */
void files_give(int fd)
{
	lock_take(&files_lock);
	taken[fd] = 0;
	given = max(given, fd + 1);
	fd_close(fd);
	lock_drop(&files_lock);
}
