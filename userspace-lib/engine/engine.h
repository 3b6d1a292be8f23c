/* SPDX-License-Identifier: MIT */
/*
 * The engine of one guest: its control connection, the exports that it may use, the files
 * that it has open, and its processes' shadows. One thread does all of it, with a loop; two
 * others wait for drivers: one closes files, one polls them.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "engine/closer.h"
#include "engine/proto.h"
#include "engine/tgid.h"
#include "policy.h"
#include "vgpud/loop.h"

extern struct engine_shared *shared;
extern struct engine_start start;
extern struct vgpu_wire_limits wire_limits;

static inline void count(__u64 *counter)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

/* --- main.c ------------------------------------------------------------------- */

/* Everything of the guest ends with this process. */
void engine_end(const char *why) __attribute__((noreturn));
/* Tells vgpud of a session: ENGINE_CLOSED or ENGINE_REAP. */
void agent_say(uint32_t type, uint64_t session);

/* --- control.c ---------------------------------------------------------------- */

int control_init(void);
void control_send(const void *msg, size_t len);
/*
 * In the order of these, but after what is sent by the other one: a guest that reads slowly need
 * not have room for all at once.
 */
void control_send_later(const void *msg, size_t len);
/* Some control message may be applied now that was not. */
void control_applied(void);
/* Control messages up to this one are applied, closes included. */
bool control_is_applied(uint64_t seq);
/* The guest reads slowly: nothing is to be begun of which it has to be told. */
bool control_is_behind(void);

/* --- grant.c ------------------------------------------------------------------ */

/**
 * struct grant - what the guest may do with an export
 * @id: the guest's number of it
 * @export: vgpud's
 * @revoked: it may open it no more
 * @users: objects, and one until it is revoked
 * @device: of struct vgpu_export_add
 * @rdev: of the node
 * @driver: of struct vgpu_export_add
 * @no_demand: see VGPU_HOST_EXPORT_NO_DEMAND
 * @limits: those of struct object that what comes from it has
 * @policy: ioctls are @ioctls
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

void grant_add(const struct engine_grant *msg, size_t len);
void grant_revoke(uint32_t export);
void grant_change(const struct engine_change *msg);
void grant_file(const struct engine_file *msg, size_t len);
/* One that is not revoked, or NULL. */
struct grant *grant_find(uint32_t id);
void grant_put(struct grant *grant);
/* The guest may use, or was able to use, files of NVIDIA's driver. */
bool grants_had_nvidia(void);
/* Tell a shadow the policy of a grant. Return: its bytes. */
size_t grant_describe(const struct grant *grant, struct eshadow_policy *policy);
/* The same of what came from exports and is no device of theirs: their lists are for it as well. */
size_t limits_describe(uint64_t limits, struct eshadow_policy *policy);
/* One of the exports says that drivers do not wait for the guest's memory. */
bool limits_no_demand(uint64_t limits);

/* --- object.c ----------------------------------------------------------------- */

struct shadow;
struct nvidia_memory;

/**
 * struct polled - what is known of an object's readiness
 * @listed: the thread looks at it
 * @level: its poll only looks, and takes nothing away; what it is says so
 * @edged: the edges' epoll has it; the loop's alone
 * @edges: events that it is ready for, of whose next wakeup the guest is to hear; likewise
 * @async: its wakeups come as signals; the loop's alone
 * @events: that the guest is to hear of
 * @cached: what the thread has seen, and the guest has not asked for since
 * @number: of the last POLL call
 * @quieted: what the guest was to hear of before poller_quiet_begin(); the loop's alone
 *
 * Under the poller's lock.
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
 * @id: its number; 0: closed, and not gone yet
 * @fd: the file
 * @references: numbers of those that the guest has
 * @nr_references: how many; 0: it is closed
 * @last_reference: number of the last one that it got
 * @kind: VGPU_OBJECT_*
 * @flags: VGPU_OBJECT_*
 * @space: number of the address space of its mappings
 * @grant: of its export, or NULL: it is no device
 * @limits: a bit for each list of ioctls, with demand or without, of the exports that it came from;
 *	grant.c knows which. Exports without either limit have no bit
 * @dropping: shadows that are to close it
 * @dev: of its inode, and the inode's number
 * @ino: see @dev
 * @rdev: of a device
 * @memory: memory of NVIDIA's driver that a mapping of it shows; NULL: it is not known
 * @keeps: the driver may keep memory of the guest until it has released this very file
 * @no_demand: its driver does not wait for the guest's memory
 * @lent: a hypervisor has mapped, or may have mapped, this very file
 * @known: what its driver may know processes by; NULL: it knows none
 * @close_seq: of the control message that closed it; 0: a call has
 * @closer: shadow that waits for the end of that; NULL: none, or it has gone
 * @lane: of it
 * @poll: its readiness
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

/* Takes over @fd. Return: the object, with one more reference of the guest; or an errno. */
int object_take(int fd, struct grant *grant, uint64_t limits, bool may_be_known,
		struct object **taken);
