// SPDX-License-Identifier: GPL-2.0-only
/* Writes a valid message of every kind. */
#include <stdio.h>
#include <stdlib.h>

#include "wire_sample.h"

#define LE16(x)	cpu_to_le16(x)
#define LE32(x)	cpu_to_le32(x)
#define LE64(x)	cpu_to_le64(x)

const struct vgpu_wire_limits wire_sample_limits = {
	.call_bytes = 128 << 10,
	.segs = 16,
	.fixups = 16,
	.features = VGPU_FEATURES,
};

/* Adds @len zeroed bytes with padding, and updates hdr.len. */
static void *add(struct wire_buf *buf, u32 len)
{
	void *p = (u8 *)buf->words + buf->len;

	memset(p, 0, vgpu_wire_pad(len));
	buf->len += vgpu_wire_pad(len);
	((struct vgpu_hdr *)buf->words)->len = LE32(buf->len);
	return p;
}

static void add_bytes(struct wire_buf *buf, u32 len)
{
	u8 *p = add(buf, len);
	u32 i;

	for (i = 0; i < len; i++)
		p[i] = 1 + i % 255;
}

static void *begin(struct wire_buf *buf, u16 type, u32 size, u64 seq)
{
	struct vgpu_hdr *hdr;

	buf->len = 0;
	hdr = add(buf, size);
	hdr->type = LE16(type);
	hdr->seq = LE64(seq);
	return hdr;
}

/* --- handshake and control ------------------------------------------------ */

static void fill_hello(struct wire_buf *buf)
{
	struct vgpu_hello *m = begin(buf, VGPU_MSG_HELLO, sizeof(*m), 0);

	m->magic = LE32(VGPU_WIRE_MAGIC);
	m->version_min = LE16(1);
	m->version_max = LE16(VGPU_WIRE_VERSION);
	m->page_size = LE32(VGPU_PAGE_SIZE);
	m->features = LE64(VGPU_FEATURES);
	memset(m->instance, 0x5a, sizeof(m->instance));
}

static void fill_welcome(struct wire_buf *buf)
{
	struct vgpu_welcome *m = begin(buf, VGPU_MSG_WELCOME, sizeof(*m), 0);

	m->magic = LE32(VGPU_WIRE_MAGIC);
	m->version = LE16(VGPU_WIRE_VERSION);
	m->features = LE64(VGPU_FEATURES);
	memset(m->secret, 0xa5, sizeof(m->secret));
	m->reserved_base = LE64(0x3e0000000000);
	m->reserved_size = LE64(1ULL << 32);
	m->call_bytes_max = LE32(16 << 20);
	m->segs_max = LE32(1024);
	m->fixups_max = LE32(2048);
	m->lanes_max = LE32(64);
	m->ping_timeout_ms = LE32(5000);
}

static void fill_refuse(struct wire_buf *buf)
{
	struct vgpu_refuse *m = begin(buf, VGPU_MSG_REFUSE, sizeof(*m), 0);

	m->error = LE32(EACCES);
}

static void fill_lane(struct wire_buf *buf)
{
	struct vgpu_lane_hello *m = begin(buf, VGPU_MSG_LANE, sizeof(*m), 0);

	m->magic = LE32(VGPU_WIRE_MAGIC);
	m->tgid = LE32(4711);
	memset(m->secret, 0xa5, sizeof(m->secret));
	m->session = LE64(3);
	memcpy(m->comm, "modetest", 8);
}

static void fill_lane_ready(struct wire_buf *buf)
{
	begin(buf, VGPU_MSG_LANE_READY, sizeof(struct vgpu_hdr), 0);
}

static void fill_export_add(struct wire_buf *buf)
{
	struct vgpu_export_add *m = begin(buf, VGPU_MSG_EXPORT_ADD, sizeof(*m), 0);

	m->export = LE32(1);
	m->kind = LE32(VGPU_EXPORT_DRM_RENDER);
	m->device = LE64(226);
	m->rdev_major = LE32(226);
	m->rdev_minor = LE32(128);
	memcpy(m->name, "gpu0", 4);
	memcpy(m->driver, "virtio_gpu", 10);
	memcpy(m->path, "/dev/dri/renderD128", 19);
	m->bus = LE32(VGPU_BUS_PCI);
	memcpy(m->bus_id, "0000:00:02.0", 12);
	memcpy(m->pci_header, "\xf4\x1a\x50\x10", 4);
}

