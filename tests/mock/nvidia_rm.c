// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of the stand-in for NVIDIA's driver. As in the driver, the object of a client and its
 * duplicates hold references of memory, and mappings of the card's memory hold none. When the last
 * object is freed, the mappings stay, and the pages go to the next client that allocates memory:
 * both see the same pages then.
 *
 * System memory is mapped by control files, and its mappings hold references, too. But a file to
 * which RM has assigned memory for mmap() holds none: when the memory is freed before mmap(), the
 * real driver uses a freed object. The stand-in maps these pages, whatever memory they belong to.
 *
 * Pages are returned to the kernel when the module is removed, so that stale mappings harm no other
 * user of memory.
 */
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/xarray.h>

#include "../../drivers/common/tsc.h"
#include "../../drivers/common/nvidia_rm.h"
#include "nvidia.h"
#include "nvidia_object.h"
#include "vgpu_mock_nvidia.h"

#define RM_STATE_IN_USE		0x63
/* Number of cards; the second one has memory and nothing else. */
#define RM_CARDS		2

union rm_args {
	struct rm_alloc alloc;
	struct rm_alloc_memory alloc_memory;
	struct rm_free free;
	struct rm_dup dup;
	struct rm_share share;
	struct rm_map map;
	struct rm_unmap unmap;
};

/* The parameters of RM_ALLOC that the stand-in uses. */
union rm_params {
	u32 device;
	u64 size;
	struct vgpu_mock_nvidia_event event;
};

/*
 * Client that holds the exports of all programs, under rm_lock as the number below. NULL: there is
 * no export.
 */
static struct rm_client *rm_exports;
static u32 rm_last_export;

/* --- ioctls --------------------------------------------------------------------------- */

static int rm_is_card(const void *number, struct file *file, unsigned int fd)
{
	struct inode *inode = file_inode(file);

	return S_ISCHR(inode->i_mode) && inode->i_rdev == MKDEV(RM_MAJOR, *(const u32 *)number);
}

static u32 rm_event_new(struct rm_client *client, const struct vgpu_mock_nvidia_event *params,
			u32 *handle)
{
	const struct rm_object *source = xa_load(&client->objects, params->source);
	struct mock_nvidia_event *event;
	struct rm_object *object;
	u32 status;

	if (params->client && params->client != client->handle)
		return RM_NOT_SUPPORTED;
	if (!source)
		return RM_OBJECT_NOT_FOUND;
	if (source->class != RM_CLASS_SUBDEVICE)
		return RM_INVALID_OBJECT;
	if (params->index != VGPU_MOCK_NVIDIA_NO_DATA)
		return RM_NOT_SUPPORTED;
	event = mock_nvidia_event_get(client->handle, params->fd);
	if (!event)
		return RM_OBJECT_NOT_FOUND;
	status = rm_object_new(client, VGPU_MOCK_NVIDIA_EVENT, NULL, handle);
	if (status) {
		mock_nvidia_event_put(event);
		return status;
	}
	object = xa_load(&client->objects, *handle);
	object->event = event;
	object->source = params->source;
	return RM_OK;
}

static u32 rm_alloc(struct mock_nvidia_file *control, struct rm_alloc *args,
		    const union rm_params *params)
{
	struct rm_client *client = rm_client_of(control, args->client);
	struct rm_memory *memory = NULL;

	if (args->class == RM_CLASS_CLIENT)
		return rm_client_new(control, &args->object);
	if (!client)
		return RM_INVALID_CLIENT;
	switch (args->class) {
	case RM_CLASS_DEVICE:
		if (params->device >= RM_CARDS)
			return RM_CARD_NOT_PRESENT;
		/* The driver also fails for callers without an open file of the card. */
		if (!iterate_fd(current->files, 0, rm_is_card, &params->device))
			return RM_INSUFFICIENT_PERMISSIONS;
		break;
	case RM_CLASS_SUBDEVICE:
		break;
	case VGPU_MOCK_NVIDIA_VIDEO:
	case RM_CLASS_SYSTEM:
		memory = rm_memory_alloc(params->size);
		if (!memory)
			return RM_NO_MEMORY;
		break;
	case VGPU_MOCK_NVIDIA_EVENT:
		return rm_event_new(client, &params->event, &args->object);
	default:
		return RM_NOT_SUPPORTED;
	}
	return rm_object_new(client, args->class, memory, &args->object);
}

