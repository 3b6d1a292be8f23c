/* SPDX-License-Identifier: MIT */
/*
 * libvgpu asks the host's agent and the guest's kernel about forwarded devices, and tells the
 * agent what to export.
 *
 * Functions that can fail return 0 or a negative errno. Only one thread at a time may use a
 * connection to the agent.
 *
 * Later versions of the library may add members at the end of a struct that begins with
 * @struct_size. Nothing else of these structs changes as long as the library is libvgpu.so.0.
 *
 * A struct that a program fills in has @struct_size = sizeof(struct ...), and 0 in members that the
 * program does not know. A library that does not know a member fails with -E2BIG, unless the
 * member is 0.
 *
 * A struct that the library fills in has as @struct_size the number of bytes that the library knows.
 * A program that was built with a later version asks VGPU_HAS() before it reads a new member. The
 * library makes these structs; a program that copies one copies what the program knows of it.
 */
#ifndef VGPU_H
#define VGPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* True if the library has filled in this member of the struct that @info points to. */
#define VGPU_HAS(info, member) \
	((info)->struct_size >= \
	 (size_t)((const char *)(&(info)->member + 1) - (const char *)(info)))

#define VGPU_AGENT_SOCKET	"/run/vgpu/vgpud.sock"

/* --- host: the agent ------------------------------------------------------ */

struct vgpu_agent;

/**
 * vgpu_agent_open - connect to the host's agent
 * @path: path of the agent's control socket; NULL: VGPU_AGENT_SOCKET
 * @agent: filled in: the connection
 *
 * Return: 0, -ENOENT or -ECONNREFUSED (no agent runs), -EACCES, -EAGAIN (the agent has too many
 * clients), -ENAMETOOLONG, -ENOMEM.
 */
int vgpu_agent_open(const char *path, struct vgpu_agent **agent);

/* Close a connection. @agent may be NULL. */
void vgpu_agent_close(struct vgpu_agent *agent);

/* Return the reason in words why the last function failed; "" if it succeeded. */
const char *vgpu_agent_message(const struct vgpu_agent *agent);

/**
 * struct vgpu_guest_name - numbers that name a guest
 * @cid: vsock context ID of the guest
 * @port: vsock port of the agent by which the guest connects; 0: the default port
 */
struct vgpu_guest_name {
	uint32_t cid;
	uint32_t port;
};

/**
 * vgpu_agent_find_guest - find a guest by the name that the agent's settings give it
 * @agent: connection to the agent
 * @name: NAME of the guest's section [guest NAME]
 * @guest: filled in: CID and port of the guest
 *
 * Return: 0, -ENOENT (no guest has this name), -EPERM (the user may not ask that), -EPROTO,
 * -ECONNRESET.
 */
int vgpu_agent_find_guest(struct vgpu_agent *agent, const char *name,
			  struct vgpu_guest_name *guest);

#define VGPU_NVIDIA_ALL	(-1)

/**
 * struct vgpu_export_request - an export to be made
 * @struct_size: sizeof(struct vgpu_export_request)
 * @path: path of the device file, absolute, up to 63 bytes
 * @name: name of the export; NULL: the last part of the path
 * @nvidia: true to export all device files of a card of NVIDIA's driver by their usual names;
 *	@path and @name are NULL then
 * @card: number N of the card's /dev/nvidiaN, with @nvidia; VGPU_NVIDIA_ALL: all cards
 * @cid: vsock context ID of the guest
 * @port: vsock port of the agent by which the guest connects; 0: the default port
 * @others: further guests, on the same terms
 * @nr_others: number of entries of @others
 * @any_port: true if the guest may connect from a port of 1024 and more, for bridges that hide
 *	ports. Any user of such a guest can pose as its kernel
 * @master: true if the guest may become DRM master
 * @no_demand: true if the driver never waits for pages of a program's memory
 * @read_only: true if the guest may open the device for reading only, and make only ioctls that
 *	query it
 * @profile: names of the profiles whose ioctls the guest may make, separated by commas: "render",
 *	"display", "compute"; or "all"; NULL: "all"
 * @audit: true if ioctls that @profile does not have are let through, counted and logged
 */
