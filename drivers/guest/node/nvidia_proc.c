// SPDX-License-Identifier: GPL-2.0-only
/* Files of NVIDIA's nodes in /proc/driver/nvidia. */
#include <linux/atomic.h>
#include <linux/device.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/wait.h>

#include "node/nvidia.h"
#include "node/nvidia_proc.h"

/*
 * Removing a file of /proc waits for its readers, and a program that reads into memory that
 * never arrives is a reader for ever. So work items create and remove all files of /proc, one
 * after the other. Other threads wait for the work items, but not longer than NVIDIA_PROC_WAIT.
 */
#define NVIDIA_PROC_WAIT	HZ

static struct workqueue_struct *nvidia_proc_queue;
static DECLARE_WAIT_QUEUE_HEAD(nvidia_proc_wait);
static atomic_t nvidia_proc_pending = ATOMIC_INIT(0);
/* Used by the work items only. */
static struct proc_dir_entry *nvidia_proc, *nvidia_proc_gpus;
/* List of nodes with a directory, including those whose work item is still queued. */
static LIST_HEAD(nvidia_dirs);

const char *const vgpu_nvidia_file_names[NVIDIA_FILES] = {
	[NVIDIA_PARAMS] = "params",
	[NVIDIA_VERSION] = "version",
	[NVIDIA_INFORMATION] = "information",
};

static bool nvidia_proc_sync(struct work_struct *sync)
{
	atomic_inc(&nvidia_proc_pending);
	if (queue_work(nvidia_proc_queue, sync))
		return true;
	atomic_dec(&nvidia_proc_pending);
	return false;
}

static void nvidia_proc_synced(void)
{
	if (atomic_dec_and_test(&nvidia_proc_pending))
		wake_up_all(&nvidia_proc_wait);
}

static void nvidia_proc_settle(void)
{
	wait_event_timeout(nvidia_proc_wait, !atomic_read(&nvidia_proc_pending), NVIDIA_PROC_WAIT);
}

static bool nvidia_proc_wanted;

static void nvidia_proc_main_sync(struct work_struct *sync)
{
	if (READ_ONCE(nvidia_proc_wanted)) {
		if (!nvidia_proc)
			nvidia_proc = proc_mkdir(NVIDIA_PROC, NULL);
		if (nvidia_proc && !nvidia_proc_gpus)
			nvidia_proc_gpus = proc_mkdir("gpus", nvidia_proc);
	} else {
		proc_remove(nvidia_proc);
		nvidia_proc = NULL;
		nvidia_proc_gpus = NULL;
	}
	nvidia_proc_synced();
}

static DECLARE_WORK(nvidia_proc_main, nvidia_proc_main_sync);

/* Create the directory of the drivers in /proc. */
void vgpu_nvidia_proc_add(void)
{
	WRITE_ONCE(nvidia_proc_wanted, true);
	nvidia_proc_sync(&nvidia_proc_main);
}

/* Remove that directory, and wait for that, but no longer than NVIDIA_PROC_WAIT. */
void vgpu_nvidia_proc_del(void)
{
	WRITE_ONCE(nvidia_proc_wanted, false);
	nvidia_proc_sync(&nvidia_proc_main);
	nvidia_proc_settle();
}

static int nvidia_file_show(struct seq_file *m, void *v)
{
	struct vgpu_nvidia_file *file = m->private;

	mutex_lock(&file->lock);
	seq_write(m, file->data, file->len);
	mutex_unlock(&file->lock);
	return 0;
}

static void nvidia_file_remove(struct vgpu_nvidia_file *file)
{
	struct vgpu_nvidia *nvidia = file->owner;

	proc_remove(file->pde);
	file->pde = NULL;
	if (file != &nvidia->files[NVIDIA_INFORMATION] || !nvidia->dir)
		return;
	proc_remove(nvidia->dir);
	nvidia->dir = NULL;
	list_del(&nvidia->dir_entry);
}

/*
 * Create the directory of a card. The card may have a directory of another name. Another card may
 * still have one of this name, which its work item has to remove: work items run in the order in
 * which they were queued first, so that one may be behind this one in the queue.
 */
