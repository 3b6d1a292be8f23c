/* SPDX-License-Identifier: MIT */
/*
 * libvgpu: asks the host's agent and the guest's kernel about forwarded
 * devices, and tells the agent what to export.
 *
 * Functions that can fail return 0 or a negative errno. A connection to the
 * agent is used by one thread at a time.
 */
#ifndef VGPU_H
#define VGPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VGPU_AGENT_SOCKET	"/run/vgpu/vgpud.sock"

/* --- host: the agent ------------------------------------------------------ */

struct vgpu_agent;

/**
 * vgpu_agent_open - connect to the host's agent
 * @path: its control socket; NULL: VGPU_AGENT_SOCKET
 * @agent: the connection
 *
 * Return: 0, -ENOENT or -ECONNREFUSED (no agent runs), -EACCES, -EAGAIN (it has
 * too many clients), -ENOMEM.
 */
int vgpu_agent_open(const char *path, struct vgpu_agent **agent);

/* NULL is fine. */
void vgpu_agent_close(struct vgpu_agent *agent);

/* Why the last function failed, in words; "" if it did not. */
const char *vgpu_agent_message(const struct vgpu_agent *agent);

/**
 * struct vgpu_guest_name - a guest that somebody names
 * @cid: its vsock context id
 * @port: the vsock port that it connects to; 0: the agent's
 */
struct vgpu_guest_name {
	uint32_t cid;
	uint32_t port;
};

#define VGPU_NVIDIA_ALL	(-1)

/**
 * struct vgpu_export_request - an export to be made
 * @path: of the device file, absolute, up to 63 bytes
 * @name: of the export; NULL: the last part of the path
 * @nvidia: @path and @name are NULL: all device files of a card of NVIDIA's driver are
 *	exported, by their usual names
 * @card: with @nvidia: its number, that of /dev/nvidiaN; VGPU_NVIDIA_ALL: all that there are
 * @cid: the guest
 * @port: the vsock port that the guest connects to; 0: the agent's
 * @others: further guests, on the same terms
 * @nr_others: how many
 * @any_port: the guest need not come from a port below 1024; for bridges that
 *	hide ports. Any user of such a guest can pose as its kernel
 * @master: the guest may become DRM master
 * @no_demand: the driver never waits for pages of a program's memory
 * @read_only: the guest may open the device for reading only
 */
struct vgpu_export_request {
	const char *path;
	const char *name;
	bool nvidia;
	int card;
	uint32_t cid;
	uint32_t port;
	const struct vgpu_guest_name *others;
	size_t nr_others;
	bool any_port;
	bool master;
	bool no_demand;
	bool read_only;
};

/**
 * vgpu_agent_export - let a guest use a device file
 * @agent: the agent
 * @request: what to export
 * @name: receives the export's name; may be NULL
 *
 * Lasts until it is taken back or the agent ends. An export that is there
 * already, on the same terms, gets one more guest.
 *
 * Return: 0, -ENOENT (no such file), -ENOTTY (no character device), -EXDEV (a
 * device of vgpu itself), -EEXIST (the name means something else), -EADDRINUSE
 * (somebody else listens on the port), -EINVAL, -EPERM (only root may).
 */
int vgpu_agent_export(struct vgpu_agent *agent, const struct vgpu_export_request *request,
		      char name[32]);

/**
 * vgpu_agent_unexport - take an export back
 * @agent: the agent
 * @name: of the export
 * @cid: from this guest alone; 0: from all
 * @port: with @cid; 0: the agent's
 * @force: even if the guest runs programs; what they have open stays so
 *
 * Return: 0, -ENOENT (no such export or guest), -EBUSY (in use), -EPERM.
 */
int vgpu_agent_unexport(struct vgpu_agent *agent, const char *name, uint32_t cid,
			uint32_t port, bool force);

/**
 * vgpu_agent_unexport_nvidia - take a card of NVIDIA's driver back
 * @agent: the agent
 * @card: its number, or VGPU_NVIDIA_ALL
 * @cid: as for vgpu_agent_unexport()
 * @port: likewise
 * @force: likewise
 *
 * What other cards of a guest need stays exported to it.
 *
 * Return: as vgpu_agent_unexport().
 */
int vgpu_agent_unexport_nvidia(struct vgpu_agent *agent, int card, uint32_t cid, uint32_t port,
			       bool force);

/**
 * struct vgpu_unexport_request - what is to be taken back
 * @name: of the export; NULL with @nvidia
 * @nvidia: what a card of NVIDIA's driver needs is taken back
 * @card: with @nvidia: its number, or VGPU_NVIDIA_ALL
 * @guests: from these alone
 * @nr_guests: how many; 0: from all
 * @force: even if a guest runs programs; what they have open stays so
 */
