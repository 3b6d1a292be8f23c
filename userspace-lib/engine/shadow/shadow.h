/* SPDX-License-Identifier: MIT */
/*
 * Interfaces between the parts of the shadow of a guest process that a user-space engine has.
 *
 * The main thread reads messages of the engine and of vgpud. The pager serves page faults, and
 * watches the sockets of lanes whose calls run. Each lane has a thread that makes its calls.
 * Another process with the same memory traces these threads.
 *
 * Locks, outermost first: map_lock, demand.lock, files_lock, lane->lock. No lock is held while
 * waiting for the guest or the engine. map_lock is held over a driver's mmap, over a driver's
 * operation for debuggers (vm_ops->access), and over moves of memory (mremap). The moves wait for
 * the pager, which therefore never takes map_lock.
 */
#ifndef ESHADOW_SHADOW_H
#define ESHADOW_SHADOW_H

#include "engine/proto.h"
#include "engine/shadow/base/lib.h"
#include "engine/shadow/thread/thread.h"
#include "fresh.h"
#include "kept.h"
#include "policy.h"
#include "segs.h"
#include "shadow/layout.h"

#define PAGE_SIZE	4096UL
#define PAGE_MASK	(~(PAGE_SIZE - 1))

/*
 * Time in milliseconds in which a message must arrive completely, once it has begun. Otherwise
 * its connection ends.
 */
#define MSG_TIMEOUT_MS	10000

/*
 * File numbers. Files below FILES_LOW were made by drivers, except 0: it stays taken, as drivers
 * use 0 for no file.
 */
#define FILES_LOW	512
#define FILES_OWN	512	/* files of the program itself */
#define FILES_OBJECTS	2048	/* files of objects */

#define SHADOW_LANES	512

struct lane;
struct call;
struct file_entry;

/* --- shared.c ---------------------------------------------------------------- */

/* The engine writes @shared for all its shadows. @counters belongs to this shadow. */
extern const struct engine_shared *shared;
extern struct engine_counters *counters;
/*
 * The time that drivers may wait for the guest. All shadows of the guest share it, and write to
 * it under its lock.
 */
extern struct engine_patience *patience;
extern struct vgpu_wire_limits wire_limits;

/* Maps the shared memory. If that fails, exits with a status that says so. */
void shared_init(void);

/* --- fd.c: files of this program -------------------------------------------- */

/*
 * Moves a file to a number from @base on, out of the way of files that drivers make. Return: the
 * new number, or a negative errno.
 */
int fd_up(int fd, int base);
/* Closes a file that may be a driver's, so that ->flush and ->release of the driver may run. */
void fd_close(int fd);

extern int fd_devices, fd_maps, fd_mem, fd_engine;

/* --- tracer.c: sees the results of drivers for cancelled calls --------------- */

/* Starts the tracer. It traces all threads that start later, if the kernel allows that. */
void tracer_start(void);

/* --- channel.c: requests to the engine ------------------------------------- */

/**
 * struct request - a lane's request to the engine, and the answer
 * @msg: in: the request; out: the answer
 * @more: in: data that follows the request
 * @nr_more: in: length of @more in bytes
 * @fd: in: file to be sent, or -1; out: file that came with the answer, or -1
 * @extra: buffer for data that follows the answer
 * @room: size of @extra in bytes
 * @len: out: number of bytes in @extra
 * @file: out: file of ESHADOW_FIND, for which the caller must call file_put()
 */
struct request {
	struct eshadow_msg msg;
	const void *more;
	u32 nr_more;
	int fd;
	void *extra;
	u32 room;
	u32 len;
	struct file_entry *file;
};

/* Sends a request and waits for the answer. Return: result of the answer, or a negative errno. */
int channel_ask(struct lane *lane, struct request *request);
void channel_tell(u32 type, u32 object, u64 value);
/*
 * Tells the engine that the guest has all that the lane's last call gave it. Ends the program on
 * failure.
 */
void channel_tell_acked(const struct lane *lane);
/*
 * Tells the engine that the lane has mapped the file that ESHADOW_SHOW gave it, or will not map
 * it.
 */