static void fill_export_del(struct wire_buf *buf)
{
	struct vgpu_export_del *m = begin(buf, VGPU_MSG_EXPORT_DEL, sizeof(*m), 0);

	m->export = LE32(1);
}

static void fill_export_change(struct wire_buf *buf)
{
	struct vgpu_export_change *m = begin(buf, VGPU_MSG_EXPORT_CHANGE, sizeof(*m), 0);

	m->export = LE32(1);
	m->flags = LE32(VGPU_CHANGE_HOTPLUG | VGPU_CHANGE_LEASE | VGPU_CHANGE_WEDGED);
	m->connector = LE32(36);
	m->property = LE32(5);
	m->wedged = LE32(VGPU_WEDGED_UNKNOWN | 1);
}

static void fill_export_file(struct wire_buf *buf)
{
	struct vgpu_export_file *m = begin(buf, VGPU_MSG_EXPORT_FILE, sizeof(*m), 0);

	m->export = LE32(1);
	m->size = LE32(VGPU_FILE_PART + 13);
	m->offset = LE32(VGPU_FILE_PART);
	memcpy(m->name, "HDMI-A-1/edid", 14);
	add_bytes(buf, 13);
}

static void fill_close(struct wire_buf *buf)
{
	struct vgpu_close *m = begin(buf, VGPU_MSG_CLOSE, sizeof(*m), 1);

	m->object = LE32(7);
	m->reference = LE32(2);
}

static void fill_unmap(struct wire_buf *buf)
{
	struct vgpu_unmap *m = begin(buf, VGPU_MSG_UNMAP, sizeof(*m), 2);

	m->session = LE64(3);
	m->addr = LE64(0x7f0000001000);
	m->len = LE64(0x2000);
}

static void fill_session_close(struct wire_buf *buf)
{
	struct vgpu_session_close *m = begin(buf, VGPU_MSG_SESSION_CLOSE, sizeof(*m), 3);

	m->session = LE64(3);
}

static void fill_poll_event(struct wire_buf *buf)
{
	struct vgpu_poll_event *m = begin(buf, VGPU_MSG_POLL_EVENT, sizeof(*m), 0);

	m->object = LE32(7);
	m->revents = LE32(0x41);
	m->number = LE32(3);
	m->flags = LE32(VGPU_POLL_ANSWER);
}

static void fill_window(struct wire_buf *buf)
{
	struct vgpu_window_info *m = begin(buf, VGPU_MSG_WINDOW, sizeof(*m), 0);

	m->window = LE64(0x1122334455667788);
	m->size = LE64(4ULL << 30);
	m->flags = LE32(VGPU_WINDOW_DRAIN);
}

static void fill_part(struct wire_buf *buf, u16 type, u64 seq)
{
	struct vgpu_window_part *m = begin(buf, type, sizeof(*m), seq);

	m->window = LE64(0x1122334455667788);
	m->offset = LE64(0x1000);
	m->len = LE64(0x3000);
}

static void fill_unbind(struct wire_buf *buf)
{
	fill_part(buf, VGPU_MSG_UNBIND, 4);
}

static void fill_unbound(struct wire_buf *buf)
{
	fill_part(buf, VGPU_MSG_UNBOUND, 0);
}

static void fill_invalidate(struct wire_buf *buf)
{
	fill_part(buf, VGPU_MSG_INVALIDATE, 0);
}

static void fill_release(struct wire_buf *buf)
{
	struct vgpu_release *m = begin(buf, VGPU_MSG_RELEASE, sizeof(*m), 4);

	m->number = LE64(3);
}

static void fill_event(struct wire_buf *buf)
{
	struct vgpu_event_signal *m = begin(buf, VGPU_MSG_EVENT, sizeof(*m), 0);

	m->event = LE32(12);
}

