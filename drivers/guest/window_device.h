/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Devices with memory that may be a host's window. A driver (window_ivshmem.c, window_virtio.c)
 * finds them and adds them; the provider in window_device.c finds a host's window among them.
 */
#ifndef VGPU_GUEST_WINDOW_DEVICE_H
#define VGPU_GUEST_WINDOW_DEVICE_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "uapi/linux/vgpu_wire.h"

struct device;
struct vgpu_window;
struct vgpu_window_device;

/*
 * Asks a device which window it is now, in process context, with a mutex held, until the device is
 * removed. Return: the window's number, or 0: it is none.
 */
typedef u64 vgpu_window_id_fn(const struct vgpu_window_device *device);

/**
 * struct vgpu_window_device - a device whose memory may be a window
 * @ref: references: the driver's, and one of each window that has opened it, until that is freed
 * @node: links it into the list of all devices, under devices_lock (window_device.c)
 * @start: physical address of the memory, a multiple of the page size
 * @size: size of the memory in bytes
 * @id: asks which window it is
 * @header: the memory's first page, which has the ids of slots; NULL: it has no slots. The driver
 *	maps it, and it is unmapped when the driver removes the device
 * @dev: the device, for @id and for messages of the log; until it is @removed, as ranges and slots
 *	may stay for longer than the driver of its bus
 * @window: the window that uses it, or NULL; under devices_lock. A window of before may still
 *	have ranges of it for mappings that give SIGBUS, and slots
 * @slots: one bit for each slot that a connection of this machine uses or has used, see
 *	struct vgpu_window_provider
 * @touch: held for reading while memory of slots is touched, and while mappings of the kernel are
 *	made and ended; for writing to set @removed
 * @removed: the driver has let go of the memory, where something else may be; under @touch
 * @holds_lock: guards @holds; inside @touch
 * @holds: list of the kernel's mappings of ranges and slots, which have no memory any more once
 *	@removed was set (window_device.c)
 */
struct vgpu_window_device {
	struct kref ref;
	struct list_head node;
	phys_addr_t start;
	u64 size;
	vgpu_window_id_fn *id;
	void __iomem *header;
	struct device *dev;
	struct vgpu_window *window;
	DECLARE_BITMAP(slots, VGPU_ARENA_SLOTS_MAX);
	struct rw_semaphore touch;
	bool removed;
	spinlock_t holds_lock; /* the list */
	struct list_head holds;
};

struct vgpu_window_device *vgpu_window_device_alloc(struct device *dev, phys_addr_t start, u64 size,
						    vgpu_window_id_fn *id);
void vgpu_window_device_put(struct vgpu_window_device *device);
void vgpu_window_device_add(struct vgpu_window_device *device);
void vgpu_window_device_remove(struct vgpu_window_device *device);
bool vgpu_window_device_hide(struct vgpu_window_device *device);

#endif /* VGPU_GUEST_WINDOW_DEVICE_H */