void channel_tell_shown(const struct lane *lane);
/* Tells the engine by how much this shadow's mappings and lanes change. */
void channel_tell_usage(s64 bytes, s32 maps, s32 lanes);

/* --- files.c: files of objects, and files that drivers make ------------------ */

/**
 * struct file_entry - the file of an object in this process
 * @object: number of the object; 0: the entry is free
 * @fd: number of the file
 * @users: number of calls that use the file
 * @dropped: true if the file is to be closed when @users becomes 0
 * @policy: policy of the export; its list of ioctls is @ioctls
 * @kind: VGPU_OBJECT_*
 * @space: number of the address space that mappings of the file show
 * @rdev: device number of the export's node; 0: the file is of no export
 * @limits: @limits of struct eshadow_policy
 * @no_demand: true if the driver does not wait for the guest's memory
 * @ioctls: list of ioctls of @policy
 */
struct file_entry {
	u32 object;
	int fd;
	u32 users;
	bool dropped;
	struct vgpu_policy policy;
	u32 kind;
	u64 space;
	u64 rdev;
	u64 limits;
	bool no_demand;
	u32 *ioctls;
};

void files_init(void);
/*
 * Finds the file of an object, and counts the caller in @users until file_put(). Return: the
 * file, or NULL if there is no such object.
 */
struct file_entry *file_find(struct lane *lane, u32 object);
void file_put(struct file_entry *file);
/*
 * Adds a file that the engine has sent as an answer to ESHADOW_FIND, and counts the asker in
 * @users. Return: the file, or NULL if there is no memory.
 */
struct file_entry *file_arrives(u32 object, const struct eshadow_policy *policy, int fd);
/*
 * Closes the file of an object because the engine has asked for that, and tells the engine when
 * it is closed.
 */
void file_drop(u32 object);
/*
 * Closes the file of an object, or leaves that to the last call that uses the file. Return: true
 * if the file is closed.
 */
bool file_close(u32 object);

struct fd_cmsg;
/*
 * Receives a message without waiting. A file that comes with the message gets a number from @base
 * on.
 */
long files_receive(int sock, void *header, const struct fd_cmsg *control, int base, int *fd);
/* Notes that a call begins, whose object has these limits. */
void files_call_begins(u64 limits);
/* Notes that a running call has got one more file, with these limits. */
void files_call_meets(u64 limits);
/* Return: the limits of all calls that can have made files which are open below FILES_LOW. */
u64 files_call_met(void);
/*
 * Takes file @fd for the caller. Return: true if @fd is an open file that a driver has made, and
 * that was not taken yet.
 */
bool files_take(int fd);
/* Closes a file of files_take(). */
void files_give(int fd);
/*
 * Notes that a call has ended. If no other call runs, closes the files that drivers have made and
 * that were not taken. Return: the number of files closed.
 */
u32 files_call_ends(void);

/* --- page.c, demand.c: memory of the guest process -------------------------- */

/**
 * struct page - a page of the guest process
 * @addr: address of the page
 * @seq: number of the fetch, for fresh.h
 * @next: list entry of the page's bucket, or of a list of free entries
 * @busy: true if a thread has claimed the page, so that no other thread may work on it
 * @fetching: true if the page is @busy and all of its bytes, if any, came from the guest: there is
 *	nothing to write back
 * @mapped: true if the page is mapped at its address
 * @bad: true if the page could not be fetched: it is mapped without access until the call ends. A
 *	thread that has waited too long for the end of @busy may set it, too
 * @shut: true if the page is bad for the call of one lane only, while another lane fetches it;
 *	that lane opens the page again
 * @filled: true if the page has bytes of the guest
 */
struct page {
	u64 addr;
	u64 seq;
	struct page *next;
	bool busy;
	bool fetching;
	bool mapped;
	bool bad;
	bool shut;
	bool filled;
};

#define DEMAND_BUCKETS	4096

