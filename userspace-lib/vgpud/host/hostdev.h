/* SPDX-License-Identifier: MIT */
/*
 * The host module's device, /dev/vgpu-host, or user-space engines in its place. Functions that
 * return an int return 0, or a negative errno, unless another value is described.
 */
#ifndef VGPUD_HOSTDEV_H
#define VGPUD_HOSTDEV_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/vgpu_host.h>

struct host_events;
struct limits;
struct sandbox;

/*
 * Open the device and become its agent. @handlers (engines/engine.h) stays the caller's. If the
 * settings say so, guests go on without vgpud for a while, and those of an earlier vgpud are taken
 * over. settings.lasting becomes false if the module cannot do that. Return: 0; -ENOENT: no
 * module; -EBUSY: there is another agent; or another negative errno.
 */
int hostdev_open(const struct host_events *handlers);
/* Let user-space engines serve the guests; called instead of hostdev_open(). */
int hostdev_open_engines(const struct host_events *handlers);
bool hostdev_is_engine(void);
/* Close the device. @leave: true if another vgpud is to take over; false: all guests end. */
void hostdev_close(bool leave);

/* Find what an earlier vgpud has left with engines; with the module, hostdev_open() does that. */
void hostdev_adopt(void);
/*
 * Take over a guest of an earlier vgpud, whose programs run in @sandbox. The module has it already.
 * Return: 0 or a negative errno.
 */
int hostdev_adopt_peer(uint32_t peer, struct sandbox *sandbox);
/* Take over the counters of a shadow. Return: 0 or a negative errno. */
int hostdev_adopt_shadow(uint32_t peer, uint64_t session, pid_t pid);
/* Check whether guests of an earlier vgpud are being taken over: until hostdev_settle(). */
bool hostdev_is_adopting(void);
/* End all exports and guests of the earlier vgpud that were not taken over. */
void hostdev_settle(void);
/*
 * Have the module keep @data and a file (-1: none) for the next vgpud, under the name @peer and
 * @key; @len 0: no longer. Does nothing unless guests last. A failure is logged.
 */
void hostdev_note(uint32_t peer, uint64_t key, const void *data, size_t len, int fd);
/*
 * Get the first note whose name is not less than *@peer and *@key. *@len: size of @data, set to the
 * length of the note. The caller closes *@fd. Return: -ENOENT if there is none.
 */
int hostdev_note_find(uint32_t *peer, uint64_t *key, void *data, size_t *len, int *fd);

/*
 * Make a request of the module. Sets the first member of @arg, a __u32, to @size, the size of @arg.
 * For files of this folder.
 */
int hostdev_ioctl(unsigned long cmd, void *arg, uint32_t size);

int hostdev_export_add(struct vgpu_host_export_add *arg);
int hostdev_export_del(uint32_t export);
int hostdev_export_change(struct vgpu_host_export_change *arg);
int hostdev_export_file(struct vgpu_host_export_file *arg);
/* Add a guest, whose programs run in @sandbox. */
int hostdev_peer_add(struct vgpu_host_peer_add *arg, struct sandbox *sandbox);
int hostdev_peer_del(uint32_t peer);
int hostdev_grant(struct vgpu_host_grant *arg);
/* Take an export back from a guest. @now: files that are open are taken as well. */
int hostdev_revoke(uint32_t peer, uint32_t export, bool now);
/*
 * Get the counts of denied ioctls of a guest and an export, see struct vgpu_host_denials. Return: 0
 * or a negative errno.
 */
int hostdev_denials(struct vgpu_host_denials *arg);
/*
 * Make the file of a new shadow. @nr_sessions: number of the guest's shadows that have not ended.
 * Return: the file, or a negative errno.
 */
int hostdev_shadow(uint32_t peer, uint64_t session, unsigned int nr_sessions);
/*
 * Start a shadow of a guest. @shadow_fd: file that hostdev_shadow() has made for it; @lanes_fd: set
 * to the socket that sends lanes to it. A failure in the child shows in its exit status.
 */
int hostdev_spawn_shadow(uint32_t peer, uint64_t session, struct sandbox *sandbox, const char *comm,
			 int shadow_fd, pid_t *pid, int *lanes_fd);
/* Tell the module or the guest's engine of the guest's limits, which may have changed. */
int hostdev_peer_limit(uint32_t peer, const struct limits *limits);
/* Get what a guest uses of what is limited, now and at most since it connected. */
int hostdev_peer_use(uint32_t peer, struct vgpu_host_peer_use *use);
int hostdev_peer_stat(uint32_t peer, struct vgpu_host_peer_stat *stat);
/*
 * Get the counters over all connections of the first guest after that of @cid and @port; 0 and 0:
 * the first of all. @tallies: filled in: array of the VGPU_HOST_TALLIES_MAX tallies at most that
 * stat->out_nr counts.
 */
int hostdev_guest_next(uint32_t cid, uint32_t port, struct vgpu_host_guest_stat *stat,
		       struct vgpu_host_tally *tallies);
/* Get the counters of a session, whose shadow has the process ID @pid. */
int hostdev_session_stat(uint32_t peer, uint64_t session, pid_t pid,
			 struct vgpu_host_session_stat *stat);
/*
 * Return the bytes of device memory that a guest's engine owns; 0 with the module, which owns
 * none.
 */
uint64_t hostdev_owned_bytes(uint32_t peer);
/*
 * Have the keeper of guest @peer, of the host module, tell the module where the guest's memory is,
 * so that devices can keep some.
 */
void hostdev_memory_offer(uint32_t cid, uint32_t port, uint32_t peer);
/* Listen for hypervisors of guests whose windows the module already has. */
void hostdev_listen(void);
int hostdev_window_create(struct vgpu_host_window_create *arg);
int hostdev_window_drain(uint32_t cid, uint32_t port, bool drain);
int hostdev_window_destroy(uint32_t cid, uint32_t port, bool force);
/* Describe the first window after that of @cid and @port; 0 and 0: the first of all. */
int hostdev_window_next(uint32_t cid, uint32_t port, struct vgpu_host_window_stat *stat);

#endif /* VGPUD_HOSTDEV_H */
