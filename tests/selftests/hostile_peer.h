/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest in user space, which speaks the wire protocol over vsock, correctly or
 * not, as a test wants. The program needs root, to bind to a port below 1024, and
 * an export to its CID on the port that it connects to.
 */
#ifndef HOSTILE_PEER_H
#define HOSTILE_PEER_H

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <linux/vm_sockets.h>
#include <linux/vgpu_wire.h>

#define PEER_MSG_MAX	(1 << 20)

/* Results of peer_recv() other than a length. */
#define PEER_EOF	0
#define PEER_SILENT	(-1)

static inline uint64_t peer_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

/* Connects to the host. Return: the socket, or a negative errno. */
static inline int peer_connect(uint32_t cid, uint32_t port, bool trusted)
{
	struct sockaddr_vm to = { .svm_family = AF_VSOCK, .svm_cid = cid, .svm_port = port };
	struct sockaddr_vm from = { .svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_ANY };
	struct timeval timeout = { .tv_sec = 20 };
	static unsigned int next;
	int fd, tries, ret;

	/*
	 * The local port must not be one of an earlier test: for 8 s after a close, the
	 * other end's old socket may reset a connection with the same two addresses.
	 */
	if (!next)
		next = 1023 - getpid() * 13 % 900;

	fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	setsockopt(fd, AF_VSOCK, SO_VM_SOCKETS_CONNECT_TIMEOUT, &timeout, sizeof(timeout));
	for (tries = 0; trusted && tries < 900; tries++) {
		from.svm_port = next--;
		if (next < 100)
			next = 1023;
		if (!bind(fd, (struct sockaddr *)&from, sizeof(from)))
			break;
	}
	if (!connect(fd, (struct sockaddr *)&to, sizeof(to)))
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}

static inline bool peer_send(int fd, const void *data, size_t len)
{
	const char *pos = data;
	ssize_t sent;

	while (len) {
		sent = send(fd, pos, len, MSG_NOSIGNAL);
		if (sent <= 0)
			return false;
		pos += sent;
		len -= sent;
	}
	return true;
}

/* Reads @len bytes. Return: false if the connection ended, or if time is over (*silent is true). */
static inline bool peer_read(int fd, void *data, size_t len, int timeout_ms, bool *silent)
{
	uint64_t end = peer_now_ms() + timeout_ms;
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	char *pos = data;
	ssize_t got;

	*silent = false;
	while (len) {
		int left = end > peer_now_ms() ? (int)(end - peer_now_ms()) : 0;

		if (poll(&pfd, 1, left) <= 0) {
			*silent = true;
			return false;
		}
		got = recv(fd, pos, len, 0);
		if (got <= 0)
			return false;
		pos += got;
		len -= got;
	}
	return true;
}

/* Receives a message. Return: its length, PEER_EOF or PEER_SILENT. */
static inline ssize_t peer_recv(int fd, void *buf, size_t size, int timeout_ms)
{
	struct vgpu_hdr *hdr = buf;
	bool silent;
	size_t len;

	if (!peer_read(fd, hdr, sizeof(*hdr), timeout_ms, &silent))
		return silent ? PEER_SILENT : PEER_EOF;
	len = le32toh(hdr->len);
	if (len < sizeof(*hdr) || len > size)
		return PEER_EOF;
	if (!peer_read(fd, hdr + 1, len - sizeof(*hdr), timeout_ms, &silent))
		return silent ? PEER_SILENT : PEER_EOF;
	return len;
}

static inline uint16_t peer_type(const void *msg)
{
	return le16toh(((const struct vgpu_hdr *)msg)->type);
}

/* Waits until the other end closes, and drops all data. Return: the time in ms, or -1. */
static inline int peer_wait_eof(int fd, int timeout_ms)
{
	uint64_t start = peer_now_ms();
	char byte[4096];
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	ssize_t got;

	for (;;) {
		int left = timeout_ms - (int)(peer_now_ms() - start);

		if (left <= 0 || poll(&pfd, 1, left) <= 0)
			return -1;
		got = recv(fd, byte, sizeof(byte), 0);
		if (got <= 0)
			return peer_now_ms() - start;
	}
}

