/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hostile guests that take as much of the host as they can get: lanes, long messages, demand pages,
 * zombies and vsock buffers. Their processes are in a control group, as those of a virtual machine
 * would be.
 */
#ifndef HOSTILE_HOARD_H
#define HOSTILE_HOARD_H

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "hostile_host.h"

#define HOARD_PORT	22650
#define ALL		"/sys/fs/cgroup/vgpu/guests"
/* Group of the hoarders' own processes, as their virtual machines would have one. */
#define MACHINES	"/sys/fs/cgroup/test-machines"
/*
 * A guest may have 4% of the memory, so that ten guests do not take what the eleventh needs: all of
 * them may have 50%.
 */
#define SETTINGS	"[limits]\nmemory = 4%%\n"
#define CALL_BYTES	(15 << 20)

/* Number of lanes that each process of a hoarder keeps; the host ends some of them. */
#define KEPT		8192

/* Keeps a lane, and closes the one that was kept longest if there are too many. */
static inline void keep(int lane)
{
	static int lanes[KEPT];
	static unsigned int next;

	if (lanes[next])
		close(lanes[next]);
	lanes[next] = lane;
	next = (next + 1) % KEPT;
}

/* Takes as many lanes as the host gives. */
static inline void hoard_lanes(const struct peer *peer)
{
	uint64_t session = 1000;
	int refused = 0, lane;

	for (;;) {
		lane = peer_lane(peer, session);
		if (lane >= 0) {
			refused = 0;
			keep(lane);
			continue;
		}
		/* The next session may have lanes when this one has none left. */
		if (++refused > 2)
			session = session < 1063 ? session + 1 : 1000;
		usleep(20000);
	}
}

/* Sends nearly all of messages of the greatest length, which the host keeps in memory. */
static inline void hoard_messages(const struct peer *peer)
{
	static char bytes[65536];
	struct peer_call call;
	uint64_t session = 2000;
	int lane, sent;

	for (;; session = session < 2063 ? session + 1 : 2000) {
		lane = peer_lane(peer, session);
		if (lane < 0) {
			usleep(20000);
			continue;
		}
		keep(lane);
		peer_call_init(&call, VGPU_OP_IOCTL, 1, 1);
		call.msg.hdr.len = htole32(CALL_BYTES);
		/* The host waits ten seconds for the rest, and then ends the lane. */
		if (!peer_send(lane, &call.msg, sizeof(call.msg)))
			continue;
		for (sent = 0; sent < CALL_BYTES - 2 * (int)sizeof(bytes); sent += sizeof(bytes))
			if (!peer_send(lane, bytes, sizeof(bytes)))
				break;
	}
}

/* Answers requests for pages until the call is over. Return: its reply came. */
static inline bool answer_fetches(int lane)
{
	static struct {
		struct vgpu_fetched msg;
		char pages[256 << 10];
	} answer;
	union {
		struct vgpu_hdr hdr;
		struct vgpu_fetch fetch;
		char bytes[8192];
	} msg;
	uint32_t len;

	while (peer_recv(lane, &msg, sizeof(msg), SLACK_MS) > 0) {
		if (peer_type(&msg) == VGPU_MSG_REPLY)
			return true;
		if (peer_type(&msg) != VGPU_MSG_FETCH)
			return false;
		len = le32toh(msg.fetch.len);
		if (len > sizeof(answer.pages))
			return false;
		answer.msg = (struct vgpu_fetched) {
			.hdr.len = htole32(sizeof(answer.msg) + len),
			.hdr.type = htole16(VGPU_MSG_FETCHED),
			.hdr.seq = msg.hdr.seq,
			.len = htole32(len),
		};
		if (!peer_send(lane, &answer, sizeof(answer.msg) + len))
			return false;
	}
	return false;
}

/* Makes calls whose driver reads as many pages of the program as the host holds at a time. */
static inline void hoard_pages(const struct peer *peer)
{
	struct vgpu_mock_large large = { .ptr = 0x40000000, .length = CALL_BYTES };
	uint64_t session = 3000, seq;
	uint32_t object;
	int lane;

	for (;; session = session < 3063 ? session + 1 : 3000) {
		lane = peer_lane(peer, session);
		object = lane < 0 ? 0 : peer_open_device(peer, lane, 1);
		for (seq = 2; object; seq++)
			if (!peer_ioctl_send(lane, object, seq,
					     VGPU_MOCK_IOC_LARGE_IN | VGPU_MOCK_UNDESCRIBED_BIT,
					     &large, 0x30000000, sizeof(large)) ||
			    !answer_fetches(lane) || seq > 4)
				break;
		/* The lane stays, and with it the session, which has pages. */
		if (lane >= 0)
			keep(lane);
		if (!object)
			usleep(20000);
	}
}