struct vgpu_unexport_request {
	const char *name;
	bool nvidia;
	int card;
	const struct vgpu_guest_name *guests;
	size_t nr_guests;
	bool force;
};

/**
 * vgpu_agent_unexport_from - take back from several guests at once
 * @agent: the agent
 * @request: what, and from whom
 *
 * It is taken back from all of these guests, or from none.
 *
 * Return: as vgpu_agent_unexport().
 */
int vgpu_agent_unexport_from(struct vgpu_agent *agent, const struct vgpu_unexport_request *request);

/**
 * vgpu_agent_reload - have the agent read its files of exports again
 * @agent: the agent
 * @changes: receives what was changed, each in a line; free() it
 *
 * All files are looked through first, and nothing is changed if one has a mistake.
 *
 * Return: 0; -EPERM (only root may), -EBADMSG (there are mistakes, of which each is a line of
 * the message), -EIO (not all could be done; likewise), -EPROTO, -ECONNRESET.
 */
int vgpu_agent_reload(struct vgpu_agent *agent, char **changes);

/**
 * vgpu_agent_diff - what vgpu_agent_reload() would change
 * @agent: the agent
 * @changes: receives it, each in a line; free() it
 *
 * Return: as vgpu_agent_reload().
 */
int vgpu_agent_diff(struct vgpu_agent *agent, char **changes);

/**
 * struct vgpu_window_request - a window to be made
 * @cid: the guest
 * @port: the vsock port that the guest connects to; 0: the agent's
 * @size: bytes, a power of two; costs no memory
 * @owner: name of the user whose hypervisor opens it; NULL: libvirt's, or root
 */
struct vgpu_window_request {
	uint32_t cid;
	uint32_t port;
	uint64_t size;
	const char *owner;
};

/**
 * vgpu_agent_window_create - make the window of a guest
 * @agent: the agent
 * @request: which
 * @path: receives the path of its device file, for the hypervisor
 *
 * Device mappings of a guest that has one cost no copies. Lasts until it is destroyed
 * or the host module is unloaded.
 *
 * Return: 0, -EEXIST (the guest has one), -ENOENT (no such user), -EINVAL, -EPERM.
 */
int vgpu_agent_window_create(struct vgpu_agent *agent, const struct vgpu_window_request *request,
			     char path[48]);

/**
 * vgpu_agent_window_drain - keep a window empty, or use it again
 * @agent: the agent
 * @cid: the guest
 * @port: 0: the agent's
 * @drain: the guest moves its mappings out, while programs use them; else back
 *
 * Returns at once; vgpu_agent_status() says what is in it.
 *
 * Return: 0, -ENOENT (it has none), -EPERM.
 */
int vgpu_agent_window_drain(struct vgpu_agent *agent, uint32_t cid, uint32_t port, bool drain);

/**
 * vgpu_agent_window_destroy - take a guest's window away
 * @agent: the agent
 * @cid: the guest
 * @port: 0: the agent's
 * @force: even if programs have memory in it, which then goes by copy, or a file asks for
 *	the window, which is made anew
 *
 * Return: 0, -ENOENT (it has none), -EBUSY (in use), -EPERM.
 */
int vgpu_agent_window_destroy(struct vgpu_agent *agent, uint32_t cid, uint32_t port, bool force);

/**
 * struct vgpu_window_status - a window
 * @path: its device file
 * @memory_path: socket by which the hypervisor tells where the guest's memory is; "": none
 * @cid: whose it is
 * @port: the port by which that comes
 * @owner: user who may open the device file
 * @automatic: it was made because a file asks for it
 * @size: bytes
 * @bound_bytes: of mappings in it, now
 * @bindings: mappings in it, now
 * @opens: how often its device file is open
 * @drain: it is to be empty
 * @faults: pages that hypervisors asked for
 * @resolved: pages that drivers were asked for
 * @dummies: faults that got a page without meaning
 * @failures: those for a page of a mapping
 * @timeouts: drivers that did not answer in time
 * @zaps: changes of drivers' mappings
 * @slots: parts of it through which messages go, now
 * @arena_bytes: of messages that went through it
 * @huge: 2 MiB that were mapped as one
 * @memory_huge: the guest's memory is in hugetlbfs, all of it, so that guests that connect from now
 *	on are not told that devices can keep it
 * @hypervisor: process ID of who has connected to the window's socket, or @memory_path; 0: nobody
 */
