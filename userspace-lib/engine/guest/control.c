// SPDX-License-Identifier: MIT
/*
 * The control connection. The guest sends messages without an answer on it, such as CLOSE and
 * UNMAP, and receives events. The guest numbers its messages. A call names the number of the last
 * message that must be applied before the call runs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "engine/base/agent.h"
#include "engine/guest/control.h"
#include "shared/loop.h"
#include "shared/proto.h"

/* Time in milliseconds after which a guest that does not read loses its control connection. */
#define SEND_TIMEOUT_MS	5000
/* Size in bytes of the buffer of messages that the guest has not read. */
#define QUEUE_MAX	(256U << 10)
/* Largest size in bytes of all waiting struct later: as much as vgpud can send at once. */
#define LATER_MAX	(16U << 20)
/* Number of messages that are handled before the loop looks at other connections. */
#define MSGS_A_TURN	64
/* Time in milliseconds in which a message must arrive completely, once it has begun. */
#define MSG_TIMEOUT_MS	10000

static uint64_t control_seq, ping_seq;
static uint8_t out[QUEUE_MAX];
static size_t out_len;

/* A message that waits until the guest has room for it. */
struct later {
	STAILQ_ENTRY(later) node;
	size_t len;
	uint8_t bytes[];
};

static STAILQ_HEAD(, later) laters = STAILQ_HEAD_INITIALIZER(laters);
static size_t later_bytes;
/* True if a caller may have messages that wait for room (control_is_behind()). */
static bool held;
static union {
	struct vgpu_hdr hdr;
	uint8_t bytes[VGPU_CONTROL_MSG_MAX];
} in;
static size_t in_have;
static unsigned int silence;
static void (*handle)(const struct vgpu_hdr *msg);

static void control_ready(struct source *source, uint32_t events);

static struct source control = { .fd = ENGINE_FD_CONTROL, .ready = control_ready };

/* --- messages to the guest ---------------------------------------------------- */

static void control_stuck(struct timer *timer)
{
	(void)timer;
	engine_end("the guest does not receive messages");
}

static struct timer sending = { .expired = control_stuck };

/* Move waiting messages to the buffer. Half of the buffer is kept for messages that cannot wait. */
static void later_take(void)
{
	struct later *later;

	while ((later = STAILQ_FIRST(&laters)) && out_len + later->len <= sizeof(out) / 2) {
		memcpy(out + out_len, later->bytes, later->len);
		out_len += later->len;
		later_bytes -= later->len;
		STAILQ_REMOVE_HEAD(&laters, node);
		free(later);
	}
}

