/* SPDX-License-Identifier: GPL-2.0-only */
/* Private declarations of the stand-in for NVIDIA's driver. */
#ifndef VGPU_MOCK_NVIDIA_PRIVATE_H
#define VGPU_MOCK_NVIDIA_PRIVATE_H

#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/wait.h>

/**
 * struct mock_nvidia_map - pages that RM has assigned to a file for mmap()
 * @id: number of the memory that the pages belonged to
 * @nr: number of pages
 * @pages: the pages, which may belong to other memory since
 */
struct mock_nvidia_map {
	u64 id;
	unsigned long nr;
	struct page *pages[];
};

/**
 * struct mock_nvidia_file - an open file
 * @text: bytes written to the file
 * @is_control: true if the file is of the control node
 * @pinned: page of a program that VGPU_MOCK_NVIDIA_PIN pinned; NULL: none
 * @control: control file that a card's file was registered with; this file holds a reference of
 *	it; NULL: none
 * @map: pages that RM lets the file map, under RM's lock; NULL: none
 * @exported: number of the export in the file, under RM's lock; 0: none
 * @event_wait: pollers of the file
 * @event_pending: true if one of the file's OS events happened and no poll has reported it
 */
struct mock_nvidia_file {
	char text[64];
	bool is_control;
	struct page *pinned;
	struct file *control;
	struct mock_nvidia_map *map;
	u32 exported;
	wait_queue_head_t event_wait;
	bool event_pending;
};

/* nvidia.c. Return: the card's file, or NULL for a file of another driver or node. */
struct mock_nvidia_file *mock_nvidia_card_file(struct file *filp);
/* Return: the file of the card or of the control node, or NULL for another file. */
struct mock_nvidia_file *mock_nvidia_told_file(struct file *filp);

/* nvidia_event.c: OS events */
struct mock_nvidia_event;
long mock_nvidia_event_ioctl(struct mock_nvidia_file *file, u32 nr, u32 size, void __user *arg);
struct mock_nvidia_event *mock_nvidia_event_get(u32 client, u32 fd);
void mock_nvidia_event_put(struct mock_nvidia_event *event);
void mock_nvidia_event_post(struct mock_nvidia_event *event);
__poll_t mock_nvidia_event_poll(struct file *filp, poll_table *table);
void mock_nvidia_event_release(const struct mock_nvidia_file *file);
void mock_nvidia_event_forget(u32 client);

/* nvidia_map.c: mappings */
int mock_nvidia_rm_mmap(struct mock_nvidia_file *file, struct vm_area_struct *vma);

/* nvidia_pci.c: the card's PCI address. */
struct vgpu_mock_nvidia_control;
int mock_nvidia_pci_init(const char *bus_id);
long mock_nvidia_pci_ioctl(u32 nr, u32 size, void __user *arg);
long mock_nvidia_pci_control(const struct vgpu_mock_nvidia_control *control);

/* nvidia_rm.c: the resource manager */
bool mock_nvidia_rm_has(u32 client);
u32 mock_nvidia_rm_check(struct mock_nvidia_file *control, u32 client);
long mock_nvidia_rm_events(struct vgpu_mock_nvidia_control *control);
long mock_nvidia_rm_control(const struct vgpu_mock_nvidia_control *control);
long mock_nvidia_rm_export(struct mock_nvidia_file *file, struct vgpu_mock_nvidia_control *control);
long mock_nvidia_rm_ioctl(struct mock_nvidia_file *control, u32 nr, u32 size, void __user *arg);
void mock_nvidia_rm_release(struct mock_nvidia_file *file);
void mock_nvidia_rm_exit(void);

#endif /* VGPU_MOCK_NVIDIA_PRIVATE_H */