struct vgpu_export_request {
	size_t struct_size;
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
	const char *profile;
	bool audit;
};

/**
 * vgpu_agent_export - let a guest use a device file
 * @agent: connection to the agent
 * @request: description of the export
 * @name: filled in: name of the export; may be NULL
 *
 * The export lasts until it is taken back or the agent ends. If the export exists on the same
 * terms, the guest is added to it.
 *
 * Return: 0, -ENOENT (no such file), -ENOTTY (no character device), -EXDEV (a device of vgpu
 * itself), -EOPNOTSUPP (the ioctls of the driver are not known, so it has no profiles), -EEXIST
 * (the name means something else), -EADDRINUSE (another process listens on the port), -EINVAL,
 * -EPERM (the user may not export).
 */
int vgpu_agent_export(struct vgpu_agent *agent, const struct vgpu_export_request *request,
		      char name[32]);

/**
 * vgpu_agent_unexport - take an export back
 * @agent: connection to the agent
 * @name: name of the export
 * @cid: guest that loses the export; 0: all guests
 * @port: vsock port of that guest, with @cid; 0: the default port
 * @force: true to take the export back even if the guest runs programs; files that they have
 *	open stay open
 *
 * Return: 0, -ENOENT (no such export or guest), -EBUSY (in use), -EPERM.
 */
int vgpu_agent_unexport(struct vgpu_agent *agent, const char *name, uint32_t cid,
			uint32_t port, bool force);

/**
 * vgpu_agent_unexport_nvidia - take a card of NVIDIA's driver back
 * @agent: connection to the agent
 * @card: number of the card, or VGPU_NVIDIA_ALL
 * @cid: see vgpu_agent_unexport()
 * @port: see vgpu_agent_unexport()
 * @force: see vgpu_agent_unexport()
 *
 * Files that other cards of a guest need stay exported to the guest.
 *
 * Return: as vgpu_agent_unexport().
 */
int vgpu_agent_unexport_nvidia(struct vgpu_agent *agent, int card, uint32_t cid, uint32_t port,
			       bool force);

/**
 * struct vgpu_unexport_request - an export that is to be taken back
 * @struct_size: sizeof(struct vgpu_unexport_request)
 * @name: name of the export; NULL with @nvidia
 * @nvidia: true to take back all files that a card of NVIDIA's driver needs
 * @card: number of the card, with @nvidia; or VGPU_NVIDIA_ALL
 * @guests: guests that lose the export
 * @nr_guests: number of entries of @guests; 0: all guests lose the export
 * @force: true to take the export back even if a guest runs programs; files that they have
 *	open stay open
 * @now: true to close the files as well that programs have open. Programs that have used one lose
 *	all files of devices of this host
 */
struct vgpu_unexport_request {
	size_t struct_size;
	const char *name;
	bool nvidia;
	int card;
	const struct vgpu_guest_name *guests;
	size_t nr_guests;
	bool force;
	bool now;
};

/**
 * vgpu_agent_unexport_from - take an export back from several guests at once
 * @agent: connection to the agent
 * @request: the export and the guests
 *
 * Either all of these guests lose the export, or none.
 *
 * Return: as vgpu_agent_unexport().
 */
int vgpu_agent_unexport_from(struct vgpu_agent *agent, const struct vgpu_unexport_request *request);

/**
 * vgpu_agent_reload - have the agent read its files of guests and of exports again
 * @agent: connection to the agent
 * @changes: filled in: description of the changes, one a line; to be freed by free()
 *
 * All files are checked first, and nothing is changed if one has a mistake.
 *
 * Return: 0; -EPERM (the user may not reload); -EBADMSG (there are mistakes, each of which is a
 * line of the message); -EIO (some changes failed, each of which is a line of the message);
 * -EPROTO; -ECONNRESET.
 */
