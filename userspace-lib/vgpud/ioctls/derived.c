// SPDX-License-Identifier: MIT
/* Ioctls of files that ioctls of devices make: dma-bufs and sync_files. */
#include "ioctls/table.h"

static const struct ioctl dma_buf_ioctls[] = {
	{ "DMA_BUF_IOCTL_SYNC", IOCTL_KEY('b', 0x00), IOCTL_USE },
	{ "DMA_BUF_SET_NAME", IOCTL_KEY('b', 0x01), 0 },
	{ "DMA_BUF_SET_NAME_A", IOCTL_KEY('b', 0x01), 0 },
	{ "DMA_BUF_SET_NAME_B", IOCTL_KEY('b', 0x01), 0 },
	{ "DMA_BUF_IOCTL_EXPORT_SYNC_FILE", IOCTL_KEY('b', 0x02), IOCTL_USE },
	{ "DMA_BUF_IOCTL_IMPORT_SYNC_FILE", IOCTL_KEY('b', 0x03), IOCTL_USE },
};

static const struct ioctl sync_file_ioctls[] = {
	{ "SYNC_IOC_MERGE", IOCTL_KEY('>', 0x03), IOCTL_USE },
	{ "SYNC_IOC_FILE_INFO", IOCTL_KEY('>', 0x04), IOCTL_QUERY },
	{ "SYNC_IOC_SET_DEADLINE", IOCTL_KEY('>', 0x05), IOCTL_USE },
};

const struct ioctl_table dma_buf_table = IOCTL_TABLE(dma_buf_ioctls);
const struct ioctl_table sync_file_table = IOCTL_TABLE(sync_file_ioctls);
