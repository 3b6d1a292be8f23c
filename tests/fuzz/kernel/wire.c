// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections of the fuzzer of the wire. They outlive an input, and are made again when a step
 * needs one that is gone. Numbers of an input that depend on what happened before it (sequence
 * numbers, objects) are replaced by such that fit, unless the step is WIRE_RAW.
 */
#include <string.h>

#include "../../selftests/hostile_peer.h"
#include "draw.h"
#include "vgpu_mock.h"
#include "wire.h"

#define LOOPBACK	1	/* CID */
#define OBJECTS		8
#define REPLY_MAX	(1U << 20)
/* Time in ms for a reply; a call that takes longer loses its lane. */
#define REPLY_MS	500
/* Time in ms for a host to take this guest back after the end of its last connection. */
#define BACK_MS		60000

/**
 * struct conn - a lane
 * @fd: socket; -1: none
 * @seq: number of the last call
 */
struct conn {
	int fd;
	uint64_t seq;
};

static struct peer peer = { .control = -1 };
static uint32_t host_port;
static uint64_t control_seq, session_base;
static struct conn lanes[WIRE_CONNS] = { { -1, 0 }, { -1, 0 }, { -1, 0 }, { -1, 0 } };
/* Numbers of objects that the host has given. */
static uint32_t objects[OBJECTS];
static unsigned int nr_objects;

/* --- connections -------------------------------------------------------------- */

static void lane_close(unsigned int where)
{
	if (lanes[where].fd >= 0)
		close(lanes[where].fd);
	lanes[where].fd = -1;
}

static void control_close(void)
{
	unsigned int i;

	for (i = 1; i < WIRE_CONNS; i++)
		lane_close(i);
	peer_close(&peer);
	nr_objects = 0;
}

static const char *control_open(void)
{
	uint64_t end = peer_now_ms() + BACK_MS;
	int ret;

	if (peer.control >= 0)
		return NULL;
	/* The host is busy until it has ended the last connection of this guest. */
	do {
		ret = peer_open(&peer, LOOPBACK, host_port);
		if (!ret) {
			control_seq = 0;
			session_base = 0;
			return NULL;
		}
		peer_close(&peer);
		usleep(20000);
	} while (peer_now_ms() < end);
	return "the host does not take the guest back after the end of its connection";
}

/* Handles what has come on the control connection; it must not fill up. */
static void control_drain(void)
{
	union {
		struct vgpu_hdr hdr;
		char bytes[VGPU_CONTROL_MSG_MAX];
	} msg;
	struct pollfd pfd = { .fd = peer.control, .events = POLLIN };

	while (peer.control >= 0 && poll(&pfd, 1, 0) > 0) {
		if (peer_recv(peer.control, &msg, sizeof(msg), 2000) <= 0) {
			control_close();
			return;
		}
		if (peer_type(&msg) != VGPU_MSG_PING)
			continue;
		msg.hdr.type = htole16(VGPU_MSG_PONG);
		peer_send(peer.control, &msg.hdr, sizeof(msg.hdr));
	}
}

/* Connects a lane. Lanes 1 and 2 are of one session, lane 3 of another. */
static const char *lane_open(unsigned int where)
{
	const char *wrong;
	unsigned int i;

	control_drain();
	wrong = control_open();
	if (wrong || lanes[where].fd >= 0)
		return wrong;
	for (i = 0; i < 3 && lanes[where].fd < 0; i++) {
		lanes[where].fd = peer_lane(&peer, session_base + (where + 1) / 2);
		lanes[where].seq = 0;
		/* A session that has ended is never begun again, so there is a new one. */
		if (lanes[where].fd == -ENODEV)
			session_base += 2;
		control_drain();
		if (peer.control < 0)
			break;
		/* The host may have reached the rate at which a guest may begin sessions. */
		if (lanes[where].fd < 0)
			usleep(20000);
	}
	if (lanes[where].fd < 0) {
		control_close();
		return NULL;
	}
	if (!nr_objects) {
		objects[0] = peer_open_device(&peer, lanes[where].fd, ++lanes[where].seq);
		nr_objects = !!objects[0];
	}
	return NULL;
}

/* --- answers -------------------------------------------------------------- */