int vgpu_agent_reload(struct vgpu_agent *agent, char **changes);

/**
 * vgpu_agent_diff - describe what vgpu_agent_reload() would change
 * @agent: connection to the agent
 * @changes: filled in: description of the changes, one a line; to be freed by free()
 *
 * Return: as vgpu_agent_reload().
 */
int vgpu_agent_diff(struct vgpu_agent *agent, char **changes);

/**
 * struct vgpu_limit_info - a limit of a guest
 * @struct_size: number of bytes that the library has filled in
 * @name: name of the limit, as in the settings of the agent
 * @limit: value of the limit
 * @use: amount that the guest uses now; for lanes, pages and mappings that of the program that uses
 *	most
 * @most: largest @use since the guest connected
 * @used: true if the use is counted, so that @use and @most have a meaning
 * @bytes: true if the limit counts bytes
 * @origin: origin of the value: "default", "file" or "vgpuctl"
 */
struct vgpu_limit_info {
	size_t struct_size;
	char name[24];
	uint64_t limit;
	uint64_t use;
	uint64_t most;
	bool used;
	bool bytes;
	char origin[16];
};

/**
 * struct vgpu_limits_info - limits of a guest
 * @struct_size: number of bytes that the library has filled in
 * @name: name of the guest; "": it has none
 * @cid: vsock context ID of the guest
 * @port: vsock port of the agent by which the guest connects
 * @connected: true if the guest is connected; if not, nothing is used
 * @delayed: number of calls that had to wait for a rate since the guest connected
 * @limits: array of pointers to the limits
 * @nr_limits: number of entries of @limits
 * @queued: number of calls that had to wait while a device worked for other guests
 * @device_ns: time of devices in nanoseconds that the guest was charged
 */
struct vgpu_limits_info {
	size_t struct_size;
	char name[32];
	uint32_t cid;
	uint32_t port;
	bool connected;
	uint64_t delayed;
	struct vgpu_limit_info **limits;
	size_t nr_limits;
	uint64_t queued;
	uint64_t device_ns;
};

/**
 * vgpu_agent_limits - get the limits of a guest
 * @agent: connection to the agent
 * @name: name of the guest; NULL: @guest says which
 * @guest: numbers of the guest; the agent need not know them
 * @info: filled in: the limits, to be freed by vgpu_limits_info_free()
 *
 * Return: 0, -ENOENT (no guest has this name), -EPERM (the user may not ask that), -ENOMEM.
 */
int vgpu_agent_limits(struct vgpu_agent *agent, const char *name,
		      const struct vgpu_guest_name *guest, struct vgpu_limits_info **info);

void vgpu_limits_info_free(struct vgpu_limits_info *info);

/**
 * struct vgpu_limit_change - a limit that is to be changed
 * @name: name of the limit
 * @value: value as in the settings; "": the limit follows the settings again
 */
struct vgpu_limit_change {
	const char *name;
	const char *value;
};

/**
 * struct vgpu_limit_request - limits of a guest that are to be changed
 * @struct_size: sizeof(struct vgpu_limit_request)
 * @name: name of the guest; NULL: @guest says which
 * @guest: numbers of the guest
 * @changes: array of the limits
 * @nr_changes: number of entries of @changes
 * @save: true to write the limits to a file, so that they last; only for a guest with a name
 */
struct vgpu_limit_request {
	size_t struct_size;
	const char *name;
	struct vgpu_guest_name guest;
	const struct vgpu_limit_change *changes;
	size_t nr_changes;
	bool save;
};

/**
 * vgpu_agent_evict - end the connection of a guest, and all that its programs have open
 * @agent: connection to the agent
 * @name: name of the guest in the agent's settings; NULL: @guest says which one
 * @guest: the guest, if @name is NULL
 * @force: true: also if programs of the guest use devices, which they lose
 *
 * What is exported to the guest stays exported, so the guest may connect again.
 *
 * Return: 0, -ENOENT (no such guest, or it is not connected), -EBUSY (programs use devices), -EPERM.
 */
