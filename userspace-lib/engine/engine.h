/* SPDX-License-Identifier: MIT */
/*
 * The engine of one guest: it has the guest's control connection, the exports that the guest may
 * use, the files that the guest has open, and the shadows of the guest's processes. One thread
 * does nearly all of this in an event loop (the loop, below). Two more threads may sleep in
 * drivers: the closer closes files, and the poller polls them.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "engine/base/closer.h"
#include "engine/process/tgid.h"
#include "engine/proto.h"
#include "policy.h"
#include "vgpud/loop.h"

/* --- agent.c ------------------------------------------------------------------ */

extern struct engine_shared *shared;
extern struct engine_start start;
extern struct vgpu_wire_limits wire_limits;

static inline void count(__u64 *counter)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

/* End the engine, and with it everything that the guest has here. @why is logged for debugging. */
void engine_end(const char *why) __attribute__((noreturn));
/* Tell vgpud of a session. @type: ENGINE_CLOSED or ENGINE_REAP. */
void agent_say(uint32_t type, uint64_t session);

/* --- control.c ---------------------------------------------------------------- */

/*
 * Begin to read messages of the guest. @handler is called for each of them that has a number, once
 * the message was checked.
 */
int control_init(void (*handler)(const struct vgpu_hdr *msg));
void control_send(const void *msg, size_t len);
/*
 * Send a message after all messages of control_send(), and in the order of these calls. If the
 * guest reads slowly, the message waits in memory.
 */
void control_send_later(const void *msg, size_t len);
/* Return: number of the last control message that was handled. */
uint64_t control_last(void);
/* Return: true if the guest reads slowly. Nothing is begun then that the guest must be told of. */
bool control_is_behind(void);

/* --- progress.c --------------------------------------------------------------- */

/* Have @nr functions called by progress_notify(). The array stays. */
void progress_init(void (*const *functions)(void), size_t nr);
/* Note that something has ended which lanes or messages of the guest may wait for. */
void progress_notify(void);

/* --- message.c ---------------------------------------------------------------- */

void message_handle(const struct vgpu_hdr *msg);

/* --- grant.c ------------------------------------------------------------------ */

/**
 * struct grant - the right of the guest to use an export
 * @id: number by which the guest names the export
 * @export: vgpud's number of the export
 * @revoked: true if the guest may no longer open the export
 * @users: number of objects with this grant, plus one until the grant is revoked
 * @device: number from struct vgpu_export_add, the same for all nodes of one device
 * @rdev: device number of the export's node
 * @driver: name of the driver, from struct vgpu_export_add
 * @no_demand: true if VGPU_HOST_EXPORT_NO_DEMAND is set
 * @limits: @limits of each struct object that comes from the export
 * @policy: policy of the export, whose list of ioctls is @ioctls
 * @ioctls: list of ioctls of @policy
 */
struct grant {
	LIST_ENTRY(grant) node;
	uint32_t id;
	uint32_t export;
	bool revoked;
	unsigned int users;
	uint64_t device;
	dev_t rdev;
	char driver[VGPU_NAME_LEN];
	bool no_demand;
	uint64_t limits;
	struct vgpu_policy policy;
	uint32_t ioctls[];
};

struct grant *grant_add(const struct engine_grant *msg, size_t len);
void grant_revoke(uint32_t export);
void grant_change(const struct engine_change *msg);
void grant_file(const struct engine_file *msg, size_t len);
/* Return: the grant with this number, or NULL if there is none or the grant is revoked. */
struct grant *grant_find(uint32_t id);
void grant_put(struct grant *grant);
/* Return: true if the guest may use, or was once able to use, files of NVIDIA's driver. */
bool grants_had_nvidia(void);
/* Fill in the policy of a grant for a shadow. Return: length of the policy in bytes. */
size_t grant_describe(const struct grant *grant, struct eshadow_policy *policy);
/*
 * Fill in the policy of a file that is no device, but that calls on devices have made: it has the
 * lists of ioctls of all exports in @limits. Return: length of the policy in bytes.
 */
size_t limits_describe(uint64_t limits, struct eshadow_policy *policy);
/* Return: true if the drivers of at least one export in @limits do not wait for guest memory. */
bool limits_no_demand(uint64_t limits);

/* --- object.c ----------------------------------------------------------------- */

struct shadow;
struct nvidia_memory;

