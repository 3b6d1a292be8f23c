/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Private declarations of the mock device, grouped by the file that defines them.
 */
#ifndef VGPU_MOCK_PRIVATE_H
#define VGPU_MOCK_PRIVATE_H

#include <linux/atomic.h>
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "vgpu_mock.h"
#include "vgpu_mock_pattern.h"

#define VGPU_MOCK_SLOTS		16
#define VGPU_MOCK_MAX_MS	60000

/* The order is that of struct vgpu_mock_counters. */
enum vgpu_mock_counter {
	VGPU_MOCK_OPENS,
	VGPU_MOCK_BUSY,
	VGPU_MOCK_RELEASES,
	VGPU_MOCK_FILES,
	VGPU_MOCK_OBJECTS,
	VGPU_MOCK_BUFS,
	VGPU_MOCK_BUF_PAGES,
	VGPU_MOCK_MAPS,
	VGPU_MOCK_FAULTS,
	VGPU_MOCK_READS,
	VGPU_MOCK_WRITES,
	VGPU_MOCK_POLLS,
	VGPU_MOCK_SEEKS,
	VGPU_MOCK_MMAPS,
	VGPU_MOCK_INTERRUPTED,
	VGPU_MOCK_UNFLUSHED,
	VGPU_MOCK_COUNTERS,
};

/*
 * Lock order: mmap_lock > buf->lock > device->lock > i_mmap_rwsem. LOCKED alone
 * takes device->hold, and copies from and to user memory under it.
 */
struct vgpu_mock_device {
	struct miscdevice misc;
	struct mutex hold;		/* held by LOCKED while it copies */
	struct mutex work;		/* held by WORK while the device works */
	struct xarray bufs;

	struct mutex lock;		/* guards the members below */
	struct list_head files;
	struct vgpu_mock_file *exclusive;
};

struct vgpu_mock_slot {
	u32 count;
	u32 waiters;
};

struct vgpu_mock_file {
	struct vgpu_mock_device *device;
	struct file *filp;
	struct list_head node;		/* device->files */
	u64 seed;			/* hash of the last argument of IN */
	u64 mm;				/* name of the opener's address space */
	struct file *held;		/* file held by FD_HOLD; NULL: none */
	u32 flush;			/* argument of FLUSH */
	atomic64_t worked;		/* microseconds of WORK and QUEUE */
	bool flushed;			/* ->flush was called */

	spinlock_t wait_lock;		/* guards slots */
	wait_queue_head_t wait_queue;
	struct vgpu_mock_slot slots[VGPU_MOCK_SLOTS];

	struct mutex io_lock;		/* guards the members io to queue_used */
	struct vgpu_mock_io io;
	wait_queue_head_t io_queue;
	u8 *space;
	u8 *queue;
	u32 queue_head;
	u32 queue_used;

	spinlock_t queued_lock;		/* guards queued and queued_longest_us */
	wait_queue_head_t queued_queue;
	u32 queued;			/* items of QUEUE that are not done */
	u64 queued_longest_us;		/* longest time of an item */

	struct mutex keep_lock;		/* guards nr_keeps and keeps */
	u32 nr_keeps;
	struct vgpu_mock_keep_pages {
		struct page **pages;
		u64 nr;
	} keeps[VGPU_MOCK_KEEPS_MAX];

	spinlock_t poll_lock;		/* guards the members poll_armed to poll_next */
	wait_queue_head_t poll_queue;
	wait_queue_head_t poll_hold;	/* waiters of VGPU_MOCK_POLL_HOLD */
	struct fasync_struct *fasync;
	bool poll_armed;		/* POLL_ARM was called */
	u32 poll_events;
	u32 poll_flags;
	struct vgpu_mock_poll poll_next;
	struct delayed_work poll_work;
};

struct vgpu_mock_pending_fd {
	int fd;
	struct file *file;
};

/* An ioctl that runs. */
struct vgpu_mock_call {
	struct vgpu_mock_file *file;
	struct file *filp;
	unsigned int cmd;
	unsigned long arg;		/* argument, unchanged */
	void __user *user;		/* arg as a pointer */
	void *data;			/* copy of the structure */
	bool compat;

	/* Reserved fds, published when everything has been copied out. */
	struct vgpu_mock_pending_fd *fds;
	u32 nr_fds;
	u32 max_fds;
};

