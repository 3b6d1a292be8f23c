/* SPDX-License-Identifier: MIT */
/*
 * Offers: exports and the small files of their devices, of which vgpud tells engines. Also grants,
 * by which guests get exports.
 */
#ifndef VGPUD_OFFER_H
#define VGPUD_OFFER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include <linux/vgpu_host.h>
#include <linux/vgpu_wire.h>

/**
 * struct offer_file - content of a small file of an export's device
 * @node: entry of struct offer's list of files
 * @told: true if vgpud has reported the file since the last VGPU_HOST_FILE_LAST
 * @len: number of bytes in @data
 * @name: name of the file, as in struct vgpu_export_file
 * @data: content of the file
 */
struct offer_file {
	LIST_ENTRY(offer_file) node;
	bool told;
	uint32_t len;
	char name[VGPU_FILE_NAME_LEN];
	uint8_t data[];
};

/**
 * struct offer - an export for the guests of engines
 * @node: entry of offers
 * @files: list of the files of the device
 * @number: number of the export
 * @master: true if VGPU_HOST_EXPORT_MASTER is set
 * @no_demand: true if VGPU_HOST_EXPORT_NO_DEMAND is set
 * @rdev: device number of the node
 * @nr_submits: number of entries of @submits
 * @submits: array of vgpu_ioctl_key() of commands that give the device work, in rising order
 * @add: description that guests get; its number is not filled in
 */
struct offer {
	LIST_ENTRY(offer) node;
	LIST_HEAD(, offer_file) files;
	uint32_t number;
	bool master;
	bool no_demand;
	dev_t rdev;
	uint32_t nr_submits;
	uint32_t submits[VGPU_HOST_SUBMITS_MAX];
	struct vgpu_export_add add;
};

LIST_HEAD(offer_list, offer);
extern struct offer_list offers;

/* Do the work of the functions hostdev_*() of host/hostdev.h that are named like these. */
int engine_export_add(struct vgpu_host_export_add *arg);
int engine_export_del(uint32_t export);
int engine_export_change(const struct vgpu_host_export_change *change);
int engine_export_file(const struct vgpu_host_export_file *arg);
int engine_grant(struct vgpu_host_grant *arg);
int engine_revoke(uint32_t peer, uint32_t export, bool now);

#endif /* VGPUD_OFFER_H */
