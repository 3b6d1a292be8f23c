// SPDX-License-Identifier: GPL-2.0-only
/*
 * The process of the fuzzer of shadows and agents: it begins like vgpud and an honest shadow, with
 * a guest of its own, and then does what the steps say.
 */
#include <endian.h>
#include <fcntl.h>
#include <linux/vgpu_host.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "../../selftests/hostile_peer.h"
#include "draw.h"
#include "shadow.h"

#define LOOPBACK	1	/* CID */
/* Times that a thread repeats a call that wants to be repeated. */
#define REPEATS		64

static int slots[SLOTS];
static unsigned int next_slot;
static uint64_t lane_seq, control_seq;
/* Argument of an ioctl, in a page that may be made read-only. */
static uint8_t *page;
/* Memory to which pointers of arguments lead. No pages follow it. */
static uint8_t *pointed;

/* --- beginning -------------------------------------------------------------- */

static void put_slot(int fd)
{
	if (fd < 0)
		return;
	slots[SLOT_NEW + next_slot++ % (SLOTS - SLOT_NEW)] = fd;
}

/* Makes both ends of a connection; both are -1 if this fails. */
static void connect_ends(int *to, int *from)
{
	struct sockaddr_vm addr = {
		.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_ANY, .svm_port = SHADOW_PORT,
	};
	int listener = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*to = -1;
	*from = -1;
	if (!bind(listener, (struct sockaddr *)&addr, sizeof(addr)) && !listen(listener, 1)) {
		*from = peer_connect(LOOPBACK, SHADOW_PORT, false);
		if (*from >= 0)
			*to = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	}
	close(listener);
}