/**
 * struct demand - pages of the guest process that are in this shadow
 * @lock: lock of all fields
 * @fresh: numbering of fetches and of starts of calls
 * @claims: counter of claims that have ended; a futex
 * @gated: number of lanes that repeat a fetch while new calls are held back
 * @nr_pages: number of pages
 * @nr_mapped: number of pages that are mapped
 * @waiting: true if faults wait for claims to end
 * @top: index in @pages after the last entry that was ever used and can have bytes
 * @free: list of free entries that can have bytes
 * @free_bad: list of free entries that can only be bad
 * @pages: array of all entries; those that can have bytes come first
 * @buckets: hash table of the entries in use, by address
 * @live: bytes of each page
 * @orig: bytes that the guest gave for each page
 * @secret: secret memory (memfd_secret) that holds @live
 * @faults: the userfaultfd
 */
struct demand {
	struct lock lock;
	struct vgpu_fresh fresh;
	u32 claims;
	u32 gated;
	u32 nr_pages;
	u32 nr_mapped;
	bool waiting;
	u32 top;
	struct page *free;
	struct page *free_bad;
	struct page *pages;
	struct page *buckets[DEMAND_BUCKETS];
	u8 *live;
	u8 *orig;
	int secret;
	int faults;
};

extern struct demand demand;

/* Sets up the pages. If something is missing, exits with a status that says what. */
void page_init(void);
struct page *page_find(u64 addr);
/* Adds a claimed page. Return: the page, or NULL at the limit. */
struct page *page_add(u64 addr);
/* Adds a claimed page that can only be bad. Such pages have a limit of their own. */
struct page *page_add_bad(u64 addr);
bool page_has_bytes(const struct page *page);
void page_free(struct page *page);
/* Maps the page at its address. */
void page_show(struct page *page);
/* Maps the page without access as long as it is claimed. Context: demand.lock is held. */
void page_shut(struct page *page);
/* Undoes page_shut(): faults there are reported again. Context: demand.lock is held. */
void page_open(struct page *page);
/* Return: the bytes of the page, and the bytes that the guest gave. */
u8 *page_live(const struct page *page);
u8 *page_orig(const struct page *page);
static inline bool page_differs(const struct page *page)
{
	return page->filled && __builtin_memcmp(page_live(page), page_orig(page), PAGE_SIZE);
}
void page_unclaim(struct page *page);
/* Largest number of pages that are hidden at once. */
#define HIDE_MAX	64
/*
 * Unmaps claimed pages from their addresses. A run of pages at adjacent addresses is unmapped
 * atomically for all threads that access the run. Context: takes map_lock; demand.lock is not
 * held.
 */
void pages_hide(struct page **pages, u32 nr);
/*
 * Replaces everything at [addr, addr + len) by memory whose faults are reported. Context:
 * map_lock is held. Return: 0, or a negative errno.
 */
int demand_cover(u64 addr, u64 len);
/* Does the same in several steps, each of which is atomic for threads that access the memory. */
void demand_cover_moving(u64 addr, u64 len);
/* Notes that other memory replaces pages at [addr, addr + len). Context: demand.lock is held. */
void pages_cover(u64 addr, u64 len);
/* Wakes all threads that wait in a fault at this page. */
void page_wake(u64 addr);

/*
 * Begins a call's use of pages before the driver runs; demand_end() ends it after the driver has
 * run. Return of demand_end(): 0; -ENOBUFS: the call has hit a limit; -EOPNOTSUPP: the export is
 * without demand pages; or another negative errno.
 */
void demand_begin(struct lane *lane);
/* Begins a call of class mm: it asks the guest nothing, but may wait for fetches of other lanes. */
void demand_begin_mm(struct lane *lane);
int demand_end(struct lane *lane);
void demand_store(u64 addr, const u8 *bytes);
/*
 * Wakes threads that wait for claims to end. @kick: value of demand.waiting when the claims ended;
 * if true, the pager is woken, too. Context: demand.lock is not held.
 */
void demand_woken(bool kick);
/*
 * Waits with a deadline until demand.claims differs from @claims. Context: demand.lock is not
 * held.
 */
void demand_wait(u32 claims);

/* --- writeback.c ------------------------------------------------------------ */

#define WRITEBACK_PAGES	16

