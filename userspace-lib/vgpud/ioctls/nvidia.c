// SPDX-License-Identifier: MIT
/* Classes of the ioctls of NVIDIA's driver, whose names are in drivers/common/nvidia_ioctls.c. */
#include "ioctls/table.h"
#include "nvidia_rules.h"

/* Ioctls whose class is not IOCTL_USE. */
static const struct {
	uint32_t key;
	unsigned int classes;
} others[] = {
	{ VGPU_NVIDIA_RM_KEY(0x39), 0 },		/* RM_I2C_ACCESS */
	{ VGPU_NVIDIA_RM_KEY(0x4d), 0 },		/* RM_ACCESS_REGISTRY */
	{ VGPU_NVIDIA_RM_KEY(0x5f), 0 },		/* RM_LOCKLESS_DIAGNOSTIC */
	{ VGPU_NVIDIA_RM_KEY(0xc8), IOCTL_QUERY },	/* CARD_INFO */
	{ VGPU_NVIDIA_RM_KEY(0xd2), IOCTL_QUERY },	/* CHECK_VERSION_STR */
	{ VGPU_NVIDIA_RM_KEY(0xd5), IOCTL_QUERY },	/* QUERY_DEVICE_INTR */
	{ VGPU_NVIDIA_RM_KEY(0xd7), IOCTL_QUERY },	/* NUMA_INFO */
	{ VGPU_NVIDIA_RM_KEY(0xd8), 0 },		/* SET_NUMA_STATUS */
	{ VGPU_NVIDIA_RM_KEY(0xda), IOCTL_QUERY },	/* WAIT_OPEN_COMPLETE */
	/* Debuggers and profilers read and write the memory of other processes by these. */
	{ 0x38, 0 },	/* TOOLS_INIT_EVENT_TRACKER */
	{ 0x39, 0 },	/* TOOLS_SET_NOTIFICATION_THRESHOLD */
	{ 0x3a, 0 },	/* TOOLS_EVENT_QUEUE_ENABLE_EVENTS */
	{ 0x3b, 0 },	/* TOOLS_EVENT_QUEUE_DISABLE_EVENTS */
	{ 0x3c, 0 },	/* TOOLS_ENABLE_COUNTERS */
	{ 0x3d, 0 },	/* TOOLS_DISABLE_COUNTERS */
	{ 0x3e, 0 },	/* TOOLS_READ_PROCESS_MEMORY */
	{ 0x3f, 0 },	/* TOOLS_WRITE_PROCESS_MEMORY */
	{ 0x40, 0 },	/* TOOLS_GET_PROCESSOR_UUID_TABLE */
	{ 0x43, 0 },	/* TOOLS_FLUSH_EVENTS */
	{ 0x4c, 0 },	/* TOOLS_INIT_EVENT_TRACKER_V2 */
	{ 0x4d, 0 },	/* TOOLS_GET_PROCESSOR_UUID_TABLE_V2 */
	/* These change the state of all processes that use the driver. */
	{ 0x45, 0 },	/* CLEAN_UP_ZOMBIE_RESOURCES */
	{ 0x4f, 0 },	/* CLEAR_ALL_ACCESS_COUNTERS */
};

unsigned int nvidia_classes(uint32_t key)
{
	size_t i;

	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (others[i].key == key)
			return others[i].classes;
	return IOCTL_USE;
}
