// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transport: see conn.h.
 *
 * All socket I/O uses MSG_DONTWAIT, and conn_wait.c does the waiting. A wait in vsock ends on any
 * signal, also in the middle of a message (net/vmw_vsock/af_vsock.c,
 * vsock_connectible_wait_data()). The socket's callbacks wake the waits. A flag is cleared
 * before an attempt, and set by the callback after the state changed, so an attempt that finds
 * nothing cannot miss the next event.
 *
 * The virtio transports call the callbacks with the sock locked, and bytes can be received only
 * with the sock locked (virtio_transport_recv_pkt(), virtio_transport_stream_do_dequeue()): a
 * callback never runs after its bytes were received. vgpu_conn_pending() relies on this.
 */
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vm_sockets.h>
#include <net/af_vsock.h>
#include <net/sock.h>

#include "compat.h"
#include "conn.h"
#include "conn_wait.h"

#define CONN_RBUF_LEN		SZ_16K
#define CONN_SOCK_BUF_LEN	((u64)SZ_1M)
#define CONN_RESERVED_PORTS	1024
/* Attempts to send while there is no memory, one in each tick of the clock. */
#define CONN_NOMEM_TRIES	10
/*
 * Sockets of this module get their own lockdep subclass. A recvmsg() into a program's memory
 * faults with the sock locked, while this module locks its socks in faults and below mmap(). No
 * sock is ever used in both ways. A subclass is used instead of a lock class key of the module,
 * because a lingering sock outlives the module; 1 is SINGLE_DEPTH_NESTING.
 */
#define CONN_LOCK_SUBCLASS	2

