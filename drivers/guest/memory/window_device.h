/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Devices whose memory may be a host's window. A driver (window_ivshmem.c, window_virtio.c)
 * finds such a device and adds it. The provider in window_device.c looks for a host's window
 * among them.
 */
#ifndef VGPU_GUEST_WINDOW_DEVICE_H
#define VGPU_GUEST_WINDOW_DEVICE_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>

#include "uapi/linux/vgpu_wire.h"

struct device;
struct vgpu_window_device;

/*
 * Read the number of the window from the device; called in process context, also with a mutex
 * held, but never after the device was removed. Return: the number, or 0 if the device is no
 * window.
 */
typedef u64 vgpu_window_id_fn(const struct vgpu_window_device *device);

/**
 * struct vgpu_window_device - a device whose memory may be a window
 * @ref: references: the driver's, and one of each window that has opened the device
 * @node: entry in the list of all devices, under devices_lock (window_device.c)
 * @start: physical address of the memory, a multiple of the page size
 * @size: size of the memory in bytes
 * @id: function that reads the number of the window
 * @header: mapping of the memory's first page, in which @id finds the number of the window;
 *	NULL: @id has another source. Mapped by the driver, unmapped by
 *	vgpu_window_device_remove()
 * @dev: device for @id and for log messages; valid until @removed, as ranges may outlive the
 *	driver's binding
 * @window: window that uses the device, or NULL; under devices_lock. An earlier window may
 *	still have ranges of mappings that give SIGBUS
 * @touch: rwsem, held for reading while holds are made and freed; held for writing to change
 *	@removed
 * @removed: true if the driver has withdrawn the memory, which may be another device's now;
 *	written under @touch
 * @holds_lock: lock of @holds; inside @touch
 * @holds: list of struct hold, the kernel's mappings of ranges, all of them unmapped once the
 *	device is @removed (window_device.c)
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
	struct rw_semaphore touch;
	bool removed;
	spinlock_t holds_lock; /* guards the list */
	struct list_head holds;
};

struct vgpu_window_device *vgpu_window_device_alloc(struct device *dev, phys_addr_t start, u64 size,
						    vgpu_window_id_fn *id);
void vgpu_window_device_put(struct vgpu_window_device *device);
void vgpu_window_device_add(struct vgpu_window_device *device);
void vgpu_window_device_remove(struct vgpu_window_device *device);
bool vgpu_window_device_hide(struct vgpu_window_device *device);

#ifdef CONFIG_PCI
int vgpu_window_ivshmem_init(void);
void vgpu_window_ivshmem_exit(void);
#else
static inline int vgpu_window_ivshmem_init(void)
{
	return 0;
}

static inline void vgpu_window_ivshmem_exit(void)
{
}
#endif

#ifdef VGPU_HAVE_VIRTIO
int vgpu_window_virtio_init(void);
void vgpu_window_virtio_exit(void);
#else
static inline int vgpu_window_virtio_init(void)
{
	return 0;
}

static inline void vgpu_window_virtio_exit(void)
{
}
#endif

#endif /* VGPU_GUEST_WINDOW_DEVICE_H */
