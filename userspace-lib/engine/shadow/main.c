// SPDX-License-Identifier: MIT
/*
 * vgpu-engine-shadow: the process that stands for one guest process where the host's kernel has
 * no module of vgpu.
 *
 * Its address space belongs to the guest process, except for the reserved range in which this
 * program lives, as with the host module's shadow (userspace-lib/shadow). Hence the program has no
 * libc. Faults are reported by userfaultfd.
 *
 * The main thread reads messages of the engine and of vgpud. The pager serves page faults, and
 * watches the sockets of lanes whose calls run. Each lane has a thread that makes its calls.
 * Another process with the same memory traces these threads.
 */
#include <asm/stat.h>
#include <linux/fcntl.h>
#include <linux/prctl.h>

#include "engine/shadow/base/lib.h"
#include "engine/shadow/call/files.h"
#include "engine/shadow/call/mmap.h"
#include "engine/shadow/call/room.h"
#include "engine/shadow/call/serve.h"
#include "engine/shadow/lane/channel.h"
#include "engine/shadow/lane/lane.h"
#include "engine/shadow/memory/mapping.h"
#include "engine/shadow/memory/page.h"
#include "engine/shadow/memory/pager.h"
#include "engine/shadow/memory/place.h"
#include "engine/shadow/thread/syscall.h"
#include "engine/shadow/thread/thread.h"
#include "engine/shadow/thread/tracer.h"

#define POLLIN		0x0001

static int fd_lanes;

/* Open the file read-only: by writing its own memory a program could change its code. */
static void open_mem(void)
{
	long mem = sys4(__NR_openat, ESHADOW_FD_PROC, (long)"self/mem", O_RDONLY | O_CLOEXEC, 0);

	fd_mem = fd_up(mem, FILES_OWN);
	sys_exit_if(fd_mem < 0, SHADOW_EXIT_MAP);
}

static void place_files(void)
{
	long maps = sys4(__NR_openat, ESHADOW_FD_PROC, (long)"self/smaps", O_RDONLY | O_CLOEXEC, 0);

	fd_maps = fd_up(maps, FILES_OWN);
	sys2(__NR_close, ESHADOW_FD_PROC, 0);
	fd_engine = fd_up(ESHADOW_FD_ENGINE, FILES_OWN);
	fd_lanes = fd_up(ESHADOW_FD_LANES, FILES_OWN);
	fd_devices = fd_up(ESHADOW_FD_DEVICES, FILES_OWN);
	if (fd_maps < 0 || fd_engine < 0 || fd_lanes < 0 || fd_devices < 0)
		sys_exit_group(SHADOW_EXIT_MAP);
}

static void message_answer(const struct eshadow_msg *msg, const u8 *extra, u32 len, int fd)
{
	struct lane *lane = lane_by_index(msg->lane);
	struct request *request = lane ? lane->request : NULL;

	if (!request) {
		if (fd >= 0)
			fd_close(fd);
		return;
	}
	/* Add the file here, in order with a later DROP of the same object. */
	if (request->msg.type == ESHADOW_FIND && fd >= 0 && len >= sizeof(struct eshadow_policy)) {
		request->file = file_arrives(request->msg.object, (const void *)extra, fd);
		fd = -1;
		len = 0;
	}
	request->msg = *msg;
	request->fd = fd;
	request->len = min(len, request->room);
	if (request->len)
		memcpy(request->extra, extra, request->len);
	__atomic_store_n(&lane->answered, 1, __ATOMIC_RELEASE);
	word_wake(&lane->answered);
}

/* Reads one message of the engine. Ends the program when the engine has ended. */
static void message_hear(void)
{
	static u8 buf[ESHADOW_MSG_MAX] __attribute__((aligned(8)));
	const struct eshadow_msg *msg = (const void *)buf;
	const struct eshadow_ram *ram = (const void *)(msg + 1);
	long ret;
	int fd;

	ret = files_receive(fd_engine, buf, sizeof(buf), FILES_OBJECTS, &fd);
	if (ret == -EINTR || ret == -EAGAIN)
		return;
	if (ret < (long)sizeof(*msg))
		sys_exit_group(SHADOW_EXIT_OK);
	switch (msg->type) {
	case ESHADOW_ANSWER:
		message_answer(msg, buf + sizeof(*msg), ret - sizeof(*msg), fd);
		break;
	case ESHADOW_DROP:
		file_drop(msg->object);
		break;
	case ESHADOW_END:
		lanes_end();
		break;
	case ESHADOW_RAM:
		if (fd >= 0)
			ram_add(ram->addr, ram->len, ram->offset, fd);
		else
			ram_remove(ram->addr, ram->len);
		break;
	case ESHADOW_UNMAP:
		mapping_unmap(msg->value, msg->extra);
		break;
	}
}

/* Takes a lane's socket from vgpud. Ends the program when vgpud has ended. */
static void hear_lane(void)
{
	char byte;
	long ret;
	int fd;

	ret = files_receive(fd_lanes, &byte, sizeof(byte), FILES_OWN, &fd);
	if (ret == -EINTR || ret == -EAGAIN)
		return;
	if (ret <= 0)
		sys_exit_group(SHADOW_EXIT_OK);
	if (fd >= 0)
		lane_start(fd);
}

void shadow_main(const long *start)
{
	struct { int fd; short events, revents; } polls[2];
	struct stat stat;

	if (sys2(__NR_fstat, fd_engine, (long)&stat) == -EBADF)
		sys_end_by_hand();
	/*
	 * exec made the process dumpable again. While the process is not dumpable, root owns this
	 * file.
	 */
	open_mem();
	sys_exit_if(keys_init(), SHADOW_EXIT_KEYS);
	/* Start the tracer before tracing is forbidden to all. */
	tracer_start();
	sys2(__NR_prctl, PR_SET_DUMPABLE, 0);
	name_take(start);
	mapping_keep_args(start);
	sys_exit_if(signals_init(), SHADOW_EXIT_SIGNAL);
	shared_init();
	place_files();
	page_init();
	mapping_init();
	files_init();
	rooms_init();
	lanes_init();
	/* Threads inherit the filter. */
	sys_exit_if(exec_forbid(), SHADOW_EXIT_SECCOMP);
	pager_init();

	for (;;) {
		polls[0].fd = fd_engine;
		polls[1].fd = fd_lanes;
		polls[0].events = POLLIN;
		polls[1].events = POLLIN;
		if (sys6(__NR_ppoll, (long)polls, 2, 0, 0, 0, 0) <= 0)
			continue;
		if (polls[0].revents)
			message_hear();
		if (polls[1].revents)
			hear_lane();
	}
}