static void conn_changed(struct sock *sk, bool readable, bool writable)
{
	struct vgpu_conn *conn;

	read_lock_bh(&sk->sk_callback_lock);
	conn = sk->sk_user_data;
	if (conn) {
		/* Only changes of the socket's state concern both directions. */
		if (readable && writable)
			WRITE_ONCE(conn->state_changed, true);
		if (readable)
			WRITE_ONCE(conn->readable, true);
		if (writable)
			WRITE_ONCE(conn->writable, true);
		/* Pairs with the barrier in vgpu_conn_wait_event()'s prepare_to_wait(). */
		smp_mb();
		/* Each credit update sets writable: it must not wake the receiver. */
		if (readable && wq_has_sleeper(&conn->recv_wait))
			wake_up_all(&conn->recv_wait);
		if (writable && wq_has_sleeper(&conn->send_wait))
			wake_up_all(&conn->send_wait);
		if (readable && conn->event)
			conn->event(conn->event_data);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

static void conn_data_ready(struct sock *sk)
{
	conn_changed(sk, true, false);
}

static void conn_write_space(struct sock *sk)
{
	conn_changed(sk, false, true);
}

static void conn_state_change(struct sock *sk)
{
	conn_changed(sk, true, true);
}

static int conn_install(struct vgpu_conn *conn)
{
	struct sock *sk = conn->sock->sk;
	int ret = -EBUSY;

	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	/* Another user has set callbacks: both would restore each other's callbacks. */
	if (sk->sk_user_data)
		goto out_unlock;
	ret = 0;
	lockdep_set_subclass(&sk->sk_lock, CONN_LOCK_SUBCLASS);
	conn->saved_data_ready = sk->sk_data_ready;
	conn->saved_write_space = sk->sk_write_space;
	conn->saved_state_change = sk->sk_state_change;
	conn->saved_error_report = sk->sk_error_report;
	sk->sk_user_data = conn;
	sk->sk_data_ready = conn_data_ready;
	sk->sk_write_space = conn_write_space;
	sk->sk_state_change = conn_state_change;
	sk->sk_error_report = conn_state_change;
out_unlock:
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
	return ret;
}

static void conn_restore(struct vgpu_conn *conn)
{
	struct sock *sk = conn->sock->sk;

	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = NULL;
	sk->sk_data_ready = conn->saved_data_ready;
	sk->sk_write_space = conn->saved_write_space;
	sk->sk_state_change = conn->saved_state_change;
	sk->sk_error_report = conn->saved_error_report;
	write_unlock_bh(&sk->sk_callback_lock);
	lockdep_set_subclass(&sk->sk_lock, 0);
	release_sock(sk);
}

/*
 * Raise the buffer size to CONN_SOCK_BUF_LEN. The buffers of both ends bound the credit of a
 * peer (virtio_transport_get_credit()). A socket that rejects the size works with a smaller
 * buffer.
 */
static void conn_enlarge_buffers(struct socket *sock)
{
	u64 len = CONN_SOCK_BUF_LEN;

	sock->ops->setsockopt(sock, AF_VSOCK, SO_VM_SOCKETS_BUFFER_MAX_SIZE,
			      KERNEL_SOCKPTR(&len), sizeof(len));
	sock->ops->setsockopt(sock, AF_VSOCK, SO_VM_SOCKETS_BUFFER_SIZE,
			      KERNEL_SOCKPTR(&len), sizeof(len));
}

static int conn_attach(struct vgpu_conn *conn, struct socket *sock, bool own)
{
	int ret;

	conn->rbuf = kmalloc(CONN_RBUF_LEN, GFP_KERNEL_ACCOUNT);
	if (!conn->rbuf)
		return -ENOMEM;
	init_waitqueue_head(&conn->recv_wait);
	init_waitqueue_head(&conn->send_wait);
	conn->sock = sock;
	conn->own = own;
	/* Bytes or room that came before the callbacks were installed set no flag. */
	conn->readable = true;
	conn->writable = true;
	ret = conn_install(conn);
	if (ret) {
		kfree(conn->rbuf);
		conn->rbuf = NULL;
	}
	return ret;
}

bool vgpu_conn_readable(struct vgpu_conn *conn)
{
	return READ_ONCE(conn->readable) || READ_ONCE(conn->down);
}

static int conn_bind_reserved(struct socket *sock)
{
	u32 first = get_random_u32();
	unsigned int i;
	int ret;

	for (i = 0; i < CONN_RESERVED_PORTS - 1; i++) {
		struct sockaddr_vm addr = {
			.svm_family = AF_VSOCK,
			.svm_cid = VMADDR_CID_ANY,
			.svm_port = 1 + (first + i) % (CONN_RESERVED_PORTS - 1),
		};

		ret = kernel_bind(sock, (struct sockaddr_unsized *)&addr, sizeof(addr));
		if (ret != -EADDRINUSE)
			return ret;
	}
	return -EADDRINUSE;
}

static bool conn_connecting(struct sock *sk)
{
	bool connecting;

	lock_sock(sk);
	connecting = sk->sk_state == TCP_SYN_SENT;
	release_sock(sk);
	return connecting;
}

int vgpu_conn_connect(struct vgpu_conn *conn, u32 cid, u32 port, bool reserved,
		      unsigned int timeout_ms)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(timeout_ms);
	struct sockaddr_vm addr = {
		.svm_family = AF_VSOCK,
		.svm_cid = cid,
		.svm_port = port,
	};
	struct socket *sock;
	int ret;

	ret = sock_create_kern(&init_net, AF_VSOCK, SOCK_STREAM, 0, &sock);
	if (ret == -EAFNOSUPPORT)
		return -ENODEV;
	/* There is no memory for the socket's inode (__sock_create()). */
	if (ret == -ENFILE)
		return -ENOMEM;
	if (ret)
		return ret;
	if (reserved)
		ret = conn_bind_reserved(sock);
	if (!ret) {
		conn_enlarge_buffers(sock);
		ret = conn_attach(conn, sock, true);
	}
	if (ret) {
		sock_release(sock);
		return ret;
	}

	ret = kernel_connect(sock, (struct sockaddr_unsized *)&addr, sizeof(addr), O_NONBLOCK);
	if (ret == -EINPROGRESS) {
		do {
			WRITE_ONCE(conn->writable, false);
			ret = 0;
			if (!conn_connecting(sock->sk))
				break;
			ret = vgpu_conn_wait_event(conn, &conn->writable, TASK_KILLABLE, deadline,
						   timeout_ms);
		} while (!ret);
		if (!ret)
			ret = sock_error(sock->sk);
		if (!ret && READ_ONCE(sock->sk->sk_state) != TCP_ESTABLISHED)
			ret = -ECONNREFUSED;
	}
	if (ret)
		vgpu_conn_fini(conn);
	return ret;
}

int vgpu_conn_attach_fd(struct vgpu_conn *conn, int fd)
{
	struct socket *sock;
	int ret;

	sock = sockfd_lookup(fd, &ret);
	if (!sock)
		return ret;
	if (sock->sk->sk_family != AF_VSOCK || sock->type != SOCK_STREAM) {
		sockfd_put(sock);
		return -EPROTOTYPE;
	}
	ret = conn_attach(conn, sock, false);
	if (ret)
		sockfd_put(sock);
	return ret;
}

bool vgpu_conn_is_ending(struct vgpu_conn *conn)
{
	const struct vsock_sock *vsk = vsock_sk(conn->sock->sk);

	/* A peer that has shut down one direction only may still use the other one. */
	return READ_ONCE(conn->down) || READ_ONCE(vsk->peer_shutdown) == SHUTDOWN_MASK;
}

bool vgpu_conn_was_ended(struct vgpu_conn *conn)
{
	return vgpu_conn_is_ending(conn) && !READ_ONCE(conn->left);
}

void vgpu_conn_shutdown(struct vgpu_conn *conn)
{
	/*
	 * Both flags are set before the shutdown: it runs callbacks, and the peer answers it by
	 * ending its side as well.
	 */
	if (!vgpu_conn_is_ending(conn))
		WRITE_ONCE(conn->left, true);
	WRITE_ONCE(conn->down, true);
	kernel_sock_shutdown(conn->sock, SHUT_RDWR);
	wake_up_all(&conn->recv_wait);
	wake_up_all(&conn->send_wait);
}

void vgpu_conn_fini(struct vgpu_conn *conn)
{
	vgpu_conn_shutdown(conn);
	conn_restore(conn);
	if (conn->own)
		sock_release(conn->sock);
	else
		sockfd_put(conn->sock);
	conn->sock = NULL;
	kfree(conn->rbuf);
	conn->rbuf = NULL;
}

void vgpu_conn_exit(void)
{
	/* Callbacks run with bottom halves off, which RCU waits for. */
	synchronize_rcu();
}

bool vgpu_conn_is_down(struct vgpu_conn *conn)
{
	return READ_ONCE(conn->down);
}

/*
 * Receive up to @len bytes without waiting. An attempt takes the sock lock, so none is made
 * where it can find nothing: fewer bytes than asked for means that the socket is empty
 * (virtio_transport_stream_do_dequeue()). If the socket's state changed before the attempt, the
 * end may follow the bytes, and only another attempt can tell.
 *
 * Return: number of bytes, 0 for the end, -EAGAIN.
 */
static int conn_try_recv(struct vgpu_conn *conn, void *buf, size_t len)
{
	struct kvec vec = { .iov_base = buf, .iov_len = len };
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT };
	bool changed;
	int ret;

	if (READ_ONCE(conn->down))
		return 0;
	if (!READ_ONCE(conn->readable))
		return -EAGAIN;
	changed = xchg(&conn->state_changed, false);
	WRITE_ONCE(conn->readable, false);
	/*
	 * The callback sets the flag after bytes became visible: clear the flag, then look for
	 * bytes.
	 */
	smp_mb();
	ret = kernel_recvmsg(conn->sock, &msg, &vec, 1, len, MSG_DONTWAIT);
	if (ret > 0) {
		conn->rx_bytes += ret;
		if (changed)
			WRITE_ONCE(conn->state_changed, true);
		if (ret == len || READ_ONCE(conn->state_changed))
			WRITE_ONCE(conn->readable, true);
		return ret;
	}
	if (ret == -EAGAIN)
		return ret;
	WRITE_ONCE(conn->down, true);
	return 0;
}

