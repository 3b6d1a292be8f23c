// SPDX-License-Identifier: GPL-2.0-only
/*
 * PCI addresses in results of NVIDIA's driver. The driver reports the PCI address of a card,
 * and programs look for the card at this address in /sys/bus/pci and /proc/driver/nvidia. If
 * the host's address is in use in the guest, the card's device is in another domain (pci.c), so
 * the domain in the results is replaced. Bus, slot and function are always the host's. The ids
 * of cards, which are computed from the address, are not replaced: to programs they are just
 * numbers.
 *
 * Sizes and offsets are those of the open modules 550 to 595.
 */
#include <linux/errno.h>
#include <linux/ioctl.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/pci.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "argument/marshal.h"
#include "argument/schema.h"
#include "argument/schema/tables.h"
#include "file/object.h"
#include "link/export.h"
#include "link/host.h"
#include "node/export_node.h"
#include "node/nvidia_address.h"

/* Numbers of ioctls, by which the driver recognizes them. */
#define NR_CONTROL		0x2a
#define NR_CARD_INFO		0xc8
#define NR_STATUS_CODE		0xd1
#define NR_XFER			0xd3

/* Offsets in struct nv_control and nv_xfer of schema/nvidia.c. */
#define CONTROL_CMD		8
#define CONTROL_FLAGS		12
#define CONTROL_PARAMS		16
#define CONTROL_STATUS		28
#define CONTROL_LEN		32
/* Flag of a control command whose parameters are a message with a layout of its own. */
#define CONTROL_SERIALIZED	0x4
#define XFER_NR			0
#define XFER_ARG		8

/*
 * Offsets in STATUS_CODE, which begins with the domain in question; bus and slot have a byte
 * each.
 */
#define STATUS_BUS		4
#define STATUS_SLOT		5
#define STATUS_LEN		12

/* Commands that fill in a list of pairs of integers, an index and a number. */
#define CMD_BUS_GET_INFO	0x20801802
#define CMD_BUS_GET_INFO_V2	0x20801823
#define INFO_LEN		8
#define INFO_BUS		0xf
#define INFO_DEVICE		0x10
#define INFO_DOMAIN		0x2c
/* Offset of the list's address in the first command, and of the list itself in the second one. */
#define LIST_ADDR		8
#define LIST_INSIDE		4

/* Bus or slot that is unknown. */
#define ANY			U32_MAX

/**
 * struct address_form - places of addresses in the argument of an ioctl, or in parameters
 * @cmd: number of the ioctl or of the command
 * @len: size of the whole in bytes, if there are several forms; 0: any
 * @first: offset of the first entry of an array
 * @stride: size of an entry in bytes
 * @domain: offset of the domain in the entry, 4 bytes
 * @bus: offset of the bus in the entry
 * @slot: offset of the slot in the entry
 * @size: size of bus and slot in bytes
 */
struct address_form {
	u32 cmd;
	u16 len;
	u16 first;
	u16 stride;
	u16 domain;
	u16 bus;
	u16 slot;
	u8 size;
};

static const struct address_form card_info = {
	.cmd = NR_CARD_INFO, .stride = 72, .domain = 4, .bus = 8, .slot = 9, .size = 1,
};

/* Form of an array of links; an entry has the addresses of both ends. @d: offset of one domain. */
#define NVLINK(n, f, s, d) \
	{ .cmd = 0x20803002, .len = (n), .first = (f), .stride = (s), .domain = (d), \
	  .bus = (d) + 4, .slot = (d) + 6, .size = 2 }

static const struct address_form controls[] = {
	/* The first command reports the card with an id, the second one all devices. */
	{ .cmd = 0x0000021b, .stride = 12, .domain = 4, .bus = 8, .slot = 10, .size = 2 },
	{ .cmd = 0x20801821, .stride = 20, .domain = 8, .bus = 12, .slot = 14, .size = 2 },
	NVLINK(5896, 8, 184, 92),
	NVLINK(5896, 8, 184, 140),
	NVLINK(6152, 8, 192, 100),
	NVLINK(6152, 8, 192, 148),
	NVLINK(13320, 8, 208, 100),
	NVLINK(13320, 8, 208, 156),
	NVLINK(13344, 32, 208, 100),
	NVLINK(13344, 32, 208, 156),
	NVLINK(13864, 32, 216, 100),
	NVLINK(13864, 32, 216, 156),
};

/**
 * struct address_results - results of an ioctl
 * @host: host of the object
 * @m: marshalled ioctl
 * @reply: reply of the host
 */
