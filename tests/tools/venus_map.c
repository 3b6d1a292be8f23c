// SPDX-License-Identifier: GPL-2.0-only
/*
 * venus_map NODE BYTES [private|wait]: begins as Mesa's Venus does on a virtio-gpu: makes a
 * context, maps memory of that size, shared or private, and writes and reads it. With "wait" it
 * prints a line when the memory is written, and reads the memory when it gets a line.
 *
 * Exit status: 0, or the errno of the first step that failed, which is printed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <drm/virtgpu_drm.h>

#define CAPSET_VENUS	4

static void must(int failed, const char *step)
{
	int error = errno;

	if (!failed)
		return;
	fprintf(stderr, "%s: %s\n", step, strerror(error));
	exit(error);
}

int main(int argc, char **argv)
{
	struct drm_virtgpu_context_set_param param = {
		.param = VIRTGPU_CONTEXT_PARAM_CAPSET_ID,
		.value = CAPSET_VENUS,
	};
	struct drm_virtgpu_context_init init = {
		.num_params = 1,
		.ctx_set_params = (uintptr_t)&param,
	};
	struct drm_virtgpu_resource_create_blob blob = {
		.blob_mem = VIRTGPU_BLOB_MEM_HOST3D,
		.blob_flags = VIRTGPU_BLOB_FLAG_USE_MAPPABLE,
	};
	struct drm_virtgpu_map map = { 0 };
	bool private, wait;
	uint32_t *word;
	size_t i;
	int fd;

	if (argc < 3) {
		fprintf(stderr, "usage: venus_map NODE BYTES [private|wait]\n");
		return 2;
	}
	private = argc > 3 && !strcmp(argv[3], "private");
	wait = argc > 3 && !strcmp(argv[3], "wait");
	blob.size = strtoul(argv[2], NULL, 0);
	fd = open(argv[1], O_RDWR);
	must(fd < 0, argv[1]);
	must(ioctl(fd, DRM_IOCTL_VIRTGPU_CONTEXT_INIT, &init), "context");
	must(ioctl(fd, DRM_IOCTL_VIRTGPU_RESOURCE_CREATE_BLOB, &blob), "blob");
	map.handle = blob.bo_handle;
	must(ioctl(fd, DRM_IOCTL_VIRTGPU_MAP, &map), "offset");
	word = mmap(NULL, blob.size, PROT_READ | PROT_WRITE, private ? MAP_PRIVATE : MAP_SHARED, fd,
		    map.offset);
	must(word == MAP_FAILED, "mapping");
	for (i = 0; i < blob.size / sizeof(*word); i++)
		word[i] = i * 2654435761u;
	if (wait) {
		puts("written");
		fflush(stdout);
		must(getchar() == EOF, "standard input");
	}
	for (i = 0; i < blob.size / sizeof(*word); i++) {
		if (word[i] != (uint32_t)(i * 2654435761u)) {
			fprintf(stderr, "word %zu is %08x\n", i, word[i]);
			return EIO;
		}
	}
	printf("%zu words\n", i);
	return 0;
}
