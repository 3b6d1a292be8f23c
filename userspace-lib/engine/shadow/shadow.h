/* SPDX-License-Identifier: MIT */
/*
 * The shadow of a guest process that a user-space engine has: what its parts offer each other.
 *
 * Threads: the main one hears what the engine and vgpud say; the pager serves faults and
 * watches the sockets of lanes whose calls run; each lane has one that makes its calls. Another
 * process, with the same memory, traces them.
 *
 * Locks, outermost first: map_lock, demand.lock, files lock, lane->lock. None is held over
 * anything that waits for the guest or the engine; map_lock is held over a driver's mmap and its
 * operation for debuggers, and over moves of memory, which wait for the pager: that one never takes
 * it.
 */
#ifndef ESHADOW_SHADOW_H
#define ESHADOW_SHADOW_H

#include "engine/proto.h"
#include "fresh.h"
#include "lib.h"
#include "policy.h"
#include "segs.h"
#include "shadow/layout.h"
#include "thread.h"

#define PAGE_SIZE	4096UL
#define PAGE_MASK	(~(PAGE_SIZE - 1))

/* A message once begun is there within this time, or its connection ends. */
#define MSG_TIMEOUT_MS	10000

/*
 * Numbers of files. What is open below FILES_LOW came out of a driver; 0 is taken, for drivers
 * leave it for none.
 */
#define FILES_LOW	512
#define FILES_OWN	512	/* the program's own */
#define FILES_OBJECTS	2048	/* of objects */

#define SHADOW_LANES	512

struct lane;
struct call;
struct file_entry;

/* The engine writes @shared for all its shadows; the counters are this one's. */
extern const struct engine_shared *shared;
extern struct engine_counters *counters;
/*
 * The time that drivers may spend waiting for the guest is shared by all its shadows, which
 * write to it under its lock.
 */
extern struct engine_patience *patience;
extern struct vgpu_wire_limits wire_limits;

/* --- main.c: what this program holds --------------------------------------- */

/* Moves a file out of the way of those that drivers make. Return: its number, or an errno. */
int fd_up(int fd, int base);
/* Closes a file that may be a driver's, of which ->flush and ->release may be called. */
void fd_close(int fd);

extern int fd_devices, fd_maps, fd_mem, fd_engine;

/* --- tracer.c: sees what drivers say to calls that are cancelled ------------ */

/* All threads that start from now on are traced, if the kernel lets any be. */
void tracer_start(void);

/* --- channel.c: requests to the engine ------------------------------------- */

/**
 * struct request - a lane's request and its answer
 * @msg: in: the request; out: the answer
 * @more: in: what follows the request, @nr_more bytes
 * @nr_more: see @more
 * @fd: in: a file to be sent, or -1; out: one that came with the answer, or -1
 * @room: room for what follows the answer
 * @extra: where
 * @len: out: bytes that followed it
 * @file: out: of ESHADOW_FIND, with a use
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

/* Return: the answer's result. */
int channel_ask(struct lane *lane, struct request *request);
void channel_tell(u32 type, u32 object, u64 value);
/* Says that the guest has what the lane's last call gave it, or ends the program. */
void channel_tell_acked(const struct lane *lane);
/* Says that the lane has mapped the file that ESHADOW_SHOW gave it, or will not. */
void channel_tell_shown(const struct lane *lane);
/* Says by how much what this shadow has mapped, and its lanes, change. */
void channel_tell_usage(s64 bytes, s32 mappings, s32 lanes);
/* Hears the engine, one message. Ends the program at the end of the engine. */
void channel_hear(void);

/* --- files.c: files of objects, and those that drivers make ----------------- */

/**
 * struct file_entry - an object's file in this process
 * @object: its number; 0: free
 * @fd: its file
 * @users: calls that use it
 * @dropped: to be closed when there are none any more
 * @policy: of its export; ioctls are @ioctls
 * @kind: VGPU_OBJECT_*
 * @space: number of the address space of its mappings
 * @rdev: of the export's node; 0: it is of no export
 * @limits: bits of struct eshadow_policy
 * @no_demand: its driver does not wait for the guest's memory
 * @ioctls: of the policy
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
/* The object's file, with a use; NULL: there is no such object. */
struct file_entry *file_find(struct lane *lane, u32 object);
void file_put(struct file_entry *file);
/* The engine's answer to whoever looks for it, with a use; NULL: no memory. */
struct file_entry *file_arrives(u32 object, const struct eshadow_policy *policy, int fd);
/* The engine does not want it open here any more. */
void file_drop(u32 object);
/* Closes it, or leaves that to those who use it. Return: it is closed. */
bool file_close(u32 object);