struct writeback {
	struct page *pages[WRITEBACK_PAGES];
	u32 nr;
	struct vgpu_wire_diff diff;
	struct {
		struct vgpu_writeback msg;
		struct vgpu_range ranges[WRITEBACK_PAGES * VGPU_DIFF_RANGES];
	} head;
	u8 data[WRITEBACK_PAGES * VGPU_DIFF_BYTES] __attribute__((aligned(8)));
};

/*
 * Gives the lane memory for writing back, which is kept for later lanes. The pager uses it during
 * a fault, and the lane's thread afterwards. The pager itself cannot allocate: the holder of
 * map_lock may be waiting for the pager. Return: 0, or -ENOMEM.
 */
int writeback_prepare(struct lane *lane);
/* Writes back all pages that differ from the guest's. Return: 0, or -EFAULT. */
int writeback_all(struct lane *lane);
/*
 * Builds the message about the claimed pages of @batch, in two entries of @iov. Return: length in
 * bytes; 0: nothing differs.
 */
u32 writeback_message(struct writeback *batch, u64 seq, struct iovec *iov);

/* --- watch.c ---------------------------------------------------------------- */

struct epoll_event;

/* Values of @data of events that are no lane's. The others are indexes of lanes. */
#define WATCH_FAULTS	(~0ULL)
#define WATCH_KICK	(~1ULL)

/* Watches the userfaultfd @faults, and watch_kick(). Return: 0, or a negative errno. */
int watch_init(int faults);
/* Waits at most @ms milliseconds (negative: no limit). Return: the number of @events. */
long watch_wait(struct epoll_event *events, u32 nr, int ms);
/* Watches the lane's socket, as long as the socket is open. */
int watch_lane(struct lane *lane);
/* Arms or disarms the watch of the lane's socket. The pager is notified once. */
void watch_arm(struct lane *lane, bool armed);
/* Makes watch_wait() return WATCH_KICK, once for all calls before watch_kicked(). */
void watch_kick(void);
void watch_kicked(void);

/* --- pager.c ---------------------------------------------------------------- */

void pager_init(void);

/* --- room.c: the program's memory that drivers can reach ----------------------- */

/**
 * struct room - memory that the driver of one call can reach
 * @memory: stack for the cancel signal, followed by scratch memory for arguments
 * @key: protection key of the memory
 * @used: number of bytes of the scratch memory that may be nonzero
 * @fresh: true if no driver could reach the pages yet
 */
struct room {
	u8 *memory;
	int key;
	u64 used;
	bool fresh;
};

static inline u8 *room_scratch(const struct room *room)
{
	return room->memory + THREAD_SIGNALS;
}

void rooms_init(void);
/*
 * Gives the call a room, if it has none. A call of NVIDIA's driver, whose arguments are checked
 * in the room, needs new pages and a room of its own, as does a call with memory that drivers
 * keep, which has the room's key. Such a call may wait for others to end. Return: 0; -EINTR: the
 * guest does not wait any more; -EBUSY: the others did not end.
 */
int room_take(struct call *call);
void room_put(struct call *call);

/* --- lane.c ----------------------------------------------------------------- */

struct lane {
	struct thread thread;
	u32 index;
	int sock;
	u64 seq;
	bool unacked;
	bool cancelled;
	/* True after an upcall timed out: the call's reply is then the last message. */
	bool last;
	bool down;
	u8 *buf;
	u8 *reply_buf;
	struct call *call;
	/*
	 * @mm: true if the call is of class mm, which never asks the guest. @no_demand: true if the
	 *	driver of the call does not wait for the guest's memory. The lane writes both.
	 */
	bool mm;
	bool no_demand;
	struct writeback *batch;

	/* State of the running call, protected by demand.lock. */
	u64 fetch_addr;
	bool gating;
	/* An errno if the call has hit a limit, else 0. */
	int limited;
	struct vgpu_ahead ahead;
	u64 upcall_ns;
	/* Time that drivers had waited for the guest when the call began. The lane writes it. */
	u64 guest_call;

	/* State that a cancel needs, protected by @lock. */
	struct lock lock;
	bool running;
	bool upcalling;
	bool signalled;
	struct syscall syscall;

