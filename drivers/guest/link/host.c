// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hosts: the control connection of a host, with the handshake, the host's messages and the end of
 * the connection. struct vgpu_host is allocated and freed here, too.
 */
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "cover.h"
#include "link/host.h"

#define HOST_CONNECT_TIMEOUT_MS	2000
#define HOST_MSG_TIMEOUT_MS	10000	/* timeout of a handshake, and of the rest of a message */
/* Minimum number of lanes: one is for calls of class mm, one for all others. */
#define HOST_LANES_MIN		2

/* Random number of this load of the module, by which a host tells a new guest from an old one. */
static u8 host_instance[sizeof_field(struct vgpu_hello, instance)];
static const struct vgpu_host_ops *host_ops;

/**
 * vgpu_host_global_init - set up before the first connection
 * @ops: operations of the layers above the connections; valid as long as the module
 */
void vgpu_host_global_init(const struct vgpu_host_ops *ops)
{
	host_ops = ops;
	get_random_bytes(host_instance, sizeof(host_instance));
}

/* Return: the @ops of vgpu_host_global_init(). */
const struct vgpu_host_ops *vgpu_host_ops(void)
{
	return host_ops;
}

/* Takes another reference. Return: @host. */
struct vgpu_host *vgpu_host_get(struct vgpu_host *host)
{
	kref_get(&host->ref);
	return host;
}

static void host_free(struct kref *ref)
{
	struct vgpu_host *host = container_of(ref, struct vgpu_host, ref);

	host_ops->fini(host);
	kfree_sensitive(host);
}

void vgpu_host_put(struct vgpu_host *host)
{
	kref_put(&host->ref, host_free);
}

/* Receives a message of at most VGPU_CONTROL_MSG_MAX bytes into host->msg, and checks it. */
static int host_recv(struct vgpu_host *host)
{
	struct vgpu_hdr *hdr = &host->msg.hdr;
	u32 len;
	int ret;

	ret = vgpu_conn_recv(&host->conn, hdr, sizeof(*hdr), HOST_MSG_TIMEOUT_MS);
	if (ret)
		return ret;
	len = le32_to_cpu(hdr->len);
	if (vgpu_wire_hdr_check(hdr, &host->limits) || len > VGPU_CONTROL_MSG_MAX)
		return -EPROTO;
	ret = vgpu_conn_recv(&host->conn, hdr + 1, len - sizeof(*hdr), HOST_MSG_TIMEOUT_MS);
	if (ret)
		return ret;
	return vgpu_wire_msg_check(hdr, len, &host->limits);
}

static int host_hello(struct vgpu_host *host)
{
	struct vgpu_hello hello = {
		.hdr.len = cpu_to_le32(sizeof(hello)),
		.hdr.type = cpu_to_le16(VGPU_MSG_HELLO),
		.magic = cpu_to_le32(VGPU_WIRE_MAGIC),
		.version_min = cpu_to_le16(VGPU_WIRE_VERSION),
		.version_max = cpu_to_le16(VGPU_WIRE_VERSION),
		.page_size = cpu_to_le32(VGPU_PAGE_SIZE),
		.features = cpu_to_le64(VGPU_FEATURES),
	};
	struct kvec vec = { .iov_base = &hello, .iov_len = sizeof(hello) };

	memcpy(hello.instance, host_instance, sizeof(hello.instance));
	return vgpu_conn_send(&host->conn, &vec, 1, sizeof(hello), HOST_MSG_TIMEOUT_MS);
}

/* Returns true if all features are known, DEMAND is one, and KEEP_ALONE comes with KEEP only. */
static bool host_features_ok(u64 features)
{
	if ((features & ~VGPU_FEATURES) || !(features & VGPU_FEATURE_DEMAND))
		return false;
	return !(features & VGPU_FEATURE_KEEP_ALONE) || (features & VGPU_FEATURE_KEEP);
}

static int host_welcome(struct vgpu_host *host, const struct vgpu_welcome *msg)
{
	u64 base = le64_to_cpu(msg->reserved_base);
	u64 size = le64_to_cpu(msg->reserved_size);

	host->terms.features = le64_to_cpu(msg->features);
	host->limits.features = host->terms.features;
	memcpy(host->terms.secret, msg->secret, sizeof(host->terms.secret));
	host->terms.reserved_base = base;
	host->terms.reserved_size = size;
	host->limits.call_bytes = min_t(u32, le32_to_cpu(msg->call_bytes_max),
					VGPU_CALL_BYTES_MAX);
	host->limits.segs = min_t(u32, le32_to_cpu(msg->segs_max), VGPU_SEGS_MAX);
	host->limits.fixups = min_t(u32, le32_to_cpu(msg->fixups_max), VGPU_FIXUPS_MAX);
	host->terms.lanes_max = le32_to_cpu(msg->lanes_max);
	host->terms.ping_timeout_ms = le32_to_cpu(msg->ping_timeout_ms);
	host->terms.tsc_khz = le32_to_cpu(msg->tsc_khz);

	if (le32_to_cpu(msg->magic) != VGPU_WIRE_MAGIC ||
	    le16_to_cpu(msg->version) != VGPU_WIRE_VERSION ||
	    !host_features_ok(host->terms.features) || (base | size) % PAGE_SIZE ||
	    base + size < base || host->terms.lanes_max < HOST_LANES_MIN ||
	    host->limits.call_bytes < VGPU_CONTROL_MSG_MAX)
		return -EPROTO;
	return 0;
}

