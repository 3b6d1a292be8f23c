// SPDX-License-Identifier: MIT
/* Clients of NVIDIA's resource manager that own memory which a guest can see: see nvidia.h. */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "engine/memory/nvidia.h"

/* Length in bytes of the memory that nvidia_export() exports, and that no program uses. */
#define EXPORT_SIZE	4096

/*
 * Make an ioctl, which leaves RM's status in *@status, a field of @args. Return: 0, or a negative
 * errno.
 */
static int call(struct nvidia *nvidia, unsigned long cmd, void *args, const uint32_t *status)
{
	nvidia->status = RM_OK;
	if (ioctl(nvidia->control, cmd, args))
		return -errno;
	nvidia->status = *status;
	return rm_errno(*status);
}

static int alloc(struct nvidia *nvidia, uint32_t parent, uint32_t class, void *params,
		 uint32_t size, uint32_t *object)
{
	struct rm_alloc args = {
		.client = nvidia->client,
		.parent = parent,
		.class = class,
		.params = (uintptr_t)params,
		.params_size = size,
	};
	int ret = call(nvidia, RM_IOCTL_ALLOC, &args, &args.status);

	if (!ret)
		*object = args.object;
	return ret;
}

/* Free an object, and keep RM's status of the ioctl before. */
static void free_object(struct nvidia *nvidia, uint32_t object)
{
	struct rm_free args = { .client = nvidia->client, .object = object };
	uint32_t status = nvidia->status;

	call(nvidia, RM_IOCTL_FREE, &args, &args.status);
	nvidia->status = status;
}

static int share(struct nvidia *nvidia, uint32_t object, uint32_t client, uint16_t with,
		 uint8_t how)
{
	struct rm_share args = {
		.client = nvidia->client,
		.object = object,
		.with_client = client,
		.rights = RM_SHARE_RIGHT_DUP,
		.with = with,
		.how = how,
	};

	return call(nvidia, RM_IOCTL_SHARE, &args, &args.status);
}

int nvidia_begin(struct nvidia *nvidia, int control)
{
	int ret;

	memset(nvidia, 0, sizeof(*nvidia));
	nvidia->control = control;
	ret = alloc(nvidia, 0, RM_CLASS_CLIENT, NULL, 0, &nvidia->client);
	if (ret)
		nvidia_end(nvidia);
	return ret;
}

int nvidia_begin_apart(struct nvidia *nvidia, int control)
{
	int ret = nvidia_begin(nvidia, control);

	if (ret)
		return ret;
	ret = share(nvidia, nvidia->client, 0, RM_SHARE_WITH_PROCESS, RM_SHARE_HOW_REVOKE);
	if (ret)
		nvidia_end(nvidia);
	return ret;
}

void nvidia_end(struct nvidia *nvidia)
{
	if (nvidia->control >= 0)
		close(nvidia->control);
	nvidia->control = -1;
}

/* Make the client's objects of a card. RM refuses that for a card that is not open. */
static int device_get(struct nvidia *nvidia, uint32_t number)
{
	struct rm_device device = { .number = number };
	struct rm_subdevice subdevice = {};
	uint32_t handle;
	int ret;

	if (nvidia->devices[number])
		return 0;
	ret = alloc(nvidia, nvidia->client, RM_CLASS_DEVICE, &device, sizeof(device), &handle);
	if (ret)
		return ret;
	ret = alloc(nvidia, handle, RM_CLASS_SUBDEVICE, &subdevice, sizeof(subdevice),
		    &nvidia->subdevices[number]);
	if (ret)
		free_object(nvidia, handle);
	else
		nvidia->devices[number] = handle;
	return ret;
}

static int duplicate(struct nvidia *nvidia, uint32_t parent, const struct nvidia_memory *memory,
		     uint32_t *object)
{
	struct rm_dup args = {
		.client = nvidia->client,
		.parent = parent,
		.from_client = memory->client,
		.from_object = memory->memory,
	};
	int ret = call(nvidia, RM_IOCTL_DUP, &args, &args.status);

	/* Some paths through RM report success without having made anything. */
	if (!ret && !args.object)
		ret = -ENOENT;
	if (!ret)
		*object = args.object;
	return ret;
}