static u32 rm_free(struct mock_nvidia_file *control, const struct rm_free *args)
{
	struct rm_client *client = rm_client_of(control, args->client);
	struct rm_object *object;

	if (!client)
		return RM_INVALID_CLIENT;
	if (args->object == client->handle) {
		rm_client_free(client);
		mock_nvidia_event_forget(args->object);
		return RM_OK;
	}
	if (!args->object)	/* as the driver does */
		return RM_OK;
	object = xa_erase(&client->objects, args->object);
	if (!object)
		return RM_OBJECT_NOT_FOUND;
	rm_object_free(object);
	return RM_OK;
}

static bool rm_may_dup(const struct rm_client *client, const struct rm_client *from,
		       const struct rm_object *object)
{
	unsigned int i;

	for (i = 0; i < object->nr_shared; i++)
		if (object->shared[i] == client->handle)
			return true;
	return client->process == from->process && !from->apart;
}

static bool rm_is_device(struct rm_client *client, u32 handle)
{
	const struct rm_object *object = xa_load(&client->objects, handle);

	return object && (object->class == RM_CLASS_DEVICE || object->class == RM_CLASS_SUBDEVICE);
}

static u32 rm_dup(struct mock_nvidia_file *control, struct rm_dup *args)
{
	struct rm_client *client = rm_client_of(control, args->client);
	struct rm_client *from = rm_client_find(args->from_client);
	struct rm_object *object;

	if (!client || !from)
		return RM_INVALID_CLIENT;
	object = xa_load(&from->objects, args->from_object);
	if (!object || !object->memory)
		return RM_OBJECT_NOT_FOUND;
	if (!rm_may_dup(client, from, object))
		return RM_INSUFFICIENT_PERMISSIONS;
	if (!rm_is_device(client, args->parent))
		return RM_INVALID_OBJECT;
	kref_get(&object->memory->ref);
	return rm_object_new(client, object->class, object->memory, &args->object);
}

static u32 rm_share(const struct rm_share *args)
{
	struct rm_client *client = rm_client_find(args->client);
	struct rm_object *object = client ? xa_load(&client->objects, args->object) : NULL;

	if (client && args->object == client->handle && args->with == RM_SHARE_WITH_PROCESS &&
	    args->how == RM_SHARE_HOW_REVOKE) {
		client->apart = true;
		return RM_OK;
	}
	if (!object)
		return RM_OBJECT_NOT_FOUND;
	if (args->with != RM_SHARE_WITH_CLIENT || args->how != RM_SHARE_HOW_ADD ||
	    object->nr_shared == RM_SHARED_MAX)
		return RM_NOT_SUPPORTED;
	object->shared[object->nr_shared++] = args->with_client;
	return RM_OK;
}

/* Frees the client of exports when it holds no export. */
static void rm_exports_put(void)
{
	if (!xa_empty(&rm_exports->objects))
		return;
	rm_client_free(rm_exports);
	rm_exports = NULL;
}

/*
 * An export is a duplicate that belongs to a client of RM's own. The process of that client is the
 * one that made the first export.
 */
static u32 rm_export(struct mock_nvidia_file *control, u32 handle, const struct rm_export *args,
		     struct mock_nvidia_file *file)
{
	struct rm_client *client = rm_client_of(control, handle);
	struct rm_object *object;
	u32 exports, status;

	if (!client)
		return RM_INVALID_CLIENT;
	if (args->type != RM_EXPORT_OBJECT || !file->is_control)
		return RM_NOT_SUPPORTED;
	if (file->exported)
		return RM_STATE_IN_USE;
	object = xa_load(&client->objects, args->object);
	if (!object || !object->memory)
		return RM_OBJECT_NOT_FOUND;
	if (!rm_exports) {
		status = rm_client_new(NULL, &exports);
		if (status)
			return status;
		rm_exports = rm_client_find(exports);
	}
	kref_get(&object->memory->ref);
	status = rm_object_named(rm_exports, object->class, object->memory, rm_last_export + 1);
	if (!status)
		file->exported = ++rm_last_export;
	rm_exports_put();
	return status;
}