static void nvidia_dir_create(struct vgpu_nvidia *nvidia)
{
	struct vgpu_nvidia_file *file = &nvidia->files[NVIDIA_INFORMATION];
	char name[NVIDIA_BUS_ID_LEN];
	struct vgpu_nvidia *other;

	mutex_lock(&file->lock);
	strscpy(name, nvidia->bus_id, sizeof(name));
	mutex_unlock(&file->lock);
	if (nvidia->dir && !strcmp(nvidia->dir_name, name))
		return;
	nvidia_file_remove(file);
	list_for_each_entry(other, &nvidia_dirs, dir_entry) {
		if (!strcmp(other->dir_name, name)) {
			nvidia_file_remove(&other->files[NVIDIA_INFORMATION]);
			break;
		}
	}
	if (nvidia_proc_gpus)
		nvidia->dir = proc_mkdir(name, nvidia_proc_gpus);
	if (!nvidia->dir)
		return;
	strscpy(nvidia->dir_name, name, sizeof(nvidia->dir_name));
	list_add(&nvidia->dir_entry, &nvidia_dirs);
}

static void nvidia_file_create(struct vgpu_nvidia_file *file)
{
	struct vgpu_nvidia *nvidia = file->owner;
	int which = file - nvidia->files;
	struct proc_dir_entry *dir = nvidia_proc;

	if (which == NVIDIA_INFORMATION) {
		nvidia_dir_create(nvidia);
		dir = nvidia->dir;
	}
	if (dir && !file->pde)
		file->pde = proc_create_single_data(vgpu_nvidia_file_names[which], 0444, dir,
						    nvidia_file_show, file);
}

static void nvidia_file_sync(struct work_struct *sync)
{
	struct vgpu_nvidia_file *file = container_of(sync, struct vgpu_nvidia_file, sync);

	if (READ_ONCE(file->wanted))
		nvidia_file_create(file);
	else
		nvidia_file_remove(file);
	nvidia_proc_synced();
	put_device(&file->owner->dev);
}

/* Create or remove a file, and wait for that, but no longer than NVIDIA_PROC_WAIT. */
void vgpu_nvidia_file_want(struct vgpu_nvidia_file *file, bool wanted)
{
	if (file->wanted == wanted)
		return;
	WRITE_ONCE(file->wanted, wanted);
	get_device(&file->owner->dev);
	if (!nvidia_proc_sync(&file->sync))
		put_device(&file->owner->dev);
	nvidia_proc_settle();
}

/* Replace the host's address by the guest's, which has the same length. */
static void nvidia_replace(u8 *data, u32 len, const char *there, const char *here)
{
	u32 n = strlen(there), i;

	for (i = 0; i + n <= len; i++)
		if (!memcmp(data + i, there, n))
			memcpy(data + i, here, n);
}

/**
 * vgpu_nvidia_file_set - set the contents of a file
 * @file: the file, which is created if there is none
 * @data: contents; copied
 * @len: number of bytes at @data
 * @there: host's name of the card, which @bus_id replaces in the contents, or NULL
 */
void vgpu_nvidia_file_set(struct vgpu_nvidia_file *file, const u8 *data, u32 len,
			  const char *there)
{
	u8 *copy = kvmalloc(len, GFP_KERNEL), *old;

	if (!copy)
		return;
	memcpy(copy, data, len);
	if (there)
		nvidia_replace(copy, len, there, file->owner->bus_id);
	mutex_lock(&file->lock);
	old = file->data;
	file->data = copy;
	file->len = len;
	mutex_unlock(&file->lock);
	kvfree(old);
	vgpu_nvidia_file_want(file, true);
}

/* Initialize the files of a node, none of which is in /proc yet. */
void vgpu_nvidia_files_init(struct vgpu_nvidia *nvidia)
{
	int i;

	for (i = 0; i < NVIDIA_FILES; i++) {
		nvidia->files[i].owner = nvidia;
		INIT_WORK(&nvidia->files[i].sync, nvidia_file_sync);
		mutex_init(&nvidia->files[i].lock);
	}
}

/* Free the contents of the files of a node without users. */
void vgpu_nvidia_files_fini(struct vgpu_nvidia *nvidia)
{
	int i;

	for (i = 0; i < NVIDIA_FILES; i++)
		kvfree(nvidia->files[i].data);
}

/* Make the queue of the work items. */
int vgpu_nvidia_proc_init(void)
{
	nvidia_proc_queue = alloc_ordered_workqueue("vgpu_nvidia", 0);
	return nvidia_proc_queue ? 0 : -ENOMEM;
}

/* Destroy the queue, after waiting for readers of removed files. */
void vgpu_nvidia_proc_exit(void)
{
	destroy_workqueue(nvidia_proc_queue);
}