static void fill_ping(struct wire_buf *buf)
{
	begin(buf, VGPU_MSG_PING, sizeof(struct vgpu_hdr), 11);
}

static void fill_pong(struct wire_buf *buf)
{
	begin(buf, VGPU_MSG_PONG, sizeof(struct vgpu_hdr), 11);
}

/* --- lane, without CALL and REPLY ------------------------------------------ */

static void fill_ack(struct wire_buf *buf)
{
	begin(buf, VGPU_MSG_ACK, sizeof(struct vgpu_hdr), 5);
}

static void fill_cancel(struct wire_buf *buf)
{
	begin(buf, VGPU_MSG_CANCEL, sizeof(struct vgpu_hdr), 5);
}

static void fill_fetch(struct wire_buf *buf)
{
	struct vgpu_fetch *m = begin(buf, VGPU_MSG_FETCH, sizeof(*m), 5);

	m->addr = LE64(0x7ffc00001000);
	m->len = LE32(VGPU_PAGE_SIZE);
}

static void fill_fetched(struct wire_buf *buf)
{
	struct vgpu_fetched *m = begin(buf, VGPU_MSG_FETCHED, sizeof(*m), 5);

	m->len = LE32(VGPU_PAGE_SIZE);
	add_bytes(buf, VGPU_PAGE_SIZE);
}

static void fill_fetched_error(struct wire_buf *buf)
{
	struct vgpu_fetched *m = begin(buf, VGPU_MSG_FETCHED, sizeof(*m), 5);

	m->error = LE32(EFAULT);
}

static void add_range(struct wire_buf *buf, u64 addr, u32 len)
{
	struct vgpu_range *range = add(buf, sizeof(*range));

	range->addr = LE64(addr);
	range->len = LE32(len);
}

static void fill_writeback(struct wire_buf *buf)
{
	struct vgpu_writeback *m = begin(buf, VGPU_MSG_WRITEBACK, sizeof(*m), 5);

	m->nr_ranges = LE32(2);
	add_range(buf, 0x7ffc00001004, 3);
	add_range(buf, 0x7ffc00001010, 10);
	add_bytes(buf, 13);
}

/* Adds a range of three bytes, and a masked range: each third byte of the page has changed. */
static void add_masked(struct wire_buf *buf, u64 page)
{
	struct vgpu_range *range = add(buf, sizeof(*range));
	u8 *bytes, *mask;
	u32 i;

	*range = (struct vgpu_range) { .addr = LE64(page - 4096), .len = LE32(3) };
	range = add(buf, sizeof(*range));
	*range = (struct vgpu_range) {
		.addr = LE64(page), .len = LE32(VGPU_MASK_BYTES + 1366),
		.flags = LE32(VGPU_RANGE_MASK),
	};
	bytes = add(buf, vgpu_wire_pad(3 + VGPU_MASK_BYTES + 1366));
	mask = bytes + 3;
	for (i = 0; i < VGPU_PAGE_SIZE; i += 3)
		mask[i / 8] |= 1U << i % 8;
	memset(mask + VGPU_MASK_BYTES, 0x5a, 1366);
}

static void fill_writeback_mask(struct wire_buf *buf)
{
	struct vgpu_writeback *m = begin(buf, VGPU_MSG_WRITEBACK, sizeof(*m), 5);

	m->nr_ranges = LE32(2);
	add_masked(buf, 0x7ffc00002000);
}

static void fill_written(struct wire_buf *buf)
{
	begin(buf, VGPU_MSG_WRITTEN, sizeof(struct vgpu_written), 5);
}

/* --- CALL ----------------------------------------------------------------- */

static struct vgpu_call *call_begin(struct wire_buf *buf, u16 op, u32 object)
{
	struct vgpu_call *call = begin(buf, VGPU_MSG_CALL, sizeof(*call), 5);

	call->op = LE16(op);
	call->object = LE32(object);
	call->f_flags = LE32(2);
	call->pos = LE64(100);
	call->control_seq = LE64(2);
	return call;
}

