/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The host's side of tests of a hostile guest. The tests ask vgpud for an export of their
 * own, on a port of their own, and for the state of the guest at that port.
 */
#ifndef HOSTILE_HOST_H
#define HOSTILE_HOST_H

#include <inttypes.h>
#include <sys/ioctl.h>

#include <vgpu.h>

#include "hostile_peer.h"
#include "tool.h"
#include "vgpu_mock.h"

#define LOOPBACK	1		/* CID */
#define PORT		22600
/* Time that a slow machine may add to the host's timeouts. */
#define SLACK_MS	20000
/* The host's time to wait for a guest, in ms: vgpud's setting, or the default (vgpud(8)). */
#define FETCH_MS	(getenv("VGPU_FETCH_MS") ? atoi(getenv("VGPU_FETCH_MS")) : 2000)

static const char *real_path, *fwd_path;

/* Skips a test unless the host is in the same machine and this program is root. */
#define NEEDS_HOST() do { \
	const char *tier = getenv("VGPU_TIER"); \
	real_path = getenv("VGPU_REAL"); \
	fwd_path = getenv("VGPU_FWD"); \
	if (!real_path || !fwd_path || !tier || \
	    (strcmp(tier, "loopback") && strcmp(tier, "user"))) \
		SKIP(return, "needs the host in the same machine: loopback or user"); \
	if (geteuid()) \
		SKIP(return, "needs root"); \
} while (0)

/* Skips a test if the host's engine is the user-space one, which has no windows. */
#define NEEDS_WINDOWS() do { \
	if (!strcmp(getenv("VGPU_TIER"), "user")) \
		SKIP(return, "needs the host module: a user-space engine has no windows"); \
} while (0)

/* Connects a guest, with one lane, and opens the device. */
#define HOST_BEGIN(peer, lane, object) do { \
	ASSERT_EQ(0, peer_open(peer, LOOPBACK, PORT)); \
	lane = peer_lane(peer, 1); \
	ASSERT_GE(lane, 0); \
	object = peer_open_device(peer, lane, 1); \
	ASSERT_NE(0, object); \
} while (0)

/* Exports the device @path to a guest; NULL: the mock. */
static inline int export_as(const char *name, const char *path, uint32_t cid, uint32_t port,
			    bool any_port)
{
	struct vgpu_export_request request = {
		.struct_size = sizeof(request),
		.path = path ?: real_path, .name = name, .cid = cid, .port = port,
		.any_port = any_port,
	};
	struct vgpu_agent *agent;
	int ret = vgpu_agent_open(NULL, &agent);

	if (!ret) {
		ret = vgpu_agent_export(agent, &request, NULL);
		vgpu_agent_close(agent);
	}
	return ret;
}

static inline int unexport(const char *name)
{
	struct vgpu_agent *agent;
	int ret = vgpu_agent_open(NULL, &agent);

	if (!ret) {
		ret = vgpu_agent_unexport(agent, name, 0, 0, true);
		vgpu_agent_close(agent);
	}
	return ret;
}

/* Returns the agent's data about the hostile guest; port 0: the agent knows no such guest. */
static inline struct vgpu_guest_info guest(void)
{
	struct vgpu_guest_info guest = { .port = UINT32_MAX };
	struct vgpu_host_info *info;
	struct vgpu_agent *agent;
	size_t i, nr = 0;

	if (vgpu_agent_open(NULL, &agent))
		return guest;
	if (!vgpu_agent_status(agent, &info)) {
		guest.port = 0;
		for (i = 0; i < info->nr_guests; i++) {
			if (info->guests[i]->port != PORT)
				continue;
			guest = *info->guests[i];
			nr += guest.nr_programs;
		}
		vgpu_host_info_free(info);
	}
	vgpu_agent_close(agent);
	/* The number includes programs of a connection that is just ending. */
	guest.nr_programs = nr;
	guest.programs = NULL;
	return guest;
}

/* Returns the number of shadows that run for the hostile guest. */
static inline int shadows(void)
{
	return guest().nr_programs;
}