struct object *object_find(uint32_t id);
/* The object whose file @fd is; NULL: none. @st is what fstat() says of @fd. */
struct object *object_of_file(int fd, const struct stat *st);
struct object *object_by_fd(int fd);
/* Return: 0, or what @fn has returned for the first object for which it was not 0. */
int objects_each(int (*fn)(struct object *object));
/* Polls files of that device no more until the guest does: see poller_quiet_begin(). */
void objects_quiet(dev_t rdev);
/* Whether the object is a file of V4L2, other than the media controller. */
bool object_is_video(const struct object *object);
/* Tells of the object, and of the reference that was taken last. */
void object_describe(const struct object *object, struct vgpu_object_desc *desc);
/*
 * The guest gives a reference back, with control message @seq or by a call of @shadow's @lane,
 * which is answered: 1: it was the last. Return: 0, or -EBADF.
 */
int object_release(uint32_t id, uint32_t reference, uint64_t seq, struct shadow *shadow,
		   uint32_t lane);
/* A shadow that was asked to close it has it open no more. Return: one was. */
bool object_dropped(uint32_t id);
/* The guest has as many objects as it may have. */
bool objects_full(void);
/* The file has that name in /proc. */
bool file_is_named(int fd, const char *name);
void objects_shadow_gone(struct shadow *shadow);
/* A control message up to @seq has closed one that is not closed yet. */
bool objects_closing(uint64_t seq);

/* closer.c, a thread that closes files: see closer.h. */

/* --- poller.c: a thread that polls files -------------------------------------- */

int poller_init(void);
void poller_begin(struct object *object);
/* A POLL call: what it is ready for; from now on the guest is told of the rest. */
uint32_t poller_ask(struct object *object, uint32_t events, uint32_t flags, uint32_t number);
/* Before it is closed. */
void poller_forget(struct object *object);
/*
 * The driver is not asked again before the guest's next POLL call, from poller_settle() on. Who
 * waits there makes one, from poller_quiet_end() on.
 */
void poller_quiet_begin(struct object *object);
void poller_settle(void);
void poller_quiet_end(struct object *object);

/* --- event.c: eventfds that stand for the guest's ------------------------------ */

int event_add(uint32_t object, uint32_t number, int fd);
void event_cancel(uint32_t object, uint32_t number);
void events_object_gone(uint32_t object);

/* lend.c, files that others may map: see lend.h. */

/* --- window.c: mappings in the guest's window -------------------------------------- */

/**
 * window_keeper - vgpud has connected the engine to the keeper of the guest's window
 * @fd: the engine's end of the connection, which becomes window.c's; -1: it got lost
 */
void window_keeper(int fd);

/**
 * window_bind - have a mapping seen in the window
 * @shadow: the shadow that has the mapping, and waits for the answer
 * @msg: its request: the lane that waits, and the object that is mapped
 * @bind: the part of the mapping, and its place in the window
 */
void window_bind(struct shadow *shadow, const struct eshadow_msg *msg,
		 const struct eshadow_bind *bind);

/**
 * window_unbind - the guest gives a range of the window back
 * @part: its message. It is answered when nothing is seen in the range any more
 */
void window_unbind(const struct vgpu_window_part *part);

/**
 * window_shadow_gone - a shadow has ended, and what it had mapped is to be seen no more
 * @shadow: the shadow, which gets no answers any more
 */
