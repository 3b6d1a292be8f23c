// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waits of a connection. The receiving thread polls for a while before it sleeps, if the peer has
 * answered fast of late.
 */
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/sched/stat.h>
#include <linux/wait.h>

#include "conn.h"
#include "conn_wait.h"

/* Number of times that a busy-polling thread yields the processor. */
#define CONN_TURNS		4
/* Maximum of conn->soon: this many long waits in a row end busy-polling. */
#define CONN_SOON_MAX		3
/* Upper bound of poll_us, as other threads need the processor. */
#define CONN_POLL_MAX_US	10000U

static unsigned int poll_us = 500;
module_param(poll_us, uint, 0644);
MODULE_PARM_DESC(poll_us,
		 "microseconds (up to 10000, default 500) to busy-poll for the peer before sleeping, while most waits are that short");

static u64 conn_poll_ns(void)
{
	return (u64)min(READ_ONCE(poll_us), CONN_POLL_MAX_US) * NSEC_PER_USEC;
}

/* Adapt the busy-poll score to the last wait: polling is worth its time if waits are short. */
static void conn_waited(struct vgpu_conn *conn, u64 start)
{
	u8 soon = READ_ONCE(conn->soon);

	if (local_clock() - start >= conn_poll_ns())
		soon -= !!soon;
	else if (soon < CONN_SOON_MAX)
		soon++;
	WRITE_ONCE(conn->soon, soon);
}

/*
 * Busy-poll for bytes for at most poll_us. Falling asleep, and a wakeup by an interrupt from
 * another processor, take longer than most calls. A work item that delivers the bytes may need
 * this processor, so the thread yields up to CONN_TURNS times if other tasks are runnable;
 * after that busy-polling ends.
 *
 * Return: true if bytes or the end may be received.
 */
static bool conn_look(struct vgpu_conn *conn, unsigned int state, u64 start)
{
	u64 end = start + conn_poll_ns();
	unsigned int turns = 0;

	do {
		if (vgpu_conn_readable(conn))
			return true;
		if (signal_pending_state(state, current))
			return false;
		if (single_task_running())
			cpu_relax();
		else if (turns++ < CONN_TURNS)
			yield();
		else
			return false;
	} while (local_clock() < end);
	return false;
}

int vgpu_conn_wait_event(struct vgpu_conn *conn, bool *flag, unsigned int state,
			 unsigned long deadline, bool timed)
{
	bool receiving = flag == &conn->readable;
	wait_queue_head_t *head = receiving ? &conn->recv_wait : &conn->send_wait;
	u64 start = local_clock();
	DEFINE_WAIT(wait);
	int ret = 0;

	if (receiving && READ_ONCE(conn->soon) && conn_look(conn, state, start))
		goto out_waited;
	for (;;) {
		long left = MAX_SCHEDULE_TIMEOUT;

		prepare_to_wait(head, &wait, state);
		if (READ_ONCE(*flag) || READ_ONCE(conn->down))
			break;
		if (signal_pending_state(state, current)) {
			ret = -EINTR;
			break;
		}
		if (timed) {
			left = (long)(deadline - jiffies);
			if (left <= 0) {
				ret = -ETIMEDOUT;
				break;
			}
		}
		schedule_timeout(left);
	}
	finish_wait(head, &wait);
out_waited:
	if (receiving)
		conn_waited(conn, start);
	return ret;
}
