/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest's program: its memory, whose pages can be missing or read-only, and
 * its open files. The kernel functions that the marshaller calls are implemented
 * on these.
 */
#ifndef FAKE_USER_H
#define FAKE_USER_H

#include "argument/marshal.h"

#define USER_BASE	0x20000000UL	/* fits a 32-bit pointer */
#define USER_SIZE	(160UL << 20)
#define USER_PAGE	4096UL
/* Offset of the physical address that stands for a page; see keep(). */
#define USER_PHYS	0x100000000ULL

#define USER_READ	1
#define USER_WRITE	2

/* CLOCK_MONOTONIC of the program and of the host, in nanoseconds. */
#define USER_NOW	5000000000ULL
#define HOST_NOW	9000000007ULL
/* Converts the time @t of the host's clock @c to the guest's: each clock has another offset. */
#define USER_STAMP(t, c) ((t) - (HOST_NOW - USER_NOW) + (c) * 1000000000ULL)

/* Range of fds that are objects of the host; the object's number is fd + USER_OBJECT. */
#define USER_FD_FIRST	10
#define USER_FD_LAST	99
#define USER_OBJECT	1000
/* An fd of the guest's own file, and the first fd of new files. */
#define USER_FD_LOCAL	5
#define USER_FD_NEW	100

/* Major of the host's device files in the guest, 0: no file; number added to their minors. */
#define USER_MAJOR	81
#define USER_MINOR	7

/* Ids of the program's thread, the file's opener and the process; the host's id of the program. */
#define USER_PID	4711
#define USER_OPENER	4001
#define USER_PROCESS	4710
#define HOST_PID	4

struct user {
	u8 *top;		/* end of the allocated memory */
	u32 double_reads;	/* number of bytes read more than once */
	u64 bytes_written;
	/* State of open files: */
	int held;		/* references of get() without a put() */
	int events;		/* eventfds of event_get(), not cancelled */
	int next_fd;
	int fail_reserve;	/* the n-th reserve fails with -EMFILE */
	int reserved;		/* fds that are neither installed nor aborted */
	int installed;
	int aborted;
	u32 new_objects[256];	/* object of each fd, from USER_FD_NEW on */
	u32 stamps;		/* number of converted times of a clock */
	u32 chosen;		/* chosen clock plus 1; 0: none */
	u32 kept;		/* number of calls of keep() that succeeded */
	int fail_keep;		/* errno that keep() fails with; 0: none */
};

extern struct user user;
extern const struct vgpu_marshal_fds user_fds;

/* Resets the program: zeroed memory with all rights, and no open files but the fixed ones. */
void user_reset(void);
/* Resets the counters of reads and writes. */
void user_count_reset(void);
/* Allocates memory, aligned to 16 bytes, with a gap behind it. */
void *user_alloc(size_t len);
/* Allocates whole pages; the page behind them is missing. */
void *user_alloc_pages(size_t len);
void user_protect(void *p, size_t len, int rights);
/* Return: the whole range may be accessed with these rights. */
bool user_may(u64 addr, u64 len, int rights);

#endif /* FAKE_USER_H */
