// SPDX-License-Identifier: GPL-2.0-only
/*
 * The host of the fuzzer of the guest: a thread that takes the guest's connections and answers its
 * calls. A step of the input changes the answers. Connections that are ended by an answer are
 * made again by the guest.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/vgpu_wire.h>
#include <linux/vm_sockets.h>

#include "../../selftests/hostile_peer.h"
#include "host.h"

#define LANES		16
#define REPLY_MAX	(1U << 20)
/* Time in ms after which the host ends a lane whose call it does not answer. */
#define NO_REPLY_MS	200

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* The lock protects all of these. */
static int listener = -1, control = -1;
static int lanes[LANES];
static uint32_t last_object;
static const struct step *followed;
/* True if the thread is to end all lanes, or to answer honestly; not protected. */
static bool tired, honest;

static union {
	struct vgpu_hdr hdr;
	struct vgpu_call call;
	uint8_t bytes[REPLY_MAX];
} question;

static union {
	struct vgpu_hdr hdr;
	struct vgpu_reply reply;
	uint8_t bytes[REPLY_MAX];
} answer;

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void close_lanes(void)
{
	int i;

	for (i = 0; i < LANES; i++)
		close_fd(&lanes[i]);
}

/* --- handshake -------------------------------------------------------------- */

static void send_welcome(int fd)
{
	struct vgpu_welcome welcome = {
		.hdr.len = htole32(sizeof(welcome)),
		.hdr.type = htole16(VGPU_MSG_WELCOME),
		.magic = htole32(VGPU_WIRE_MAGIC),
		.version = htole16(VGPU_WIRE_VERSION),
		.features = htole64(VGPU_FEATURES),
		.reserved_base = htole64(0x3e0000000000),
		.reserved_size = htole64(4ULL << 30),
		.call_bytes_max = htole32(VGPU_CALL_BYTES_MIN),
		.segs_max = htole32(64),
		.fixups_max = htole32(64),
		.lanes_max = htole32(8),
	};
	struct vgpu_export_add add = {
		.hdr.len = htole32(sizeof(add)),
		.hdr.type = htole16(VGPU_MSG_EXPORT_ADD),
		.export = htole32(1),
		.name = HOST_EXPORT,
		.driver = "vgpu-mock",
		.path = "/dev/vgpu-mock",
	};

	peer_send(fd, &welcome, sizeof(welcome));
	peer_send(fd, &add, sizeof(add));
}

static void take_connection(void)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC), i;
	struct vgpu_hdr ready = {
		.len = htole32(sizeof(ready)), .type = htole16(VGPU_MSG_LANE_READY),
	};
	struct timeval patience = { .tv_sec = 5 };

	if (fd < 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (peer_recv(fd, &question, sizeof(question), 5000) <= 0) {
		close(fd);
		return;
	}
	if (peer_type(&question) == VGPU_MSG_HELLO) {
		close_fd(&control);
		close_lanes();
		control = fd;
		send_welcome(fd);
		return;
	}
	for (i = 0; i < LANES && lanes[i] >= 0; i++)
		;
	if (i == LANES || !peer_send(fd, &ready, sizeof(ready))) {
		close(fd);
		return;
	}
	lanes[i] = fd;
}

static void take_control(void)
{
	struct vgpu_hdr *hdr = &question.hdr;

	if (peer_recv(control, &question, sizeof(question), 5000) <= 0) {
		close_fd(&control);
		return;
	}
	/* UNBIND has its answer as the next number; RELEASE is answered by itself. */
	switch (peer_type(hdr)) {
	case VGPU_MSG_PING:
		hdr->type = htole16(VGPU_MSG_PONG);
		break;
	case VGPU_MSG_UNBIND:
		hdr->type = htole16(VGPU_MSG_UNBOUND);
		hdr->seq = 0;
		break;
	case VGPU_MSG_RELEASE:
		break;
	default:
		return;
	}
	peer_send(control, hdr, le32toh(hdr->len));
}

/* --- calls -------------------------------------------------------------- */

