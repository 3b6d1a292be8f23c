// SPDX-License-Identifier: MIT
/* The plain file operations: open, close, read, write, llseek, poll and fdinfo. */
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/fs.h>
#include <linux/stat.h>
#include <asm/stat.h>

#include "engine/shadow/call/call.h"
#include "engine/shadow/call/files.h"
#include "engine/shadow/call/fops.h"
#include "engine/shadow/call/mmap.h"
#include "engine/shadow/lane/channel.h"
#include "engine/shadow/memory/mapping.h"
#include "engine/shadow/thread/syscall.h"
#include "engine/shadow/thread/thread.h"
#include "shadow/layout.h"

/* Flags of open() that reach a driver. */
#define OPEN_FLAGS	(O_ACCMODE | O_NONBLOCK | O_APPEND | O_EXCL | O_DSYNC | __O_SYNC)

/* Size in bytes of the decimal digits of a number, and a NUL. */
#define NAME_LEN	12

/*
 * Number of attempts to open a card: another process may become master, or stop being it,
 * meanwhile.
 */
#define OPEN_TRIES	8

static void number_name(u32 number, char *name)
{
	char digits[NAME_LEN];
	u32 nr = 0;

	do {
		digits[nr++] = '0' + number % 10;
		number /= 10;
	} while (number);
	while (nr)
		*name++ = digits[--nr];
	*name = '\0';
}

static long open_node(struct call *call, const struct eshadow_policy *policy, u32 flags)
{
	struct stat st;
	long fd;
	int ret;

	/*
	 * The name has to be in the room: the kernel reaches no other memory of this program
	 * then.
	 */
	ret = call_alloc_scratch(call, NAME_LEN);
	if (ret)
		return ret;
	number_name(policy->export, (char *)call->scratch.addr);
	fd = call_system(call, __NR_openat, fd_devices, call->scratch.addr,
			 (flags & OPEN_FLAGS) | O_LARGEFILE | O_CLOEXEC | O_NOCTTY, 0);
	if (fd < 0)
		return fd;
	/*
	 * Either so many files of drivers are open that this number is beyond FILES_LOW, or the
	 * guest has made up the number, which it can if cancels come as signals (syscall.c). No
	 * file of the shadow's own may be closed because of that.
	 */
	if (!files_take(fd))
		return -EMFILE;
	/* The number may belong to another device by now. */
	if (sys2(__NR_fstat, fd, (long)&st) || (st.st_mode & S_IFMT) != S_IFCHR ||
	    st.st_rdev != policy->rdev) {
		files_give(fd);
		return -ENODEV;
	}
	return fd;
}

/* Drops DRM master. Return: true if the file was master. */
static bool drop_master(int fd)
{
	return !sys3_apart(__NR_ioctl, fd, VGPU_DRM_DROP_MASTER, 0);
}

/*
 * Opens an export's node. A process that opens a card node without a master becomes master, and
 * stays authenticated when it drops master. A guest may become master only by permission.
 * Otherwise its file is opened while another file is master, if necessary one of this shadow's
 * own.
 */
static long open_file(struct call *call, const struct eshadow_policy *policy, u32 flags)
{
	unsigned int i;
	long first, fd;

	for (i = 0; i < OPEN_TRIES; i++) {
		first = open_node(call, policy, flags);
		if (first < 0 || policy->kind != VGPU_EXPORT_DRM_PRIMARY || policy->master)
			return first;
		fd = open_node(call, policy, flags);
		drop_master(first);
		files_give(first);
		if (fd < 0 || !drop_master(fd))
			return fd;
		files_give(fd);
	}
	return -EBUSY;
}

/*
 * Opens the object's file in this process. NVIDIA's driver refuses a card to processes that have
 * no file of the card open, and looks for such a file in the calling process. So the file must be
 * here before a call on it comes.
 */
static void hold_file(struct lane *lane, u32 object)
{
	struct file_entry *file;

	if (!file_find(lane, object, &file))
		file_put(file);
}

s64 fops_open(struct call *call)
{
	const struct vgpu_args_open *args = &call->view.call->args.open;
	struct eshadow_policy policy = {};
	struct request request = {
		.msg = {
			.type = ESHADOW_OPEN,
			.object = le32_to_cpu(args->export),
			.value = le32_to_cpu(args->flags),
		},
		.fd = -1,
		.extra = &policy,
		.room = sizeof(policy),
	};
	long fd;
	int ret;

	ret = channel_ask(call->lane, &request);
	if (ret == -EACCES)
		return ret;
	if (ret)
		return call_refuse(call, ret);
	files_call_meets(policy.limits);
	fd = open_file(call, &policy, le32_to_cpu(args->flags));
	if (fd < 0)
		return fd;
	request = (struct request) {
		.msg = { .type = ESHADOW_OPENED, .object = le32_to_cpu(args->export) },
		.fd = fd,
		.extra = &call->reply.objects[0],
		.room = sizeof(call->reply.objects[0]),
	};
	ret = channel_ask(call->lane, &request);
	files_give(fd);
	if (ret)
		return call_refuse(call, ret);
	call->reply.objects[0].fixup = 0;
	call->reply.nr_objects = 1;
	if (policy.kind == VGPU_EXPORT_NVIDIA)
		hold_file(call->lane, le32_to_cpu(call->reply.objects[0].object));
	return 0;
}

