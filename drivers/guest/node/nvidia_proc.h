/* SPDX-License-Identifier: GPL-2.0-only */
/* Files of NVIDIA's nodes in /proc. */
#ifndef VGPU_NVIDIA_PROC_H
#define VGPU_NVIDIA_PROC_H

#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct proc_dir_entry;
struct vgpu_nvidia;

#define NVIDIA_PROC		"driver/nvidia"

/**
 * struct vgpu_nvidia_file - file in /proc
 * @owner: node that the file belongs to
 * @wanted: true if the file should exist
 * @sync: work item that creates or removes the file
 * @pde: entry in /proc; NULL: none; used by @sync only
 * @lock: lock of @len and @data, which a reader of the file holds
 * @len: number of bytes of @data
 * @data: contents of the file
 */
struct vgpu_nvidia_file {
	struct vgpu_nvidia *owner;
	bool wanted;
	struct work_struct sync;
	struct proc_dir_entry *pde;
	struct mutex lock;
	u32 len;
	u8 *data;
};

enum { NVIDIA_PARAMS, NVIDIA_VERSION, NVIDIA_INFORMATION, NVIDIA_FILES };

extern const char *const vgpu_nvidia_file_names[NVIDIA_FILES];

void vgpu_nvidia_proc_add(void);
void vgpu_nvidia_proc_del(void);
void vgpu_nvidia_file_want(struct vgpu_nvidia_file *file, bool wanted);
void vgpu_nvidia_file_set(struct vgpu_nvidia_file *file, const u8 *data, u32 len,
			  const char *there);
void vgpu_nvidia_files_init(struct vgpu_nvidia *nvidia);
void vgpu_nvidia_files_fini(struct vgpu_nvidia *nvidia);
int vgpu_nvidia_proc_init(void);
void vgpu_nvidia_proc_exit(void);

#endif /* VGPU_NVIDIA_PROC_H */