/* --- handshake ------------------------------------------------------------ */

/**
 * struct peer - a control connection
 * @cid: CID of the host
 * @port: port of the host
 * @control: socket of the connection
 * @welcome: WELCOME of the host
 * @export: number of the first export that it announced
 */
struct peer {
	uint32_t cid;
	uint32_t port;
	int control;
	struct vgpu_welcome welcome;
	uint32_t export;
};

static inline struct vgpu_hello peer_hello_msg(void)
{
	struct vgpu_hello hello = {
		.hdr.len = htole32(sizeof(hello)),
		.hdr.type = htole16(VGPU_MSG_HELLO),
		.magic = htole32(VGPU_WIRE_MAGIC),
		.version_min = htole16(VGPU_WIRE_VERSION),
		.version_max = htole16(VGPU_WIRE_VERSION),
		.page_size = htole32(VGPU_PAGE_SIZE),
		.features = htole64(VGPU_FEATURES),
		.instance = "hostile",
	};

	return hello;
}

static inline struct vgpu_lane_hello peer_lane_msg(const struct peer *peer, uint64_t session)
{
	struct vgpu_lane_hello lane = {
		.hdr.len = htole32(sizeof(lane)),
		.hdr.type = htole16(VGPU_MSG_LANE),
		.magic = htole32(VGPU_WIRE_MAGIC),
		.tgid = htole32(getpid()),
		.session = htole64(session),
		.comm = "hostile",
	};

	memcpy(lane.secret, peer->welcome.secret, sizeof(lane.secret));
	return lane;
}

/* Sends a message. Return: the error of the REFUSE that answers; -1: no REFUSE came. */
static inline int peer_refused(int fd, const void *msg, size_t len)
{
	union {
		struct vgpu_refuse refuse;
		char bytes[VGPU_CONTROL_MSG_MAX];
	} answer;

	if (!peer_send(fd, msg, len) || peer_recv(fd, &answer, sizeof(answer), 20000) <= 0 ||
	    peer_type(&answer) != VGPU_MSG_REFUSE)
		return -1;
	return le32toh(answer.refuse.error);
}

/* Connects and waits for the first export. Return: 0, the error of a REFUSE, or -errno. */
static inline int peer_open_with(struct peer *peer, uint32_t cid, uint32_t port,
				 uint64_t features)
{
	struct vgpu_hello hello = peer_hello_msg();
	union {
		struct vgpu_hdr hdr;
		struct vgpu_refuse refuse;
		struct vgpu_export_add add;
		struct vgpu_welcome welcome;
		char bytes[VGPU_CONTROL_MSG_MAX];
	} msg;
	unsigned int tries = 4;

	hello.features = htole64(features);
again:
	memset(peer, 0, sizeof(*peer));
	peer->cid = cid;
	peer->port = port;
	peer->control = peer_connect(cid, port, true);
	if (peer->control < 0)
		return peer->control;
	if (!peer_send(peer->control, &hello, sizeof(hello)) ||
	    peer_recv(peer->control, &msg, sizeof(msg), 20000) <= 0)
		return -EPROTO;
	if (peer_type(&msg) == VGPU_MSG_REFUSE) {
		/* On a busy machine the host may not have ended the earlier connection yet. */
		if (le32toh(msg.refuse.error) == EBUSY && --tries) {
			close(peer->control);
			goto again;
		}
		return le32toh(msg.refuse.error);
	}
	if (peer_type(&msg) != VGPU_MSG_WELCOME)
		return -EPROTO;
	peer->welcome = msg.welcome;
	while (peer_recv(peer->control, &msg, sizeof(msg), 20000) > 0)
		if (peer_type(&msg) == VGPU_MSG_EXPORT_ADD) {
			peer->export = le32toh(msg.add.export);
			return 0;
		}
	return -ETIMEDOUT;
}

static inline int peer_open(struct peer *peer, uint32_t cid, uint32_t port)
{
	return peer_open_with(peer, cid, port, VGPU_FEATURES);
}

/* Sends a PING on the control connection: the host drops a guest that is silent for 15 s. */
static inline bool peer_ping(const struct peer *peer)
{
	struct vgpu_hdr ping = {
		.len = htole32(sizeof(ping)), .type = htole16(VGPU_MSG_PING), .seq = htole64(1),
	};

	return peer_send(peer->control, &ping, sizeof(ping));
}