	/* The lane's request to the engine; @answered is a futex. */
	u32 answered;
	struct request *request;
};

struct lane *lane_by_index(u32 index);
/* Return: the lane whose thread has this number, or NULL. */
struct lane *lane_by_tid(int tid);
void lane_shutdown(struct lane *lane);
/* Return: true if the guest has closed the connection. */
bool lane_is_down(struct lane *lane);
/* Return: true if the socket has bytes, or its end, to read. */
bool lane_pending(struct lane *lane);
/* Notes that a driver's function begins to run, or has ended. */
void lane_set_running(struct lane *lane, bool running);
/* Return: true if the lane's thread may access memory of the guest process. */
bool lane_in_call(struct lane *lane);
/* Cancels the lane's call for the guest. Context: lane->lock is held. */
void lane_cancel_locked(struct lane *lane);
/*
 * Makes the lane's thread retry the access that it waits for, and no other thread. Return: false
 * if it cannot.
 */
bool lane_look_again(struct lane *lane);

/*
 * Waits for events of the socket. @deadline: nanoseconds; 0: none. Return: 0, or -ETIMEDOUT.
 */
int lane_wait(struct lane *lane, short events, u64 deadline);
/* @deadline: nanoseconds; 0: none. Return: 0, -ETIMEDOUT or another errno of the connection. */
int lane_send(struct lane *lane, struct iovec *iov, u32 nr, u64 deadline);
int lane_recv(struct lane *lane, void *buf, u64 len, u64 deadline);
/*
 * Makes an upcall from the lane's own thread. @answer: fixed part of the guest's answer. Return:
 * 0, or -EFAULT: the lane is of no use any more.
 */
int lane_ask(struct lane *lane, struct iovec *iov, u32 nr, u16 type, struct vgpu_written *answer);
bool lane_answer_ok(const void *answer, u32 answer_len, u32 data_len);
/* Handles a failed upcall. @error: -ETIMEDOUT, or another errno, with which the connection ends. */
void lane_upcall_failed(struct lane *lane, int error);

/* --- budget.c --------------------------------------------------------------- */

/*
 * Allocates memory for a message or a reply, which counts against a budget. Return: NULL if there
 * is none.
 */
void *budget_get(u64 len);
void budget_put(void *memory, u64 len);

/* --- call.c ----------------------------------------------------------------- */

#define SEGS_SMALL	16

struct call {
	struct lane *lane;
	u8 *msg;
	u32 msg_len;
	u64 clock_in;
	u64 tsc_in;
	struct vgpu_call_view view;
	struct file_entry *file;
	s64 result;
	u32 flags;
	u64 pos;
	union {
		struct vgpu_out_ioctl ioctl;
		struct vgpu_out_mmap mmap;
		struct vgpu_out_poll poll;
		struct vgpu_out_bind bind;
		__le64 raw[4];
	} out;
	u32 nr_objects;
	struct vgpu_object_desc objects[VGPU_FDS_MAX];
	u8 *data;
	u32 data_len;
	u32 data_size;
	/*
	 * @room: room of the call; NULL: it has none yet. @own: the lane's room, for calls that get
	 *	no other one. @signals: the room whose signal stack the lane's thread has.
	 */
	struct room *room;
	struct room own;
	const struct room *signals;
	u64 scratch;
	u64 scratch_len;
	bool scratch_mapped;
	bool scratch_low;
	struct vgpu_seg_place *segs;
	struct vgpu_seg_place segs_small[SEGS_SMALL];
	/* Files and numbers that were placed for FD_IN and EVENT fixups. */
	struct file_entry **placed;
	s32 *placed_fds;
	struct file_entry *arg_file;
	u32 event;
	int event_fd;
	u32 nr_kept;
	u32 nr_pieces;
	bool done;
};