static int host_handshake(struct vgpu_host *host, bool *refused)
{
	int ret;

	ret = host_hello(host);
	if (ret)
		return ret;
	ret = host_recv(host);
	if (ret)
		return ret;
	switch (le16_to_cpu(host->msg.hdr.type)) {
	case VGPU_MSG_WELCOME:
		return host_welcome(host, &host->msg.welcome);
	case VGPU_MSG_REFUSE:
		*refused = true;
		return -(int)min_t(u32, le32_to_cpu(host->msg.refuse.error), MAX_ERRNO) ?: -EPROTO;
	default:
		return -EPROTO;
	}
}

/**
 * vgpu_host_connect - make a control connection
 * @cid: context id
 * @port: port
 * @refused: out: true if the host answered with REFUSE; must be false before, as it is not written
 *	if no connection could be made
 *
 * Return: a host with one reference, to be given to vgpu_host_serve() and vgpu_host_abort(), or
 * an ERR_PTR().
 */
struct vgpu_host *vgpu_host_connect(u32 cid, u32 port, bool *refused)
{
	struct vgpu_host *host;
	int ret;

	host = kzalloc(sizeof(*host), GFP_KERNEL);
	if (!host)
		return ERR_PTR(-ENOMEM);
	kref_init(&host->ref);
	host->cid = cid;
	host->port = port;
	snprintf(host->name, sizeof(host->name), "%u:%u", cid, port);
	host->limits.call_bytes = VGPU_CALL_BYTES_MAX;
	vgpu_control_init(&host->control);
	seqlock_init(&host->clock.lock);
	host->clock.ask_at = jiffies;
	spin_lock_init(&host->lock);
	INIT_LIST_HEAD(&host->sessions.list);
	hash_init(host->sessions.by_mm);
	hash_init(host->objects.by_id);
	hash_init(host->events.by_number);
	INIT_LIST_HEAD(&host->events.signals);
	INIT_LIST_HEAD(&host->exports);
	INIT_LIST_HEAD(&host->parents);
	ret = host_ops->init(host);
	if (ret) {
		kfree(host);
		return ERR_PTR(ret);
	}

	ret = vgpu_conn_connect(&host->conn, cid, port, true, HOST_CONNECT_TIMEOUT_MS);
	if (ret)
		goto err_put_host;
	*refused = false;
	ret = host_handshake(host, refused);
	if (ret)
		goto err_fini_conn;
	ret = host_ops->start(host);
	if (ret)
		goto err_fini_conn;
	return host;

err_fini_conn:
	vgpu_conn_fini(&host->conn);
err_put_host:
	vgpu_host_put(host);
	return ERR_PTR(ret);
}

static int host_dispatch(struct vgpu_host *host)
{
	const struct vgpu_hdr *hdr = &host->msg.hdr;

	switch (le16_to_cpu(hdr->type)) {
	case VGPU_MSG_PING:
		vgpu_control_ping(host, VGPU_MSG_PONG, le64_to_cpu(hdr->seq));
		return 0;
	case VGPU_MSG_PONG:
		return 0;
	default:
		return host_ops->message(host, hdr);
	}
}

/* Waits for the next message. Sends a PING when half of the PING timeout has passed without one. */
static int host_wait(struct vgpu_host *host, u64 *seq)
{
	u32 timeout = host->terms.ping_timeout_ms;
	int ret = vgpu_conn_wait(&host->conn, TASK_IDLE, DIV_ROUND_UP(timeout, 2));

	if (ret != -ETIMEDOUT)
		return ret;
	vgpu_control_ping(host, VGPU_MSG_PING, ++*seq);
	/* Any message counts as an answer to the PING. */
	return vgpu_conn_wait(&host->conn, TASK_IDLE, timeout);
}

/**
 * vgpu_host_serve - receive the host's messages until the connection is over
 * @host: a connected host
 *
 * Return: -ECONNRESET (the host has ended the connection), -ETIMEDOUT (no answer to a PING),
 * -EPROTO (a malformed message), -ENOMEM, or another error of the socket. The end of @host->conn
 * (vgpu_conn_shutdown()) by any thread makes this function return.
 */
int vgpu_host_serve(struct vgpu_host *host)
{
	u64 seq = 0;
	int ret;

	do {
		/* Settle after a burst of messages: a card and its render node are one device. */
		if (!vgpu_conn_pending(&host->conn))
			host_ops->settle(host);
		ret = host_wait(host, &seq);
		vgpu_cover_start();
		ret = ret ?: host_recv(host) ?: host_dispatch(host);
		vgpu_cover_stop();
	} while (!ret);
	return ret;
}

/**
 * vgpu_host_abort - end everything that uses a lost connection
 * @host: the host, whose vgpu_host_serve() has returned; drops one reference
 *
 * Calls end with -ENODEV, files are hung up, mappings give SIGBUS, device nodes are removed.
 * Waits for no peer.
 */
void vgpu_host_abort(struct vgpu_host *host)
{
	spin_lock(&host->lock);
	WRITE_ONCE(host->down, true);
	spin_unlock(&host->lock);
	vgpu_conn_shutdown(&host->conn);
	host_ops->abort(host);
	vgpu_control_end(&host->control);
	host_ops->end(host);
	vgpu_conn_fini(&host->conn);
	vgpu_host_put(host);
}