/* Receive bytes into the empty rbuf. Return: as conn_try_recv(). */
static int conn_fill(struct vgpu_conn *conn)
{
	int ret = conn_try_recv(conn, conn->rbuf, CONN_RBUF_LEN);

	conn->rpos = 0;
	conn->rlen = ret > 0 ? ret : 0;
	return ret;
}

bool vgpu_conn_pending(struct vgpu_conn *conn)
{
	if (conn->rpos < conn->rlen)
		return true;
	return vgpu_conn_readable(conn) && conn_fill(conn) != -EAGAIN;
}

int vgpu_conn_wait(struct vgpu_conn *conn, unsigned int state, unsigned int timeout_ms)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(timeout_ms);
	int ret;

	while (conn->rpos == conn->rlen) {
		ret = conn_fill(conn);
		if (!ret)
			return -ENODEV;
		if (ret > 0)
			break;
		ret = vgpu_conn_wait_event(conn, &conn->readable, state, deadline, timeout_ms);
		if (ret)
			return ret;
	}
	return 0;
}

void vgpu_conn_forget(struct vgpu_conn *conn)
{
	conn->rpos = conn->rlen;
}

int vgpu_conn_recv(struct vgpu_conn *conn, void *buf, size_t len, unsigned int timeout_ms)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(timeout_ms);
	size_t done = 0;
	int ret;

	while (done < len) {
		if (conn->rpos < conn->rlen) {
			size_t n = min_t(size_t, len - done, conn->rlen - conn->rpos);

			memcpy(buf + done, conn->rbuf + conn->rpos, n);
			conn->rpos += n;
			done += n;
			continue;
		}
		if (len - done >= CONN_RBUF_LEN) {
			ret = conn_try_recv(conn, buf + done, len - done);
			if (ret > 0)
				done += ret;
		} else {
			ret = conn_fill(conn);
		}
		if (ret > 0)
			continue;
		if (ret == -EAGAIN)
			ret = vgpu_conn_wait_event(conn, &conn->readable, TASK_KILLABLE, deadline,
						   timeout_ms);
		else
			ret = -ENODEV;
		if (ret) {
			if (done)
				vgpu_conn_shutdown(conn);
			return ret;
		}
	}
	return 0;
}