/* Return: 0, or -EPROTO for a malformed call. */
int call_run(struct call *call);
int call_send_reply(struct call *call);
void call_finish(struct call *call);
void call_reject(struct call *call, int error);
void call_take_back(struct call *call);
s64 call_refuse(struct call *call, int error);
int call_alloc_data(struct call *call, u32 len);
int call_alloc_scratch(struct call *call, u64 len);
/* Makes a system call that runs a driver's function and that the guest can interrupt. */
long call_system(struct call *call, u64 nr, u64 a, u64 b, u64 c, u64 d);
static inline bool call_is_compat(const struct call *call)
{
	return le16_to_cpu(call->view.call->flags) & VGPU_CALL_COMPAT;
}

s64 fops_open(struct call *call);
s64 fops_close(struct call *call);
s64 fops_read(struct call *call);
s64 fops_write(struct call *call);
s64 fops_llseek(struct call *call);
s64 fops_poll(struct call *call);
s64 fops_fdinfo(struct call *call);
s64 ioctl_run(struct call *call);
/* Closes files that the call's driver has made and no fixup names. Return: the call's result. */
s64 call_close_strays(struct call *call, s64 result);

/* --- nvidia.c: memory of NVIDIA's driver -------------------------------------- */

/*
 * Finds the client to share memory with; called before the ioctl. Return: handle of the engine's
 * client that is to own the memory which this ioctl lets a file map; 0: the memory is not to be
 * owned, or there is no client.
 */
u32 nvidia_owner(struct call *call, u32 cmd);
/*
 * Shares the memory with that client, and tells the engine; called after the driver has made the
 * ioctl.
 */
void nvidia_mapped(struct call *call, u32 cmd, u32 owner);
/*
 * Finds the file that an mmap() of the call's file has to map. A file of nvidiactl has no
 * reference of the memory that it was told to map (drivers/host/owned.c): so the engine owns the
 * memory, and gives another file. nvidia_shown_done() must be called in any case, with the file
 * that was returned.
 *
 * Return: number of the file, or a negative errno.
 */
int nvidia_shown(struct call *call);
void nvidia_shown_done(struct call *call, int fd);
/* Return: true if the file belongs to one of NVIDIA's cards. */
bool nvidia_is_card(const struct file_entry *file);
/* Return: true if the file belongs to one of NVIDIA's cards, or is their control file. */
bool nvidia_is_rm(const struct file_entry *file);

/* --- mapping.c: the table of mappings ------------------------------------------- */

/**
 * struct mapping - a part of a device's mapping, or memory for a call (arguments, kept memory)
 * @addr: address
 * @len: length in bytes
 * @file_offset: place in the file of @object at which the part begins, in bytes
 * @object: number of the object whose file is mapped shared and writable, so that the window can
 *	show it; 0: any other mapping, or memory for a call
 * @device: true if it is a device's mapping
 * @barred: true if parts of the mapping are without access, because they were unmapped when no
 *	entry was left to split the mapping
 * @shut: true if all of the mapping is without access, and only the window can show it; see
 *	map_locked()
 * @asks: true if the guest may use the driver's operation for debuggers on it; see may_ask()
 */
struct mapping {
	u64 addr;
	u64 len;
	u64 file_offset;
	u32 object;
	bool device;
	bool barred;
	bool shut;
	bool asks;
};

/* Array in order of addresses. Changes need both map_lock and demand.lock, reads either of them. */
extern struct mapping *mappings;
extern u32 nr_mappings;

void mapping_init(void);
/* Return: true if all of [addr, addr + len) belongs to the guest process. */
bool mapping_range_ok(u64 addr, u64 len);
/*
 * Return: whether a mapping is at @addr, and where the next mapping after @addr begins. Context:
 * demand.lock is held.
 */
bool mapping_at(u64 addr);
u64 mapping_next(u64 addr);
/* Return: index of the first mapping that ends after @addr. */
u32 mapping_index(u64 addr);
/* Return: 0, or -ENOMEM if no entry is left to split a mapping. */
int mapping_room(void);
/* Notes a change of device mappings, of which the engine is to be told. Context: map_lock is held. */
void mapping_account(s64 len, s32 nr);
/* Tells the engine of such changes. Context: map_lock is held, demand.lock is not. */
void mapping_tell_usage(void);
void mapping_insert(struct mapping mapping);
void mapping_remove(u32 i);
/* Return: true if removing [addr, end) would split a device's mapping in two. */
bool mapping_splits(u64 addr, u64 end);
/*
 * Removes [addr, end) from devices' mappings. If that splits a mapping, the caller has made sure
 * of room for one entry more.
 */