static size_t add_object(size_t len, uint32_t kind, uint32_t fixup)
{
	struct vgpu_object_desc *desc = (void *)(answer.bytes + len);

	*desc = (struct vgpu_object_desc){
		.object = htole32(++last_object),
		.kind = htole32(kind),
		.fops = htole32(0x7f | VGPU_FOP_FASYNC),
		.flags = htole32(VGPU_OBJECT_READ | VGPU_OBJECT_WRITE),
		.space = htole64(1 + last_object % 3),
		.fixup = htole32(fixup),
		.f_flags = htole32(O_RDWR),
	};
	answer.reply.nr_objects = htole16(le16toh(answer.reply.nr_objects) + 1);
	return len + sizeof(*desc);
}

static size_t reply_ioctl(const struct vgpu_call *call, size_t len, bool give)
{
	const struct vgpu_seg *seg = (const void *)(call + 1);
	const struct vgpu_fixup *fixup = (const void *)(seg + le16toh(call->nr_segs));
	uint32_t i, bytes;

	for (i = 0; give && i < le16toh(call->nr_fixups) && i < VGPU_FDS_MAX; i++)
		if (le16toh(fixup[i].type) == VGPU_FIXUP_FD_OUT)
			len = add_object(len, VGPU_OBJECT_OTHER, i);
	for (i = 0; i < le16toh(call->nr_segs); i++) {
		bytes = le32toh(seg[i].len);
		if (!(le32toh(seg[i].flags) & VGPU_SEG_OUT) || len + bytes + 8 > REPLY_MAX)
			continue;
		memset(answer.bytes + len, 0, bytes + 8);
		memset(answer.bytes + len, 0x21, bytes);
		len += (bytes + 7) / 8 * 8;
	}
	return len;
}

/* Makes an honest reply to the question. Return: its length. */
static size_t make_reply(bool give)
{
	const struct vgpu_call *call = &question.call;
	const struct vgpu_seg *segs = (const void *)(call + 1);
	struct vgpu_reply *reply = &answer.reply;
	uint32_t bytes = call->nr_segs ? le32toh(segs[0].len) : 0;
	size_t len = sizeof(*reply);

	memset(reply, 0, sizeof(*reply));
	reply->hdr.type = htole16(VGPU_MSG_REPLY);
	reply->hdr.seq = call->hdr.seq;
	reply->pos = call->pos;
	reply->clock_in = htole64(1000);
	reply->clock_out = htole64(2000);
	switch (le16toh(call->op)) {
	case VGPU_OP_OPEN:
		return add_object(len, VGPU_OBJECT_DEVICE, 0);
	case VGPU_OP_IOCTL:
		return reply_ioctl(call, len, give);
	case VGPU_OP_READ:
	case VGPU_OP_READ_PAGES:
		if (bytes > REPLY_MAX - len - 8)
			bytes = 4096;
		reply->result = htole64(bytes);
		memset(answer.bytes + len, 0, bytes + 8);
		return len + (bytes + 7) / 8 * 8;
	case VGPU_OP_WRITE:
		reply->result = htole64(bytes);
		break;
	case VGPU_OP_WRITE_PAGES:
		reply->result = call->nr_segs ? segs[1].len : 0;
		break;
	case VGPU_OP_POLL:
		reply->out.poll.revents = call->args.poll.events & htole32(5);
		break;
	case VGPU_OP_MMAP:
		reply->out.mmap.space = htole64(1);
		reply->out.mmap.offset = call->args.mmap.offset;
		reply->out.mmap.flags = htole32(VGPU_MAP_READ | VGPU_MAP_WRITE | VGPU_MAP_MAYREAD |
						VGPU_MAP_MAYWRITE | VGPU_MAP_SHARED);
		break;
	}
	return len;
}

/* Asks what the step wants to be asked, and takes the answer. Return: false if the lane is over. */
static bool make_upcall(int fd, const struct step *step)
{
	static uint8_t upcall[INPUT_MAX] __attribute__((aligned(8)));
	struct vgpu_hdr *hdr = (struct vgpu_hdr *)upcall, *back = &answer.hdr;
	size_t len = step->len - sizeof(struct host_args);

	memcpy(upcall, step->data + sizeof(struct host_args), len);
	memset(upcall + len, 0, 8);
	len = (len + 7) / 8 * 8;
	hdr->len = htole32(len);
	hdr->seq = question.hdr.seq;
	return peer_send(fd, upcall, len) && peer_recv(fd, back, REPLY_MAX, 1000) > 0;
}