static inline bool eventually(bool (*is_so)(void *data), void *data, int timeout_ms)
{
	uint64_t end = peer_now_ms() + timeout_ms;

	while (!is_so(data)) {
		if (peer_now_ms() > end)
			return false;
		usleep(20000);
	}
	return true;
}

/* Return: the stand-in for NVIDIA's driver was unloaded, as none of its files is open. */
static inline bool no_nvidia(void *unused)
{
	return !tool_run("rmmod vgpu_mock_nvidia 2>/dev/null")->status;
}

static inline bool no_guest(void *unused)
{
	return !guest().port;
}

/* Returns the mock's count of open files, without the one that this function opens. */
static inline uint64_t open_files(void)
{
	static struct vgpu_mock_counters counters;
	int fd = open(real_path, O_RDWR | O_CLOEXEC);
	uint64_t files = UINT64_MAX;

	if (fd >= 0 && !ioctl(fd, VGPU_MOCK_IOC_COUNTERS, &counters))
		files = counters.out_files - 1;
	close(fd);
	return files;
}

static inline bool files_are(void *data)
{
	return open_files() <= *(uint64_t *)data;
}

/* Returns the number of open files after the closes of earlier tests had time to finish. */
static inline uint64_t files_at_rest(void)
{
	uint64_t none = 0;

	eventually(files_are, &none, 3000);
	return open_files();
}

/* Returns the number of files that were released without a ->flush. */
static inline uint64_t unflushed(void)
{
	static struct vgpu_mock_counters counters;
	int fd = open(real_path, O_RDWR | O_CLOEXEC);
	uint64_t files = UINT64_MAX;

	if (fd >= 0 && !ioctl(fd, VGPU_MOCK_IOC_COUNTERS, &counters))
		files = counters.out_unflushed;
	close(fd);
	return files;
}

/* Returns the number of calls that sleep or slept in the driver. */
static inline uint32_t sleeps(void)
{
	static struct vgpu_mock_counters now;
	int fd = open(real_path, O_RDWR | O_CLOEXEC);

	if (fd < 0 || ioctl(fd, VGPU_MOCK_IOC_COUNTERS, &now))
		now.out_calls[_IOC_NR(VGPU_MOCK_IOC_SLEEP)] = 0;
	close(fd);
	return now.out_calls[_IOC_NR(VGPU_MOCK_IOC_SLEEP)];
}

static inline bool more_sleeps(void *before)
{
	return sleeps() > *(uint32_t *)before;
}

/* Return: this process, as a program of another guest, can use the same host and device. */
static inline bool witness(void)
{
	int fd = open(fwd_path, O_RDWR | O_CLOEXEC);
	bool ok = fd >= 0 && !ioctl(fd, VGPU_MOCK_IOC_NOOP, 0);

	if (fd >= 0)
		close(fd);
	return ok;
}

/* Receives messages until one of @type comes. Return: false if none came in time. */
static inline bool control_next(int control, uint16_t type, void *msg, size_t size)
{
	uint64_t end = peer_now_ms() + SLACK_MS;

	while (peer_now_ms() < end && peer_recv(control, msg, size, SLACK_MS) > 0)
		if (peer_type(msg) == type)
			return true;
	return false;
}

/* Receives the second EXPORT_ADD of the host; peer_open() has received the first one. */
static inline bool second_export(const struct peer *peer, struct vgpu_export_add *add)
{
	union {
		struct vgpu_export_add add;
		char bytes[VGPU_CONTROL_MSG_MAX];
	} msg;

	if (!control_next(peer->control, VGPU_MSG_EXPORT_ADD, &msg, sizeof(msg)))
		return false;
	*add = msg.add;
	return true;
}

static inline int window_command(const char *verb, const char *options)
{
	char command[128];

	snprintf(command, sizeof(command), "vgpuctl window %s --to 1:%u %s >/dev/null", verb, PORT,
		 options);
	return system(command);
}

#endif /* HOSTILE_HOST_H */