static struct vgpu_call *call_of(struct wire_buf *buf)
{
	return (struct vgpu_call *)buf->words;
}

static void add_seg(struct wire_buf *buf, u64 addr, u32 len, u32 flags)
{
	struct vgpu_seg *seg = add(buf, sizeof(*seg));

	seg->addr = LE64(addr);
	seg->len = LE32(len);
	seg->flags = LE32(flags);
	call_of(buf)->nr_segs = LE16(le16_to_cpu(call_of(buf)->nr_segs) + 1);
}

static void add_fixup(struct wire_buf *buf, u16 type, u16 seg, u32 offset, u32 target,
		      u32 target_offset)
{
	struct vgpu_fixup *fixup = add(buf, sizeof(*fixup));

	fixup->type = LE16(type);
	fixup->seg = LE16(seg);
	fixup->offset = LE32(offset);
	fixup->target = LE32(target);
	fixup->target_offset = LE32(target_offset);
	call_of(buf)->nr_fixups = LE16(le16_to_cpu(call_of(buf)->nr_fixups) + 1);
}

static void fill_call_open(struct wire_buf *buf)
{
	struct vgpu_call *call = call_begin(buf, VGPU_OP_OPEN, 0);

	call->args.open.export = LE32(1);
	call->args.open.flags = LE32(2);
}

static void fill_call_close(struct wire_buf *buf)
{
	call_begin(buf, VGPU_OP_CLOSE, 7)->args.close.reference = LE32(2);
}

static void fill_call_ioctl_value(struct wire_buf *buf)
{
	struct vgpu_call *call = call_begin(buf, VGPU_OP_IOCTL, 7);

	call->args.ioctl.cmd = LE32(0x641e);
	call->args.ioctl.arg = LE64(12345);
}

/* The argument is an object, and another object comes back. */
static void fill_call_ioctl_fd(struct wire_buf *buf)
{
	struct vgpu_call *call = call_begin(buf, VGPU_OP_IOCTL, 7);

	call->args.ioctl.cmd = LE32(0x40044160);
	call->args.ioctl.arg_kind = LE32(VGPU_IOCTL_ARG_FD);
	call->args.ioctl.arg = LE64(9);
	add_fixup(buf, VGPU_FIXUP_FD_RET, 0, 0, 0, 0);
}

/* A bare command's argument looks like an address, so its page is sent, with another one. */
static void fill_call_ioctl_page(struct wire_buf *buf)
{
	struct vgpu_call *call = call_begin(buf, VGPU_OP_IOCTL, 7);

	call->args.ioctl.cmd = LE32(0x30);
	call->args.ioctl.arg = LE64(0x7ffc00001230);
	add_seg(buf, 0x7ffc00001000, VGPU_PAGE_SIZE, VGPU_SEG_IN | VGPU_SEG_PAGE);
	add_seg(buf, 0x7ffc00004000, VGPU_PAGE_SIZE, VGPU_SEG_IN | VGPU_SEG_PAGE);
	add_bytes(buf, VGPU_PAGE_SIZE);
	add_bytes(buf, VGPU_PAGE_SIZE);
}

static void fill_call_ioctl_seg(struct wire_buf *buf)
{
	struct vgpu_call *call = call_begin(buf, VGPU_OP_IOCTL, 7);

	call->args.ioctl.cmd = LE32(0xc00c6409);
	call->args.ioctl.arg_kind = LE32(VGPU_IOCTL_ARG_SEG);
	add_seg(buf, 0x7ffc00001230, 12, VGPU_SEG_IN | VGPU_SEG_OUT);
	add_bytes(buf, 12);
}

static void add_kept(struct wire_buf *buf, u64 number, u64 len)
{
	struct vgpu_kept *kept = add(buf, sizeof(*kept));

	kept->number = LE64(number);
	kept->len = LE64(len);
	kept->flags = LE32(VGPU_KEPT_WRITE);
}

static void add_run(struct wire_buf *buf, u64 addr, u64 len)
{
	struct vgpu_run *run = add(buf, sizeof(*run));

	run->addr = LE64(addr);
	run->len = LE64(len);
}