struct fd_cmsg;
/* A message, without waiting, and perhaps a file, which gets a number from @base on. */
long files_receive(int sock, void *header, const struct fd_cmsg *control, int base, int *fd);
/* A call of an object with these limits begins. */
void files_call_begins(u64 limits);
/* Such a call has come to have another file, with these. */
void files_call_meets(u64 limits);
/* Those of all calls that can have made what is among the low numbers. */
u64 files_call_met(void);
/*
 * Whether low number @fd is a file that nobody has taken yet; it is the caller's then.
 */
bool files_take(int fd);
/* Closes what was taken. */
void files_give(int fd);
/* Closes what nobody took, as far as it is known whose it is. Return: how many. */
u32 files_call_ends(void);

/* --- page.c, demand.c: memory of the guest process -------------------------- */

/**
 * struct page - a page of the guest process
 * @addr: its address
 * @seq: its number (fresh.h)
 * @next: in its bucket; or free
 * @busy: somebody works on it, and nobody else may
 * @fetching: likewise, and there is nothing in it that the guest does not have
 * @mapped: seen at its address
 * @bad: could not be fetched: without access at its address, until the call ends. Somebody who
 *	waits too long for the end of @busy may make it so
 * @shut: bad for one lane's call only, and while another one's asks for it, which opens it again
 * @filled: it has bytes of the guest's
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
 * struct demand - pages of the guest process that are here
 * @lock: all of it
 * @fresh: their numbering
 * @claims: counts claims that ended
 * @gated: lanes whose fetches are repeated
 * @nr_pages: how many
 * @nr_mapped: of them
 * @waiting: faults wait for claims to end
 * @top: beyond all of @pages that were ever used and can have bytes
 * @free: of these, those that stand for none
 * @free_bad: likewise, of those that can only be bad
 * @pages: all of them: those that can have bytes come first
 * @buckets: those that stand for one, by address
 * @live: the bytes of each
 * @orig: what the guest gave for each
 * @secret: the file of @live
 * @faults: userfaultfd
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

/* Exits if something is missing, with a status that says what. */
void page_init(void);
struct page *page_find(u64 addr);
/* A new one, claimed; NULL: the limit. */
struct page *page_add(u64 addr);
/* A new one, which can only be bad, and is counted apart. */
struct page *page_add_bad(u64 addr);
bool page_has_bytes(const struct page *page);
void page_free(struct page *page);
/* Puts it at its address. */
void page_show(struct page *page);
/* Has accesses fail while somebody works on it, and no longer. demand.lock is held. */
void page_shut(struct page *page);
/* Ends that: faults at its address are reported again. demand.lock is held. */
void page_open(struct page *page);
/* The bytes of the page, and those that the guest gave. */
u8 *page_live(const struct page *page);
u8 *page_orig(const struct page *page);
static inline bool page_differs(const struct page *page)
{
	return page->filled && __builtin_memcmp(page_live(page), page_orig(page), PAGE_SIZE);
}
void page_unclaim(struct page *page);
/* Most pages that are hidden at once. */
#define HIDE_MAX	64
/*
 * Takes claimed pages away from their addresses, in one step, whoever touches them. Takes
 * map_lock; demand.lock is not held.
 */
void pages_hide(struct page **pages, u32 nr);
/* Demand pages at [addr, addr + len), whatever is there. map_lock is held. Return: 0 or errno. */
int demand_cover(u64 addr, u64 len);
/* Does the same in steps; each is a single one for every thread that touches the memory. */
void demand_cover_moving(u64 addr, u64 len);
/* Something else is at [addr, addr + len) from now on. demand.lock is held. */
void pages_cover(u64 addr, u64 len);
/* What wakes whoever has touched the page. */
void page_wake(u64 addr);

/*
 * A call starts; its driver is done. Return: 0, -ENOBUFS (a limit), -EOPNOTSUPP (the export is
 * without demand pages), or another errno.
 */
void demand_begin(struct lane *lane);
/* One of class mm starts, which asks the guest nothing, but may wait for what others have asked. */
void demand_begin_mm(struct lane *lane);
int demand_end(struct lane *lane);
void demand_store(u64 addr, const u8 *bytes);
/* Claims have ended. @kick: as demand.waiting was then. demand.lock is not held. */
void demand_woken(bool kick);
/* Waits until claims ended since there were @claims, with a deadline. demand.lock is not held. */
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
 * Memory of the lane for it, kept for those that come later: the pager has it during a fault, the
 * lane's thread afterwards. The pager cannot ask for memory: who holds map_lock may wait for it.
 * Return: 0 or -ENOMEM.
 */
int writeback_prepare(struct lane *lane);
/* All that differs. Return: 0 or -EFAULT. */
int writeback_all(struct lane *lane);
/* The message about its claimed pages, in @iov of three. Return: bytes; 0: nothing differs. */
u32 writeback_message(struct writeback *batch, u64 seq, struct iovec *iov);

/* --- pager.c ---------------------------------------------------------------- */