struct address_results {
	struct vgpu_host *host;
	const struct vgpu_marshal *m;
	const struct vgpu_reply_view *reply;
};

/**
 * vgpu_nvidia_address_set - store the address of a card
 * @export: export of the card
 * @parent: parent of its node, a registered PCI device or another device
 */
void vgpu_nvidia_address_set(struct vgpu_export *export, struct device *parent)
{
	const char *name = vgpu_export_pci_name(export);
	unsigned int domain, bus, slot;

	/* A name of another length does not fit into the files of /proc. */
	if (!name || !dev_is_pci(parent) || strlen(name) != strlen(dev_name(parent)) ||
	    sscanf(name, "%8x:%2x:%2x.", &domain, &bus, &slot) != 3)
		return;
	spin_lock(&export->host->lock);
	vgpu_export_node(export)->address = (struct vgpu_nvidia_address) {
		.known = true,
		.there = domain,
		.here = pci_domain_nr(to_pci_dev(parent)->bus),
		.bus = bus,
		.slot = slot,
	};
	spin_unlock(&export->host->lock);
}

/**
 * vgpu_nvidia_address_clear - forget the address of a card whose node is removed
 * @export: export of the card
 */
void vgpu_nvidia_address_clear(struct vgpu_export *export)
{
	spin_lock(&export->host->lock);
	vgpu_export_node(export)->address.known = false;
	spin_unlock(&export->host->lock);
}

/*
 * Translate the domain of the card at an address. Return: the host's domain if @to_host is set,
 * else the guest's; @domain if there is no such card, or cards in several domains.
 */
static u32 translate(struct vgpu_host *host, u32 domain, u32 bus, u32 slot, bool to_host)
{
	struct vgpu_export *export;
	u32 result = domain;
	bool found = false;

	spin_lock(&host->lock);
	list_for_each_entry(export, &host->exports, entry) {
		const struct vgpu_nvidia_address *address = &vgpu_export_node(export)->address;
		u32 other = to_host ? address->there : address->here;

		if (!address->known || domain != (to_host ? address->here : address->there) ||
		    (bus != ANY && bus != address->bus) || (slot != ANY && slot != address->slot))
			continue;
		if (found && other != result) {
			result = domain;
			break;
		}
		result = other;
		found = true;
	}
	spin_unlock(&host->lock);
	return result;
}

static const u8 *result_bytes(const struct address_results *results,
			      const struct vgpu_marshal_seg *seg)
{
	return results->reply->data + seg->out_off;
}

/* Return: segment with results of the pointer at @place in @seg, or NULL. */
static const struct vgpu_marshal_seg *seg_behind(const struct vgpu_marshal *m,
						 const struct vgpu_marshal_seg *seg, u32 place)
{
	u32 i;

	for (i = 1; i < m->nr_segs; i++) {
		const struct vgpu_marshal_seg *info = &m->info[i];

		if (info->field && info->parent == seg - m->info && info->parent_base == 0 &&
		    info->field->offset == place)
			return info->dir == VGPU_INOUT ? info : NULL;
	}
	return NULL;
}

/* Replace the domain at @offset of a result by the guest's. Return: 0 or -EFAULT. */
static int put_domain(const struct address_results *results, const struct vgpu_marshal_seg *seg,
		      u32 offset, u32 bus, u32 slot)
{
	u32 told = vgpu_marshal_int(result_bytes(results, seg) + offset, sizeof(told));
	u32 here = translate(results->host, told, bus, slot, false);

	if (here == told)
		return 0;
	return copy_to_user(u64_to_user_ptr(seg->addr + offset), &here, sizeof(here)) ? -EFAULT : 0;
}

static int put_form(const struct address_results *results, const struct vgpu_marshal_seg *seg,
		    const struct address_form *form)
{
	const u8 *bytes = result_bytes(results, seg);
	u32 at;
	int ret = 0;

	for (at = form->first; !ret && at + form->stride <= seg->len; at += form->stride)
		ret = put_domain(results, seg, at + form->domain,
				 vgpu_marshal_int(bytes + at + form->bus, form->size),
				 vgpu_marshal_int(bytes + at + form->slot, form->size));
	return ret;
}

/* Return: number of the entry with @index in a list; ANY if there is none. */
static u32 list_get(const u8 *list, u32 count, u32 index)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (vgpu_marshal_int(list + i * INFO_LEN, 4) == index)
			return vgpu_marshal_int(list + i * INFO_LEN + 4, 4);
	return ANY;
}