static void rm_unexport(u32 handle)
{
	rm_object_free(xa_erase(&rm_exports->objects, handle));
	rm_exports_put();
}

/* Assigns a range of @memory to @file for mmap(), once for each file. Return: RM_*. */
static u32 rm_tell(struct mock_nvidia_file *file, const struct rm_memory *memory,
		   unsigned long first, unsigned long nr)
{
	struct mock_nvidia_map *map;

	if (file->map)
		return RM_STATE_IN_USE;
	map = kvzalloc(struct_size(map, pages, nr), GFP_KERNEL);
	if (!map)
		return RM_NO_MEMORY;
	map->id = memory->id;
	map->nr = nr;
	memcpy(map->pages, memory->pages + first, nr * sizeof(map->pages[0]));
	file->map = map;
	return RM_OK;
}

static u32 rm_map(struct mock_nvidia_file *control, struct rm_map *args,
		  struct mock_nvidia_file *file)
{
	struct rm_client *client = rm_client_of(control, args->client);
	struct rm_object *object;
	unsigned long first;
	bool system;

	if (!client || client->process != current->tgid)
		return RM_INVALID_CLIENT;
	object = xa_load(&client->objects, args->memory);
	if (!object || !object->memory)
		return RM_OBJECT_NOT_FOUND;
	first = PHYS_PFN(args->offset);
	if (!PAGE_ALIGNED(args->offset) || !args->len || first >= object->memory->nr ||
	    args->len > (u64)(object->memory->nr - first) << PAGE_SHIFT)
		return RM_NOT_SUPPORTED;
	system = object->class == RM_CLASS_SYSTEM;
	if (file->is_control != system)
		return RM_INVALID_OBJECT;
	args->addr = args->memory;
	return rm_tell(file, object->memory, first, PFN_UP(args->len));
}

static u32 rm_alloc_memory(struct mock_nvidia_file *control, struct rm_alloc_memory *args,
			   struct mock_nvidia_file *file)
{
	struct rm_client *client = rm_client_of(control, args->client);
	struct rm_memory *memory;
	u32 status;

	if (!client)
		return RM_INVALID_CLIENT;
	if (args->class != RM_CLASS_SYSTEM || (args->flags & RM_ALLOC_MASK) == RM_ALLOC_NONE ||
	    !file->is_control)
		return RM_NOT_SUPPORTED;
	if (!rm_is_device(client, args->parent))
		return RM_INVALID_OBJECT;
	memory = rm_memory_alloc(args->limit + 1);
	if (!memory)
		return RM_NO_MEMORY;
	/*
	 * The object holds the memory even when it cannot be assigned to the file. The driver does
	 * not return the handle of the object.
	 */
	status = rm_object_named(client, args->class, memory, args->object);
	if (!status && (args->flags & RM_ALLOC_MAPPING_MASK) != RM_ALLOC_NO_MAP)
		status = rm_tell(file, memory, 0, memory->nr);
	return status;
}

static u32 rm_unmap(struct mock_nvidia_file *control, const struct rm_unmap *args)
{
	struct rm_client *client = rm_client_of(control, args->client);

	if (!client)
		return RM_INVALID_CLIENT;
	return xa_load(&client->objects, args->memory) ? RM_OK : RM_OBJECT_NOT_FOUND;
}

static size_t rm_args_size(u32 nr)
{
	switch (nr) {
	case _IOC_NR(RM_IOCTL_ALLOC):
		return sizeof(struct rm_alloc);
	case _IOC_NR(RM_IOCTL_ALLOC_MEMORY):
		return sizeof(struct rm_alloc_memory);
	case _IOC_NR(RM_IOCTL_FREE):
		return sizeof(struct rm_free);
	case _IOC_NR(RM_IOCTL_DUP):
		return sizeof(struct rm_dup);
	case _IOC_NR(RM_IOCTL_SHARE):
		return sizeof(struct rm_share);
	case _IOC_NR(RM_IOCTL_MAP):
		return sizeof(struct rm_map);
	case _IOC_NR(RM_IOCTL_UNMAP):
		return sizeof(struct rm_unmap);
	default:
		return 0;
	}
}

