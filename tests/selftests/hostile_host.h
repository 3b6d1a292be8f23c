/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of a hostile guest share: the host's side of it. vgpud is asked for an
 * export of its own, on a port of its own, and what it says of the guest behind it.
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
/* What a slow machine may add to the host's times. */
#define SLACK_MS	20000
/* The host's default (vgpud(8)), or as it was started. */
#define FETCH_MS	(getenv("VGPU_FETCH_MS") ? atoi(getenv("VGPU_FETCH_MS")) : 2000)

static const char *real_path, *fwd_path;

/* The host is in the same machine, and may be told what to do. */
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

/* Windows are the host module's: a user-space engine has none. */
#define NEEDS_WINDOWS() do { \
	if (!strcmp(getenv("VGPU_TIER"), "user")) \
		SKIP(return, "needs the host module: a user-space engine has no windows"); \
} while (0)

/* Connects a guest, with one lane and the device open on it. */
#define HOST_BEGIN(peer, lane, object) do { \
	ASSERT_EQ(0, peer_open(peer, LOOPBACK, PORT)); \
	lane = peer_lane(peer, 1); \
	ASSERT_GE(lane, 0); \
	object = peer_open_device(peer, lane, 1); \
	ASSERT_NE(0, object); \
} while (0)

/* The mock, unless @path says otherwise. */
static inline int export_as(const char *name, const char *path, uint32_t cid, uint32_t port,
			    bool any_port)
{
	struct vgpu_export_request request = {
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

/* What the agent says of our guest: port 0 if it knows none. */
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
			if (info->guests[i].port != PORT)
				continue;
			guest = info->guests[i];
			nr += guest.nr_programs;
		}
		vgpu_host_info_free(info);
	}
	vgpu_agent_close(agent);
	/* With those of a connection that is being ended. */
	guest.nr_programs = nr;
	guest.programs = NULL;
	return guest;
}

/* How many shadows run for it. */
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

/* The stand-in for NVIDIA's driver goes, as nobody has its files open any more. */
static inline bool no_nvidia(void *unused)
{
	return !tool_run("rmmod vgpu_mock_nvidia 2>/dev/null")->status;
}

static inline bool no_guest(void *unused)
{
	return !guest().port;
}

/* The mock's own word for what is open. */
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

/* What is open when all that the tests before this one have closed is closed. */
static inline uint64_t files_at_rest(void)
{
	uint64_t none = 0;

	eventually(files_are, &none, 3000);
	return open_files();
}

/* How many files were released without a ->flush. */
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

/* How many calls sleep in the driver, or have. */
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

/* Another guest's program, on the same host and device. */
static inline bool witness(void)
{
	int fd = open(fwd_path, O_RDWR | O_CLOEXEC);
	bool ok = fd >= 0 && !ioctl(fd, VGPU_MOCK_IOC_NOOP, 0);

	if (fd >= 0)
		close(fd);
	return ok;
}

/* The next message of that type on the control connection. */
static inline bool control_next(int control, uint16_t type, void *msg, size_t size)
{
	uint64_t end = peer_now_ms() + SLACK_MS;

	while (peer_now_ms() < end && peer_recv(control, msg, size, SLACK_MS) > 0)
		if (peer_type(msg) == type)
			return true;
	return false;
}

/* The host tells of a second export, behind the one that peer_open() has taken. */
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