/* The device keeps memory in two places: one has two runs, one of them large, one has a page. */
static void fill_call_ioctl_kept(struct wire_buf *buf)
{
	struct vgpu_call *call = call_begin(buf, VGPU_OP_IOCTL, 7);

	call->args.ioctl.cmd = LE32(0xc0384627);
	call->args.ioctl.arg_kind = LE32(VGPU_IOCTL_ARG_SEG);
	add_seg(buf, 0x7ffc00001230, 8, VGPU_SEG_IN | VGPU_SEG_OUT);
	add_seg(buf, 0x7f0000200000, 56, VGPU_SEG_IN | VGPU_SEG_KEPT);
	add_seg(buf, 0x7f0000402000, 40, VGPU_SEG_IN | VGPU_SEG_KEPT);
	add_bytes(buf, 8);
	add_kept(buf, 1, 0x201000);
	add_run(buf, 0x80000000, 0x200000);
	add_run(buf, 0x1000, 0x1000);
	add_kept(buf, 2, 0x1000);
	add_run(buf, 0x80000000, 0x1000);
}

/*
 * The call has every kind of fixup and segment, and an empty segment. It comes from
 * a 32-bit process, because PTR32 is valid for these alone.
 */
static void fill_call_ioctl_nested(struct wire_buf *buf)
{
	struct vgpu_call *call = call_begin(buf, VGPU_OP_IOCTL, 7);

	call->flags = LE16(VGPU_CALL_COMPAT | VGPU_CALL_WATCH | VGPU_CALL_ADMIN |
			   VGPU_CALL_CLOCKS);
	call->args.ioctl.low = LE64(0xf7c00000);
	call->args.ioctl.low_len = LE64(0x2000);
	call->args.ioctl.cmd = LE32(0xc0286442);
	call->args.ioctl.arg_kind = LE32(VGPU_IOCTL_ARG_SEG);
	add_seg(buf, 0x7ffc00001230, 40, VGPU_SEG_IN | VGPU_SEG_OUT);
	add_seg(buf, 0x55500001000, 13, VGPU_SEG_IN);
	add_seg(buf, 0x55500002000, 30, VGPU_SEG_OUT);
	add_seg(buf, 0, 0, VGPU_SEG_IN);
	add_seg(buf, 0x55500003000, VGPU_PAGE_SIZE, VGPU_SEG_IN | VGPU_SEG_PAGE);
	add_fixup(buf, VGPU_FIXUP_PTR, 0, 0, 1, 0);
	add_fixup(buf, VGPU_FIXUP_PTR, 0, 8, 2, 30);
	add_fixup(buf, VGPU_FIXUP_FD_OUT, 2, 4, 0, 0);
	add_fixup(buf, VGPU_FIXUP_FD_IN, 1, 8, 9, 0);
	add_fixup(buf, VGPU_FIXUP_PTR, 0, 32, 3, 0);
	add_fixup(buf, VGPU_FIXUP_PTR32, 0, 20, 1, 13);
	add_fixup(buf, VGPU_FIXUP_FD_OUT, 0, 24, 0, 0);
	add_fixup(buf, VGPU_FIXUP_FD_RET, 0, 0, 0, 0);
	/* The field at 28 is an fd in, and also an fd out. */
	add_fixup(buf, VGPU_FIXUP_FD_IN, 0, 28, 9, 0);
	add_fixup(buf, VGPU_FIXUP_FD_OUT, 0, 28, 0, 0);
	add_fixup(buf, VGPU_FIXUP_TIME, 1, 0, 0, 0);
	add_bytes(buf, 40);
	add_bytes(buf, 13);
	add_bytes(buf, VGPU_PAGE_SIZE);
}

static void fill_call_read(struct wire_buf *buf)
{
	call_begin(buf, VGPU_OP_READ, 7);
	add_seg(buf, 0x7ffc00001230, 100, VGPU_SEG_OUT);
}

static void fill_call_fdinfo(struct wire_buf *buf)
{
	call_begin(buf, VGPU_OP_FDINFO, 7);
	add_seg(buf, 0, 4096, VGPU_SEG_OUT);
}