void window_shadow_gone(struct shadow *shadow);
/* The guest has closed the object. What is shown of it is on its way out. */
void window_object_closed(uint32_t id);
/* The number of the last binding so far. */
uint64_t window_now(void);
/*
 * Whether memory that was given to NVIDIA's driver after window_now() was @since may be the
 * engine's, too: a duplicate was made after that, of what closed objects had mapped, and the
 * driver has not been told to free it.
 */
bool window_owns_since(uint64_t since);

/* --- master.c: DRM masters by the rights of a guest's program ---------------------- */

/**
 * master_come - vgpud has started the program that makes masters of an export's files
 * @export: vgpud's number of the export
 * @fd: the connection to the program, which becomes master.c's; -1: it got lost
 */
void master_come(uint32_t export, int fd);
/* The guest may not use the export any more. */
void master_leave(uint32_t export);

/**
 * master_ask - a lane wants what only CAP_SYS_ADMIN may
 * @shadow: whose lane waits for the answer
 * @msg: its request: the object, and the ioctl
 */
void master_ask(struct shadow *shadow, const struct eshadow_msg *msg);
/* The shadow has ended and gets no answers any more. */
void master_shadow_gone(struct shadow *shadow);

/* --- kept.c: memory of the guest that devices keep ------------------------------ */

/**
 * kept_add - a driver may be given memory of the guest to keep
 * @id: number of the object whose driver it is
 * @number: the guest's number of the memory
 * @bytes: how much it is
 *
 * Return: 0, -EBADF: there is no such object, -EOPNOTSUPP: nobody would know when the driver has
 * released the object's file, -ENOMEM: it would be more than the guest may have kept, or
 * -EINVAL.
 */
int kept_add(uint32_t id, uint64_t number, uint64_t bytes);
/* By control message @seq the guest wants to hear when nothing uses it any more. */
void kept_release(uint64_t number, uint64_t seq);
/* Something has ended that RELEASE messages wait for: they are answered if it was the last. */
void kept_look(void);
/* The guest's memory at @addr is in a file, from @offset on; takes over @fd. */
void ram_add(uint64_t addr, uint64_t len, uint64_t offset, int fd);
void ram_remove(uint64_t addr, uint64_t len);
/* Nobody tells of it any more. */
void ram_forget(void);
/* Tells a new shadow. */
void ram_tell(struct shadow *shadow);

/* --- session.c: shadows and their requests ------------------------------------- */

/**
 * struct shadow - the shadow of a guest process
 * @number: of its session, as the guest chose it
 * @tgid: number of its process
 * @source: the connection to it
 * @close_timer: when it is ended, if it has not ended by itself
 * @drop_timer: likewise, if it does not close what it was asked to
 * @hold_timer: when it is heard again
 * @closing: the guest has closed the session: it ends when its lanes have, or then
 * @ended: vgpud is to end it
 * @unread: files that it was sent since it was seen to have read all
 * @nr_drops: objects that it was asked to close, and has not yet
 * @files: numbers of the objects that it has open
 * @nr_files: entries of it
 * @givens: references that its calls gave, and of which the guest has yet to say that it has them
 * @nr_givens: how many
 * @mapped_bytes: its part of what struct engine_shared has of these, as far as it has said
 * @nr_lanes: likewise
 * @nr_mappings: likewise
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

void session_add(uint64_t number, int fd);
void session_unmap(uint64_t number, uint64_t addr, uint64_t len);
void session_close(uint64_t number);
/* The guest has given it back, or is not to get it: no shadow has given it any more. */
void session_reference_gone(uint32_t object, uint32_t reference);
/* Asks it to close the object. Return: it has it. */
bool shadow_drop(struct shadow *shadow, uint32_t object);
/* It closes the object by itself. Return: it had it. */
bool shadow_forget(struct shadow *shadow, uint32_t object);
/* The guest has memory at this place; @fd -1: not any more. */
void shadow_ram(struct shadow *shadow, uint64_t addr, uint64_t len, uint64_t offset, int fd);
void shadow_answer(struct shadow *shadow, uint32_t lane, int result, const void *extra, size_t len,
		   int fd);
/* Lanes that wait for control messages to be applied. */
void session_synced(void);

#endif /* ENGINE_ENGINE_H */