int vgpu_agent_evict(struct vgpu_agent *agent, const char *name,
		     const struct vgpu_guest_name *guest, bool force);

/**
 * vgpu_agent_limit - change limits of a guest
 * @agent: connection to the agent
 * @request: the limits
 * @notes: filled in: which limits do not apply to the guest at once, one a line; to be freed by
 *	free()
 *
 * A guest that is connected has the new limits at once. It keeps what it has beyond them, and gets
 * no more. Either all of the limits are changed, or none.
 *
 * Return: 0, -ENOENT (no guest has this name), -EINVAL (no such limit, or a wrong value), -EPERM,
 * -ENOMEM, or another errno if the limits cannot be saved.
 */
int vgpu_agent_limit(struct vgpu_agent *agent, const struct vgpu_limit_request *request,
		     char **notes);

/**
 * struct vgpu_window_request - a window to be made
 * @struct_size: sizeof(struct vgpu_window_request)
 * @cid: vsock context ID of the guest
 * @port: vsock port of the agent by which the guest connects; 0: the default port
 * @size: size in bytes, a power of two; costs no memory
 * @owner: name of the user whose hypervisor opens the window; NULL: libvirt's user, or root
 */
struct vgpu_window_request {
	size_t struct_size;
	uint32_t cid;
	uint32_t port;
	uint64_t size;
	const char *owner;
};

/**
 * vgpu_agent_window_create - make the window of a guest
 * @agent: connection to the agent
 * @request: description of the window
 * @path: filled in: path of the window's device file or socket, for the hypervisor
 *
 * A guest with a window accesses device mappings without copies. The window lasts until it is
 * destroyed, or the host module is unloaded.
 *
 * Return: 0, -EEXIST (the guest has a window), -ENOENT (no such user), -EINVAL, -EPERM.
 */
int vgpu_agent_window_create(struct vgpu_agent *agent, const struct vgpu_window_request *request,
			     char path[48]);

/**
 * vgpu_agent_window_drain - keep a window empty, or use it again
 * @agent: connection to the agent
 * @cid: vsock context ID of the guest
 * @port: vsock port of the agent by which the guest connects; 0: the default port
 * @drain: true: the guest moves its mappings out while programs use them; false: it may move
 *	them back
 *
 * The function does not wait: vgpu_agent_status() reports what the window still holds.
 *
 * Return: 0, -ENOENT (the guest has no window), -EOPNOTSUPP (user-space engines serve the guests),
 * -EPERM.
 */
int vgpu_agent_window_drain(struct vgpu_agent *agent, uint32_t cid, uint32_t port, bool drain);

/**
 * vgpu_agent_window_destroy - take a guest's window away
 * @agent: connection to the agent
 * @cid: vsock context ID of the guest
 * @port: vsock port of the agent by which the guest connects; 0: the default port
 * @force: true to destroy the window even if programs have mappings in it, which then are in copy
 *	mode, or if a file asks for the window, which then is made anew
 *
 * Return: 0, -ENOENT (the guest has no window), -EBUSY (in use), -EPERM.
 */
int vgpu_agent_window_destroy(struct vgpu_agent *agent, uint32_t cid, uint32_t port, bool force);