/* Copies the parameters that the class has from user space. Return: 0 or -EFAULT. */
static int rm_alloc_params(const struct rm_alloc *args, union rm_params *params)
{
	u64 at = args->params;
	size_t size;

	switch (args->class) {
	case RM_CLASS_DEVICE:
		size = sizeof(params->device);
		break;
	case VGPU_MOCK_NVIDIA_VIDEO:
	case RM_CLASS_SYSTEM:
		at += VGPU_MOCK_NVIDIA_VIDEO_SIZE;
		size = sizeof(params->size);
		break;
	case VGPU_MOCK_NVIDIA_EVENT:
		size = sizeof(params->event);
		break;
	default:
		return 0;
	}
	return copy_from_user(params, u64_to_user_ptr(at), size) ? -EFAULT : 0;
}

static void rm_pids(struct vgpu_mock_nvidia_pids *pids)
{
	struct rm_client *client;
	pid_t pid;

	pids->count = 0;
	list_for_each_entry(client, &rm_clients, node) {
		pid = client->control ? pid_vnr(client->pid) : 0;
		if (pid && pids->count < ARRAY_SIZE(pids->pids))
			pids->pids[pids->count++] = pid;
	}
}

static void rm_pid_infos(struct vgpu_mock_nvidia_pid_infos *infos)
{
	struct rm_client *client;
	u32 i;

	for (i = 0; i < min_t(u32, infos->count, ARRAY_SIZE(infos->infos)); i++) {
		infos->infos[i].clients = 0;
		list_for_each_entry(client, &rm_clients, node)
			if (client->control && pid_vnr(client->pid) == infos->infos[i].pid)
				infos->infos[i].clients++;
	}
}

static void rm_times(struct vgpu_mock_nvidia_times *times)
{
	u32 i, count = times->clock == VGPU_MOCK_NVIDIA_RAW ? 1 : times->count;

	for (i = 0; i < min_t(u32, count, VGPU_MOCK_NVIDIA_SAMPLES); i++) {
		times->samples[i].card = ktime_get_ns();
		if (times->clock == VGPU_MOCK_NVIDIA_REALTIME)
			times->samples[i].cpu = ktime_to_us(ktime_get_real());
		else if (times->clock == VGPU_MOCK_NVIDIA_TSC)
			times->samples[i].cpu = vgpu_tsc_read();
		else
			times->samples[i].cpu = ktime_get_raw_ns();
	}
}

static long rm_follow(struct vgpu_mock_nvidia_follow *follow)
{
	return get_user(follow->out_number, (u32 __user *)u64_to_user_ptr(follow->number));
}

static size_t rm_control_size(u32 cmd)
{
	switch (cmd) {
	case VGPU_MOCK_NVIDIA_GET_PIDS:
		return sizeof(struct vgpu_mock_nvidia_pids);
	case VGPU_MOCK_NVIDIA_GET_PID_INFO:
		return sizeof(struct vgpu_mock_nvidia_pid_infos);
	case VGPU_MOCK_NVIDIA_GET_TIMES:
		return sizeof(struct vgpu_mock_nvidia_times);
	case VGPU_MOCK_NVIDIA_FOLLOW:
		return sizeof(struct vgpu_mock_nvidia_follow);
	default:
		return 0;
	}
}

/**
 * mock_nvidia_rm_has() - whether a client exists
 * @client: handle of the client
 */
bool mock_nvidia_rm_has(u32 client)
{
	bool has;

	mutex_lock(&rm_lock);
	has = rm_client_find(client);
	mutex_unlock(&rm_lock);
	return has;
}

/**
 * mock_nvidia_rm_check() - whether a command may name a client
 * @control: control file of the command
 * @client: handle of the client; 0: the command names none
 *
 * Return: RM_OK, or RM_INVALID_CLIENT if @control has no such client.
 */