/* Fills the vsock buffers of lanes whose threads sleep in the driver. */
static inline void hoard_buffers(const struct peer *peer)
{
	struct vgpu_mock_sleep sleep = { .ms = 20000, .mode = VGPU_MOCK_SLEEP_KILLABLE };
	static char bytes[65536];
	uint64_t session = 4000;
	uint32_t object = 0;
	int lane;

	for (;; session = session < 4063 ? session + 1 : 4000) {
		lane = peer_lane(peer, session);
		if (lane >= 0)
			keep(lane);
		object = lane < 0 ? 0 : peer_open_device(peer, lane, 1);
		if (!object || !peer_ioctl_send(lane, object, 2, VGPU_MOCK_IOC_SLEEP, &sleep,
						0x1000000, sizeof(sleep))) {
			usleep(20000);
			continue;
		}
		while (send(lane, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
			;
	}
}

/* Begins sessions and ends them, as fast as it may: their shadows are zombies for a time. */
static inline void hoard_zombies(const struct peer *peer)
{
	struct vgpu_session_close end = {
		.hdr.len = htole32(sizeof(end)),
		.hdr.type = htole16(VGPU_MSG_SESSION_CLOSE),
	};
	uint64_t session = 5000, seq = 1;
	char drop[4096];
	int lane;

	do {
		lane = peer_lane(peer, ++session);
		if (lane >= 0)
			close(lane);
		end.session = htole64(session);
		end.hdr.seq = htole64(seq++);
		while (recv(peer->control, drop, sizeof(drop), MSG_DONTWAIT) > 0)
			;
		usleep(10000);
	} while (peer_send(peer->control, &end, sizeof(end)));
}

static void (*const ways[])(const struct peer *peer) = {
	hoard_lanes, hoard_messages, hoard_pages, hoard_buffers,
};

#define WAYS	(int)(sizeof(ways) / sizeof(ways[0]))

/* Hoards in all ways at once, and connects anew whenever the host has ended the guest. */
static inline void hoard(int number)
{
	struct rlimit limit = { 65536, 65536 };
	pid_t pids[WAYS];
	struct peer peer;
	int i;

	setrlimit(RLIMIT_NOFILE, &limit);
	for (;;) {
		if (peer_open(&peer, LOOPBACK, HOARD_PORT + number)) {
			peer_close(&peer);
			usleep(100000);
			continue;
		}
		for (i = 0; i < WAYS; i++) {
			pids[i] = fork();
			if (!pids[i]) {
				ways[i](&peer);
				_exit(0);
			}
		}
		hoard_zombies(&peer);
		for (i = 0; i < WAYS; i++) {
			kill(pids[i], SIGKILL);
			waitpid(pids[i], NULL, 0);
		}
		peer_close(&peer);
	}
}

/* Reads the number after a word of a file; 0: the word is not there. */
static inline long long number_of(const char *path, const char *word)
{
	FILE *stream = fopen(path, "r");
	long long number = 0;
	char line[128];

	while (stream && fgets(line, sizeof(line), stream))
		if (!strncmp(line, word, strlen(word)))
			number = atoll(line + strlen(word));
	if (stream)
		fclose(stream);
	return number;
}

/* Starts a hostile guest, whose processes are in a process group and in a control group. */
static inline pid_t guest_start(void (*run)(int number), int number)
{
	pid_t pid = fork();

	if (pid) {
		setpgid(pid, pid);
		return pid;
	}
	setpgid(0, 0);
	tool_write(MACHINES "/cgroup.procs", "0");
	run(number);
	_exit(0);
}

/* Kills guests. */
static inline void guests_end(const pid_t pids[], int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		kill(-pids[i], SIGKILL);
	for (i = 0; i < nr; i++)
		waitpid(pids[i], NULL, 0);
}

static inline bool groups_are_gone(void *unused)
{
	return tool_run("ls -d " ALL "/vgpu-*-226[5-9]* 2>/dev/null")->status;
}

#endif /* HOSTILE_HOARD_H */