static inline void peer_close(struct peer *peer)
{
	if (peer->control >= 0)
		close(peer->control);
	peer->control = -1;
}

/* Connects a lane for a program called @name. Return: the socket, or -error of the REFUSE. */
static inline int peer_lane_of(const struct peer *peer, uint64_t session, const char *name)
{
	struct vgpu_lane_hello hello = peer_lane_msg(peer, session);
	union {
		struct vgpu_hdr hdr;
		struct vgpu_refuse refuse;
		char bytes[256];
	} msg;
	int fd = peer_connect(peer->cid, peer->port, false), error = -EPIPE;

	if (fd < 0)
		return fd;
	snprintf((char *)hello.comm, sizeof(hello.comm), "%s", name);
	if (peer_send(fd, &hello, sizeof(hello)) &&
	    peer_recv(fd, &msg, sizeof(msg), 20000) > 0) {
		if (peer_type(&msg) == VGPU_MSG_LANE_READY)
			return fd;
		if (peer_type(&msg) == VGPU_MSG_REFUSE)
			error = -(int)le32toh(msg.refuse.error);
	}
	close(fd);
	return error;
}

static inline int peer_lane(const struct peer *peer, uint64_t session)
{
	return peer_lane_of(peer, session, "hostile");
}

/* --- calls ---------------------------------------------------------------- */

/**
 * struct peer_call - a call in the format of the wire
 * @msg: fixed part
 * @seg: up to two segments; msg.nr_segs is their number
 * @data: data of the IN segments
 */
struct peer_call {
	struct vgpu_call msg;
	struct vgpu_seg seg[2];
	unsigned char data[16384];
};

static inline void peer_call_init(struct peer_call *call, uint16_t op, uint32_t object,
				  uint64_t seq)
{
	memset(call, 0, sizeof(*call));
	call->msg.hdr.type = htole16(VGPU_MSG_CALL);
	call->msg.hdr.len = htole32(sizeof(call->msg));
	call->msg.hdr.seq = htole64(seq);
	call->msg.op = htole16(op);
	call->msg.object = htole32(object);
}

/* Makes a call that maps @len bytes of the device, from @offset on, as a shared mapping. */
static inline void peer_mmap_init(struct peer_call *call, uint32_t object, uint64_t seq,
				  uint64_t addr, uint64_t len, uint64_t offset, uint32_t prot)
{
	peer_call_init(call, VGPU_OP_MMAP, object, seq);
	call->msg.args.mmap.addr = htole64(addr);
	call->msg.args.mmap.len = htole64(len);
	call->msg.args.mmap.offset = htole64(offset);
	call->msg.args.mmap.prot = htole32(prot);
	call->msg.args.mmap.flags = htole32(MAP_SHARED);
}

/* Sends the call with @nr segments and @len bytes of data. */
static inline bool peer_call_send(int lane, struct peer_call *call, unsigned int nr, size_t len)
{
	unsigned char buf[sizeof(*call)];
	size_t used = sizeof(call->msg);

	len = (len + 7) & ~7UL;
	call->msg.nr_segs = htole16(nr);
	memcpy(buf + used, call->seg, nr * sizeof(call->seg[0]));
	used += nr * sizeof(call->seg[0]);
	memcpy(buf + used, call->data, len);
	used += len;
	call->msg.hdr.len = htole32(used);
	memcpy(buf, &call->msg, sizeof(call->msg));
	return peer_send(lane, buf, used);
}

/* Receives the reply to a call. Return: its result, or INT64_MIN if no reply came. */
static inline int64_t peer_reply(int lane, void *buf, size_t size, int timeout_ms)
{
	struct vgpu_reply *reply = buf;

	if (peer_recv(lane, buf, size, timeout_ms) <= 0 || peer_type(buf) != VGPU_MSG_REPLY)
		return INT64_MIN;
	return (int64_t)le64toh(reply->result);
}

/*
 * Opens the export by call number @seq, whose ACK the caller has to send. Return: the object's
 * number, or 0.
 */