/**
 * struct vgpu_window_status - a window
 * @struct_size: number of bytes that the library has filled in
 * @path: path of the window's device file or socket
 * @memory_path: path of the socket by which the hypervisor reports where the guest's memory is;
 *	"": none
 * @cid: vsock context ID of the guest
 * @port: vsock port of the agent by which the guest connects
 * @owner: user who may open the window
 * @automatic: true if the window was made because a file asks for it
 * @size: size in bytes
 * @bound_bytes: bytes of the mappings that the window holds now
 * @bindings: number of the mappings that the window holds now
 * @opens: number of open files of the window
 * @drain: true if the window is to be kept empty
 * @faults: number of faults of hypervisors
 * @resolved: number of times that a driver was asked for a page of a mapping, with or without
 *	success; pages around it that the driver gives at the same time do not count
 * @dummies: number of faults that were served with a page without meaning
 * @failures: number of these faults on a page that belongs to a mapping
 * @timeouts: number of times that a driver did not answer in time
 * @zaps: number of times that a driver took pages of a mapping away
 * @huge: number of PMD mappings (2 MiB) that were made
 * @memory_huge: true if all memory of the guest is in hugetlbfs, so that devices cannot keep
 *	memory of guests that connect from now on
 * @hypervisor: process ID of the hypervisor that is connected to the window's socket or
 *	@memory_path; 0: none
 */
struct vgpu_window_status {
	size_t struct_size;
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
	uint64_t huge;
	bool memory_huge;
	uint32_t hypervisor;
};

/**
 * struct vgpu_denial_info - an ioctl that the terms of an export deny
 * @struct_size: number of bytes that the library has filled in
 * @ioctl: name of the ioctl, or its number; a number behind the name is that of the request in its
 *	argument, for NVIDIA's driver; "others": all ioctls for which the table has no room
 * @denied: number of times that it failed
 * @audited: number of times that it was let through, see @audit of struct vgpu_export_request
 */
struct vgpu_denial_info {
	size_t struct_size;
	char *ioctl;
	uint64_t denied;
	uint64_t audited;
};

/**
 * struct vgpu_grant_info - a guest that may use an export
 * @struct_size: number of bytes that the library has filled in
 * @cid: vsock context ID of the guest
 * @port: vsock port of the agent by which the guest connects
 * @any_port: see struct vgpu_export_request
 * @read_only: see struct vgpu_export_request
 * @connected: true if the guest is connected
 * @denials: array of pointers to the ioctls that were denied to the guest, or let through by an
 *	audit, since it connected, or got the export if that was later
 * @nr_denials: number of entries of @denials
 * @name: name of the guest; "": it has none
 */
struct vgpu_grant_info {
	size_t struct_size;
	uint32_t cid;
	uint32_t port;
	bool any_port;
	bool read_only;
	bool connected;
	struct vgpu_denial_info **denials;
	size_t nr_denials;
	char name[32];
};

/**
 * struct vgpu_export_info - an export
 * @struct_size: number of bytes that the library has filled in
 * @name: name of the export
 * @path: path of the device file
 * @driver: name of the device's driver; "" while the device is absent
 * @kind: "plain", "drm-card", "drm-render", "v4l2", "alsa", "media" or "nvidia"; "" while the
 *	device is absent
 * @bus: device on a bus that the device file belongs to: "pci 0000:01:00.0 10de:1b80",
 *	"platform vkms"; "" if there is none, or while the device is absent
 * @ready: true if the device exists
 * @master: see struct vgpu_export_request
 * @no_demand: see struct vgpu_export_request
 * @audit: see struct vgpu_export_request
 * @profile: see struct vgpu_export_request; "" if none was asked for
 * @origin: file that asks for the export; "" if vgpu_agent_export() made it
 * @grants: array of pointers to the guests that may use the export
 * @nr_grants: number of entries of @grants
 */
struct vgpu_export_info {
	size_t struct_size;
	char *name;
	char *path;
	char *driver;
	char *kind;
	char *bus;
	bool ready;
	bool master;
	bool no_demand;
	bool audit;
	char *profile;
	char *origin;
	struct vgpu_grant_info **grants;
	size_t nr_grants;
};

/**
 * struct vgpu_program_info - a program of a guest that uses a device
 * @struct_size: number of bytes that the library has filled in
 * @guest_pid: process ID in the guest, as the guest says
 * @comm: name of the program, as the guest says
 * @shadow_pid: process ID of the program's shadow on the host
 */