static void take_objects(const struct vgpu_reply *reply, unsigned int flags, struct conn *conn)
{
	const struct vgpu_object_desc *desc = (const void *)(reply + 1);
	struct vgpu_hdr ack = {
		.len = htole32(sizeof(ack)), .type = htole16(VGPU_MSG_ACK),
		.seq = reply->hdr.seq,
	};
	unsigned int nr = le16toh(reply->nr_objects), i;

	for (i = 0; i < nr && le32toh(reply->hdr.len) >= sizeof(*reply) + (i + 1) * sizeof(*desc);
	     i++)
		objects[nr_objects < OBJECTS ? nr_objects++ : draw_below(OBJECTS)] =
			le32toh(desc[i].object);
	if (nr && !(flags & WIRE_NO_ACK))
		peer_send(conn->fd, &ack, sizeof(ack));
}

static void answer_upcall(const struct vgpu_hdr *hdr, unsigned int flags, struct conn *conn)
{
	const struct vgpu_fetch *fetch = (const void *)hdr;
	static struct {
		struct vgpu_fetched msg;
		uint8_t pages[REPLY_MAX];
	} answer;
	bool fetched = le16toh(hdr->type) == VGPU_MSG_FETCH;
	uint32_t len = fetched ? le32toh(fetch->len) : 0;

	if (len > REPLY_MAX)
		return;
	answer.msg = (struct vgpu_fetched){
		.hdr.type = htole16(fetched ? VGPU_MSG_FETCHED : VGPU_MSG_WRITTEN),
		.hdr.seq = hdr->seq,
	};
	if (flags & WIRE_LIE) {
		/* An error, a length that is not that of the question, or no answer. */
		if (draw_one_in(3))
			return;
		if (draw_one_in(2))
			answer.msg.error = htole32(draw_below(200));
		len = draw_below(3) * WIRE_PAGE;
	}
	answer.msg.len = htole32(len);
	answer.msg.hdr.len = htole32(sizeof(answer.msg) + len);
	draw_bytes(answer.pages, len < 256 ? len : 256);
	peer_send(conn->fd, &answer, sizeof(answer.msg) + len);
}

void wire_wait(unsigned int where, unsigned int flags)
{
	struct conn *conn = &lanes[where];
	static union {
		struct vgpu_hdr hdr;
		struct vgpu_reply reply;
		uint8_t bytes[REPLY_MAX];
	} msg;
	unsigned int i;

	if (!where) {
		control_drain();
		return;
	}
	for (i = 0; conn->fd >= 0 && i < 64; i++) {
		if (peer_recv(conn->fd, &msg, sizeof(msg), REPLY_MS) <= 0) {
			lane_close(where);
			break;
		}
		switch (peer_type(&msg)) {
		case VGPU_MSG_REPLY:
			take_objects(&msg.reply, flags, conn);
			return;
		case VGPU_MSG_FETCH:
		case VGPU_MSG_WRITEBACK:
			answer_upcall(&msg.hdr, flags, conn);
			break;
		}
	}
}

/* --- messages -------------------------------------------------------------- */

static uint32_t fit_object(uint32_t number)
{
	number = le32toh(number);
	if (!number || number > 2 * OBJECTS || !nr_objects)
		return htole32(number);
	return htole32(objects[(number - 1) % nr_objects]);
}

/* Keeps commands away that make all programs of the device wait, or one for very long. */
static uint32_t tame_command(uint32_t cmd)
{
	static const uint32_t wild[] = {
		VGPU_MOCK_IOC_LOCKED, VGPU_MOCK_IOC_EXCLUSIVE, VGPU_MOCK_IOC_FLUSH,
		VGPU_MOCK_IOC_POLL_ARM, VGPU_MOCK_IOC_BUF_SLOW, VGPU_MOCK_IOC_BUF_JOB,
		VGPU_MOCK_IOC_REACH, VGPU_MOCK_IOC_WORK, VGPU_MOCK_IOC_QUEUE,
	};
	unsigned int i;

	for (i = 0; i < sizeof(wild) / sizeof(wild[0]); i++)
		if ((_IOC_NR(cmd) & 0x7f) == _IOC_NR(wild[i]))
			return VGPU_MOCK_IOC_NOOP;
	return cmd;
}