static inline uint32_t peer_open_unacked(const struct peer *peer, int lane, uint64_t seq,
					 uint32_t flags)
{
	struct {
		struct vgpu_reply reply;
		struct vgpu_object_desc object;
	} answer;
	struct peer_call call;

	peer_call_init(&call, VGPU_OP_OPEN, 0, seq);
	call.msg.args.open.export = htole32(peer->export);
	call.msg.f_flags = htole32(flags);
	call.msg.args.open.flags = htole32(flags);
	if (!peer_call_send(lane, &call, 0, 0) ||
	    peer_reply(lane, &answer, sizeof(answer), 20000) != 0 ||
	    le16toh(answer.reply.nr_objects) != 1)
		return 0;
	return le32toh(answer.object.object);
}

/* Opens the export and sends the ACK. Return: the object's number, or 0. */
static inline uint32_t peer_open_as(const struct peer *peer, int lane, uint64_t seq, uint32_t flags)
{
	struct vgpu_hdr ack = {
		.len = htole32(sizeof(ack)),
		.type = htole16(VGPU_MSG_ACK),
		.seq = htole64(seq),
	};
	uint32_t object = peer_open_unacked(peer, lane, seq, flags);

	return object && peer_send(lane, &ack, sizeof(ack)) ? object : 0;
}

static inline uint32_t peer_open_device(const struct peer *peer, int lane, uint64_t seq)
{
	return peer_open_as(peer, lane, seq, O_RDWR);
}

/* Sends an ioctl whose argument is one segment, in and out. */
static inline bool peer_ioctl_send_flags(int lane, uint32_t object, uint64_t seq, uint32_t cmd,
					 const void *arg, uint64_t addr, size_t len, uint16_t flags)
{
	struct peer_call call;

	peer_call_init(&call, VGPU_OP_IOCTL, object, seq);
	call.msg.flags = htole16(flags);
	call.msg.args.ioctl.cmd = htole32(cmd);
	if (!len) {
		call.msg.args.ioctl.arg_kind = htole32(VGPU_IOCTL_ARG_VALUE);
		call.msg.args.ioctl.arg = htole64(addr);
		return peer_call_send(lane, &call, 0, 0);
	}
	call.msg.args.ioctl.arg_kind = htole32(VGPU_IOCTL_ARG_SEG);
	call.seg[0].addr = htole64(addr);
	call.seg[0].len = htole32(len);
	call.seg[0].flags = htole32(VGPU_SEG_IN | VGPU_SEG_OUT);
	memcpy(call.data, arg, len);
	return peer_call_send(lane, &call, 1, len);
}

static inline bool peer_ioctl_send(int lane, uint32_t object, uint64_t seq, uint32_t cmd,
				   const void *arg, uint64_t addr, size_t len)
{
	return peer_ioctl_send_flags(lane, object, seq, cmd, arg, addr, len, 0);
}

/* Sends an ioctl with one fixup in its argument. */
static inline bool fixup_send(int lane, uint32_t object, uint64_t seq, uint32_t cmd,
			      const struct vgpu_fixup *fixup, const void *arg, size_t len)
{
	struct {
		struct vgpu_call call;
		struct vgpu_seg seg;
		struct vgpu_fixup fixup;
		uint64_t arg[8];
	} msg = {
		.call = {
			.hdr = { .type = htole16(VGPU_MSG_CALL), .seq = htole64(seq) },
			.op = htole16(VGPU_OP_IOCTL),
			.object = htole32(object),
			.nr_segs = htole16(1),
			.nr_fixups = htole16(1),
			.args.ioctl.cmd = htole32(cmd),
			.args.ioctl.arg_kind = htole32(VGPU_IOCTL_ARG_SEG),
		},
		.seg = { .len = htole32(len), .flags = htole32(VGPU_SEG_IN | VGPU_SEG_OUT) },
		.fixup = *fixup,
	};
	size_t total = sizeof(msg) - sizeof(msg.arg) + (len + 7) / 8 * 8;

	msg.call.hdr.len = htole32(total);
	memcpy(msg.arg, arg, len);
	return peer_send(lane, &msg, total);
}

#endif /* HOSTILE_PEER_H */