/**
 * struct polled - readiness of an object
 * @listed: true if the poller polls the object
 * @level: true if the driver's poll operation only reports the state and consumes nothing
 * @async: true if the driver signals each wakeup (SIGIO); used by the loop alone
 * @edged: true if the object is in the epoll instance for edges; used by the loop alone
 * @edges: events that the object was ready for when last asked; the guest is to be notified of
 *	the next wakeup with one of them; used by the loop alone
 * @events: events that the guest is to be notified of
 * @cached: events that the poller has seen, and that no POLL call has asked for since
 * @number: number of the last POLL call
 * @quieted: events that the guest was to be notified of before poller_quiet_begin(); used by the
 *	loop alone
 *
 * The other fields are protected by the poller's lock.
 */
struct polled {
	bool listed;
	bool level;
	bool async;
	bool edged;
	uint32_t edges;
	uint32_t events;
	uint32_t cached;
	uint32_t number;
	uint32_t quieted;
};

/**
 * struct object - a file that the guest has
 * @id: number of the object; kept while the object is being closed
 * @fd: the file; -1: closer.c closes it
 * @references: numbers of the guest's references
 * @nr_references: number of entries of @references; 0: the guest has closed the object
 * @last_reference: number of the last reference that the guest got
 * @kind: VGPU_OBJECT_*
 * @flags: VGPU_OBJECT_*
 * @space: number of the address space that mappings of the object show
 * @dev: device number of the file system of the file's inode
 * @ino: number of the file's inode
 * @rdev: device number of a device
 * @memory: memory of NVIDIA's driver that a mapping of the object shows; NULL: unknown
 * @keeps: true if the driver may keep memory of the guest until this very file is released
 * @no_demand: true if the driver does not wait for the guest's memory
 * @lent: true if a hypervisor has mapped, or may have mapped, this very file
 * @known: entry of the file in tgid.c, as NVIDIA's driver may know processes by the file; NULL:
 *	the file is of another driver, or no process has got the file
 * @grant: grant of the export; NULL: the object is no device
 * @limits: bit mask of the sets of limits (lists of ioctls, and demand or none) of the exports
 *	that the object came from; grant.c has the sets. An export without limits has no bit
 * @dropping: number of shadows that have still to close the file
 * @close_seq: number of the control message that closed the object; 0: a call closed it
 * @closer: shadow whose call waits for the end of the close; NULL: none does, or it has ended
 * @lane: index of the lane of @closer that waits
 * @poll: readiness of the object
 */
struct object {
	LIST_ENTRY(object) node;
	LIST_ENTRY(object) poll_node;
	LIST_ENTRY(object) edge_node;
	uint32_t id;
	int fd;
	uint32_t *references;
	uint32_t nr_references;
	uint32_t last_reference;
	uint32_t kind;
	uint32_t flags;
	uint64_t space;
	dev_t dev;
	ino_t ino;
	dev_t rdev;
	struct nvidia_memory *memory;
	bool keeps;
	bool no_demand;
	bool lent;
	struct tgid_file *known;
	struct grant *grant;
	uint64_t limits;
	unsigned int dropping;
	uint64_t close_seq;
	struct shadow *closer;
	uint32_t lane;
	struct polled poll;
};

LIST_HEAD(object_list, object);

/*
 * Return: the number of the address space that mappings of the object show. Mappings with the
 * same space and offset show the same memory. The kernel cannot be asked which address space a
 * file maps, so objects get spaces of their own unless they are known to share one.
 */
uint64_t object_space(const struct object *object);
/* Let the object be found from here on. */
void object_add(struct object *object);
struct object *object_find(uint32_t id);
/* Return: the object whose file is @fd, or NULL. @st: result of fstat() of @fd. */
struct object *object_of_file(int fd, const struct stat *st);
struct object *object_by_fd(int fd);
/* Call @fn for each object until @fn returns nonzero. Return: that value, or 0. */
int objects_each(int (*fn)(struct object *object));
/* Return: true if the object is a file of V4L2; the media controller is none. */
bool object_is_video(const struct object *object);
/* Describe the object, and the reference that the guest got last. */
void object_describe(const struct object *object, struct vgpu_object_desc *desc);

/* --- poller.c: a thread that polls files -------------------------------------- */