struct vgpu_program_info {
	size_t struct_size;
	uint32_t guest_pid;
	char *comm;
	uint32_t shadow_pid;
};

/**
 * struct vgpu_counters - counters of a guest, since it connected or at the moment ("now")
 * @sessions: number of programs that use devices, now
 * @lanes: number of lanes, now
 * @objects: number of open files, now
 * @mappings: number of device mappings, now
 * @kept_bytes: bytes of the guest's own memory that devices may use, now
 * @owned_bytes: bytes of device memory that a user-space engine owns, because a window shows it
 *	or may still show it, now
 * @calls: number of file operations that were forwarded
 * @round_trips: number of calls, page fetches and write-backs
 * @bytes_in: bytes received from the guest
 * @bytes_out: bytes sent to the guest
 * @fetched_pages: number of pages of programs that drivers asked for
 * @written_pages: number of pages with bytes that drivers wrote
 * @fetch_timeouts: number of pages that the guest did not send in time
 * @patience_ms: time for which drivers may still wait for the guest in milliseconds, now; 0:
 *	none
 * @spent: number of times that the guest has used this time up, earlier connections included
 * @cut_off: true if this happened so often lately that drivers do not wait for the guest for some
 *	minutes
 * @refused: number of calls refused by limits and policy
 * @malformed: number of messages for which a connection was closed
 * @stray_fds: number of files that a driver made and no schema describes
 * @cancels: number of calls that the guest interrupted
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
 * @struct_size: number of bytes that the library has filled in
 * @cid: vsock context ID of the guest
 * @port: vsock port of the agent by which the guest connected
 * @connected: true if the guest is connected; false while its connection is being ended
 * @uid: user ID of the guest's shadows
 * @since: time of the connection, CLOCK_REALTIME in seconds
 * @programs: array of pointers to the guest's programs that use devices, for those who may change
 *	exports
 * @programs_hidden: true if the agent does not name the programs to this user
 * @nr_programs: number of entries of @programs
 * @name: name of the guest; "": it has none
 * @reserved: room for later members; 0
 * @counters: counters of the guest; 0 if not @connected. Later versions may add counters at the end
 */
struct vgpu_guest_info {
	size_t struct_size;
	uint32_t cid;
	uint32_t port;
	bool connected;
	uint32_t uid;
	uint64_t since;
	struct vgpu_program_info **programs;
	size_t nr_programs;
	bool programs_hidden;
	char name[32];
	uint64_t reserved[8];
	struct vgpu_counters counters;
};

/**
 * struct vgpu_host_info - state of a host, as its agent reports it
 * @struct_size: number of bytes that the library has filled in
 * @version: version of the agent
 * @pid: process ID of the agent
 * @port: default vsock port of the agent
 * @exports: array of pointers to the exports
 * @nr_exports: number of entries of @exports
 * @guests: array of pointers to the guests
 * @nr_guests: number of entries of @guests
 * @windows: array of pointers to the windows of guests
 * @nr_windows: number of entries of @windows
 * @user_engine: true if processes serve the guests, false if the kernel module does
 * @scratch_keys: true if protection keys keep drivers from a shadow's own memory and that of
 *	other calls; false if the processor has none, and only random addresses do
 * @cgroups: true if the processes of each guest on the host have a control group of their own
 */
struct vgpu_host_info {
	size_t struct_size;
	char *version;
	uint32_t pid;
	uint32_t port;
	struct vgpu_export_info **exports;
	size_t nr_exports;
	struct vgpu_guest_info **guests;
	size_t nr_guests;
	struct vgpu_window_status **windows;
	size_t nr_windows;
	bool user_engine;
	bool scratch_keys;
	bool cgroups;
};

/**
 * vgpu_agent_status - get the exports, guests and windows of the host
 * @agent: connection to the agent
 * @info: filled in: the state, to be freed by vgpu_host_info_free()
 *
 * Return: 0, -EPROTO (the answer is malformed), -ECONNRESET (the agent ended), -ENOMEM.
 */
