// SPDX-License-Identifier: MIT
/*
 * Requests of vgpud to the host module (ioctls of /dev/vgpu-host), or to user-space engines if
 * these serve the guests.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "config/config.h"
#include "engines/engine.h"
#include "engines/init.h"
#include "engines/lasting.h"
#include "engines/limit.h"
#include "engines/offer.h"
#include "engines/shadow.h"
#include "engines/share.h"
#include "host/hostdev.h"
#include "keeper/keeper.h"
#include "keeper/process.h"
#include "process/spawn.h"
#include "shadow/layout.h"
#include "shared/log.h"
#include "shared/loop.h"

static void hostdev_ready(struct source *source, uint32_t mask);
/* True if engines serve the guests: the settings say so, or the module is not loaded. */
static bool engines;
static const struct host_events *events;

static struct source agent = { .fd = -1, .ready = hostdev_ready };

/* True while what an earlier vgpud has left is being adopted. */
static bool adopting;

static void hostdev_event(const struct vgpu_host_event *event)
{
	switch (event->type) {
	case VGPU_HOST_EVENT_SESSION_GONE:
	case VGPU_HOST_EVENT_SESSION_CLOSE:
		events->session_gone(event->peer, event->session);
		break;
	case VGPU_HOST_EVENT_SESSION_REAP:
		events->session_may_be_reaped(event->peer, event->session);
		break;
	case VGPU_HOST_EVENT_PEER_GONE:
		events->peer_gone(event->peer);
		break;
	}
}

static void hostdev_ready(struct source *source, uint32_t mask)
{
	struct vgpu_host_event batch[32];
	ssize_t len;
	size_t i;

	(void)mask;
	len = read(source->fd, batch, sizeof(batch));
	if (len < 0) {
		if (errno != EAGAIN && errno != EINTR) {
			log_error("%s: %s", VGPU_HOST_DEVICE, strerror(errno));
			loop_stop();
		}
		return;
	}
	for (i = 0; i < (size_t)len / sizeof(batch[0]); i++)
		hostdev_event(&batch[i]);
}

bool hostdev_is_engine(void)
{
	return engines;
}

int hostdev_open_engines(const struct host_events *handlers)
{
	engines = true;
	keepers_init(true, engine_keeper_came);
	return engine_init(handlers);
}

int hostdev_ioctl(unsigned long cmd, void *arg, uint32_t size)
{
	memcpy(arg, &size, sizeof(size));
	return ioctl(agent.fd, cmd, arg) ? -errno : 0;
}

static struct vgpu_host_agent agent_args(uint32_t lasting_ms)
{
	return (struct vgpu_host_agent) {
		.size = sizeof(struct vgpu_host_agent),
		.reserved_base = SHADOW_RESERVED_BASE,
		.reserved_size = SHADOW_RESERVED_SIZE,
		.fetch_timeout_ms = settings.fetch_timeout_ms,
		.ping_timeout_ms = settings.ping_timeout_ms,
		.patience_ms = settings.limits.patience_ms,
		.lasting_ms = lasting_ms,
	};
}

/* Take over the agent that an earlier vgpud has left, or become a new one. */
static int hostdev_become(struct vgpu_host_agent *arg)
{
	if (settings.lasting) {
		arg->flags = VGPU_HOST_AGENT_ADOPT;
		adopting = !ioctl(agent.fd, VGPU_HOST_AGENT, arg);
		if (adopting)
			return 0;
		/* The next attempt ends an agent that cannot be taken over: there must be none. */
		if (errno != ENOENT && errno != EOPNOTSUPP)
			return -errno;
		arg->flags = 0;
		/* A module without this function refuses the flag. */
		if (errno == EOPNOTSUPP) {
			settings.lasting = false;
			arg->lasting_ms = 0;
		}
	}
	return ioctl(agent.fd, VGPU_HOST_AGENT, arg) ? -errno : 0;
}

