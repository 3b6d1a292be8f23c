// SPDX-License-Identifier: GPL-2.0-only
/*
 * The private fd table of a lane's thread. It holds the lane and, for the time of a call, the
 * files that the module installs for the call. Any other file that is left afterwards came from
 * the driver. No other thread changes the table, so it can be read without a lock.
 *
 * Files get the lowest free numbers, as do those of the driver. An object whose driver knows
 * files by their numbers has a fixed number, above these, which is the same in the tables of
 * all lanes.
 */
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/sched.h>

#include "object/object.h"
#include "session/fdtable.h"

static struct fdtable *fdtable_current(void)
{
	return rcu_dereference_raw(current->files->fdt);
}

static struct file *fdtable_file(struct fdtable *fdt, unsigned int fd)
{
	return rcu_dereference_raw(fdt->fd[fd]);
}

static unsigned int fdtable_next(struct fdtable *fdt, unsigned int fd)
{
	return find_next_bit(fdt->open_fds, fdt->max_fds, fd);
}

bool vgpu_fdtable_is_private(struct file *lane)
{
	struct fdtable *fdt = fdtable_current();
	unsigned int fd;

	if (atomic_read(&current->files->count) != 1)
		return false;
	for (fd = fdtable_next(fdt, 0); fd < fdt->max_fds; fd = fdtable_next(fdt, fd + 1))
		if (fdtable_file(fdt, fd) != lane)
			return false;
	return true;
}

int vgpu_fdtable_install(struct file *file)
{
	int fd = get_unused_fd_flags(O_CLOEXEC);

	if (fd >= VGPU_LANE_FDS) {
		put_unused_fd(fd);
		return -EMFILE;
	}
	if (fd >= 0)
		fd_install(fd, get_file(file));
	return fd;
}

/*
 * Get the fd @number. The kernel takes the first free number from next_fd on, and assumes that
 * there is none below it.
 */
static int fdtable_get_unused(unsigned int number)
{
	struct files_struct *files = current->files;
	unsigned int lowest;
	int fd;

	spin_lock(&files->file_lock);
	lowest = files->next_fd;
	files->next_fd = number;
	spin_unlock(&files->file_lock);
	fd = get_unused_fd_flags(O_CLOEXEC);
	spin_lock(&files->file_lock);
	files->next_fd = lowest;
	spin_unlock(&files->file_lock);
	return fd;
}

static int fdtable_install_at(struct file *file, unsigned int number)
{
	struct fdtable *fdt = fdtable_current();
	int fd;

	/* A call may name the object twice. */
	if (number < fdt->max_fds && fdtable_file(fdt, number) == file)
		return number;
	fd = fdtable_get_unused(number);
	if (fd < 0)
		return fd;
	/*
	 * The driver of this call has made that many files, or the shadow has put the lane
	 * there.
	 */
	if (fd != number) {
		put_unused_fd(fd);
		return -EMFILE;
	}
	fd_install(fd, get_file(file));
	return fd;
}

int vgpu_fdtable_place(struct vgpuh_object *object, struct vgpu_fd *placed)
{
	int fd = object->fd ? fdtable_install_at(object->file, object->fd) :
		 vgpu_fdtable_install(object->file);

	if (fd < 0) {
		vgpuh_object_put(object);
		return fd;
	}
	placed->fd = fd;
	/* This reference belongs to the table, so the pointer is for comparison only. */
	placed->file = object->file;
	placed->object = object;
	return fd;
}

void vgpu_fdtable_remove(struct vgpu_fd *placed)
{
	struct fdtable *fdt = fdtable_current();

	/*
	 * The driver may have closed the fd or replaced its file, or the call named the object
	 * twice.
	 */
	if (placed->fd < fdt->max_fds && fdtable_file(fdt, placed->fd) == placed->file)
		close_fd(placed->fd);
	if (placed->object)
		vgpuh_object_put(placed->object);
	placed->object = NULL;
	placed->file = NULL;
}

unsigned int vgpu_fdtable_take(struct file *lane, struct vgpu_fd *fds, unsigned int max)
{
	struct fdtable *fdt = fdtable_current();
	unsigned int fd, nr = 0;

	for (fd = fdtable_next(fdt, 0); fd < fdt->max_fds; fd = fdtable_next(fdt, fd + 1)) {
		struct file *file = fdtable_file(fdt, fd);

		if (!file || file == lane)
			continue;
		if (nr < max) {
			fds[nr].fd = fd;
			fds[nr].cloexec = test_bit(fd, fdt->close_on_exec);
			fds[nr].file = get_file(file);
		}
		nr++;
		close_fd(fd);
	}
	return nr;
}