static void fill_call_write(struct wire_buf *buf)
{
	call_begin(buf, VGPU_OP_WRITE, 7);
	add_seg(buf, 0x7ffc00001230, 100, VGPU_SEG_IN);
	add_bytes(buf, 100);
}

static void fill_call_write_named(struct wire_buf *buf)
{
	struct vgpu_call *call = call_begin(buf, VGPU_OP_WRITE, 7);

	call->args.write.addr = LE64(0x7ffc00001230);
	call->args.write.len = LE32(100);
}

static void fill_call_llseek(struct wire_buf *buf)
{
	struct vgpu_call *call = call_begin(buf, VGPU_OP_LLSEEK, 7);

	call->args.llseek.offset = LE64(-8);
	call->args.llseek.whence = LE32(1);
}

static void fill_call_poll(struct wire_buf *buf)
{
	struct vgpu_call *call = call_begin(buf, VGPU_OP_POLL, 7);

	call->args.poll.events = LE32(5);
}

static void fill_call_mmap(struct wire_buf *buf)
{
	struct vgpu_call *call = call_begin(buf, VGPU_OP_MMAP, 7);

	call->args.mmap.addr = LE64(0x7f0000001000);
	call->args.mmap.len = LE64(0x4000);
	call->args.mmap.offset = LE64(0x100000000);
	call->args.mmap.prot = LE32(PROT_READ | PROT_WRITE);
	call->args.mmap.flags = LE32(MAP_SHARED);
}

static void fill_call_mmap_window(struct wire_buf *buf)
{
	struct vgpu_call *call = (void *)buf->words;

	fill_call_mmap(buf);
	call->args.mmap.window = LE64(0x1122334455667788);
	call->args.mmap.window_offset = LE64(0x7000);
}

static void fill_call_bind(struct wire_buf *buf)
{
	struct vgpu_call *call = call_begin(buf, VGPU_OP_BIND, 0);

	call->args.bind.addr = LE64(0x7f0000001000);
	call->args.bind.len = LE64(0x4000);
	call->args.bind.window = LE64(0x1122334455667788);
	call->args.bind.window_offset = LE64(0x7000);
}

static void fill_call_protect(struct wire_buf *buf)
{
	struct vgpu_call *call = call_begin(buf, VGPU_OP_PROTECT, 0);

	call->args.protect.addr = LE64(0x7f0000001000);
	call->args.protect.len = LE64(0x4000);
	call->args.protect.prot = LE32(PROT_READ | PROT_WRITE);
}

static void fill_call_clock(struct wire_buf *buf)
{
	call_begin(buf, VGPU_OP_CLOCK, 0);
}

static void fill_call_read_pages(struct wire_buf *buf)
{
	struct vgpu_call *call = call_begin(buf, VGPU_OP_READ_PAGES, 0);

	call->args.pages.addr = LE64(0x7f0000002000);
	call->args.pages.len = LE64(2 * VGPU_PAGE_SIZE);
	add_seg(buf, 0x7f0000002000, 2 * VGPU_PAGE_SIZE, VGPU_SEG_OUT);
}

static void fill_call_write_pages(struct wire_buf *buf)
{
	call_begin(buf, VGPU_OP_WRITE_PAGES, 0);
	add_seg(buf, 0, 2 * sizeof(struct vgpu_range), VGPU_SEG_IN);
	add_seg(buf, 0, 13, VGPU_SEG_IN);
	add_range(buf, 0x7f0000002004, 3);
	add_range(buf, 0x7f0000003010, 10);
	add_bytes(buf, 13);
}

static void fill_call_write_pages_mask(struct wire_buf *buf)
{
	call_begin(buf, VGPU_OP_WRITE_PAGES, 0);
	add_seg(buf, 0, 2 * sizeof(struct vgpu_range), VGPU_SEG_IN);
	add_seg(buf, 0, 3 + VGPU_MASK_BYTES + 1366, VGPU_SEG_IN);
	add_masked(buf, 0x7f0000003000);
}

