/* SPDX-License-Identifier: MIT */
/*
 * What vgpud and vgpu-shadow agree on: the address range that the shadow keeps
 * for itself, and the files it starts with.
 */
#ifndef VGPU_SHADOW_LAYOUT_H
#define VGPU_SHADOW_LAYOUT_H

/*
 * The reserved range: the shadow's own text, stacks and scratch, and the arena
 * for addresses that the kernel chooses. Guests keep it free in every process.
 * The Makefile links the program at its start, from where it moves.
 */
#define SHADOW_RESERVED_BASE	0x3e0000000000UL
#define SHADOW_RESERVED_SIZE	0x000100000000UL

/*
 * Where the threads' stacks and scratch memory begin: behind the program, at
 * addresses of their own choice. One that the kernel chose could lie in a hole
 * that a refused device mapping leaves for a moment elsewhere, and so in what
 * is the guest's again right after.
 */
#define SHADOW_SLOTS_BASE	(SHADOW_RESERVED_BASE + (1UL << 30))

/*
 * Somewhere in this room, that is: lest a guest should know where they are. Likewise the program,
 * which is not as large as the first number, and the end of what the kernel chooses addresses from.
 */
#define SHADOW_SLOTS_ROOM	(1UL << 30)
#define SHADOW_PROGRAM_MAX	(16UL << 20)
#define SHADOW_PROGRAM_ROOM	((1UL << 30) - 3 * SHADOW_PROGRAM_MAX)
#define SHADOW_TOP_ROOM		(1UL << 30)

/* The demand mapping covers the rest of user space but these edges. */
#define SHADOW_DEMAND_START	0x000000010000UL
#define SHADOW_DEMAND_END	0x7fffffffe000UL

/* Files that vgpud leaves open for the program. */
#define SHADOW_FD_FILE		3	/* made by VGPU_HOST_SHADOW */
#define SHADOW_FD_LANES		4	/* SOCK_SEQPACKET: one lane socket a message */
#define SHADOW_FD_PROGRAM	5	/* the program itself, closed by exec */

/* A lane thread's only file, below VGPU_LANE_FDS. */
#define SHADOW_FD_LANE		1023

/* Lanes at once; more are closed at once, and so refused. */
#define SHADOW_LANES_MAX	512

/*
 * The first lanes have their memory from the beginning. A driver may hold the mmap lock as long as
 * a fault takes: another fault, which needs another lane, must not wait for that lock to map some.
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
