/* SPDX-License-Identifier: MIT */
/*
 * Agreement of vgpud and vgpu-shadow: the address range that the shadow keeps for itself, and
 * the files it starts with.
 */
#ifndef VGPU_SHADOW_LAYOUT_H
#define VGPU_SHADOW_LAYOUT_H

/*
 * The reserved range holds the shadow's own text, stacks and scratch memory, and the addresses
 * that the kernel chooses. Guests keep the range free in every process. The Makefile links the
 * program at the beginning of the range, and the program moves from there at its start.
 */
#define SHADOW_RESERVED_BASE	0x3e0000000000UL
#define SHADOW_RESERVED_SIZE	0x000100000000UL

/*
 * Lowest address of the threads' stacks and scratch memory, behind the program. The shadow
 * chooses these addresses itself: an address from the kernel could lie in a hole elsewhere,
 * which a device mapping that failed leaves for a moment, and which belongs to the guest again
 * right after.
 */
#define SHADOW_SLOTS_BASE	(SHADOW_RESERVED_BASE + (1UL << 30))

/*
 * Sizes of the ranges in which a random address is chosen, so that a guest does not know it:
 * for the threads' memory (SLOTS), for the program, which is smaller than SHADOW_PROGRAM_MAX,
 * and for the highest address that the kernel chooses (TOP).
 */
#define SHADOW_SLOTS_ROOM	(1UL << 30)
#define SHADOW_PROGRAM_MAX	(16UL << 20)
#define SHADOW_PROGRAM_ROOM	((1UL << 30) - 3 * SHADOW_PROGRAM_MAX)
#define SHADOW_TOP_ROOM		(1UL << 30)

/* The demand mapping covers the rest of user space between these addresses. */
#define SHADOW_DEMAND_START	0x000000010000UL
#define SHADOW_DEMAND_END	0x7fffffffe000UL

/* Files that vgpud leaves open for the program. */
#define SHADOW_FD_FILE		3	/* made by VGPU_HOST_SHADOW */
#define SHADOW_FD_LANES		4	/* SOCK_SEQPACKET: one lane socket a message */
#define SHADOW_FD_PROGRAM	5	/* the program itself, closed by exec */

/* Number of a lane thread's only file, below VGPU_LANE_FDS. */
#define SHADOW_FD_LANE		1023

/* Most lanes at the same time. Further lanes are closed at once, and so are refused. */
#define SHADOW_LANES_MAX	512

/*
 * Number of lanes whose memory is mapped at the start. A driver may hold mmap_lock during a
 * fault. Another fault meanwhile needs another lane, which must not wait for that lock to map
 * memory.
 */
#define SHADOW_LANES_READY	8

/* Exit statuses, so that vgpud can say what went wrong. */
enum shadow_exit {
	SHADOW_EXIT_OK		= 0,	/* the session is over */
	SHADOW_EXIT_MAP		= 100,	/* address space could not be laid out */
	SHADOW_EXIT_DEMAND	= 101,	/* demand mapping failed */
	SHADOW_EXIT_SIGNAL	= 102,	/* signal set-up failed */
	SHADOW_EXIT_THREAD	= 103,	/* service thread could not be started */
	SHADOW_EXIT_SECCOMP	= 104,	/* last filter failed */
	SHADOW_EXIT_SERVICE	= 105,	/* VGPU_SHADOW_SERVICE failed */
	SHADOW_EXIT_KEYS	= 106,	/* memory could not be protected from drivers */
	SHADOW_EXIT_CONFINE	= 120,	/* vgpud: confinement before exec failed */
	SHADOW_EXIT_EXEC	= 121,	/* vgpud: exec failed */
};

#endif /* VGPU_SHADOW_LAYOUT_H */