int poller_init(void);
void poller_begin(struct object *object);
/*
 * Answer a POLL call, and arm notifications of the events that are not ready yet. Return: the
 * events that the object is ready for.
 */
uint32_t poller_ask(struct object *object, uint32_t events, uint32_t flags, uint32_t number);
/* Stop polling an object, before its file is closed. */
void poller_forget(struct object *object);
/*
 * Stop asking the object's driver until the guest's next POLL call: begin for each object, then
 * settle once, after which the poller asks none of them, then end for each object. The end wakes
 * those who wait in the guest, and they make that POLL call.
 */
void poller_quiet_begin(struct object *object);
void poller_settle(void);
void poller_quiet_end(struct object *object);

/* --- quiet.c --------------------------------------------------------------------- */

/* Stop polling the files of a device until the guest polls them again; see poller_quiet_begin(). */
void quiet_device(dev_t rdev);

/* --- file.c: properties of files --------------------------------------------------- */

/* Return: true if /proc shows the file by this name. */
bool file_is_named(int fd, const char *name);
/* Return: VGPU_OBJECT_*. @st: result of fstat() of @fd. */
uint32_t file_kind(int fd, const struct stat *st);
/* Return: VGPU_FOP_* of the operations that the file's driver has, except VGPU_FOP_FASYNC. */
uint32_t file_operations(int fd);
/*
 * Return: true if the driver keeps a list of those to signal (->fasync): fasync_helper() sets the
 * flag.
 */
bool file_signals(int fd);

/* --- reference.c: the guest's references of objects --------------------------------- */

/*
 * Make an object of a file, or find the object that it is already, and give the guest one more
 * reference. @fd becomes the engine's in any case. Return: 0 and the object in @taken, or a
 * negative errno.
 */
int object_take(int fd, struct grant *grant, uint64_t limits, bool may_be_known,
		struct object **taken);
/*
 * Drop a reference of the guest. Either control message @seq has asked for that, or a call of
 * @shadow's @lane, which is answered once the drop is complete: 1 if the reference was the last,
 * else 0. Return: 0, or -EBADF, with which nothing is answered.
 */
int object_release(uint32_t id, uint32_t reference, uint64_t seq, struct shadow *shadow,
		   uint32_t lane);
/*
 * Note that a shadow has closed an object that it was asked to close. Return: true if it was
 * asked.
 */
bool object_dropped(uint32_t id);
/* Return: true if the guest has as many objects as it may have. */
bool objects_full(void);
void objects_shadow_gone(struct shadow *shadow);
/*
 * Return: true if all control messages up to @seq are applied, the closes that they ask for
 * included.
 */
bool objects_applied(uint64_t seq);

/* --- event.c: eventfds that stand for the guest's ------------------------------ */

int event_add(uint32_t object, uint32_t number, int fd);
void event_cancel(uint32_t object, uint32_t number);
void events_object_gone(uint32_t object);

/* lend.c, files that a hypervisor may map: see lend.h. */

/* --- window.c: mappings in the guest's window -------------------------------------- */

/**
 * window_keeper - use the keeper of the guest's window, to which vgpud has connected the engine
 * @fd: the engine's end of the connection, which becomes window.c's; -1: the connection was lost
 */
void window_keeper(int fd);

/**
 * window_bind - show a part of a mapping in the window
 * @shadow: shadow that has the mapping, and waits for the answer
 * @msg: request of the shadow: the lane that waits, and the object that is mapped
 * @bind: part of the mapping, and its place in the window
 */
void window_bind(struct shadow *shadow, const struct eshadow_msg *msg,
		 const struct eshadow_bind *bind);

/**
 * window_unbind - take a range of the window back from the guest
 * @part: message of the guest, which is answered when nothing in the range is visible any more
 */
void window_unbind(const struct vgpu_window_part *part);

/**
 * window_shadow_gone - hide all that a shadow had mapped
 * @shadow: shadow that has ended, and gets no answers any more
 */
void window_shadow_gone(struct shadow *shadow);
/* Note that the guest has closed the object. Its bindings stay until they are hidden. */
void window_object_closed(uint32_t id);
/* Return: the number of the last binding so far. */
uint64_t window_now(void);
/*
 * Find out whether the engine may own duplicates of memory that NVIDIA's driver was given after
 * window_now() was @since. Return: true if the engine has made, after that, a duplicate of what
 * closed objects had mapped, and has not told the driver to free the duplicate.
 */