void mapping_cut(u64 addr, u64 end);
/*
 * Return: true if [addr, addr + len) has no memory for a call and, if @device, no device's
 * mapping.
 */
bool mapping_range_free(u64 addr, u64 len, bool device);

/* --- place.c -------------------------------------------------------------------- */

void mapping_unmap(u64 addr, u64 len);
/* Turns parts of devices' mappings in the range into demand pages. Context: map_lock is held. */
int mapping_unmap_locked(u64 addr, u64 end);
/* Reserves [addr, addr + len) for other memory, and gives it back. Context: map_lock is held. */
int mapping_reserve(u64 addr, u64 len);
void mapping_give_back(u64 addr, u64 len);
/* Maps zeroed memory with @key at [addr, addr + len), in place of demand pages, and unmaps it. */
int mapping_place(u64 addr, u64 len, int key);
void mapping_displace(u64 addr, u64 len);

/* --- smaps.c -------------------------------------------------------------------- */

/**
 * struct smaps - a search in /proc/self/smaps
 * @addr: address in the mapping
 * @offset: out: place in the file that the mapping shows at @addr
 * @flags: out: VGPU_MAP_*
 * @inside: true while lines of the mapping are read
 */
struct smaps {
	u64 addr;
	u64 offset;
	u32 flags;
	bool inside;
};

/* Return: 0, or -EIO. */
int smaps_read(struct smaps *smaps);

/* --- mmap.c --------------------------------------------------------------------- */

/*
 * Remembers the address of the program's arguments, from the first words of the stack. Any process
 * may read the arguments by /proc/PID/cmdline. If a device were mapped at that address, the
 * driver would do the read (access_remote_vm() and ->access). So no device is mapped there.
 */
void mapping_keep_args(const long *start);
s64 mapping_mmap(struct call *call);
s64 mapping_bind(struct call *call);
s64 mapping_protect(struct call *call);

/* --- pages.c -------------------------------------------------------------------- */

s64 mapping_read_pages(struct call *call);
s64 mapping_write_pages(struct call *call);

/* --- ram.c: files that hold the guest's memory ----------------------------------- */

/*
 * Notes that memory of the guest at physical address @addr is in a file, from @offset on. @fd
 * becomes ram.c's.
 */
void ram_add(u64 addr, u64 len, u64 offset, int fd);
void ram_remove(u64 addr, u64 len);
/* Does vgpu_kept_pieces() with all of the guest's memory. Context: map_lock is held. */
s64 ram_pieces(const struct vgpu_kept *kept, u64 addr,
	       int (*fn)(void *data, u64 at, u64 len, const struct vgpu_ram *part, u64 offset,
			 bool write),
	       void *data);

/* --- kept.c: memory of the guest process that drivers keep -------------------- */

/*
 * Maps the guest's pages that KEPT segments name at their addresses, until kept_hide(). The pages
 * have the key of the call's room, so that with protection keys no other call's driver can reach
 * them.
 *
 * Return: 0; -EFAULT: the guest has no such memory; -ENOSPC: too many pieces; -EINVAL: something
 * else is at the addresses; or another negative errno. On failure nothing is mapped.
 */
int kept_show(struct call *call);
/*
 * Unmaps these pages. Ends the program on failure, so that no other call gets the room while the
 * pages have its key.
 */
void kept_hide(struct call *call);

/* --- serve.c: threads of lanes ------------------------------------------------- */

/* Maps memory for SHADOW_LANES_READY lanes. */
void lanes_init(void);
/* Notes that no lane will come any more: the program ends with the last lane. */
void lanes_end(void);
void lane_start(int sock);

/* --- message.c -------------------------------------------------------------- */

/* Reads one message of the engine. Ends the program when the engine has ended. */
void message_hear(void);

#endif /* ESHADOW_SHADOW_H */