static int map(struct nvidia *nvidia, const struct nvidia_memory *memory, int file,
	       struct nvidia_lent *lent)
{
	struct rm_map args = {
		.client = nvidia->client,
		.device = lent->device,
		.memory = lent->memory,
		.offset = memory->offset,
		.len = memory->len,
		.flags = memory->flags & ~RM_MAP_CACHING,
		.fd = file,
	};
	int ret = call(nvidia, RM_IOCTL_MAP, &args, &args.status);

	if (!ret)
		lent->addr = args.addr;
	return ret;
}

/*
 * Tie a file to the client. From here on the file holds the client's control file, and each
 * mapping holds the file (nv_get_file_private() of the driver's nv.c takes a reference, which is
 * dropped when the file is released).
 */
static int tie(const struct nvidia *nvidia, int file)
{
	struct rm_register args = { .control = nvidia->control };

	return ioctl(file, RM_IOCTL_REGISTER, &args) ? -errno : 0;
}

/*
 * Duplicate memory by the device with this number. The duplicate must be below a subdevice if the
 * program's object is.
 */
static int own_by(struct nvidia *nvidia, uint32_t number, const struct nvidia_memory *memory,
		  struct nvidia_lent *lent)
{
	int ret = device_get(nvidia, number);

	if (ret)
		return ret;
	lent->device = nvidia->devices[number];
	ret = duplicate(nvidia, lent->device, memory, &lent->memory);
	if (ret && ret != -EACCES && ret != -ENOENT)
		ret = duplicate(nvidia, nvidia->subdevices[number], memory, &lent->memory);
	return ret;
}

static int show_by(struct nvidia *nvidia, uint32_t number, const struct nvidia_memory *memory,
		   int file, struct nvidia_lent *lent)
{
	int ret = own_by(nvidia, number, memory, lent);

	if (ret)
		return ret;
	ret = map(nvidia, memory, file, lent);
	if (ret)
		free_object(nvidia, lent->memory);
	return ret;
}

/*
 * Let @alone own memory and @file show it. The memory was shared with @nvidia, which makes a
 * duplicate and shares that with @alone.
 */
static int lend_by(struct nvidia *nvidia, struct nvidia *alone, uint32_t number,
		   const struct nvidia_memory *memory, int file)
{
	struct nvidia_memory duplicate = *memory;
	struct nvidia_lent own, lent;
	int ret = own_by(nvidia, number, memory, &own);

	if (ret)
		return ret;
	duplicate.client = nvidia->client;
	duplicate.memory = own.memory;
	ret = share(nvidia, own.memory, alone->client, RM_SHARE_WITH_CLIENT, RM_SHARE_HOW_ADD);
	if (!ret) {
		ret = show_by(alone, number, &duplicate, file, &lent);
		nvidia->status = alone->status;
	}
	free_object(nvidia, own.memory);
	return ret;
}

/*
 * Try all devices until one works, or fails with -EACCES or -ENOENT. RM maps memory of a card only
 * by a file and a device object of that card, and the number of the device object is not known.
 * For most cards the number equals the file's minor number, which is tried first. Memory of the
 * system can be mapped by any device.
 */
static int by_any(struct nvidia *nvidia, struct nvidia *alone, const struct nvidia_memory *memory,
		  int file, struct nvidia_lent *lent)
{
	uint32_t first = memory->card < RM_DEVICES ? memory->card : 0, i;
	int ret = -ENODEV, err;

	for (i = 0; i < RM_DEVICES; i++) {
		uint32_t number = (first + i) % RM_DEVICES;

		if (device_get(nvidia, number))
			continue;
		err = alone ? lend_by(nvidia, alone, number, memory, file) :
			      show_by(nvidia, number, memory, file, lent);
		if (!err || err == -EACCES || err == -ENOENT)
			return err;
		if (ret == -ENODEV)
			ret = err;
	}
	return ret;
}

int nvidia_lend(struct nvidia *nvidia, const struct nvidia_memory *memory, int file, int control)
{
	struct nvidia alone;
	int ret = nvidia_begin_apart(&alone, control);

	if (ret)
		return ret;
	ret = tie(&alone, file);
	if (!ret)
		ret = by_any(nvidia, &alone, memory, file, NULL);
	nvidia_end(&alone);
	return ret;
}

int nvidia_lend_system(struct nvidia *nvidia, const struct nvidia_memory *memory, int file,
		       struct nvidia_lent *lent)
{
	int ret = tie(nvidia, file);

	return ret ? ret : nvidia_show(nvidia, memory, file, lent);
}