/*
 * Drops a reference. After the last one the engine answers when neither the engine nor another
 * shadow has the file open. So the file is closed here last, and the driver's ->release runs here.
 */
s64 fops_close(struct call *call)
{
	const struct vgpu_call *msg = call->view.call;
	u32 object = le32_to_cpu(msg->object);
	int ret = channel_ask_for(call->lane, ESHADOW_CLOSE, object,
				  le32_to_cpu(msg->args.close.reference), 0);

	if (ret < 0)
		return call_refuse(call, ret);
	if (ret)
		file_close(object);
	return 0;
}

/* --- read and write ---------------------------------------------------------- */

/* Return: the length of a buffer of @len bytes, at most what the kernel reads or writes at once. */
static u64 io_length(u32 len)
{
	return min((u64)len, (u64)S32_MAX & PAGE_MASK);
}

/*
 * Makes the system call @nr with the buffer, or @nr_at, which takes a position, if the driver has
 * positions.
 */
static long io(struct call *call, u64 nr, u64 nr_at, u64 addr, u64 len)
{
	/*
	 * pread() and pwrite() fail with -ESPIPE if the driver has no positions. Otherwise they
	 * fail because of the bad address, before the driver is called.
	 */
	bool positioned = sys4(nr_at, call->file->fd, -PAGE_SIZE, 1, 0) != -ESPIPE;
	long ret = call_system(call, positioned ? nr_at : nr, call->file->fd, addr, len,
			       call->reply.pos);

	if (ret > 0 && positioned)
		call->reply.pos += ret;
	return ret;
}

s64 fops_read(struct call *call)
{
	u64 len = io_length(le32_to_cpu(call->view.segs[0].len));
	int error;
	long ret;

	error = call_alloc_scratch(call, len);
	if (error)
		return call_refuse(call, error);
	ret = io(call, __NR_read, __NR_pread64, call->scratch.addr, len);
	if (ret <= 0)
		return ret;
	/*
	 * No kernel returns this, but a guest can make it up if cancels come as signals
	 * (syscall.c).
	 */
	if ((u64)ret > len)
		sys_exit_group(SHADOW_EXIT_SIGNAL);
	error = call_alloc_data(call, ret);
	if (error)
		return call_refuse(call, error);
	memcpy(call->reply.data, (void *)call->scratch.addr, ret);
	call->reply.data_len = vgpu_wire_pad(ret);
	return ret;
}

/*
 * Writes the program's buffer itself, as the program cannot read all of it. How much of it is
 * written depends on what its driver reads, and in which order.
 */
static s64 write_named(struct call *call, u64 len)
{
	u64 addr = le64_to_cpu(call->view.call->args.write.addr);

	/* Nothing of the shadow's own may reach the driver. */
	if (!mapping_range_ok(addr, len) || mapping_over_args(addr, len))
		return -EFAULT;
	return io(call, __NR_write, __NR_pwrite64, addr, len);
}

s64 fops_write(struct call *call)
{
	u64 len = io_length(vgpu_wire_write_len(&call->view));
	int error;

	if (!vgpu_view_nr_segs(&call->view))
		return write_named(call, len);
	error = call_alloc_scratch(call, len);
	if (error)
		return call_refuse(call, error);
	memcpy((void *)call->scratch.addr, call->view.data, len);
	return io(call, __NR_write, __NR_pwrite64, call->scratch.addr, len);
}

/* Seeks from the guest's position, as the guest keeps it. */
s64 fops_llseek(struct call *call)
{
	const struct vgpu_args_llseek *args = &call->view.call->args.llseek;
	u32 whence = le32_to_cpu(args->whence);
	long ret;

	if (whence == SEEK_CUR)
		sys3_apart(__NR_lseek, call->file->fd, call->reply.pos, SEEK_SET);
	ret = sys3_apart(__NR_lseek, call->file->fd, le64_to_cpu(args->offset), whence);
	if (ret >= 0)
		call->reply.pos = ret;
	return ret;
}

/* --- operations that the engine does -------------------------------------------- */

s64 fops_poll(struct call *call)
{
	const struct vgpu_args_poll *args = &call->view.call->args.poll;
	int ret = channel_ask_for(call->lane, ESHADOW_POLL, le32_to_cpu(call->view.call->object),
				  le32_to_cpu(args->events),
				  (u64)le32_to_cpu(args->number) << 32 | le32_to_cpu(args->flags));

	if (ret < 0)
		return call_refuse(call, ret);
	call->reply.out.poll.revents = cpu_to_le32(ret);
	return 0;
}

s64 fops_fdinfo(struct call *call)
{
	u32 len = le32_to_cpu(call->view.segs[0].len);
	struct request request = {
		.msg = {
			.type = ESHADOW_FDINFO,
			.object = le32_to_cpu(call->view.call->object),
		},
		.fd = -1,
		.room = len,
	};
	int ret = call_alloc_data(call, len);

	if (ret)
		return call_refuse(call, ret);
	request.extra = call->reply.data;
	ret = channel_ask(call->lane, &request);
	if (ret < 0)
		return ret;
	if ((u32)ret > request.len)
		return -EOVERFLOW;
	memset(call->reply.data + ret, 0, vgpu_wire_pad(ret) - ret);
	call->reply.data_len = vgpu_wire_pad(ret);
	return ret;
}