struct vgpu_mock_ioctl {
	unsigned int cmd;
	unsigned int flags;
	long (*run)(struct vgpu_mock_call *call);
};

#define VGPU_MOCK_RAW		1	/* run() copies the structure itself */
#define VGPU_MOCK_ANY_SIZE	2	/* the command's size is ignored */

/* main.c */
extern struct workqueue_struct *vgpu_mock_wq;
void vgpu_mock_count(enum vgpu_mock_counter counter, s64 n);
u64 vgpu_mock_counted(enum vgpu_mock_counter counter);
u64 vgpu_mock_mm_name(struct mm_struct *mm);

/* device.c */
int vgpu_mock_devices_register(void);
void vgpu_mock_devices_deregister(void);
struct vgpu_mock_file *vgpu_mock_file_from(struct file *filp);
void vgpu_mock_device_zap(struct vgpu_mock_device *device, loff_t offset, loff_t length);
long vgpu_mock_exclusive(struct vgpu_mock_call *call);

/* call.c */
long vgpu_mock_call_run(struct file *filp, unsigned int cmd, unsigned long arg, bool compat);
int vgpu_mock_call_add_fd(struct vgpu_mock_call *call, struct file *file, u32 flags);
u32 vgpu_mock_calls(unsigned int nr);

/* user.c: @ptr is an address of the calling process */
#define VGPU_MOCK_IN		1
#define VGPU_MOCK_OUT		2
#define VGPU_MOCK_INOUT		3
int vgpu_mock_user_read(u64 ptr, void *data, size_t length);
int vgpu_mock_user_write(u64 ptr, const void *data, size_t length);
int vgpu_mock_user_bytes(u64 ptr, u64 length, int dir, u64 *sum);
int vgpu_mock_user_words(u64 ptr, u64 count, int dir, u64 *sum);
int vgpu_mock_user_pattern(u64 ptr, u64 length, u64 seed);
int vgpu_mock_user_list(const struct vgpu_mock_list *list, u64 *sum);

/* plain.c */
long vgpu_mock_noop(struct vgpu_mock_call *call);
long vgpu_mock_in(struct vgpu_mock_call *call);
long vgpu_mock_out(struct vgpu_mock_call *call);
long vgpu_mock_inout(struct vgpu_mock_call *call);
long vgpu_mock_integer(struct vgpu_mock_call *call);
long vgpu_mock_error(struct vgpu_mock_call *call);
long vgpu_mock_return(struct vgpu_mock_call *call);
long vgpu_mock_big(struct vgpu_mock_call *call);
long vgpu_mock_overread(struct vgpu_mock_call *call);
long vgpu_mock_self(struct vgpu_mock_call *call);
long vgpu_mock_bare(struct vgpu_mock_call *call);
long vgpu_mock_extensible(struct vgpu_mock_call *call);
long vgpu_mock_sized(struct vgpu_mock_call *call);
long vgpu_mock_times(struct vgpu_mock_call *call);

/* nested.c */
long vgpu_mock_array(struct vgpu_mock_call *call);
long vgpu_mock_arrays(struct vgpu_mock_call *call);
long vgpu_mock_ptrptr(struct vgpu_mock_call *call);
long vgpu_mock_structs(struct vgpu_mock_call *call);
long vgpu_mock_counted_array(struct vgpu_mock_call *call);
long vgpu_mock_stride(struct vgpu_mock_call *call);
long vgpu_mock_lists(struct vgpu_mock_call *call);
long vgpu_mock_large(struct vgpu_mock_call *call);
long vgpu_mock_either(struct vgpu_mock_call *call);
long vgpu_mock_moved(struct vgpu_mock_call *call);
long vgpu_mock_string(struct vgpu_mock_call *call);

/* keep.c */
void vgpu_mock_keep_init(struct vgpu_mock_file *file);
void vgpu_mock_keep_fini(struct vgpu_mock_file *file);
long vgpu_mock_keep(struct vgpu_mock_call *call);
long vgpu_mock_kept(struct vgpu_mock_call *call);

/* flush.c */
long vgpu_mock_flush(struct vgpu_mock_call *call);
int vgpu_mock_fop_flush(struct file *filp, fl_owner_t owner);