bool window_owns_since(uint64_t since);

/* --- master.c: DRM masters by CAP_SYS_ADMIN of a guest's program ------------------ */

/**
 * master_come - use the process that makes files of an export DRM masters, which vgpud has
 * started
 * @export: vgpud's number of the export
 * @fd: connection to the process, which becomes master.c's; -1: the connection was lost
 */
void master_come(uint32_t export, int fd);
/* Let the process of an export end, as the guest may no longer use the export. */
void master_leave(uint32_t export);

/**
 * master_ask - have an ioctl made that needs CAP_SYS_ADMIN
 * @shadow: shadow whose lane waits for the answer
 * @msg: request of the lane: the object, and the ioctl
 */
void master_ask(struct shadow *shadow, const struct eshadow_msg *msg);
/* Forget the requests of a shadow that has ended and gets no answers any more. */
void master_shadow_gone(struct shadow *shadow);

/* --- kept.c: memory of the guest that devices keep ------------------------------ */

/**
 * kept_add - account for memory of the guest that a driver is about to be given to keep
 * @id: number of the object that the driver belongs to
 * @number: the guest's number of the memory
 * @bytes: length of the memory in bytes
 *
 * Return: 0; -EBADF: there is no such object; -EOPNOTSUPP: a hypervisor may have mapped the
 * object's file, so the engine would not know when the driver has released it; -ENOMEM: more than
 * the guest may have kept; -EINVAL: no bytes, or another length than before.
 */
int kept_add(uint32_t id, uint64_t number, uint64_t bytes);
/*
 * Note that the guest wants to be notified, by the answer to control message @seq, when nothing
 * uses the memory any more.
 */
void kept_release(uint64_t number, uint64_t seq);
/* Answer each RELEASE message that waits for nothing any more. */
void kept_look(void);

/* --- ram.c: files that hold the guest's memory ---------------------------------- */

/* Note that the guest's memory at @addr is in a file, from @offset on. @fd becomes ram.c's. */
void ram_add(uint64_t addr, uint64_t len, uint64_t offset, int fd);
void ram_remove(uint64_t addr, uint64_t len);
/* Forget all memory of the guest, as its keeper has ended and will not tell of changes. */
void ram_forget(void);
/* Tell a new shadow where the guest's memory is. */
void ram_tell(struct shadow *shadow);

/* --- shadow.c ----------------------------------------------------------------- */

/**
 * struct shadow - the shadow of a guest process
 * @number: number of the session, as the guest chose it
 * @tgid: number of the shadow's process
 * @source: connection to the shadow
 * @close_timer: deadline after which a closed session's shadow is ended, if it has not ended
 *	itself
 * @drop_timer: deadline after which the shadow is ended, if it has not closed a file as asked
 * @hold_timer: time at which requests of the shadow are read again
 * @closing: true if the guest has closed the session: the shadow ends with its last lane, or when
 *	@close_timer expires
 * @ended: true if vgpud was asked to end the shadow
 * @unread: number of files sent to the shadow since it had last read everything
 * @nr_drops: number of objects that the shadow was asked to close and has not closed yet
 * @files: numbers of the objects that the shadow has open
 * @nr_files: number of entries of @files
 * @givens: list of references that calls of the shadow gave the guest, and whose receipt the
 *	guest has not acknowledged yet
 * @nr_givens: number of entries of @givens
 * @mapped_bytes: the shadow's part of @mapped_bytes of struct engine_shared, as reported by the
 *	shadow
 * @nr_lanes: the shadow's part of @nr_lanes there
 * @nr_mappings: the shadow's part of @nr_mappings there
 */
struct shadow {
	LIST_ENTRY(shadow) node;
	uint64_t number;
	struct tgid *tgid;
	struct source source;
	struct timer close_timer;
	struct timer drop_timer;
	struct timer hold_timer;
	bool closing;
	bool ended;
	unsigned int unread;
	unsigned int nr_drops;
	uint32_t *files;
	size_t nr_files;
	LIST_HEAD(, given) givens;
	unsigned int nr_givens;
	uint64_t mapped_bytes;
	uint32_t nr_lanes;
	uint32_t nr_mappings;
};

LIST_HEAD(shadow_list, shadow);
extern struct shadow_list shadows;