/* --- REPLY ---------------------------------------------------------------- */

static struct vgpu_reply *reply_begin(struct wire_buf *buf, s64 result)
{
	struct vgpu_reply *reply = begin(buf, VGPU_MSG_REPLY, sizeof(*reply), 5);

	reply->result = LE64(result);
	reply->pos = LE64(100);
	reply->clock_in = LE64(5000000000);
	reply->clock_out = LE64(5000001000);
	return reply;
}

static void add_object(struct wire_buf *buf, u32 object, u32 kind, u32 fixup)
{
	struct vgpu_object_desc *desc = add(buf, sizeof(*desc));
	struct vgpu_reply *reply = (struct vgpu_reply *)buf->words;

	desc->object = LE32(object);
	desc->kind = LE32(kind);
	desc->fops = LE32(VGPU_FOP_IOCTL | VGPU_FOP_MMAP);
	desc->flags = LE32(VGPU_OBJECT_READ | VGPU_OBJECT_WRITE);
	desc->space = LE64(77);
	desc->fixup = LE32(fixup);
	desc->f_flags = LE32(2);
	desc->reference = LE32(3);
	reply->nr_objects = LE16(le16_to_cpu(reply->nr_objects) + 1);
}

static void fill_reply_open(struct wire_buf *buf)
{
	reply_begin(buf, 0);
	add_object(buf, 7, VGPU_OBJECT_DEVICE, 0);
}

static void fill_reply_open_error(struct wire_buf *buf)
{
	reply_begin(buf, -EBUSY);
}

static void fill_reply_refused(struct wire_buf *buf)
{
	reply_begin(buf, -EACCES)->flags = LE32(VGPU_REPLY_REFUSED);
}

static void fill_reply_close(struct wire_buf *buf)
{
	reply_begin(buf, 0);
}

static void fill_reply_ioctl_value(struct wire_buf *buf)
{
	struct vgpu_reply *reply = reply_begin(buf, 3);

	reply->out.ioctl.revents = LE32(0x41);
	reply->out.ioctl.flags = LE32(VGPU_POLL_ANSWER);
}

static void fill_reply_ioctl_seg(struct wire_buf *buf)
{
	reply_begin(buf, -EINVAL);
	add_bytes(buf, 12);
}

static void fill_reply_ioctl_nested(struct wire_buf *buf)
{
	struct vgpu_reply *reply = reply_begin(buf, 0);

	reply->out.ioctl.realtime = LE64(1700000000000000000);
	reply->out.ioctl.raw = LE64(-12345LL);
	reply->out.ioctl.tsc = LE64(98765432100ULL);
	add_object(buf, 21, VGPU_OBJECT_DMABUF, 7);
	add_object(buf, 22, VGPU_OBJECT_SYNC_FILE, 2);
	add_bytes(buf, 40);
	add_bytes(buf, 30);
}

static void fill_reply_stray(struct wire_buf *buf)
{
	reply_begin(buf, -EOPNOTSUPP)->flags = LE32(VGPU_REPLY_STRAY_FD);
	add_bytes(buf, 12);
}

static void fill_reply_read(struct wire_buf *buf)
{
	reply_begin(buf, 13);
	add_bytes(buf, 13);
}

static void fill_reply_read_error(struct wire_buf *buf)
{
	reply_begin(buf, -512);		/* -ERESTARTSYS */
}

static void fill_reply_fdinfo(struct wire_buf *buf)
{
	reply_begin(buf, 21);
	add_bytes(buf, 21);
}

static void fill_reply_write(struct wire_buf *buf)
{
	reply_begin(buf, 100);
}

static void fill_reply_llseek(struct wire_buf *buf)
{
	reply_begin(buf, 92);
}

static void fill_reply_poll(struct wire_buf *buf)
{
	reply_begin(buf, 0)->out.poll.revents = LE32(4);
}