/* reach.c */
long vgpu_mock_reach(struct vgpu_mock_call *call);
void vgpu_mock_reach_try(u32 op);

/* list.c */
int vgpu_mock_chain_run(struct vgpu_mock_chain *chain, u64 *sum);
long vgpu_mock_chain(struct vgpu_mock_call *call);
long vgpu_mock_chunks(struct vgpu_mock_call *call);

/* union.c */
long vgpu_mock_ops(struct vgpu_mock_call *call);
long vgpu_mock_controls(struct vgpu_mock_call *call);
long vgpu_mock_table(struct vgpu_mock_call *call);
long vgpu_mock_caps(struct vgpu_mock_call *call);
long vgpu_mock_exec(struct vgpu_mock_call *call);

/* wait.c */
void vgpu_mock_wait_init(struct vgpu_mock_file *file);
long vgpu_mock_sleep(struct vgpu_mock_call *call);
long vgpu_mock_wait(struct vgpu_mock_call *call);
long vgpu_mock_wake(struct vgpu_mock_call *call);
long vgpu_mock_locked(struct vgpu_mock_call *call);
long vgpu_mock_work(struct vgpu_mock_call *call);

/* queue.c */
int vgpu_mock_queue_init(void);
void vgpu_mock_queue_exit(void);
void vgpu_mock_queue_open(struct vgpu_mock_file *file);
void vgpu_mock_queue_release(struct vgpu_mock_file *file);
long vgpu_mock_queue(struct vgpu_mock_call *call);
long vgpu_mock_queue_wait(struct vgpu_mock_call *call);

/* object.c */
struct file *vgpu_mock_object_file(u64 cookie, u32 flags);
int vgpu_mock_object_cookie(int fd, u64 *cookie);

/* fd.c */
long vgpu_mock_fd_out(struct vgpu_mock_call *call);
long vgpu_mock_fd_in(struct vgpu_mock_call *call);
long vgpu_mock_fds_in(struct vgpu_mock_call *call);
long vgpu_mock_fds_out(struct vgpu_mock_call *call);
long vgpu_mock_fd_merge(struct vgpu_mock_call *call);
long vgpu_mock_fd_return(struct vgpu_mock_call *call);
long vgpu_mock_fd_maybe(struct vgpu_mock_call *call);
long vgpu_mock_fd_optional(struct vgpu_mock_call *call);
long vgpu_mock_fd_swap(struct vgpu_mock_call *call);
long vgpu_mock_fd_hold(struct vgpu_mock_call *call);
void vgpu_mock_fd_fini(struct vgpu_mock_file *file);
long vgpu_mock_fd_value(struct vgpu_mock_call *call);

/* buf.c */
#define VGPU_MOCK_BUF_SHIFT	29	/* mmap offset: id << this */
#define VGPU_MOCK_PIECE_ORDER	9	/* piece: 2 MiB, VGPU_MOCK_BUF_HUGE */
#define VGPU_MOCK_PIECE_PAGES	BIT(VGPU_MOCK_PIECE_ORDER)
#define VGPU_MOCK_LUMP_ORDER	2	/* lump: 16 KiB, VGPU_MOCK_BUF_UNCOUNTED */
#define VGPU_MOCK_LUMP_PAGES	BIT(VGPU_MOCK_LUMP_ORDER)
#define VGPU_MOCK_LATER_PAGES	16	/* ordinary pages of VGPU_MOCK_BUF_LATER */

struct vgpu_mock_buf {
	struct kref ref;
	struct vgpu_mock_device *device;
	struct vgpu_mock_file *owner;
	u32 id;
	u32 flavour;
	u64 size;
	void *vmem;			/* memory of VGPU_MOCK_BUF_VMALLOC */
	atomic_t maps;
	atomic_t faults;
	atomic_t notified;
	bool notify;			/* VGPU_MOCK_BUF_NOTIFY */
	bool huge;			/* VGPU_MOCK_BUF_HUGE */
	bool access;			/* VGPU_MOCK_BUF_ACCESS */
	u32 odd;			/* VGPU_MOCK_BUF_UNCOUNTED or _WC */
	bool later;			/* VGPU_MOCK_BUF_LATER */
	bool is_new;			/* VGPU_MOCK_BUF_NEW */
	bool one;			/* VGPU_MOCK_BUF_ONE */
	atomic_t huge_faults;
	u32 fault_ms;
	atomic_t faults_ended;		/* number of uses of VGPU_MOCK_SLOW_END */
	bool fault_unlocked;		/* VGPU_MOCK_SLOW_UNLOCKED */
	bool mmap_slow;			/* VGPU_MOCK_SLOW_MMAP */
	atomic_t fault_error;		/* the n-th next fault gets SIGBUS; 0: none */
	atomic_t fills;			/* number of delayed fills and of echoes */
	wait_queue_head_t fill_queue;