struct vgpu_window_status {
	char *path;
	char *memory_path;
	uint32_t cid;
	uint32_t port;
	char *owner;
	bool automatic;
	uint64_t size;
	uint64_t bound_bytes;
	uint64_t bindings;
	uint64_t opens;
	bool drain;
	uint64_t faults;
	uint64_t resolved;
	uint64_t dummies;
	uint64_t failures;
	uint64_t timeouts;
	uint64_t zaps;
	uint64_t slots;
	uint64_t arena_bytes;
	uint64_t huge;
	bool memory_huge;
	uint32_t hypervisor;
};

/**
 * struct vgpu_grant_info - a guest that may use an export
 * @cid: the guest
 * @port: the port that it connects to
 * @any_port: see struct vgpu_export_request
 * @read_only: likewise
 * @connected: it is there
 */
struct vgpu_grant_info {
	uint32_t cid;
	uint32_t port;
	bool any_port;
	bool read_only;
	bool connected;
};

/**
 * struct vgpu_export_info - an export
 * @name: its name
 * @path: of its device file
 * @driver: of the device; "" while the device is absent
 * @kind: "plain", "drm-card", "drm-render", "v4l2", "alsa", "media", "nvidia"; "" while the device is absent
 * @bus: which device of which bus it belongs to: "pci 0000:01:00.0 10de:1b80",
 *	"platform vkms"; "" if to none, or while it is absent
 * @ready: the device is there
 * @master: see struct vgpu_export_request
 * @no_demand: likewise
 * @origin: file that asks for it; "" if vgpu_agent_export() did
 * @grants: who may use it
 * @nr_grants: how many
 */
struct vgpu_export_info {
	char *name;
	char *path;
	char *driver;
	char *kind;
	char *bus;
	bool ready;
	bool master;
	bool no_demand;
	char *origin;
	struct vgpu_grant_info *grants;
	size_t nr_grants;
};

/**
 * struct vgpu_program_info - a program of a guest that uses a device
 * @guest_pid: in the guest, as the guest says
 * @comm: its name, as the guest says
 * @shadow_pid: the process that stands for it on the host
 */
struct vgpu_program_info {
	uint32_t guest_pid;
	char *comm;
	uint32_t shadow_pid;
};

/**
 * struct vgpu_counters - since the guest connected, or now
 * @sessions: programs that use devices, now
 * @lanes: now
 * @objects: open files, now
 * @mappings: device mappings, now
 * @kept_bytes: of the guest's own memory, which devices may use, now
 * @owned_bytes: of devices' memory, which a user-space engine owns because a window shows it, or may
 *	still, now
 * @calls: file operations that were forwarded
 * @round_trips: calls, page fetches and write-backs
 * @bytes_in: from the guest
 * @bytes_out: to the guest
 * @fetched_pages: pages of programs that drivers asked for
 * @written_pages: pages with bytes that drivers wrote
 * @fetch_timeouts: fetches that the guest did not answer in time
 * @patience_ms: for how long drivers may wait for it, now; 0: they do not
 * @spent: how often it has used all of that up, by earlier connections, too
 * @cut_off: lately so often that it gets no more for some minutes
 * @refused: calls refused by limits and policy
 * @malformed: messages for which a connection was closed
 * @stray_fds: files that a driver made and nobody described
 * @cancels: calls interrupted by the guest
 */
struct vgpu_counters {
	uint64_t sessions;
	uint64_t lanes;
	uint64_t objects;
	uint64_t mappings;
	uint64_t kept_bytes;
	uint64_t owned_bytes;
	uint64_t calls;
	uint64_t round_trips;
	uint64_t bytes_in;
	uint64_t bytes_out;
	uint64_t fetched_pages;
	uint64_t written_pages;
	uint64_t fetch_timeouts;
	uint64_t patience_ms;
	uint64_t spent;
	bool cut_off;
	uint64_t refused;
	uint64_t malformed;
	uint64_t stray_fds;
	uint64_t cancels;
};

/**
 * struct vgpu_guest_info - a guest that is connected
 * @cid: who
 * @port: the port by which it came
 * @connected: false: its connection is being ended
 * @uid: user that its programs' shadows run as
 * @since: when it came, seconds of CLOCK_REALTIME
 * @programs: its programs that use devices, for root
 * @programs_hidden: this user is not told of them
 * @nr_programs: how many
 * @counters: what it did; 0 if not @connected
 */
struct vgpu_guest_info {
	uint32_t cid;
	uint32_t port;
	bool connected;
	uint32_t uid;
	uint64_t since;
	struct vgpu_program_info *programs;
	size_t nr_programs;
	bool programs_hidden;
	struct vgpu_counters counters;
};