int vgpu_conn_send(struct vgpu_conn *conn, struct kvec *vec, size_t nr, size_t len,
		   unsigned int timeout_ms)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(timeout_ms);
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	unsigned int tries = CONN_NOMEM_TRIES;
	size_t done = 0;
	int ret;

	iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, vec, nr, len);
	while (done < len) {
		if (READ_ONCE(conn->down))
			return -ENODEV;
		WRITE_ONCE(conn->writable, false);
		/* Clear the flag, then try to send, as conn_try_recv() does. */
		smp_mb();
		ret = sock_sendmsg(conn->sock, &msg);
		if (ret > 0) {
			done += ret;
			conn->tx_bytes += ret;
			continue;
		}
		if (ret == -EAGAIN) {
			ret = vgpu_conn_wait_event(conn, &conn->writable, TASK_KILLABLE, deadline,
						   timeout_ms);
			if (!ret)
				continue;
		} else if (ret == -ENOMEM && --tries) {
			/* More than this message would be lost with the connection. */
			schedule_timeout_killable(1);
			if (!fatal_signal_pending(current))
				continue;
			ret = -EINTR;
		} else if (ret != -ENOMEM || done) {
			ret = -ENODEV;
		}
		if (done || ret == -ENODEV)
			vgpu_conn_shutdown(conn);
		return ret;
	}
	return 0;
}