	struct mutex lock;		/* guards the members below */
	struct page **pages;
	u64 nr_pages;
	bool revoked;
};

struct vgpu_mock_buf *vgpu_mock_buf_find(const struct vgpu_mock_file *file, u32 id);
void vgpu_mock_buf_put(struct vgpu_mock_buf *buf);
struct page *vgpu_mock_buf_page_locked(struct vgpu_mock_buf *buf, u64 index);
bool vgpu_mock_buf_is(const struct vgpu_mock_buf *buf, u32 odd, u64 index);
bool vgpu_mock_piece_alloc(struct page **pages);
void vgpu_mock_bufs_drop(struct vgpu_mock_file *file);
long vgpu_mock_buf_create(struct vgpu_mock_call *call);
long vgpu_mock_buf_destroy(struct vgpu_mock_call *call);
int vgpu_mock_buf_pattern(struct vgpu_mock_buf *buf, u64 offset, u64 length, u32 seed);
bool vgpu_mock_buf_range_ok(const struct vgpu_mock_buf *buf, u64 offset, u64 length);
long vgpu_mock_buf_fill(struct vgpu_mock_call *call);
long vgpu_mock_buf_sum(struct vgpu_mock_call *call);
long vgpu_mock_buf_sync(struct vgpu_mock_call *call);
long vgpu_mock_buf_slow(struct vgpu_mock_call *call);
long vgpu_mock_buf_echo(struct vgpu_mock_call *call);
long vgpu_mock_buf_job(struct vgpu_mock_call *call);

/* buf_place.c */
long vgpu_mock_buf_map(struct vgpu_mock_call *call);
long vgpu_mock_buf_place(struct vgpu_mock_call *call);
long vgpu_mock_buf_info(struct vgpu_mock_call *call);

/* buf_map.c */
int vgpu_mock_mmap(struct file *filp, struct vm_area_struct *vma);
long vgpu_mock_buf_invalidate(struct vgpu_mock_call *call);
long vgpu_mock_buf_revoke(struct vgpu_mock_call *call);

/* io.c */
void vgpu_mock_io_init(struct vgpu_mock_file *file);
void vgpu_mock_io_fini(struct vgpu_mock_file *file);
ssize_t vgpu_mock_read(struct file *filp, char __user *to, size_t count, loff_t *pos);
ssize_t vgpu_mock_write(struct file *filp, const char __user *from, size_t count, loff_t *pos);
ssize_t vgpu_mock_read_iter(struct kiocb *iocb, struct iov_iter *to);
ssize_t vgpu_mock_write_iter(struct kiocb *iocb, struct iov_iter *from);
loff_t vgpu_mock_llseek(struct file *filp, loff_t offset, int whence);
__poll_t vgpu_mock_io_events(struct vgpu_mock_file *file);
long vgpu_mock_io_mode(struct vgpu_mock_call *call);

/* poll.c */
void vgpu_mock_poll_init(struct vgpu_mock_file *file);
void vgpu_mock_poll_fini(struct vgpu_mock_file *file);
__poll_t vgpu_mock_poll(struct file *filp, poll_table *wait);
int vgpu_mock_fasync(int fd, struct file *filp, int on);
long vgpu_mock_poll_arm(struct vgpu_mock_call *call);

/* probe.c */
long vgpu_mock_pin(struct vgpu_mock_call *call);
long vgpu_mock_atomic(struct vgpu_mock_call *call);
long vgpu_mock_info(struct vgpu_mock_call *call);
long vgpu_mock_counters(struct vgpu_mock_call *call);

/* compat.c */
long vgpu_mock_compat(struct vgpu_mock_call *call);
#ifdef CONFIG_COMPAT
long vgpu_mock_compat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg);
#endif

#endif /* VGPU_MOCK_PRIVATE_H */