void pager_init(void);
/* Watches the lane's socket from now on, for as long as it is open. */
int pager_watch(struct lane *lane);
/* Is told of what comes by it; once. */
void pager_arm(struct lane *lane, bool armed);
void pager_kick(void);

/* --- room.c: what drivers can reach of the program's memory -------------------- */

/**
 * struct room - memory that the driver of one call can reach
 * @memory: a stack for the cancel signal, then scratch memory for arguments
 * @key: protection key of it
 * @used: so many bytes of the scratch memory may be not zero
 * @fresh: no driver could reach its pages yet
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
 * Gives the call a room, if it has none. Arguments for NVIDIA's driver are looked at there, and memory
 * that drivers keep has its key, so it has to be this call's alone, for which others may have to
 * end, and new. Return: 0, -EINTR (the guest does not wait any more), -EBUSY (they did not end).
 */
int room_take(struct call *call);
void room_put(struct call *call);

/* --- lane.c ----------------------------------------------------------------- */

enum lane_upcall {
	UPCALL_NONE = 0,
	UPCALL_FETCH,
	UPCALL_WRITEBACK,
};

/**
 * struct fault - a fault of a lane's thread that is served
 * @addr: page; 0: none
 * @call: the lane's call at that time
 * @upcall: what the guest is asked
 * @pages: claimed for it
 * @nr: of them
 * @seq: of the fetch
 * @end: deadline of the upcall, or of the wait for a claim of others
 * @start: of it
 * @may: nanoseconds for which the driver may wait for it
 * @wait: of vgpu_patience_begin()
 * @have: bytes of the answer that are there
 * @want: all of it
 * @answer: its fixed part
 */
struct fault {
	u64 addr;
	u64 call;
	enum lane_upcall upcall;
	struct page *pages[VGPU_FETCH_AHEAD];
	u32 nr;
	u64 seq;
	u64 end;
	u64 start;
	u64 may;
	struct vgpu_patience_wait wait;
	u32 have;
	u32 want;
	union {
		struct vgpu_hdr hdr;
		struct vgpu_fetched fetched;
		struct vgpu_written written;
	} answer;
};

struct lane {
	struct thread thread;
	u32 index;
	int sock;
	u64 seq;
	bool unacked;
	bool cancelled;
	/* An upcall was not answered in time: the call's reply is the last message. */
	bool last;
	bool down;
	u8 *buf;
	u8 *reply_buf;
	struct call *call;
	/* A room for a call that gets no other; and that whose stack for signals the thread has. */
	struct room room;
	const struct room *signals;

	struct writeback *batch;

	/* Of the running call; under demand.lock. */
	u64 fetch_addr;
	bool gating;
	/* An errno: it needed more than it may have. */
	int limited;
	struct vgpu_ahead ahead;
	u64 upcall_ns;
	/* Time that drivers had waited for the guest when the call began; its lane writes it. */
	u64 guest_call;
	struct fault fault;

	/* What a cancel may do. */
	struct lock lock;
	bool running;
	bool upcalling;
	bool signalled;
	struct syscall syscall;

	/* The engine's answer to its request. */
	u32 answered;
	struct request *request;
};

/* Maps the memory of SHADOW_LANES_READY lanes. */
void lanes_init(void);
/* No lane will come any more: the last one's end is the program's. */
void lanes_end(void);
void lane_start(int sock);
struct lane *lane_by_index(u32 index);
/* That whose thread it is; NULL: none. */
struct lane *lane_by_tid(int tid);
void lane_shutdown(struct lane *lane);
/* The guest has ended the connection. */
bool lane_is_down(struct lane *lane);
/* Bytes are there, or the end. */
bool lane_pending(struct lane *lane);
/* A driver's function runs, or does not any more. */
void lane_set_running(struct lane *lane, bool running);
/* Its thread may touch memory of the guest process. */
bool lane_in_call(struct lane *lane);
/* The guest wants the call to end. lane->lock is held. */
void lane_cancel_locked(struct lane *lane);
/* Its thread looks again at the page that it waits for, and no other one does. false: it cannot. */
bool lane_look_again(struct lane *lane);

/* Return: 0, -ETIMEDOUT or another errno of the connection. Deadline in nanoseconds; 0: none. */
int lane_send(struct lane *lane, struct iovec *iov, u32 nr, u64 deadline);
int lane_recv(struct lane *lane, void *buf, u64 len, u64 deadline);
/*
 * Asks the guest something, from the lane's own thread. @answer: its fixed part.
 * Return: 0, -EFAULT (the lane is over).
 */
int lane_ask(struct lane *lane, struct iovec *iov, u32 nr, u16 type, struct vgpu_written *answer);
bool lane_answer_ok(const void *answer, u32 answer_len, u32 data_len);
/* The upcall has failed: for want of time, or as the connection is of no use. */
void lane_upcall_failed(struct lane *lane, int error);