static void fill_reply_mmap(struct wire_buf *buf)
{
	struct vgpu_reply *reply = reply_begin(buf, 0);

	reply->out.mmap.space = LE64(77);
	reply->out.mmap.offset = LE64(0x100000000);
	reply->out.mmap.flags = LE32(VGPU_MAP_READ | VGPU_MAP_WRITE | VGPU_MAP_SHARED);
	reply->out.mmap.cache = LE32(VGPU_CACHE_WC);
}

static void fill_reply_mmap_window(struct wire_buf *buf)
{
	struct vgpu_reply *reply = (void *)buf->words;

	fill_reply_mmap(buf);
	reply->out.mmap.flags |= LE32(VGPU_MAP_WINDOW);
}

static void fill_reply_bind(struct wire_buf *buf)
{
	reply_begin(buf, 0)->out.bind.cache = LE32(VGPU_CACHE_WC);
}

static void fill_reply_clock(struct wire_buf *buf)
{
	reply_begin(buf, 0);
}

static void fill_reply_read_pages(struct wire_buf *buf)
{
	reply_begin(buf, VGPU_PAGE_SIZE);
	add_bytes(buf, VGPU_PAGE_SIZE);
}

static void fill_reply_write_pages(struct wire_buf *buf)
{
	reply_begin(buf, 0);
}

#define SAMPLE(name)		{ #name, fill_##name, NULL }
#define REPLY(name, call)	{ "reply_" #name, fill_reply_##name, "call_" #call }

const struct wire_sample wire_samples[] = {
	SAMPLE(hello), SAMPLE(welcome), SAMPLE(refuse), SAMPLE(lane), SAMPLE(lane_ready),
	SAMPLE(export_add), SAMPLE(export_del), SAMPLE(export_change), SAMPLE(export_file),
	SAMPLE(close), SAMPLE(unmap),
	SAMPLE(session_close), SAMPLE(poll_event), SAMPLE(event), SAMPLE(ping),
	SAMPLE(window), SAMPLE(unbind), SAMPLE(unbound), SAMPLE(invalidate), SAMPLE(release),
	SAMPLE(pong), SAMPLE(ack), SAMPLE(cancel), SAMPLE(fetch), SAMPLE(fetched),
	SAMPLE(fetched_error), SAMPLE(writeback), SAMPLE(writeback_mask), SAMPLE(written),

	SAMPLE(call_open), SAMPLE(call_close), SAMPLE(call_ioctl_value),
	SAMPLE(call_ioctl_fd), SAMPLE(call_ioctl_page), SAMPLE(call_ioctl_seg),
	SAMPLE(call_ioctl_nested), SAMPLE(call_ioctl_kept),
	SAMPLE(call_read), SAMPLE(call_write), SAMPLE(call_write_named), SAMPLE(call_llseek),
	SAMPLE(call_poll),
	SAMPLE(call_mmap), SAMPLE(call_mmap_window), SAMPLE(call_bind),
	SAMPLE(call_protect), SAMPLE(call_clock),
	SAMPLE(call_read_pages), SAMPLE(call_write_pages), SAMPLE(call_write_pages_mask),
	SAMPLE(call_fdinfo),

	REPLY(open, open), REPLY(open_error, open), REPLY(refused, ioctl_nested),
	REPLY(close, close), REPLY(ioctl_value, ioctl_value), REPLY(ioctl_seg, ioctl_seg),
	REPLY(ioctl_nested, ioctl_nested), REPLY(stray, ioctl_seg), REPLY(read, read),
	REPLY(read_error, read), REPLY(write, write), REPLY(llseek, llseek),
	REPLY(poll, poll), REPLY(mmap, mmap), REPLY(mmap_window, mmap_window),
	REPLY(bind, bind), REPLY(clock, clock), REPLY(read_pages, read_pages),
	REPLY(write_pages, write_pages), REPLY(fdinfo, fdinfo),
};

const u32 wire_nr_samples = ARRAY_SIZE(wire_samples);

const struct wire_sample *wire_sample_find(const char *name)
{
	u32 i;

	for (i = 0; i < wire_nr_samples; i++)
		if (!strcmp(wire_samples[i].name, name))
			return &wire_samples[i];
	fprintf(stderr, "no sample is called %s\n", name);
	exit(2);
}