int vgpu_agent_status(struct vgpu_agent *agent, struct vgpu_host_info **info);

void vgpu_host_info_free(struct vgpu_host_info *info);

/* --- guest: the kernel ---------------------------------------------------- */

/**
 * struct vgpu_unknown_ioctl - an ioctl that no schema of the guest describes
 * @struct_size: number of bytes that the library has filled in
 * @cmd: command of the ioctl
 * @class_of: class of NVIDIA's driver that the ioctl's schema does not know; 0: none
 * @command_of: command of that driver, inside the ioctl, with pointers that the schema does not
 *	know; 0: none. If this and @class_of are 0, the ioctl has no schema
 * @calls: number of times that programs made the ioctl
 */
struct vgpu_unknown_ioctl {
	size_t struct_size;
	uint32_t cmd;
	uint32_t class_of;
	uint32_t command_of;
	uint64_t calls;
};

/**
 * struct vgpu_node_info - a forwarded device
 * @struct_size: number of bytes that the library has filled in
 * @node: path of the node, such as "/dev/vgpu0"
 * @drm_node: path of the DRM node, such as "/dev/dri/renderD128"; "" if it is no DRM device
 * @class_node: path of the node of another class, such as "/dev/video0", "/dev/snd/controlC0",
 *	"/dev/media0" or "/dev/nvidia0"; "" if there is none
 * @name: name of the export on the host
 * @host: host of the device, "CID:PORT"
 * @path: path of the device file on the host
 * @driver: driver of the device on the host
 * @bus: device of the host that the file belongs to, such as "pci 0000:01:00.0"; "" if none
 * @state: "connected", or the reason why it is not
 * @calls: see struct vgpu_counters, for this node alone
 * @round_trips: see struct vgpu_counters, for this node alone
 * @bytes_in: bytes received
 * @bytes_out: bytes sent
 * @fetched_pages: see struct vgpu_counters, for this node alone
 * @window_mappings: number of mappings in the host's window, now
 * @copy_mappings: number of mappings in copy mode, now
 * @unknown: array of pointers to ioctls that no schema describes
 * @nr_unknown: number of entries of @unknown
 * @unknown_others: number of calls of further ioctls for which the list had no room
 */
struct vgpu_node_info {
	size_t struct_size;
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
	struct vgpu_unknown_ioctl **unknown;
	size_t nr_unknown;
	uint64_t unknown_others;
};

/**
 * vgpu_nodes - get the forwarded devices of this guest
 * @nodes: filled in: an array of pointers, to be freed by vgpu_nodes_free()
 * @nr: filled in: number of entries of the array
 *
 * Return: 0, -ENOENT (the guest module is not loaded), -ENOMEM.
 */
int vgpu_nodes(struct vgpu_node_info ***nodes, size_t *nr);

void vgpu_nodes_free(struct vgpu_node_info **nodes, size_t nr);

/**
 * struct vgpu_reach_info - a host that this guest is to connect to
 * @struct_size: number of bytes that the library has filled in
 * @host: host, "CID:PORT"
 * @state: "connecting", "connected", "no host", "refused", "wrong version" or "nothing
 *	exported"
 * @error: errno of the last attempt to connect; 0: none failed, or the host is connected
 */
struct vgpu_reach_info {
	size_t struct_size;
	char *host;
	char *state;
	int error;
};

/**
 * vgpu_reach - get the state of this guest's connection to each of its hosts
 * @hosts: filled in: an array of pointers, to be freed by vgpu_reach_free()
 * @nr: filled in: number of entries of the array
 *
 * Return: 0, -ENOENT (the guest module is not loaded), -ENOMEM.
 */
int vgpu_reach(struct vgpu_reach_info ***hosts, size_t *nr);

void vgpu_reach_free(struct vgpu_reach_info **hosts, size_t nr);

#ifdef __cplusplus
}
#endif

#endif /* VGPU_H */
