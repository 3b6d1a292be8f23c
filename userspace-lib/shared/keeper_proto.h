/* SPDX-License-Identifier: MIT */
/* Messages of keepers to and from vgpud and engines. They are sent as those of proto.h are. */
#ifndef VGPU_KEEPER_PROTO_H
#define VGPU_KEEPER_PROTO_H

#include <linux/types.h>

/*
 * Files that vgpud leaves open for a keeper. ENGINE_FD_PROGRAM (proto.h) is the keeper's program,
 * as in an engine.
 */
#define KEEPER_FD_AGENT		3	/* connection from vgpud, which only sends */
#define KEEPER_FD_QEMU		4	/* connection to the guest's hypervisor */
#define KEEPER_FD_STATE		5	/* file of one byte that vgpud reads: KEEPER_STATE_* */

#define KEEPER_STATE_HUGE	1	/* all guest memory that the keeper has is in hugetlbfs */
#define KEEPER_STATE_GIANT	2	/* some memory has pages of over VGPU_RAM_PAGE_MAX bytes */

/**
 * enum keeper_type - messages to and from a keeper
 * @KEEPER_START: vgpud's first message: number @id and size @len of the window
 * @KEEPER_ENGINE: from vgpud, with the keeper's end of a connection to the guest's engine
 * @KEEPER_MEMORY: from vgpud where the host module is the engine, with a file of the module's.
 *	The keeper tells the module by this file where the guest's memory is
 *	(struct vgpu_memory_add), and shows nothing
 * @KEEPER_MAP: from the engine, with a file: show @len bytes of the file, from @file_offset on,
 *	at @offset of the window; @id is the @tag of the last READY. DONE answers when the guest
 *	can see the bytes
 * @KEEPER_UNMAP: from the engine: hide what a MAP with this @offset and @len shows. DONE answers
 *	when the guest cannot see the bytes any more
 * @KEEPER_READY: from the keeper: there is a window with number @id and @len bytes, in which
 *	nothing is visible that any engine had shown before. @tag numbers the READY messages, as
 *	the number of the window stays: a MAP that crosses a READY names the one before
 * @KEEPER_GONE: from the keeper: there is no window any more. What was shown may stay visible
 *	until the next READY. Requests without an answer get none
 * @KEEPER_DONE: from the keeper: answer to the request with this @tag. @result is 0 or an error
 * @KEEPER_RAM: from the keeper: the guest has memory at its physical address @offset, of @len
 *	bytes, which is in the file that comes with the message, from @file_offset on. Without a
 *	file: that memory is gone
 */
enum keeper_type {
	KEEPER_START	= 1,
	KEEPER_ENGINE	= 2,
	KEEPER_MAP	= 3,
	KEEPER_UNMAP	= 4,
	KEEPER_READY	= 5,
	KEEPER_GONE	= 6,
	KEEPER_DONE	= 7,
	KEEPER_RAM	= 8,
	KEEPER_MEMORY	= 9,
};

/**
 * struct keeper_msg - a message to or from a keeper
 * @type: enum keeper_type, which says how the other fields are used; unused fields are 0
 * @result: 0, or a negative errno
 * @tag: number by which DONE names its request, chosen by the engine; in READY, the number of
 *	that message
 * @id: number of a window; in MAP, the @tag of the last READY that the engine has read
 * @offset: place in the window, or in the guest's physical memory, in bytes; a multiple of the
 *	page size
 * @len: length in bytes, a multiple of the page size
 * @file_offset: place in a file, in bytes, a multiple of the page size
 */
struct keeper_msg {
	__u32 type;
	__s32 result;
	__u64 tag;
	__u64 id;
	__u64 offset;
	__u64 len;
	__u64 file_offset;
};

/* Exit statuses of a keeper. Status 0 means that the hypervisor or vgpud has ended. */
enum keeper_exit {
	KEEPER_EXIT_START	= 120,	/* something is missing that the keeper itself needs */
	KEEPER_EXIT_FEATURES	= 121,	/* the hypervisor lacks what keeper/qemu.c needs */
	KEEPER_EXIT_PROTOCOL	= 122,	/* the hypervisor has broken the protocol */
	KEEPER_EXIT_SILENT	= 123,	/* the hypervisor does not answer */
};

/*
 * Largest number of mappings that a window shows at once. A hypervisor has 509 slots for the
 * guest's memory that it reports to its back-ends, and needs some of them for RAM.
 */
#define KEEPER_MAPPINGS_MAX	448

#endif /* VGPU_KEEPER_PROTO_H */