static int put_list(const struct address_results *results, const struct vgpu_marshal_seg *seg,
		    u32 first, u32 count)
{
	const u8 *list = result_bytes(results, seg) + first;
	u32 i, bus, slot;
	int ret = 0;

	if (first > seg->len)
		return 0;
	count = min(count, (seg->len - first) / INFO_LEN);
	bus = list_get(list, count, INFO_BUS);
	slot = list_get(list, count, INFO_DEVICE);
	for (i = 0; !ret && i < count; i++)
		if (vgpu_marshal_int(list + i * INFO_LEN, 4) == INFO_DOMAIN)
			ret = put_domain(results, seg, first + i * INFO_LEN + 4, bus, slot);
	return ret;
}

static int control_told(const struct address_results *results, const struct vgpu_marshal_seg *seg)
{
	const struct vgpu_marshal *m = results->m;
	const struct vgpu_marshal_seg *params, *list;
	const u8 *bytes = result_bytes(results, seg);
	u32 cmd, count;
	size_t i;
	int ret = 0;

	if (seg->len < CONTROL_LEN || vgpu_marshal_int(bytes + CONTROL_STATUS, 4) ||
	    vgpu_marshal_int(m->data + seg->in_off + CONTROL_FLAGS, 4) & CONTROL_SERIALIZED)
		return 0;
	cmd = vgpu_marshal_int(m->data + seg->in_off + CONTROL_CMD, 4);
	params = seg_behind(m, seg, CONTROL_PARAMS);
	if (!params || params->len < LIST_INSIDE)
		return 0;
	count = vgpu_marshal_int(m->data + params->in_off, 4);
	if (cmd == CMD_BUS_GET_INFO_V2)
		return put_list(results, params, LIST_INSIDE, count);
	if (cmd == CMD_BUS_GET_INFO) {
		list = seg_behind(m, params, LIST_ADDR);
		return list ? put_list(results, list, 0, count) : 0;
	}
	for (i = 0; !ret && i < ARRAY_SIZE(controls); i++)
		if (controls[i].cmd == cmd && (!controls[i].len || controls[i].len == params->len))
			ret = put_form(results, params, &controls[i]);
	return ret;
}

/**
 * vgpu_nvidia_address_told - replace PCI addresses in the results of a successful ioctl
 * @object: object of the ioctl
 * @cmd: command of the ioctl
 * @m: marshalled ioctl
 * @reply: reply, which was copied to the program already
 *
 * Return: 0 or -EFAULT.
 */
int vgpu_nvidia_address_told(struct vgpu_object *object, unsigned int cmd,
			     const struct vgpu_marshal *m, const struct vgpu_reply_view *reply)
{
	const struct address_results results = { object->host, m, reply };
	const struct vgpu_marshal_seg *seg = m->info;
	u32 nr = _IOC_NR(cmd);

	if (object->schema != &vgpu_schema_nvidia || !m->nr_segs || seg->dir != VGPU_INOUT ||
	    reply->data_len < m->reply_bytes)
		return 0;
	if (nr == NR_XFER && seg->len >= XFER_ARG + sizeof(u64)) {
		nr = vgpu_marshal_int(m->data + seg->in_off + XFER_NR, 4);
		seg = seg_behind(m, seg, XFER_ARG);
	}
	if (!seg)
		return 0;
	if (nr == NR_CARD_INFO)
		return put_form(&results, seg, &card_info);
	return nr == NR_CONTROL ? control_told(&results, seg) : 0;
}

/**
 * vgpu_nvidia_address_given - replace a PCI address in the argument of an ioctl by the host's
 * @object: object of the ioctl
 * @cmd: command of the ioctl
 * @m: marshalled ioctl; changed
 */
void vgpu_nvidia_address_given(struct vgpu_object *object, unsigned int cmd,
			       struct vgpu_marshal *m)
{
	u32 domain;
	u8 *bytes;

	if (object->schema != &vgpu_schema_nvidia || _IOC_NR(cmd) != NR_STATUS_CODE ||
	    !m->nr_segs || m->info->dir != VGPU_INOUT || m->info->len < STATUS_LEN)
		return;
	bytes = m->data + m->info->in_off;
	domain = translate(object->host, vgpu_marshal_int(bytes, 4), bytes[STATUS_BUS],
			   bytes[STATUS_SLOT], true);
	memcpy(bytes, &domain, sizeof(domain));
}
