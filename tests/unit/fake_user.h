/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The program of the guest: its memory, of which pages can be missing or
 * read-only, and its open files. What the marshaller calls in the kernel ends
 * here.
 */
#ifndef FAKE_USER_H
#define FAKE_USER_H

#include "marshal.h"

#define USER_BASE	0x20000000UL	/* fits a 32-bit pointer */
#define USER_SIZE	(160UL << 20)
#define USER_PAGE	4096UL
/* Pages are at addresses of the machine that are these and so much, in the other order. */
#define USER_PHYS	0x100000000ULL

#define USER_READ	1
#define USER_WRITE	2

/* What the program's CLOCK_MONOTONIC shows, and the host's. */
#define USER_NOW	5000000000ULL
#define HOST_NOW	9000000007ULL
/* What a time of the host's clock @c becomes: each clock has an offset of its own. */
#define USER_STAMP(t, c) ((t) - (HOST_NOW - USER_NOW) + (c) * 1000000000ULL)

/* Open files: these are objects of the host (object is fd + USER_OBJECT) ... */
#define USER_FD_FIRST	10
#define USER_FD_LAST	99
#define USER_OBJECT	1000
/* ... this is a file of the guest's own, and from here on there are new ones. */
#define USER_FD_LOCAL	5
#define USER_FD_NEW	100

/* Device files of the host are these here, but for those of major 0: they are none. */
#define USER_MAJOR	81
#define USER_MINOR	7

/* Its process id and that of who opened the file, and what the host has in their place. */
#define USER_PID	4711
#define USER_OPENER	4001
#define USER_PROCESS	4710
#define HOST_PID	4

struct user {
	u8 *top;		/* end of what was allocated */
	u32 double_reads;	/* bytes that were read twice */
	u64 bytes_written;
	/* open files */
	int held;		/* by get(), not yet put() */
	int events;		/* by event_get(), not yet cancelled */
	int next_fd;
	int fail_reserve;	/* the n-th reserve fails with -EMFILE */
	int reserved;		/* neither installed nor aborted */
	int installed;
	int aborted;
	u32 new_objects[256];	/* by fd - USER_FD_NEW */
	u32 stamps;		/* times that were brought over */
	u32 chosen;		/* clock, since 1 was added: 0 is none */
	u32 kept;		/* memory that was asked for to be kept */
	int fail_keep;		/* errno of that */
};

extern struct user user;
extern const struct vgpu_marshal_fds user_fds;

/* Empty memory with all rights, nothing open but the fixed files. */
void user_reset(void);
/* Before another look at reads and writes. */
void user_count_reset(void);
/* Memory, aligned to 16, with a gap behind. */
void *user_alloc(size_t len);
/* Whole pages; the page behind them is missing. */
void *user_alloc_pages(size_t len);
void user_protect(void *p, size_t len, int rights);
/* May all of it be touched so? */
bool user_may(u64 addr, u64 len, int rights);

#endif /* FAKE_USER_H */