u32 mock_nvidia_rm_check(struct mock_nvidia_file *control, u32 client)
{
	u32 status;

	mutex_lock(&rm_lock);
	status = !client || rm_client_of(control, client) ? RM_OK : RM_INVALID_CLIENT;
	mutex_unlock(&rm_lock);
	return status;
}

/* Turns the notification of @subdevice's events on, or lets an event happen if @notify is NULL. */
static u32 rm_notify(struct rm_client *client, u32 subdevice,
		     const struct vgpu_mock_nvidia_notify *notify)
{
	struct rm_object *source = xa_load(&client->objects, subdevice), *object;
	unsigned long handle;

	if (!source || source->class != RM_CLASS_SUBDEVICE)
		return RM_OBJECT_NOT_FOUND;
	if (notify) {
		if (notify->index || notify->action != VGPU_MOCK_NVIDIA_NOTIFY_AGAIN)
			return RM_NOT_SUPPORTED;
		source->notifies = true;
		return RM_OK;
	}
	xa_for_each(&client->objects, handle, object)
		if (source->notifies && object->event && object->source == subdevice)
			mock_nvidia_event_post(object->event);
	return RM_OK;
}

/**
 * mock_nvidia_rm_events() - run a command for events
 * @control: the command; its status is set
 *
 * Return: 0, -EFAULT, -EINVAL, or -ENOTTY for another command.
 */
long mock_nvidia_rm_events(struct vgpu_mock_nvidia_control *control)
{
	bool notifies = control->cmd == VGPU_MOCK_NVIDIA_NOTIFY;
	struct vgpu_mock_nvidia_notify notify;
	struct rm_client *client;

	if (!notifies && control->cmd != VGPU_MOCK_NVIDIA_TRIGGER)
		return -ENOTTY;
	if (control->size != (notifies ? sizeof(notify) : 0))
		return -EINVAL;
	if (notifies && copy_from_user(&notify, u64_to_user_ptr(control->params), sizeof(notify)))
		return -EFAULT;
	mutex_lock(&rm_lock);
	client = rm_client_find(control->client);
	control->status = client ? rm_notify(client, control->object, notifies ? &notify : NULL) :
			  RM_INVALID_CLIENT;
	mutex_unlock(&rm_lock);
	return 0;
}

/**
 * mock_nvidia_rm_control() - run a command for processes, times, or a pointer
 * @control: the command
 *
 * Return: 0, -EFAULT, -EINVAL, -ENOMEM, or -ENOTTY for another command.
 */
long mock_nvidia_rm_control(const struct vgpu_mock_nvidia_control *control)
{
	void __user *params = u64_to_user_ptr(control->params);
	size_t size = rm_control_size(control->cmd);
	long ret = 0;
	void *args;

	if (!size)
		return -ENOTTY;
	if (control->size != size)
		return -EINVAL;
	args = memdup_user(params, size);
	if (IS_ERR(args))
		return PTR_ERR(args);
	if (control->cmd == VGPU_MOCK_NVIDIA_FOLLOW)
		ret = rm_follow(args);
	mutex_lock(&rm_lock);
	switch (control->cmd) {
	case VGPU_MOCK_NVIDIA_GET_PIDS:
		rm_pids(args);
		break;
	case VGPU_MOCK_NVIDIA_GET_PID_INFO:
		rm_pid_infos(args);
		break;
	case VGPU_MOCK_NVIDIA_GET_TIMES:
		rm_times(args);
		break;
	}
	mutex_unlock(&rm_lock);
	if (!ret && copy_to_user(params, args, size))
		ret = -EFAULT;
	kfree(args);
	return ret;
}

/**
 * mock_nvidia_rm_export() - export memory to a file
 * @file: the control file of the client
 * @control: the command; its status is set
 *
 * Return: 0, -EFAULT, -EINVAL, or -ENOTTY for another command.
 */
