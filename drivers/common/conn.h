/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Transport: one connected stream socket. The caller of a wait chooses the task state and the
 * deadline. The end of a connection ends each wait on it. Code outside conn.c does not know the
 * address family.
 */
#ifndef VGPU_CONN_H
#define VGPU_CONN_H

#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/types.h>
#include <linux/uio.h>
#include <linux/wait.h>

struct sock;

/**
 * struct vgpu_conn - one stream connection
 * @sock: connected socket; valid from attach or connect to fini
 * @own: true if vgpu_conn_connect() made the socket, false if it came from a file descriptor
 * @recv_wait: wait queue of the receiver; woken when bytes arrive, at the end and by shutdown
 * @send_wait: wait queue of the sender; woken by room to send, at the end and by shutdown
 * @down: true once vgpu_conn_shutdown() was called, or the end of the connection was received
 * @left: true if vgpu_conn_shutdown() was called before the peer or the transport ended the
 *	connection
 * @event: callback, called in atomic context when bytes or the end may have arrived; may be
 *	NULL; set before attach
 * @event_data: argument of @event
 * @readable: true if an attempt to receive may find bytes or the end
 * @state_changed: true if the end may follow the bytes that are still to be received
 * @writable: true if room may have appeared since the last attempt to send
 * @soon: score of recent waits for bytes: raised by a wait shorter than poll_us, lowered by a
 *	longer one; 0: the next wait sleeps without busy-polling
 * @rbuf: buffer of bytes received ahead of a request (one receiver at a time)
 * @rpos: offset of the first unread byte in @rbuf
 * @rlen: offset behind the last unread byte in @rbuf
 * @rx_bytes: number of bytes received; written by the receiver only
 * @tx_bytes: number of bytes sent; written by the sender only
 *
 * Only one thread at a time may receive, and only one may send; callers with more threads
 * serialize them. Any thread may call vgpu_conn_shutdown() at any time between attach and fini.
 */
struct vgpu_conn {
	struct socket *sock;
	bool own;
	wait_queue_head_t recv_wait;
	wait_queue_head_t send_wait;
	bool down;
	bool left;
	bool readable;
	bool state_changed;
	bool writable;
	u8 soon;
	void (*event)(void *data);
	void *event_data;
	u8 *rbuf;
	u32 rpos;
	u32 rlen;
	u64 rx_bytes;
	u64 tx_bytes;
	/* private: */
	void (*saved_state_change)(struct sock *sk);
	void (*saved_data_ready)(struct sock *sk);
	void (*saved_write_space)(struct sock *sk);
	void (*saved_error_report)(struct sock *sk);
};

/**
 * vgpu_conn_connect - connect to a host
 * @conn: connection, zeroed except for @event and @event_data
 * @cid: vsock context id of the host
 * @port: vsock port of the host
 * @reserved: true to use a local port below 1024
 * @timeout_ms: timeout of the whole attempt in milliseconds
 *
 * Context: process; sleeps in TASK_KILLABLE.
 * Return: 0, -ECONNREFUSED, -ENODEV (no transport), -ETIMEDOUT, -EINTR, -ENOMEM, ...
 */
int vgpu_conn_connect(struct vgpu_conn *conn, u32 cid, u32 port, bool reserved,
		      unsigned int timeout_ms);

/**
 * vgpu_conn_attach_fd - use a connected stream socket of the calling process
 * @conn: connection, zeroed except for @event and @event_data
 * @fd: file descriptor of the socket; a reference of the socket is taken
 *
 * Return: 0, -EBADF, -ENOTSOCK, -EPROTOTYPE (no AF_VSOCK stream), -EBUSY (sk_user_data of the
 * socket is in use), -ENOMEM.
 */
int vgpu_conn_attach_fd(struct vgpu_conn *conn, int fd);

/* End the connection and all waits on it; later waits return -ENODEV. May sleep. */
void vgpu_conn_shutdown(struct vgpu_conn *conn);

/* Wait until no callback of a closed connection runs. For module exit, after the last fini. */
void vgpu_conn_exit(void);

/*
 * Shut the connection down, restore the socket's callbacks, put the socket. No users are left.
 */
void vgpu_conn_fini(struct vgpu_conn *conn);

/* Return: true once nothing more can be sent. Bytes received ahead may still be read. */
bool vgpu_conn_is_down(struct vgpu_conn *conn);
/*
 * Return: true if the connection is down or the peer has closed it. Bytes may be left to
 * receive.
 */
bool vgpu_conn_is_ending(struct vgpu_conn *conn);
/*
 * Return: true if the peer or the transport ended the connection before vgpu_conn_shutdown().
 */
bool vgpu_conn_was_ended(struct vgpu_conn *conn);

/**
 * vgpu_conn_pending - find out if there are bytes, or the end, to receive
 * @conn: the connection
 *
 * Called by the receiving thread. May sleep, but does not wait for the peer. After a return of
 * false, vgpu_conn_readable() turns true with the next bytes or the end, not before: so a lane
 * distinguishes a CANCEL from the CALL that it has just read.
 */
bool vgpu_conn_pending(struct vgpu_conn *conn);

/**
 * vgpu_conn_readable - find out if anything arrived since vgpu_conn_pending()
 * @conn: the connection
 *
 * Context: any, including the @event callback.
 */
bool vgpu_conn_readable(struct vgpu_conn *conn);

/**
 * vgpu_conn_send - send one message, in one send where possible
 * @conn: the connection
 * @vec: array of kernel buffers; modified
 * @nr: number of entries of @vec
 * @len: number of bytes of all entries
 * @timeout_ms: timeout of the whole message in milliseconds; 0: none
 *
 * Waits in TASK_KILLABLE, for a short time also for memory. If the wait ends (killed, timeout, no
 * memory) after a part of the message was sent, the connection is ended.
 *
 * Return: 0, -ENODEV (connection over), -ETIMEDOUT, -EINTR (killed), -ENOMEM (nothing was sent).
 */
int vgpu_conn_send(struct vgpu_conn *conn, struct kvec *vec, size_t nr, size_t len,
		   unsigned int timeout_ms);

/**
 * vgpu_conn_wait - wait for bytes
 * @conn: the connection
 * @state: TASK_INTERRUPTIBLE, TASK_KILLABLE or TASK_IDLE
 * @timeout_ms: timeout in milliseconds; 0: none
 *
 * No bytes are consumed, so an interrupted wait can be repeated.
 *
 * Return: 0 (bytes are there), -ENODEV (end), -ETIMEDOUT, -EINTR (a signal that @state admits).
 */
int vgpu_conn_wait(struct vgpu_conn *conn, unsigned int state, unsigned int timeout_ms);

/**
 * vgpu_conn_recv - receive exactly @len bytes
 * @conn: the connection
 * @buf: kernel buffer
 * @len: number of bytes
 * @timeout_ms: timeout of all bytes in milliseconds; 0: none
 *
 * Waits in TASK_KILLABLE. If the function fails after some bytes, the connection is ended.
 *
 * Return: 0, -ENODEV, -ETIMEDOUT, -EINTR (killed).
 */
int vgpu_conn_recv(struct vgpu_conn *conn, void *buf, size_t len, unsigned int timeout_ms);

/* Drop the bytes in the receive buffer; the socket may hold more. For the receiving thread. */
void vgpu_conn_forget(struct vgpu_conn *conn);

#endif /* VGPU_CONN_H */