static void control_flush(void)
{
	ssize_t len = 0;
	bool again;

	later_take();
	if (out_len)
		len = send(control.fd, out, out_len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (len < 0 && errno != EAGAIN && errno != EINTR)
		engine_end("the guest has closed the connection");
	if (len > 0) {
		__atomic_add_fetch(&shared->counters.bytes_out, len, __ATOMIC_RELAXED);
		out_len -= len;
		memmove(out, out + len, out_len);
		timer_cancel(&sending);
	}
	if (out_len && !sending.set)
		timer_set(&sending, SEND_TIMEOUT_MS);
	/* Messages of callers that wait for room are sent at the next event. */
	again = held || out_len || !STAILQ_EMPTY(&laters);
	source_set(&control, EPOLLIN | (again ? EPOLLOUT : 0));
}

void control_send(const void *msg, size_t len)
{
	if (len > sizeof(out) - out_len)
		engine_end("the guest does not receive messages");
	memcpy(out + out_len, msg, len);
	out_len += len;
	control_flush();
}

void control_send_later(const void *msg, size_t len)
{
	struct later *later = NULL;

	if (len <= LATER_MAX - later_bytes)
		later = malloc(sizeof(*later) + len);
	if (!later)
		engine_end("the guest does not receive messages");
	later->len = len;
	memcpy(later->bytes, msg, len);
	later_bytes += len;
	STAILQ_INSERT_TAIL(&laters, later, node);
	control_flush();
}

static bool is_behind(void)
{
	return out_len + later_bytes > sizeof(out) / 2;
}

bool control_is_behind(void)
{
	if (!is_behind())
		return false;
	held = true;
	return true;
}

static void send_header(uint16_t type, uint64_t seq)
{
	const struct vgpu_hdr msg = {
		.len = cpu_to_le32(sizeof(msg)),
		.type = cpu_to_le16(type),
		.seq = cpu_to_le64(seq),
	};

	control_send(&msg, sizeof(msg));
}

/*
 * Send a PING when the guest was silent for half of ping_timeout_ms. End the engine when the
 * guest stays silent for two halves more.
 */
static void control_silent(struct timer *timer)
{
	if (!silence)
		send_header(VGPU_MSG_PING, ++ping_seq);
	if (silence++ == 2)
		engine_end("the guest does not answer");
	timer_set(timer, start.ping_timeout_ms / 2 ? start.ping_timeout_ms / 2 : 1);
}

static struct timer pinging = { .expired = control_silent };

/* --- messages from the guest --------------------------------------------------- */

static void control_torn(struct timer *timer)
{
	(void)timer;
	engine_end("the guest did not send the rest of a message in time");
}

static struct timer receiving = { .expired = control_torn };

static void control_take(void)
{
	uint16_t type = le16_to_cpu(in.hdr.type);

	if (type == VGPU_MSG_PING || type == VGPU_MSG_PONG)
		return;
	handle(&in.hdr);
	control_seq++;
	progress_notify();
}

uint64_t control_last(void)
{
	return control_seq;
}

static bool control_type_ok(uint16_t type, uint64_t seq)
{
	switch (type) {
	case VGPU_MSG_CLOSE:
	case VGPU_MSG_UNMAP:
	case VGPU_MSG_SESSION_CLOSE:
	case VGPU_MSG_UNBIND:
	case VGPU_MSG_RELEASE:
		return seq == control_seq + 1;
	case VGPU_MSG_PING:
		send_header(VGPU_MSG_PONG, seq);
		return true;
	case VGPU_MSG_PONG:
		/*
		 * Accept a PONG only if a PING asked for it; any message proves that the guest
		 * lives.
		 */
		return seq <= ping_seq;
	default:
		return false;
	}
}

static void control_malformed(void)
{
	count(&shared->counters.malformed);
	engine_end("the guest has violated the protocol");
}

static void control_read(void)
{
	unsigned int taken = 0;
	size_t want;
	ssize_t len;

	while (taken < MSGS_A_TURN) {
		want = in_have < sizeof(in.hdr) ? sizeof(in.hdr) : le32_to_cpu(in.hdr.len);
		if (in_have < want) {
			len = recv(control.fd, in.bytes + in_have, want - in_have, MSG_DONTWAIT);
			if (len < 0 && (errno == EAGAIN || errno == EINTR))
				return;
			if (len <= 0)
				engine_end("the guest has closed the connection");
			__atomic_add_fetch(&shared->counters.bytes_in, len, __ATOMIC_RELAXED);
			if (!in_have)
				timer_set(&receiving, MSG_TIMEOUT_MS);
			in_have += len;
			if (in_have == sizeof(in.hdr) &&
			    (vgpu_wire_hdr_check(&in.hdr, &wire_limits) ||
			     le32_to_cpu(in.hdr.len) > sizeof(in)))
				control_malformed();
			continue;
		}
		timer_cancel(&receiving);
		in_have = 0;
		if (vgpu_wire_msg_check(in.bytes, want, &wire_limits) ||
		    !control_type_ok(le16_to_cpu(in.hdr.type), le64_to_cpu(in.hdr.seq)))
			control_malformed();
		control_take();
		taken++;
	}
}

static void control_ready(struct source *source, uint32_t events)
{
	(void)source;
	if (events & EPOLLOUT) {
		control_flush();
		if (held && !is_behind()) {
			held = false;
			progress_notify();
		}
	}
	if (!(events & ~EPOLLOUT))
		return;
	silence = 0;
	if (start.ping_timeout_ms) {
		timer_cancel(&pinging);
		timer_set(&pinging, start.ping_timeout_ms / 2 ? start.ping_timeout_ms / 2 : 1);
	}
	control_read();
}

int control_init(void (*handler)(const struct vgpu_hdr *msg))
{
	handle = handler;
	if (start.ping_timeout_ms)
		timer_set(&pinging, start.ping_timeout_ms / 2 ? start.ping_timeout_ms / 2 : 1);
	return source_add(&control, EPOLLIN);
}
