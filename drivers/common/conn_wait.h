/* SPDX-License-Identifier: GPL-2.0-only */
/* Waits of a connection, private to conn.c. */
#ifndef VGPU_CONN_WAIT_H
#define VGPU_CONN_WAIT_H

#include <linux/types.h>

struct vgpu_conn;

/**
 * vgpu_conn_wait_event - wait until *@flag or conn->down is set
 * @conn: the connection
 * @flag: &conn->readable for the receiving thread, &conn->writable for the sending one
 * @state: state of the task, which says by which signals the wait ends
 * @deadline: deadline in jiffies; used if @timed
 * @timed: true if there is a deadline
 *
 * Return: 0, -EINTR (a signal that @state admits), -ETIMEDOUT.
 */
int vgpu_conn_wait_event(struct vgpu_conn *conn, bool *flag, unsigned int state,
			 unsigned long deadline, bool timed);

#endif /* VGPU_CONN_WAIT_H */