long mock_nvidia_rm_export(struct mock_nvidia_file *file, struct vgpu_mock_nvidia_control *control)
{
	struct mock_nvidia_file *to;
	struct rm_export export;
	struct file *filp;

	if (control->cmd != RM_CMD_EXPORT)
		return -ENOTTY;
	if (control->size != sizeof(export))
		return -EINVAL;
	if (copy_from_user(&export, u64_to_user_ptr(control->params), sizeof(export)))
		return -EFAULT;
	filp = fget(export.file);
	to = filp ? mock_nvidia_told_file(filp) : NULL;
	mutex_lock(&rm_lock);
	control->status = to ? rm_export(file, control->client, &export, to) : RM_NOT_SUPPORTED;
	mutex_unlock(&rm_lock);
	if (filp)
		fput(filp);
	return 0;
}

static void rm_run(struct mock_nvidia_file *control, u32 nr, union rm_args *args,
		   const union rm_params *params, struct mock_nvidia_file *file)
{
	mutex_lock(&rm_lock);
	switch (nr) {
	case _IOC_NR(RM_IOCTL_ALLOC):
		args->alloc.status = rm_alloc(control, &args->alloc, params);
		break;
	case _IOC_NR(RM_IOCTL_ALLOC_MEMORY):
		args->alloc_memory.status = rm_alloc_memory(control, &args->alloc_memory, file);
		break;
	case _IOC_NR(RM_IOCTL_FREE):
		args->free.status = rm_free(control, &args->free);
		break;
	case _IOC_NR(RM_IOCTL_DUP):
		args->dup.status = rm_dup(control, &args->dup);
		break;
	case _IOC_NR(RM_IOCTL_SHARE):
		args->share.status = rm_share(&args->share);
		break;
	case _IOC_NR(RM_IOCTL_MAP):
		args->map.status = rm_map(control, &args->map, file);
		break;
	case _IOC_NR(RM_IOCTL_UNMAP):
		args->unmap.status = rm_unmap(control, &args->unmap);
		break;
	}
	mutex_unlock(&rm_lock);
}

/**
 * mock_nvidia_rm_ioctl() - run an ioctl of the resource manager
 * @control: the control file
 * @nr: number of the ioctl
 * @size: size of the argument
 * @arg: the argument
 *
 * Return: 0, with any status in the argument; -EFAULT, -EINVAL, or -ENOTTY for another ioctl.
 */
long mock_nvidia_rm_ioctl(struct mock_nvidia_file *control, u32 nr, u32 size, void __user *arg)
{
	struct mock_nvidia_file *file = NULL;
	struct file *filp = NULL;
	union rm_args args;
	union rm_params params = {};
	long ret = 0;

	if (!size || size != rm_args_size(nr))
		return -ENOTTY;
	if (copy_from_user(&args, arg, size))
		return -EFAULT;
	if (nr == _IOC_NR(RM_IOCTL_ALLOC) && rm_alloc_params(&args.alloc, &params))
		return -EFAULT;
	if (nr == _IOC_NR(RM_IOCTL_MAP) || nr == _IOC_NR(RM_IOCTL_ALLOC_MEMORY)) {
		filp = fget(nr == _IOC_NR(RM_IOCTL_MAP) ? args.map.fd : args.alloc_memory.fd);
		file = filp ? mock_nvidia_told_file(filp) : NULL;
		if (!file)
			ret = -EINVAL;
	}
	if (!ret) {
		rm_run(control, nr, &args, &params, file);
		if (copy_to_user(arg, &args, size))
			ret = -EFAULT;
	}
	if (filp)
		fput(filp);
	return ret;
}

/**
 * mock_nvidia_rm_release() - free the clients, the export and the map of a file
 * @file: file that is released
 */
void mock_nvidia_rm_release(struct mock_nvidia_file *file)
{
	struct rm_client *client, *next;

	mutex_lock(&rm_lock);
	list_for_each_entry_safe(client, next, &rm_clients, node)
		if (client->control == file)
			rm_client_free(client);
	if (file->exported)
		rm_unexport(file->exported);
	kvfree(file->map);
	mutex_unlock(&rm_lock);
}

/**
 * mock_nvidia_rm_exit() - return the pages to the kernel; no mapping of them is left
 */
void mock_nvidia_rm_exit(void)
{
	struct page *page, *next;

	list_for_each_entry_safe(page, next, &rm_pool, lru)
		__free_page(page);
}