static void begin(void)
{
	struct vgpu_host_agent role = {
		.size = sizeof(role), .reserved_base = SHADOW_RESERVED,
		.reserved_size = SHADOW_RESERVED_LEN, .fetch_timeout_ms = 200,
		.lasting_ms = draw_one_in(2) ? SHADOW_LASTING_MS : 0,
	};
	struct vgpu_host_peer_add peer = {
		.size = sizeof(peer), .cid = LOOPBACK, .port = SHADOW_PORT,
		.features = VGPU_FEATURE_DEMAND | VGPU_FEATURE_COPY_MMAP | VGPU_FEATURE_WINDOW |
			    VGPU_FEATURE_WRITE_NAMED,
	};
	struct vgpu_host_export_add export = {
		.size = sizeof(export), .kind = VGPU_EXPORT_PLAIN, .name = "fuzz",
		.path = "/dev/vgpu-mock",
	};
	struct vgpu_host_grant grant = { .size = sizeof(grant) };
	struct vgpu_host_shadow shadow = { .size = sizeof(shadow), .session = 1, .out_fd = -1 };
	struct vgpu_shadow_lane lane = { .size = sizeof(lane), .out_fd = -1 };

	/* Guests that have this feature do not outlive an agent's file. */
	if (draw_one_in(2))
		peer.features |= VGPU_FEATURE_KEEP;
	slots[SLOT_AGENT] = open(VGPU_HOST_DEVICE, O_RDWR | O_CLOEXEC);
	slots[SLOT_DEVICE] = open(getenv("VGPU_REAL"), O_PATH | O_CLOEXEC);
	slots[SLOT_MEMFD] = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	slots[SLOT_EVENT] = eventfd(0, EFD_CLOEXEC);
	if (ftruncate(slots[SLOT_MEMFD], 1 << 20))
		return;
	connect_ends(&slots[SLOT_CONTROL], &slots[SLOT_GUEST]);
	peer.sock_fd = slots[SLOT_CONTROL];
	export.path_fd = slots[SLOT_DEVICE];
	ioctl(slots[SLOT_AGENT], VGPU_HOST_AGENT, &role);
	ioctl(slots[SLOT_AGENT], VGPU_HOST_EXPORT_ADD, &export);
	ioctl(slots[SLOT_AGENT], VGPU_HOST_PEER_ADD, &peer);
	grant.export = export.out_export;
	grant.peer = peer.out_peer;
	shadow.peer = peer.out_peer;
	ioctl(slots[SLOT_AGENT], VGPU_HOST_GRANT, &grant);
	ioctl(slots[SLOT_AGENT], VGPU_HOST_SHADOW, &shadow);
	slots[SLOT_SHADOW] = shadow.out_fd;
	mmap((void *)SHADOW_RESERVED, 0x100000, PROT_READ | PROT_WRITE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	mmap((void *)SHADOW_TARGET, SHADOW_TARGET_LEN, PROT_READ | PROT_WRITE,
	     MAP_SHARED | MAP_FIXED, shadow.out_fd, SHADOW_TARGET);
	connect_ends(&slots[SLOT_SOCKET], &slots[SLOT_CALLER]);
	lane.sock_fd = slots[SLOT_SOCKET];
	ioctl(shadow.out_fd, VGPU_SHADOW_LANE, &lane);
	slots[SLOT_LANE] = lane.out_fd;
	close(slots[SLOT_SOCKET]);
	connect_ends(&slots[SLOT_SOCKET], &slots[SLOT_PEER]);
}

/* --- steps -------------------------------------------------------------- */

/**
 * struct job - call that a thread makes, as it may wait
 * @fd: file
 * @cmd: command
 * @private: true if the thread has no other files
 * @bytes: argument
 */
struct job {
	int fd;
	uint32_t cmd;
	bool private;
	uint8_t bytes[512];
};

static void *run_job(void *data)
{
	struct job *job = data;
	struct vgpu_lane_serve *serve = (void *)job->bytes;
	int i, ret, event = serve->event_fd;

	if (job->cmd == VGPU_LANE_SERVE && job->private && !unshare(CLONE_FILES)) {
		if (event >= 0)
			event = dup2(event, 900);
		dup2(job->fd, 901);
		close_range(0, 899, 0);
		close_range(902, ~0U, 0);
		job->fd = 901;
		serve->event_fd = event;
	}
	for (i = 0; i < REPEATS; i++) {
		ret = ioctl(job->fd, job->cmd, job->bytes);
		if (ret < 0)
			break;
		serve->event_fd = ret == VGPU_LANE_NEEDS_EVENT ? eventfd(0, 0) : -1;
	}
	free(job);
	return NULL;
}

#define FIT_ANY(cmd, type, fd, pointer)	{ cmd, sizeof(struct type), fd, pointer }
#define FIT(cmd, type)			FIT_ANY(cmd, type, -1, 0)
#define FIT_FD(cmd, type, fd)		FIT_ANY(cmd, type, offsetof(struct type, fd), 0)
#define FIT_POINTER(cmd, type, pointer)	FIT_ANY(cmd, type, -1, offsetof(struct type, pointer))
#define FIT_BOTH(cmd, type, fd, pointer) \
	FIT_ANY(cmd, type, offsetof(struct type, fd), offsetof(struct type, pointer))

/* Exports and peers that outlive the agent's file must not keep the next input waiting. */
static void fit_times(struct vgpu_host_agent *role)
{
	role->reserved_base = SHADOW_RESERVED;
	role->reserved_size = SHADOW_RESERVED_LEN;
	role->lasting_ms %= SHADOW_LASTING_MS + 1;
}

/*
 * Replaces the numbers of slots by those of files, offsets of pointers by addresses, and the size by
 * that of the struct.
 */
static void fit_argument(uint32_t cmd, uint8_t *bytes)
{
	static const struct {
		uint32_t cmd;
		uint16_t size;
		int16_t fd;
		uint16_t pointer;
	} fits[] = {
		FIT(VGPU_HOST_AGENT, vgpu_host_agent),
		FIT_BOTH(VGPU_HOST_EXPORT_ADD, vgpu_host_export_add, path_fd, submits),
		FIT(VGPU_HOST_EXPORT_DEL, vgpu_host_export_del),
		FIT(VGPU_HOST_EXPORT_CHANGE, vgpu_host_export_change),
		FIT(VGPU_HOST_EXPORT_FILE, vgpu_host_export_file),
		FIT_FD(VGPU_HOST_PEER_ADD, vgpu_host_peer_add, sock_fd),
		FIT(VGPU_HOST_PEER_DEL, vgpu_host_peer_del),
		FIT_POINTER(VGPU_HOST_GRANT, vgpu_host_grant, ioctls),
		FIT(VGPU_HOST_REVOKE, vgpu_host_revoke),
		FIT(VGPU_HOST_SHADOW, vgpu_host_shadow),
		FIT(VGPU_HOST_MEMORY, vgpu_host_memory),
		FIT(VGPU_HOST_PEER_STAT, vgpu_host_peer_stat),
		FIT(VGPU_HOST_GUEST_STAT, vgpu_host_guest_stat),
		FIT(VGPU_HOST_SESSION_STAT, vgpu_host_session_stat),
		FIT_POINTER(VGPU_HOST_DENIALS, vgpu_host_denials, denials),
		FIT(VGPU_HOST_PEER_LIMIT, vgpu_host_peer_limit),
		FIT(VGPU_HOST_PEER_USE, vgpu_host_peer_use),
		FIT_BOTH(VGPU_HOST_NOTE, vgpu_host_note, fd, data),
		FIT_POINTER(VGPU_HOST_NOTE_FIND, vgpu_host_note_find, data),
		FIT(VGPU_HOST_WINDOW_CREATE, vgpu_host_window_create),
		FIT(VGPU_HOST_WINDOW_DESTROY, vgpu_host_window_destroy),
		FIT(VGPU_HOST_WINDOW_STAT, vgpu_host_window_stat),
		FIT(VGPU_HOST_WINDOW_DRAIN, vgpu_host_window_drain),
		FIT_FD(VGPU_SHADOW_LANE, vgpu_shadow_lane, sock_fd),
		FIT_FD(VGPU_LANE_SERVE, vgpu_lane_serve, event_fd),
		FIT_FD(VGPU_MEMORY_ADD, vgpu_memory_add, fd),
		FIT(VGPU_MEMORY_REMOVE, vgpu_memory_remove),
	};
	uint64_t pointer;
	uint32_t size;
	int32_t fd;
	size_t i;

	for (i = 0; i < sizeof(fits) / sizeof(fits[0]); i++) {
		if (fits[i].cmd != cmd)
			continue;
		size = fits[i].size;
		memcpy(bytes, &size, sizeof(size));
		memcpy(&pointer, bytes + fits[i].pointer, sizeof(pointer));
		if (fits[i].pointer && pointer) {
			pointer = (uintptr_t)pointed + pointer % SHADOW_POINTED;
			memcpy(bytes + fits[i].pointer, &pointer, sizeof(pointer));
		}
		if (cmd == VGPU_HOST_AGENT)
			fit_times((struct vgpu_host_agent *)bytes);
		if (fits[i].fd < 0)
			return;
		memcpy(&fd, bytes + fits[i].fd, sizeof(fd));
		if (fd >= 0)
			fd = slots[fd % SLOTS];
		memcpy(bytes + fits[i].fd, &fd, sizeof(fd));
	}
}

static void make_thread(const struct job *job)
{
	struct job *own = malloc(sizeof(*own));
	pthread_t thread;

	if (!own)
		return;
	*own = *job;
	if (pthread_create(&thread, NULL, run_job, own))
		free(own);
	else
		pthread_detach(thread);
}

static void make_ioctl(const struct step *step, const struct shadow_args *args)
{
	struct job job = {
		.fd = slots[step->where % SLOTS], .cmd = args->number,
		.private = !(step->flags & SHADOW_SHARED),
	};

	if (step->len < sizeof(*args))
		return;
	memcpy(job.bytes, args->bytes, sizeof(job.bytes));
	if (!(step->flags & SHADOW_RAW))
		fit_argument(job.cmd, job.bytes);
	/* Pointers in these structs lead to memory of this program, or nowhere. */
	if (job.cmd == VGPU_SHADOW_SERVICE || job.cmd == VGPU_LANE_SERVE) {
		make_thread(&job);
		return;
	}
	memcpy(page, job.bytes, sizeof(job.bytes));
	if (step->flags & SHADOW_READ_ONLY)
		mprotect(page, 4096, PROT_READ);
	if (!ioctl(job.fd, job.cmd, page)) {
		if (job.cmd == VGPU_HOST_SHADOW)
			put_slot(((struct vgpu_host_shadow *)page)->out_fd);
		if (job.cmd == VGPU_SHADOW_LANE)
			put_slot(((struct vgpu_shadow_lane *)page)->out_fd);
		if (job.cmd == VGPU_HOST_MEMORY)
			put_slot(((struct vgpu_host_memory *)page)->out_fd);
		if (job.cmd == VGPU_HOST_NOTE_FIND)
			put_slot(((struct vgpu_host_note_find *)page)->out_fd);
	}
	mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

/* Keeps the program's own memory. */
static bool may_move(const struct shadow_args *args)
{
	const uint64_t starts[] = { SHADOW_RESERVED, SHADOW_TARGET };
	const uint64_t lens[] = { SHADOW_RESERVED_LEN, SHADOW_TARGET_LEN };
	int i;

	for (i = 0; i < 2; i++)
		if (args->addr >= starts[i] && args->addr - starts[i] < lens[i] &&
		    args->len <= lens[i] - (args->addr - starts[i]))
			return true;
	return false;
}

static void move_memory(const struct step *step, const struct shadow_args *args)
{
	if (!may_move(args))
		return;
	if (step->kind == SHADOW_MUNMAP)
		munmap((void *)args->addr, args->len);
	else
		mmap((void *)args->addr, args->len, args->number & 7,
		     (args->number >> 8 & MAP_TYPE) | MAP_FIXED, slots[step->where % SLOTS],
		     args->offset);
}

static void send_message(const struct step *step)
{
	static uint8_t msg[INPUT_MAX] __attribute__((aligned(8)));
	unsigned int where = step->where == SLOT_GUEST ? SLOT_GUEST : SLOT_CALLER;
	struct vgpu_hdr *hdr = (void *)msg;
	struct vgpu_call *call = (void *)msg;
	size_t len = (step->len + 7) / 8 * 8;

	if (step->len < sizeof(*hdr))
		return;
	memcpy(msg, step->data, len);
	hdr->len = htole32(len);
	if (where == SLOT_GUEST)
		hdr->seq = htole64(++control_seq);
	else if (le16toh(hdr->type) == VGPU_MSG_CALL)
		hdr->seq = htole64(++lane_seq);
	else
		hdr->seq = htole64(lane_seq);
	if (le16toh(hdr->type) == VGPU_MSG_CALL && len >= sizeof(*call))
		call->control_seq = 0;
	send(slots[where], msg, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	/* Calls need a moment, and their replies must not fill the connection. */
	usleep(5000);
	while (recv(slots[where], msg, sizeof(msg), MSG_DONTWAIT) > 0)
		;
}

static void read_file(const struct step *step, const struct shadow_args *args)
{
	int fd = slots[step->where % SLOTS];

	/* Only reads of the module's files cannot wait for long. */
	if (fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK))
		return;
	(void)!read(fd, pointed, args->len % SHADOW_POINTED);
}

static void reopen(const struct step *step)
{
	int *fd = &slots[step->where % SLOTS];

	close(*fd);
	*fd = open(VGPU_HOST_DEVICE, O_RDWR | O_CLOEXEC);
}

static void on_signal(int signr)
{
	(void)signr;
}

void shadow_play(struct input *input)
{
	const struct sigaction action = { .sa_handler = on_signal };
	struct step *step = NULL;
	unsigned int i;

	sigaction(VGPU_LANE_SIGNAL, &action, NULL);
	for (i = 0; i < SLOTS; i++)
		slots[i] = -1;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pointed = mmap(NULL, 2 * SHADOW_POINTED, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || pointed == MAP_FAILED)
		return;
	munmap(pointed + SHADOW_POINTED, SHADOW_POINTED);
	draw_bytes(pointed, SHADOW_POINTED);
	begin();
	while ((step = input_next(input, step))) {
		const struct shadow_args *args = (const struct shadow_args *)step->data;
		bool whole = step->len >= sizeof(*args) - sizeof(args->bytes);

		switch (step->kind % SHADOW_STEPS) {
		case SHADOW_IOCTL:
			make_ioctl(step, args);
			break;
		case SHADOW_MMAP:
		case SHADOW_MUNMAP:
			if (whole)
				move_memory(step, args);
			break;
		case SHADOW_CLOSE:
			close(slots[step->where % SLOTS]);
			break;
		case SHADOW_DUP:
			if (whole)
				slots[args->number % SLOTS] = dup(slots[step->where % SLOTS]);
			break;
		case SHADOW_SEND:
			send_message(step);
			break;
		case SHADOW_READ:
			if (whole)
				read_file(step, args);
			break;
		case SHADOW_REOPEN:
			reopen(step);
			break;
		case SHADOW_NAP:
			usleep((step->flags & 15) * 1000);
			break;
		}
	}
}