/* --- call.c ----------------------------------------------------------------- */

#define SEGS_SMALL	16

struct call {
	struct lane *lane;
	u8 *msg;
	u32 msg_len;
	u64 clock_in;
	u64 tsc_in;
	struct vgpu_call_view view;
	bool mm;
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
	struct room *room;
	u64 scratch;
	u64 scratch_len;
	bool scratch_mapped;
	bool scratch_low;
	struct vgpu_seg_place *segs;
	struct vgpu_seg_place segs_small[SEGS_SMALL];
	/* Of FD_IN and EVENT fixups: what was placed. */
	struct file_entry **placed;
	s32 *placed_fds;
	struct file_entry *arg_file;
	u32 event;
	int event_fd;
	u32 nr_kept;
	u32 nr_pieces;
	bool done;
};

/* Return: 0, or -EPROTO for a malformed one. */
int call_run(struct call *call);
int call_send_reply(struct call *call);
void call_finish(struct call *call);
void call_reject(struct call *call, int error);
void call_take_back(struct call *call);
s64 call_refuse(struct call *call, int error);
int call_alloc_data(struct call *call, u32 len);
int call_alloc_scratch(struct call *call, u64 len);
/* Memory of the size of a message, which is counted; NULL: none. */
void *budget_get(u64 len);
void budget_put(void *memory, u64 len);
/* A driver's function by a system call that the guest can interrupt. */
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
/* Files that a call made, which nothing explains, are closed. Return: the call's result. */
s64 call_close_strays(struct call *call, s64 result);

/* --- nvidia.c: memory of NVIDIA's driver -------------------------------------- */

/*
 * To be called before the ioctl. Return: the client of the engine's that is to have what the ioctl
 * lets a file map; 0: none, as it lets none.
 */
u32 nvidia_owner(struct call *call, u32 cmd);
/* The driver has made the ioctl: the memory is shared with that client, and the engine hears of it. */
void nvidia_mapped(struct call *call, u32 cmd, u32 owner);
/*
 * The file that an mmap() of the call's file is to map. One of nvidiactl has no reference of the
 * memory that it was told to map (drivers/host/owned.c): so the engine owns that, and gives another
 * file. nvidia_shown_done() has to be called in any case, with the file that is returned.
 *
 * Return: its number, or a negative errno.
 */
int nvidia_shown(struct call *call);
void nvidia_shown_done(struct call *call, int fd);
/* Return: the file is of one of NVIDIA's cards. */
bool nvidia_is_card(const struct file_entry *file);
/* One of a card, or the control file. */
bool nvidia_is_rm(const struct file_entry *file);

/* --- mapping.c -------------------------------------------------------------- */

/*
 * Remembers where the kernel finds the program's arguments, from what the stack begins with. Everybody
 * may read them by /proc/PID/cmdline, which has the driver do that where a device is mapped there
 * (access_remote_vm() and ->access). So no device is.
 */
void mapping_keep_args(const long *start);
void mapping_init(void);
/* Whether all of [addr, addr + len) is the guest process's. */
bool mapping_range_ok(u64 addr, u64 len);
s64 mapping_mmap(struct call *call);
s64 mapping_bind(struct call *call);
s64 mapping_protect(struct call *call);
s64 mapping_read_pages(struct call *call);
s64 mapping_write_pages(struct call *call);
void mapping_unmap(u64 addr, u64 len);
/* [addr, addr + len) is for other memory from now on, and back. map_lock is held. */
int mapping_reserve(u64 addr, u64 len);
void mapping_give_back(u64 addr, u64 len);
/* Zeroed memory at [addr, addr + len), with @key, in the place of demand pages, and back. */
int mapping_place(u64 addr, u64 len, int key);
void mapping_displace(u64 addr, u64 len);
/* Whether a mapping is at @addr; where the next one begins after it. demand.lock is held. */
bool mapping_at(u64 addr);
u64 mapping_next(u64 addr);

/* --- kept.c: memory of the guest process that drivers keep -------------------- */

/* Memory of the guest at physical address @addr is in a file, from @offset on; takes over @fd. */
void ram_add(u64 addr, u64 len, u64 offset, int fd);
void ram_remove(u64 addr, u64 len);
/*
 * Puts the guest's pages that KEPT segments name at their addresses, until kept_hide(), with the key of
 * the call's room: no other call finds them, where there are keys. Return: 0,
 * -EFAULT: the guest has no such memory, -ENOSPC: too many pieces, -EINVAL: something else is at
 * the addresses, or another negative errno. After an error nothing is there.
 */
int kept_show(struct call *call);
/* The program ends if it cannot, so that no other call gets the room while these have its key. */
void kept_hide(struct call *call);

#endif /* ESHADOW_SHADOW_H */
