/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Transport: one connected stream socket, with waits that the caller can
 * choose, deadlines and an end that always works. Nothing above this file knows
 * the address family.
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
 * @sock: the socket; set from attach or connect to fini
 * @own: the socket is ours, not a file's
 * @recv_wait: woken by whatever arrives, by the end and by shutdown
 * @send_wait: woken by room to send, by the end and by shutdown
 * @down: vgpu_conn_shutdown() was called, or the peer or the transport ended it
 * @left: the former came first
 * @event: called in atomic context whenever bytes or the end may have arrived;
 *	may be NULL; set before attach
 * @event_data: its argument
 * @readable: an attempt to receive may find something
 * @state_changed: likewise the end, behind whatever bytes it finds
 * @writable: room appeared since the last attempt to send
 * @soon: not 0: waits for bytes are short ones lately, hardly worth falling asleep
 * @rbuf: bytes received ahead of what was asked for (one receiver at a time)
 * @rpos: first of them
 * @rlen: end of them
 * @rx_bytes: received; written by the receiver only
 * @tx_bytes: sent; written by the sender only
 *
 * One thread at a time may receive, one at a time may send; users that need
 * more bring their own lock. shutdown may be called by anybody at any time
 * between attach and fini.
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
 * @conn: zeroed, but for @event and @event_data
 * @cid: context id
 * @port: port
 * @reserved: use a local port below 1024
 * @timeout_ms: of the whole attempt
 *
 * Context: process; sleeps, killably.
 * Return: 0, -ECONNREFUSED, -ENODEV (no transport), -ETIMEDOUT, -EINTR, ...
 */
int vgpu_conn_connect(struct vgpu_conn *conn, u32 cid, u32 port, bool reserved,
		      unsigned int timeout_ms);

/**
 * vgpu_conn_attach_fd - use a connected stream socket of the calling process
 * @conn: zeroed, but for @event and @event_data
 * @fd: the socket; a reference of our own is taken
 *
 * Return: 0, -EBADF, -ENOTSOCK, -EPROTOTYPE (no AF_VSOCK stream), -EBUSY
 * (attached already), -ENOMEM.
 */
int vgpu_conn_attach_fd(struct vgpu_conn *conn, int fd);

/* Ends the connection and all waits on it; later ones return -ENODEV. May sleep. */
void vgpu_conn_shutdown(struct vgpu_conn *conn);

/* For module exit, after the last fini: no callback of ours is still running. */
void vgpu_conn_exit(void);

/* shutdown, then restore the callbacks and put the socket. No users are left. */
void vgpu_conn_fini(struct vgpu_conn *conn);

/* true once nothing more can be sent; what was received may still be read. */
bool vgpu_conn_is_down(struct vgpu_conn *conn);
/* Likewise, or the other end has closed it: what is still to be received is there. */
bool vgpu_conn_is_ending(struct vgpu_conn *conn);
/* The other end, or the transport, has closed it, and not vgpu_conn_shutdown() before that. */
bool vgpu_conn_was_ended(struct vgpu_conn *conn);

/**
 * vgpu_conn_pending - are there bytes (or the end) to receive now?
 * @conn: the connection
 *
 * For the receiving thread; may sleep, but waits for no peer. After false,
 * vgpu_conn_readable() turns true with the next bytes or the end, not before:
 * this is how a lane tells a cancel from the call it has just read.
 */
bool vgpu_conn_pending(struct vgpu_conn *conn);

/**
 * vgpu_conn_readable - did anything arrive since vgpu_conn_pending()?
 * @conn: the connection
 *
 * Atomic context is fine, @event included.
 */
bool vgpu_conn_readable(struct vgpu_conn *conn);

/**
 * vgpu_conn_send - send one message, as one send wherever possible
 * @conn: the connection
 * @vec: kernel memory; the array is modified
 * @nr: entries
 * @len: bytes together
 * @timeout_ms: deadline for all of it; 0: none
 *
 * Waits killably. A message of which a part was sent when the wait ends
 * (killed, deadline) ends the connection.
 *
 * Return: 0, -ENODEV (connection over), -ETIMEDOUT, -EINTR (killed).
 */
int vgpu_conn_send(struct vgpu_conn *conn, struct kvec *vec, size_t nr, size_t len,
		   unsigned int timeout_ms);

/**
 * vgpu_conn_wait - wait for bytes
 * @conn: the connection
 * @state: TASK_INTERRUPTIBLE, TASK_KILLABLE or TASK_IDLE
 * @timeout_ms: deadline; 0: none
 *
 * Nothing is consumed, so an interrupted wait can be taken up again.
 *
 * Return: 0 (bytes are there), -ENODEV (end), -ETIMEDOUT, -EINTR (a signal
 * that @state admits).
 */
int vgpu_conn_wait(struct vgpu_conn *conn, unsigned int state, unsigned int timeout_ms);

/**
 * vgpu_conn_recv - receive exactly @len bytes
 * @conn: the connection
 * @buf: kernel memory
 * @len: bytes
 * @timeout_ms: deadline for all of them; 0: none
 *
 * Waits killably. If it fails after some bytes, the connection is ended.
 *
 * Return: 0, -ENODEV, -ETIMEDOUT, -EINTR (killed).
 */
int vgpu_conn_recv(struct vgpu_conn *conn, void *buf, size_t len, unsigned int timeout_ms);

/* Drop what vgpu_conn_wait() found; there may be more. For the receiving thread. */
void vgpu_conn_forget(struct vgpu_conn *conn);

#endif /* VGPU_CONN_H */