int hostdev_open(const struct host_events *handlers)
{
	struct vgpu_host_agent arg = agent_args(settings.lasting ? settings.lasting_timeout_ms : 0);
	int ret;

	events = handlers;
	keepers_init(false, handlers->keeper_came);
	agent.fd = open(VGPU_HOST_DEVICE, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (agent.fd < 0)
		return -errno;
	ret = hostdev_become(&arg);
	if (ret) {
		source_close(&agent);
		return ret;
	}
	return source_add(&agent, EPOLLIN);
}

void hostdev_adopt(void)
{
	if (engines)
		adopting = lasting_open();
}

int hostdev_adopt_peer(uint32_t peer, struct sandbox *sandbox)
{
	return engines ? lasting_adopt(peer, sandbox) : 0;
}

int hostdev_adopt_shadow(uint32_t peer, uint64_t session, pid_t pid)
{
	return engines ? lasting_adopt_shadow(peer, session, pid) : 0;
}

bool hostdev_is_adopting(void)
{
	return adopting;
}

void hostdev_settle(void)
{
	if (adopting && engines)
		lasting_settle();
	else if (adopting && ioctl(agent.fd, VGPU_HOST_SETTLE))
		log_error("%s: %s", VGPU_HOST_DEVICE, strerror(errno));
	adopting = false;
}

void hostdev_note(uint32_t peer, uint64_t key, const void *data, size_t len, int fd)
{
	struct vgpu_host_note arg = {
		.peer = peer,
		.key = key,
		.data = (uintptr_t)data,
		.len = len,
		.fd = fd,
	};
	int ret;

	if (!settings.lasting)
		return;
	if (engines) {
		lasting_note(peer, key, data, len, fd);
		return;
	}
	ret = hostdev_ioctl(VGPU_HOST_NOTE, &arg, sizeof(arg));
	if (ret && ret != -ENOENT)
		log_seldom("what vgpud should leave to the next vgpud could not be kept: %s",
			   strerror(-ret));
}

int hostdev_note_find(uint32_t *peer, uint64_t *key, void *data, size_t *len, int *fd)
{
	struct vgpu_host_note_find arg = {
		.peer = *peer,
		.key = *key,
		.data = (uintptr_t)data,
		.len = *len,
	};
	int ret;

	if (engines)
		return lasting_note_find(peer, key, data, len, fd);
	ret = hostdev_ioctl(VGPU_HOST_NOTE_FIND, &arg, sizeof(arg));
	if (ret)
		return ret;
	*peer = arg.out_peer;
	*key = arg.out_key;
	*len = arg.out_len;
	*fd = arg.out_fd;
	return 0;
}

void hostdev_close(bool leave)
{
	struct vgpu_host_agent arg = agent_args(0);

	if (engines) {
		if (settings.lasting && !leave)
			lasting_close();
		return;
	}
	arg.flags = VGPU_HOST_AGENT_ADOPT;
	if (settings.lasting && !leave && ioctl(agent.fd, VGPU_HOST_AGENT, &arg))
		log_error("%s: %s", VGPU_HOST_DEVICE, strerror(errno));
	source_close(&agent);
}

int hostdev_export_add(struct vgpu_host_export_add *arg)
{
	if (engines)
		return engine_export_add(arg);
	if (adopting)
		arg->flags |= VGPU_HOST_EXPORT_ADOPT;
	return hostdev_ioctl(VGPU_HOST_EXPORT_ADD, arg, sizeof(*arg));
}

int hostdev_export_del(uint32_t export)
{
	struct vgpu_host_export_del arg = { .export = export };

	if (engines)
		return engine_export_del(export);
	return hostdev_ioctl(VGPU_HOST_EXPORT_DEL, &arg, sizeof(arg));
}

int hostdev_export_change(struct vgpu_host_export_change *arg)
{
	if (engines)
		return engine_export_change(arg);
	return hostdev_ioctl(VGPU_HOST_EXPORT_CHANGE, arg, sizeof(*arg));
}

int hostdev_export_file(struct vgpu_host_export_file *arg)
{
	if (engines)
		return engine_export_file(arg);
	return hostdev_ioctl(VGPU_HOST_EXPORT_FILE, arg, sizeof(*arg));
}

void hostdev_memory_offer(uint32_t cid, uint32_t port, uint32_t peer)
{
	struct vgpu_host_memory arg = {
		.peer = peer,
		.pieces = engine_pieces_max(),
		.out_fd = -1,
	};

	if (!keeper_connected(cid, port) || hostdev_ioctl(VGPU_HOST_MEMORY, &arg, sizeof(arg)))
		return;
	keeper_memory_give(cid, port, arg.out_fd);
	close(arg.out_fd);
}

int hostdev_peer_add(struct vgpu_host_peer_add *arg, struct sandbox *sandbox)
{
	int ret;

	if (engines)
		return engine_peer_add(arg, sandbox);
	ret = hostdev_ioctl(VGPU_HOST_PEER_ADD, arg, sizeof(*arg));
	if (!ret)
		hostdev_memory_offer(arg->cid, arg->port, arg->out_peer);
	return ret;
}

int hostdev_peer_del(uint32_t peer)
{
	struct vgpu_host_peer_del arg = { .peer = peer };

	if (engines)
		return engine_peer_del(peer);
	return hostdev_ioctl(VGPU_HOST_PEER_DEL, &arg, sizeof(arg));
}

int hostdev_grant(struct vgpu_host_grant *arg)
{
	if (engines)
		return engine_grant(arg);
	if (adopting)
		arg->flags |= VGPU_HOST_GRANT_ADOPT;
	return hostdev_ioctl(VGPU_HOST_GRANT, arg, sizeof(*arg));
}

int hostdev_revoke(uint32_t peer, uint32_t export, bool now)
{
	struct vgpu_host_revoke arg = {
		.peer = peer,
		.export = export,
		.flags = now ? VGPU_HOST_REVOKE_NOW : 0,
	};

	if (engines)
		return engine_revoke(peer, export, now);
	return hostdev_ioctl(VGPU_HOST_REVOKE, &arg, sizeof(arg));
}

int hostdev_shadow(uint32_t peer, uint64_t session, unsigned int nr_sessions)
{
	struct vgpu_host_shadow arg = {
		.peer = peer,
		.out_fd = -1,
		.session = session,
	};
	int ret;

	if (engines)
		return engine_shadow(peer, session, nr_sessions);
	ret = hostdev_ioctl(VGPU_HOST_SHADOW, &arg, sizeof(arg));
	return ret ? ret : arg.out_fd;
}

int hostdev_spawn_shadow(uint32_t peer, uint64_t session, struct sandbox *sandbox, const char *comm,
			 int shadow_fd, pid_t *pid, int *lanes_fd)
{
	if (engines)
		return engine_spawn_shadow(peer, session, comm, shadow_fd, pid, lanes_fd);
	return spawn_shadow(sandbox, comm, shadow_fd, pid, lanes_fd);
}

int hostdev_peer_limit(uint32_t peer, const struct limits *limits)
{
	struct vgpu_host_peer_limit arg = {
		.flags = limits->device_weight ? 0 : VGPU_HOST_LIMIT_FREEZE,
		.peer = peer,
		.patience_ms = limits->patience_ms,
		.limits = limits->host,
		.all_pages = limits->all_pages,
		.all_mappings = limits->all_mappings,
		.rates = limits->rates,
		.weight = limits->device_weight,
		.cap = limits->device_cap,
		.priority = limits->device_priority,
	};

	if (engines) {
		share_limit(&arg);
		submissions_limit(engine_find(arg.peer), &arg);
		return engine_peer_limit(&arg);
	}
	return hostdev_ioctl(VGPU_HOST_PEER_LIMIT, &arg, sizeof(arg));
}

/*
 * Listen for the guest's hypervisor, which reports the guest's memory. A failure is only logged:
 * the window works without, but devices cannot keep memory of the guest.
 */
static void memory_listen(const struct vgpu_host_window_create *window)
{
	int ret = keeper_memory_create(window);

	if (ret)
		log_error("window of guest %u:%u: vgpud cannot listen for the hypervisor, so devices cannot keep memory of this guest: %s",
			  window->cid, window->port, strerror(-ret));
}

int hostdev_window_create(struct vgpu_host_window_create *arg)
{
	int ret;

	if (engines)
		return nested_check() ? -EPERM : keeper_window_create(arg);
	ret = hostdev_ioctl(VGPU_HOST_WINDOW_CREATE, arg, sizeof(*arg));
	if (!ret)
		memory_listen(arg);
	return ret;
}

void hostdev_listen(void)
{
	struct vgpu_host_window_stat stat = { 0 };

	if (engines)
		return;
	while (!hostdev_window_next(stat.out_cid, stat.out_port, &stat)) {
		const struct vgpu_host_window_create window = {
			.cid = stat.out_cid,
			.port = stat.out_port,
			.uid = stat.out_uid,
		};

		memory_listen(&window);
	}
}

int hostdev_window_destroy(uint32_t cid, uint32_t port, bool force)
{
	struct vgpu_host_window_destroy arg = {
		.flags = force ? VGPU_HOST_WINDOW_FORCE : 0,
		.cid = cid,
		.port = port,
	};
	int ret;

	if (engines)
		return keeper_window_destroy(cid, port, force);
	ret = hostdev_ioctl(VGPU_HOST_WINDOW_DESTROY, &arg, sizeof(arg));
	if (!ret)
		keeper_window_destroy(cid, port, true);
	return ret;
}

int hostdev_window_drain(uint32_t cid, uint32_t port, bool drain)
{
	struct vgpu_host_window_drain arg = {
		.cid = cid,
		.port = port,
		.drain = drain,
	};

	if (engines)
		return keeper_find(cid, port) ? -EOPNOTSUPP : -ENOENT;
	return hostdev_ioctl(VGPU_HOST_WINDOW_DRAIN, &arg, sizeof(arg));
}

int hostdev_window_next(uint32_t cid, uint32_t port, struct vgpu_host_window_stat *stat)
{
	int ret;

	memset(stat, 0, sizeof(*stat));
	stat->flags = VGPU_HOST_WINDOW_NEXT;
	stat->cid = cid;
	stat->port = port;
	if (engines) {
		ret = keeper_window_next(cid, port, stat);
		if (!ret)
			engine_window_stat(stat->out_cid, stat->out_port, stat);
		return ret;
	}
	return hostdev_ioctl(VGPU_HOST_WINDOW_STAT, stat, sizeof(*stat));
}