int nvidia_show(struct nvidia *nvidia, const struct nvidia_memory *memory, int file,
		struct nvidia_lent *lent)
{
	return by_any(nvidia, NULL, memory, file, lent);
}

/* Export memory by the device with this number. */
static int export_by(struct nvidia *nvidia, uint32_t number, int file)
{
	struct rm_memory_params params = {
		.owner = nvidia->client,
		.attr = RM_ATTR_SYSTEM,
		.size = EXPORT_SIZE,
	};
	struct rm_export export = { .type = RM_EXPORT_OBJECT, .file = file };
	struct rm_control args = {
		.client = nvidia->client,
		.object = nvidia->client,
		.cmd = RM_CMD_EXPORT,
		.params = (uintptr_t)&export,
		.params_size = sizeof(export),
	};
	int ret = device_get(nvidia, number);

	if (ret)
		return ret;
	export.device = nvidia->devices[number];
	export.parent = nvidia->devices[number];
	ret = alloc(nvidia, export.device, RM_CLASS_SYSTEM, &params, sizeof(params),
		    &export.object);
	if (ret)
		return ret;
	ret = call(nvidia, RM_IOCTL_CONTROL, &args, &args.status);
	free_object(nvidia, export.object);
	return ret;
}

int nvidia_export(struct nvidia *nvidia, uint32_t card, int file)
{
	uint32_t first = card < RM_DEVICES ? card : 0, i;
	int ret = -ENODEV, err;

	/* Try all devices, as the number of the card's device is not known: see by_any(). */
	for (i = 0; i < RM_DEVICES; i++) {
		err = export_by(nvidia, (first + i) % RM_DEVICES, file);
		if (!err)
			return 0;
		if (ret == -ENODEV)
			ret = err;
	}
	return ret;
}

int nvidia_samples(struct nvidia *nvidia, uint32_t card, struct rm_samples *samples,
		   uint32_t *number)
{
	uint32_t first = card < RM_DEVICES ? card : 0, i;
	struct rm_control args = {
		.client = nvidia->client,
		.cmd = RM_CMD_SAMPLES,
		.params = (uintptr_t)samples,
		.params_size = sizeof(*samples),
	};
	int ret = -ENODEV;

	/* RM gives no device but that of the open card: see device_get(). */
	for (i = 0; ret && i < RM_DEVICES; i++) {
		*number = (first + i) % RM_DEVICES;
		ret = device_get(nvidia, *number);
	}
	if (ret)
		return ret;
	samples->type = RM_SAMPLES_USED;
	samples->size = sizeof(samples->samples);
	args.object = nvidia->subdevices[*number];
	return call(nvidia, RM_IOCTL_CONTROL, &args, &args.status);
}

int nvidia_subdevice(int control, uint32_t client, uint32_t device, uint32_t *subdevice)
{
	struct nvidia nvidia = { .control = control, .client = client };
	struct rm_subdevice params = {};

	return alloc(&nvidia, device, RM_CLASS_SUBDEVICE, &params, sizeof(params), subdevice);
}

void nvidia_subdevice_free(int control, uint32_t client, uint32_t subdevice)
{
	struct nvidia nvidia = { .control = control, .client = client };

	free_object(&nvidia, subdevice);
}

int nvidia_switch(int control, uint32_t client, uint32_t subdevice, const uint32_t *channels,
		  uint32_t nr, bool off)
{
	struct nvidia nvidia = { .control = control };
	struct rm_switch_channels params = { .off = off, .nr = nr };
	struct rm_control args = {
		.client = client,
		.object = subdevice,
		.cmd = RM_CMD_SWITCH_CHANNELS,
		.params = (uintptr_t)&params,
		.params_size = sizeof(params),
	};
	uint32_t i;

	if (nr > RM_SWITCH_MAX)
		return -E2BIG;
	for (i = 0; i < nr; i++) {
		params.clients[i] = client;
		params.channels[i] = channels[i];
	}
	return call(&nvidia, RM_IOCTL_CONTROL, &args, &args.status);
}

void nvidia_take_back(struct nvidia *nvidia, const struct nvidia_lent *lent)
{
	struct rm_unmap args = {
		.client = nvidia->client,
		.device = lent->device,
		.memory = lent->memory,
		.addr = lent->addr,
	};

	call(nvidia, RM_IOCTL_UNMAP, &args, &args.status);
	free_object(nvidia, lent->memory);
}