/* Note that a shadow has an object open. Return: 0, or -ENOMEM. */
int shadow_note(struct shadow *shadow, uint32_t object);
/*
 * Forget that a shadow has an object open, as the shadow closes the object by itself. Return:
 * true if it had.
 */
bool shadow_forget(struct shadow *shadow, uint32_t object);
/*
 * End a shadow, which gets no answers from here on. Its requests are discarded. The struct stays
 * until the process has ended, as the process may have files open. Messages of the shadow are
 * still read: an unread one may carry the shadow's own end of the connection, which would then
 * never be closed.
 */
void shadow_end(struct shadow *shadow);
/* End a shadow that has sent what the protocol does not allow. */
void shadow_malformed(struct shadow *shadow);
/*
 * Send a message. A shadow whose socket has no room is ended: the socket has room for all answers
 * to what a shadow may ask at once. Return: 0, or -ENFILE: too many files sent to the guest's
 * processes were not read yet, which need not be this shadow's fault.
 */
int shadow_send(struct shadow *shadow, const struct eshadow_msg *msg, const void *extra, size_t len,
		int fd);
void shadow_answer(struct shadow *shadow, uint32_t lane, int result, const void *extra, size_t len,
		   int fd);
/* Tell a shadow that the guest has memory at @addr; @fd -1: that the memory is gone. */
void shadow_ram(struct shadow *shadow, uint64_t addr, uint64_t len, uint64_t offset, int fd);
/* Ask a shadow to close an object. Return: true if the shadow has the object open. */
bool shadow_drop(struct shadow *shadow, uint32_t object);
/* Note that a shadow has closed an object that it was asked to close. */
void shadow_dropped(struct shadow *shadow);

/* --- given.c: references that calls of a shadow gave the guest ------------------- */

/*
 * Note that a call of a lane gives the guest a reference. Return: false if the shadow has as many
 * entries as one call of each lane can give, or if there is no memory.
 */
bool given_add(struct shadow *shadow, uint32_t lane, uint32_t object, uint32_t reference);
/* Forget the references that the lane's last call gave: the guest has acknowledged all of them. */
void givens_acked(struct shadow *shadow, uint32_t lane);
/*
 * Forget that a shadow has given the guest a reference, as the guest has dropped the reference,
 * or is not to get it.
 */
void given_forget(uint32_t object, uint32_t reference);
/* Take a reference back from a shadow that is gone. Return: false if there is none. */
bool given_take_back(struct shadow *shadow, uint32_t *object, uint32_t *reference);

/* --- usage.c: mappings and lanes of shadows -------------------------------------- */

/* Answer a lane that asks for room for a mapping. */
void usage_ask(struct shadow *shadow, const struct eshadow_msg *msg);
/*
 * Apply a change that a shadow reports. The report is malformed if the shadow gives back more than
 * it has, or has more mappings or lanes than it may have.
 */
void usage_change(struct shadow *shadow, const struct eshadow_msg *msg);
/* Take back all that a shadow had, as one that was killed has not given it back. */
void usage_shadow_gone(struct shadow *shadow);

/* --- sync.c: lanes that wait for control messages --------------------------------- */

/* Answer a lane when all control messages up to the one it names are applied. */
void sync_ask(struct shadow *shadow, const struct eshadow_msg *msg);
/* End the wait of a lane that is down. The wait may have been answered already. */
void sync_cancel(struct shadow *shadow, const struct eshadow_msg *msg);
/* Answer the lanes whose control messages have been applied. */
void sync_look(void);
/* Forget the lanes of a shadow that has ended and gets no answers any more. */
void sync_shadow_gone(const struct shadow *shadow);

/* --- request.c -------------------------------------------------------------------- */

/* Data that follows the struct eshadow_msg of some requests; request_more() tells the length. */
union more {
	struct eshadow_bind bind;
	struct eshadow_memory memory;
};

size_t request_more(uint32_t type);
/* Return: true if a file may come with requests of this type. */
bool request_has_file(uint32_t type);
/* Handle a request. @fd: file that came with the request, or -1. */
void request_handle(struct shadow *shadow, const struct eshadow_msg *msg, const union more *more,
		    int fd);

/* --- session.c -------------------------------------------------------------------- */

void session_add(uint64_t number, int fd);
void session_unmap(uint64_t number, uint64_t addr, uint64_t len);
void session_close(uint64_t number);

#endif /* ENGINE_ENGINE_H */