/**
 * struct vgpu_host_info - a host, as its agent tells it
 * @version: of the agent
 * @pid: of the agent
 * @port: its vsock port
 * @exports: what it exports
 * @nr_exports: how many
 * @guests: who is connected
 * @nr_guests: how many
 * @windows: windows of guests
 * @nr_windows: how many
 * @user_engine: no module of the host's kernel serves the guests, but processes
 * @scratch_keys: protection keys keep drivers from what a shadow has in memory for itself and
 *	for other calls; false: the processor has none, and only addresses that are random do
 * @cgroups: each guest's processes on the host have a control group of their own
 */
struct vgpu_host_info {
	char *version;
	uint32_t pid;
	uint32_t port;
	struct vgpu_export_info *exports;
	size_t nr_exports;
	struct vgpu_guest_info *guests;
	size_t nr_guests;
	struct vgpu_window_status *windows;
	size_t nr_windows;
	bool user_engine;
	bool scratch_keys;
	bool cgroups;
};

/**
 * vgpu_agent_status - what the host exports, and to whom
 * @agent: the agent
 * @info: receives it; vgpu_host_info_free() it
 *
 * Return: 0, -EPROTO (not an answer), -ECONNRESET (the agent ended), -ENOMEM.
 */
int vgpu_agent_status(struct vgpu_agent *agent, struct vgpu_host_info **info);

void vgpu_host_info_free(struct vgpu_host_info *info);

/* --- guest: the kernel ---------------------------------------------------- */

/**
 * struct vgpu_unknown_ioctl - an ioctl that no schema of the guest describes
 * @cmd: its command
 * @class_of: class of NVIDIA's driver that the schema of the ioctl does not know; 0: that is not
 *	what is unknown
 * @command_of: command of that driver, inside of the ioctl, with pointers that the schema does not
 *	know; 0: likewise. Both 0: the ioctl has no schema
 * @calls: how often programs made it
 */
struct vgpu_unknown_ioctl {
	uint32_t cmd;
	uint32_t class_of;
	uint32_t command_of;
	uint64_t calls;
};

/**
 * struct vgpu_node_info - a forwarded device
 * @node: "/dev/vgpu0" and so on
 * @drm_node: "/dev/dri/renderD128" and so on; "" if it is no DRM device
 * @class_node: "/dev/video0", "/dev/snd/controlC0", "/dev/media0", "/dev/nvidia0" and so on; ""
 *	if it has no such node
 * @name: what the host calls it
 * @host: which host: "CID:PORT"
 * @path: the device file there
 * @driver: the driver there
 * @bus: the device there that it belongs to: "pci 0000:01:00.0"; "" if to none
 * @state: "connected" or why it is not
 * @calls: see struct vgpu_counters, for this node alone
 * @round_trips: likewise
 * @bytes_in: received
 * @bytes_out: sent
 * @fetched_pages: likewise
 * @window_mappings: mappings in the host's window, now
 * @copy_mappings: mappings by copy, now
 * @unknown: ioctls that no schema describes, by their commands
 * @nr_unknown: length of @unknown
 * @unknown_others: calls of those for which there was no room
 */
struct vgpu_node_info {
	char *node;
	char *drm_node;
	char *class_node;
	char *name;
	char *host;
	char *path;
	char *driver;
	char *bus;
	char *state;
	uint64_t calls;
	uint64_t round_trips;
	uint64_t bytes_in;
	uint64_t bytes_out;
	uint64_t fetched_pages;
	uint64_t window_mappings;
	uint64_t copy_mappings;
	struct vgpu_unknown_ioctl *unknown;
	size_t nr_unknown;
	uint64_t unknown_others;
};

/**
 * vgpu_nodes - the forwarded devices of this guest
 * @nodes: receives an array; vgpu_nodes_free() it
 * @nr: its length
 *
 * Return: 0, -ENOENT (the guest module is not loaded), -ENOMEM.
 */
int vgpu_nodes(struct vgpu_node_info **nodes, size_t *nr);

void vgpu_nodes_free(struct vgpu_node_info *nodes, size_t nr);

/**
 * struct vgpu_reach_info - a host that this guest is to connect to
 * @host: which: "CID:PORT"
 * @state: "connecting", "connected", "no host", "refused", "wrong version", "nothing exported"
 * @error: errno with which the last attempt ended; 0: none has, or it is connected
 */
struct vgpu_reach_info {
	char *host;
	char *state;
	int error;
};

/**
 * vgpu_reach - how far this guest has come with each of its hosts
 * @hosts: receives an array; vgpu_reach_free() it
 * @nr: its length
 *
 * Return: 0, -ENOENT (the guest module is not loaded), -ENOMEM.
 */
int vgpu_reach(struct vgpu_reach_info **hosts, size_t *nr);

void vgpu_reach_free(struct vgpu_reach_info *hosts, size_t nr);

#ifdef __cplusplus
}
#endif

#endif /* VGPU_H */