static void tame_call(uint8_t *msg, size_t len)
{
	struct vgpu_call *call = (struct vgpu_call *)msg;
	struct vgpu_mock_sleep *sleep;
	uint32_t cmd, i;

	if (le16toh(call->op) == VGPU_OP_OPEN)
		call->args.open.flags &= htole32(~O_EXCL);
	if (le16toh(call->op) != VGPU_OP_IOCTL)
		return;
	cmd = tame_command(le32toh(call->args.ioctl.cmd));
	call->args.ioctl.cmd = htole32(cmd);
	if ((_IOC_NR(cmd) & 0x7f) != _IOC_NR(VGPU_MOCK_IOC_SLEEP))
		return;
	/* The argument may begin anywhere behind the fixed part. */
	for (i = sizeof(*call); i + sizeof(*sleep) <= len; i += 8) {
		sleep = (struct vgpu_mock_sleep *)(msg + i);
		sleep->ms %= 64;
		sleep->mode %= 2;
	}
}

static void fit_call(uint8_t *msg, size_t len, struct conn *conn)
{
	struct vgpu_call *call = (struct vgpu_call *)msg;
	struct vgpu_fixup *fixup;
	unsigned int i;

	call->hdr.seq = htole64(++conn->seq);
	call->object = fit_object(call->object);
	if (le64toh(call->control_seq) > control_seq)
		call->control_seq = htole64(control_seq);
	if (le16toh(call->op) == VGPU_OP_OPEN && le32toh(call->args.open.export) < 4)
		call->args.open.export = htole32(peer.export);
	fixup = (struct vgpu_fixup *)(msg + sizeof(*call) +
				      le16toh(call->nr_segs) * sizeof(struct vgpu_seg));
	for (i = 0; i < le16toh(call->nr_fixups); i++, fixup++) {
		if ((uint8_t *)(fixup + 1) > msg + len)
			break;
		if (le16toh(fixup->type) == VGPU_FIXUP_FD_IN)
			fixup->target = fit_object(fixup->target);
	}
}

static void fit_control(uint8_t *msg, size_t len)
{
	struct vgpu_hdr *hdr = (struct vgpu_hdr *)msg;
	struct vgpu_close *close = (void *)msg;
	struct vgpu_unmap *unmap = (void *)msg;
	struct vgpu_session_close *session = (void *)msg;

	switch (le16toh(hdr->type)) {
	case VGPU_MSG_CLOSE:
		if (len >= sizeof(*close))
			close->object = fit_object(close->object);
		break;
	case VGPU_MSG_UNMAP:
		if (len >= sizeof(*unmap) && le64toh(unmap->session) < 4)
			unmap->session = htole64(session_base + le64toh(unmap->session));
		break;
	case VGPU_MSG_SESSION_CLOSE:
		if (len >= sizeof(*session) && le64toh(session->session) < 4)
			session->session = htole64(session_base + le64toh(session->session));
		break;
	case VGPU_MSG_UNBIND:
	case VGPU_MSG_RELEASE:
		break;
	default:
		return;
	}
	hdr->seq = htole64(++control_seq);
}

const char *wire_send(unsigned int where, const void *data, size_t len, unsigned int flags)
{
	static uint8_t msg[INPUT_MAX] __attribute__((aligned(8)));
	struct vgpu_hdr *hdr = (struct vgpu_hdr *)msg;
	struct conn *conn = &lanes[where];
	const char *wrong = where ? lane_open(where) : control_open();
	bool call;

	if (wrong || (where && conn->fd < 0) || len < sizeof(*hdr))
		return wrong;
	control_drain();
	memset(msg + len, 0, 8);
	memcpy(msg, data, len);
	call = le16toh(hdr->type) == VGPU_MSG_CALL && len >= sizeof(struct vgpu_call);
	if (call)
		tame_call(msg, len);
	if (!(flags & WIRE_RAW)) {
		len = (len + 7) / 8 * 8;
		hdr->len = htole32(len);
		if (!where)
			fit_control(msg, len);
		else if (call)
			fit_call(msg, len, conn);
		else
			hdr->seq = htole64(conn->seq);
	}
	if (!where) {
		if (peer.control < 0 || !peer_send(peer.control, msg, len))
			control_close();
		return NULL;
	}
	if (!peer_send(conn->fd, msg, len)) {
		lane_close(where);
		return NULL;
	}
	if (call && !(flags & WIRE_NO_WAIT))
		wire_wait(where, flags);
	return NULL;
}

void wire_kill(unsigned int where)
{
	if (where)
		lane_close(where);
	else
		control_close();
}

const char *wire_begin(uint32_t port)
{
	host_port = port;
	return control_open();
}

void wire_end(void)
{
	control_close();
}