static void answer_call(int *fd, const struct step *step)
{
	const struct host_args *args = step ? (const void *)step->data : NULL;
	size_t len, i;

	if (step && step->len >= sizeof(*args) + sizeof(struct vgpu_hdr) &&
	    step->len < INPUT_MAX - 8 && !make_upcall(*fd, step)) {
		close_fd(fd);
		return;
	}
	len = make_reply(step && step->flags & HOST_GIVE);
	answer.hdr.len = htole32(len);
	for (i = 0; args && i < args->nr_patches && i < HOST_PATCHES; i++) {
		const struct host_patch *patch = &args->patches[i];
		size_t size = patch->size <= 8 ? patch->size : 8;

		if (patch->at < len && size <= len - patch->at)
			memcpy(answer.bytes + patch->at, &patch->value, size);
	}
	/* More bytes than the message says would be taken for the next one. */
	if (!peer_send(*fd, &answer, len))
		close_fd(fd);
}

static void take_lane(int *fd)
{
	const struct step *step = followed;

	if (__atomic_load_n(&honest, __ATOMIC_RELAXED))
		step = NULL;
	if (peer_recv(*fd, &question, sizeof(question), 5000) <= 0) {
		close_fd(fd);
		return;
	}
	if (peer_type(&question) != VGPU_MSG_CALL)
		return;
	if (step && (step->kind < HOST_OPEN || step->len < sizeof(struct host_args)))
		step = NULL;
	if (!step || !(step->flags & HOST_NO_REPLY)) {
		answer_call(fd, step);
		return;
	}
	usleep(NO_REPLY_MS * 1000);
	close_fd(fd);
}

static void *host_run(void *unused)
{
	struct pollfd fds[LANES + 2];
	int i;

	(void)unused;
	for (;;) {
		pthread_mutex_lock(&lock);
		if (__atomic_exchange_n(&tired, false, __ATOMIC_RELAXED))
			close_lanes();
		fds[0] = (struct pollfd){ .fd = listener, .events = POLLIN };
		fds[1] = (struct pollfd){ .fd = control, .events = POLLIN };
		for (i = 0; i < LANES; i++)
			fds[2 + i] = (struct pollfd){ .fd = lanes[i], .events = POLLIN };
		pthread_mutex_unlock(&lock);
		if (poll(fds, LANES + 2, 20) <= 0)
			continue;
		pthread_mutex_lock(&lock);
		if (fds[0].revents)
			take_connection();
		if (fds[1].revents && control == fds[1].fd && control >= 0)
			take_control();
		for (i = 0; i < LANES; i++)
			if (fds[2 + i].revents && lanes[i] == fds[2 + i].fd && lanes[i] >= 0)
				take_lane(&lanes[i]);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

/* --- for the program -------------------------------------------------------------- */

bool host_start(void)
{
	struct sockaddr_vm address = {
		.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_ANY, .svm_port = HOST_PORT,
	};
	pthread_t thread;
	int i;

	for (i = 0; i < LANES; i++)
		lanes[i] = -1;
	listener = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return listener >= 0 && !bind(listener, (struct sockaddr *)&address, sizeof(address)) &&
	       !listen(listener, 16) && !pthread_create(&thread, NULL, host_run, NULL);
}

void host_follow(const struct step *step)
{
	pthread_mutex_lock(&lock);
	followed = step;
	__atomic_store_n(&honest, false, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock);
}

void host_send(const void *data, size_t len)
{
	static uint8_t msg[INPUT_MAX] __attribute__((aligned(8)));
	struct vgpu_hdr *hdr = (struct vgpu_hdr *)msg;

	if (len < sizeof(*hdr) || len > INPUT_MAX - 8)
		return;
	memset(msg + len, 0, 8);
	memcpy(msg, data, len);
	len = (len + 7) / 8 * 8;
	hdr->len = htole32(len);
	pthread_mutex_lock(&lock);
	if (control >= 0)
		peer_send(control, msg, len);
	pthread_mutex_unlock(&lock);
}

void host_kill(bool all)
{
	pthread_mutex_lock(&lock);
	if (all)
		close_fd(&control);
	close_lanes();
	pthread_mutex_unlock(&lock);
}

void host_kill_later(bool be_honest)
{
	__atomic_store_n(&honest, be_honest, __ATOMIC_RELAXED);
	__atomic_store_n(&tired, true, __ATOMIC_RELAXED);
}
