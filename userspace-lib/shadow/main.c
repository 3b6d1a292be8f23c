// SPDX-License-Identifier: MIT
/*
 * vgpu-shadow: the host process that stands for one guest process.
 *
 * Its address space is that of the guest process, which the host module fills page by page,
 * except for the reserved range in which this program lives. The program has no libc, since
 * nothing may allocate, look up or expect anything outside that range. The kernel's own pages
 * (first stack, vdso) are unmapped as well.
 *
 * vgpud confines the process before exec (vgpud/process/confine.c). This program completes what is
 * possible only after exec.
 */
#include <linux/errno.h>
#include <linux/mman.h>
#include <linux/prctl.h>
#include <stddef.h>

#include <linux/vgpu_host.h>

#include "keys.h"
#include "lane.h"
#include "message.h"

/* Replace a part of user space by the demand mapping, which holds the guest process's memory. */
static void give_up(unsigned long start, unsigned long end)
{
	long ret;

	/*
	 * MAP_FIXED would replace existing mappings, but the kernel may refuse that for its
	 * special mappings. A separate munmap() tells that error from one of the demand
	 * mapping.
	 */
	sys_exit_if(sys2(__NR_munmap, start, end - start), SHADOW_EXIT_MAP);
	ret = sys_mmap(start, end - start, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		       SHADOW_FD_FILE, start);
	if (ret == -EBADF)
		sys_end_by_hand();
	sys_exit_if(ret != (long)start, SHADOW_EXIT_DEMAND);
}

/*
 * Forbid mremap(), and mprotect() and pkey_mprotect() outside the reserved range, which is the
 * program's own. The module maps the memory that a call hands over with a key that keeps
 * drivers of other calls from it, and neither place nor key may change. Threads inherit the
 * filter. Return: 0 or a negative errno.
 */
static int changes_forbid(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mremap, 12, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mprotect, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_pkey_mprotect, 0, 9),
		/* Check the upper half of the address. */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0]) + 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SHADOW_RESERVED_BASE >> 32, 0, 8),
		/* Check the upper half of the length. */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1]) + 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 6),
		/* Check that the sum of the lower halves does not carry. */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_STMT(BPF_MISC | BPF_TAX, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_X, 0, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};

	_Static_assert(!(SHADOW_RESERVED_BASE & ~0U) && SHADOW_RESERVED_SIZE == 1UL << 32,
		       "the upper half of an address says whether it is in the range");
	return filter_add(code, sizeof(code) / sizeof(code[0]));
}

/* Receive a lane's socket. Return: its number; negative at the end of the session. */
static int next_lane(void)
{
	char byte;
	long ret;
	int fd;

	do {
		ret = message_receive(SHADOW_FD_LANES, &byte, sizeof(byte), 0, &fd);
		/* Skip a message without a file, which vgpud never sends. */
	} while (ret > 0 && fd < 0);

	return fd;
}

/* Apply the guest's unmaps, whether or not the session has a lane. */
static void service(void *unused)
{
	long ret;

	(void)unused;
	do {
		ret = sys3(__NR_ioctl, SHADOW_FD_FILE, VGPU_SHADOW_SERVICE, 0);
	} while (!ret || ret == -EINTR);
	sys_exit_group(ret == -ESHUTDOWN ? SHADOW_EXIT_OK : SHADOW_EXIT_SERVICE);
}

void shadow_main(const long *start)
{
	int fd;

	/* exec has made the process dumpable again. */
	sys2(__NR_prctl, PR_SET_DUMPABLE, 0);
	name_take(start);
	sys_exit_if(keys_init(), SHADOW_EXIT_KEYS);
	sys_exit_if(lane_signals(), SHADOW_EXIT_SIGNAL);

	give_up(SHADOW_DEMAND_START, SHADOW_RESERVED_BASE);
	give_up(SHADOW_RESERVED_BASE + SHADOW_RESERVED_SIZE, SHADOW_DEMAND_END);
	sys_exit_if(changes_forbid() || exec_forbid(), SHADOW_EXIT_SECCOMP);

	lane_prepare();
	sys_exit_if(lane_thread(service, NULL, 1) < 0, SHADOW_EXIT_THREAD);

	while ((fd = next_lane()) >= 0)
		lane_start(fd);
	/* vgpud has closed its end, or has ended. */
	sys_exit_group(SHADOW_EXIT_OK);
}
