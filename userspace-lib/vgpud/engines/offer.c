// SPDX-License-Identifier: MIT
/* Exports, as engines know them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "engines/offer.h"
#include "wire.h"

struct offer_list offers = LIST_HEAD_INITIALIZER(offers);
static uint32_t last_offer;

struct offer *offer_find(uint32_t number)
{
	struct offer *offer;

	LIST_FOREACH(offer, &offers, node)
		if (offer->number == number)
			return offer;
	return NULL;
}

int engine_export_add(struct vgpu_host_export_add *arg)
{
	struct offer *offer;
	struct stat st;

	if (fstat(arg->path_fd, &st) || !S_ISCHR(st.st_mode))
		return -ENODEV;
	LIST_FOREACH(offer, &offers, node)
		if (!strcmp((const char *)offer->add.name, arg->name))
			return -EEXIST;
	offer = calloc(1, sizeof(*offer));
	if (!offer)
		return -ENOMEM;
	offer->number = ++last_offer;
	offer->master = arg->flags & VGPU_HOST_EXPORT_MASTER;
	offer->no_demand = arg->flags & VGPU_HOST_EXPORT_NO_DEMAND;
	offer->rdev = st.st_rdev;
	offer->add.kind = cpu_to_le32(arg->kind);
	offer->add.device = cpu_to_le64(arg->device);
	offer->add.rdev_major = cpu_to_le32(major(st.st_rdev));
	offer->add.rdev_minor = cpu_to_le32(minor(st.st_rdev));
	offer->add.bus = cpu_to_le32(arg->bus);
	SET_STRING(offer->add.name, arg->name);
	SET_STRING(offer->add.driver, arg->driver);
	SET_STRING(offer->add.path, arg->path);
	SET_STRING(offer->add.bus_id, arg->bus_id);
	memcpy(offer->add.pci_header, arg->pci_header, sizeof(offer->add.pci_header));
	SET_STRING(offer->add.title, arg->title);
	LIST_INSERT_HEAD(&offers, offer, node);
	arg->out_export = offer->number;
	return 0;
}

void offer_file_free(struct offer_file *file)
{
	LIST_REMOVE(file, node);
	free(file);
}
