// SPDX-License-Identifier: MIT
/*
 * Command bench: what a forwarded call and mapped memory cost in this guest, beside what its
 * transport and its own memory can do in the same run.
 */
#include <drm/drm.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <linux/videodev2.h>
#include <linux/vm_sockets.h>

#include "shared/number.h"
#include "vgpuctl/bench.h"

/* Time of the command in seconds. */
#define SECONDS		20
/* Parts of that time, of which each measurement gets one. */
#define PARTS		5
/* Most samples of a measurement. */
#define SAMPLES		65536
/* Width and height in pixels of 4 bytes of the buffer that is mapped. */
#define SIDE		1024

static double now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * 1e6 + at.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * Repeat @once, which returns its time in microseconds or a negative number if it failed, for
 * @seconds. Return: false if it failed.
 */
static bool measure(double (*once)(void *data), void *data, double seconds,
		    struct bench_times *times)
{
	const double end = now() + seconds * 1e6;
	double *samples = malloc(SAMPLES * sizeof(*samples));
	size_t nr = 0;

	while (samples && (!nr || now() < end) && nr < SAMPLES) {
		samples[nr] = once(data);
		if (samples[nr++] < 0)
			break;
	}
	if (!samples || samples[nr - 1] < 0) {
		free(samples);
		return false;
	}
	qsort(samples, nr, sizeof(*samples), compare);
	*times = (struct bench_times){ samples[nr / 2], samples[nr * 99 / 100], nr };
	free(samples);
	return true;
}

/*
 * Have the host's kernel refuse a connection: a round trip of the transport in which no program of
 * the host takes part. @data: context ID of the host
 */
static double raw_once(void *data)
{
	const struct sockaddr_vm addr = {
		.svm_family = AF_VSOCK, .svm_cid = *(uint32_t *)data, .svm_port = 1,
	};
	int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
	double start = now(), took = -1;

	if (fd < 0)
		return -1;
	if (connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) &&
	    (errno == ECONNRESET || errno == ECONNREFUSED))
		took = now() - start;
	close(fd);
	return took;
}

/**
 * struct device - the device that is measured
 * @fd: open file of it
 * @path: path of it
 */
struct device {
	int fd;
	const char *path;
};

/* Make a call that does nothing. Drivers of unknown kinds refuse it, after a round trip. */
static double call_once(void *data)
{
	const struct device *device = data;
	struct drm_version version = { 0 };
	struct v4l2_capability capability;
	struct termios none;
	double start = now();

	if (!strncmp(device->path, "/dev/dri/", 9))
		return ioctl(device->fd, DRM_IOCTL_VERSION, &version) ? -1 : now() - start;
	if (!strncmp(device->path, "/dev/video", 10))
		return ioctl(device->fd, VIDIOC_QUERYCAP, &capability) ? -1 : now() - start;
	return !ioctl(device->fd, TCGETS, &none) || errno == ENODEV ? -1 : now() - start;
}

/**
 * struct copy - memory that is copied again and again
 * @from: beginning of the memory that is read
 * @to: beginning of the memory that is written
 * @size: size of both in bytes
 */
struct copy {
	void *from;
	void *to;
	size_t size;
};

static double copy_once(void *data)
{
	const struct copy *copy = data;
	double start = now();

	memcpy(copy->to, copy->from, copy->size);
	/* The compiler must not leave out a copy whose result is not used. */
	__asm__ volatile("" : : "r"(copy->to) : "memory");
	return now() - start;
}

/* Map a buffer of the device. Return: MAP_FAILED if the device has none of a kind known here. */
static void *map_buffer(const struct device *device, size_t *size)
{
	struct drm_mode_create_dumb create = { .width = SIDE, .height = SIDE, .bpp = 32 };
	struct drm_mode_map_dumb map = { 0 };

	if (strncmp(device->path, "/dev/dri/", 9) ||
	    ioctl(device->fd, DRM_IOCTL_MODE_CREATE_DUMB, &create))
		return MAP_FAILED;
	map.handle = create.handle;
	*size = create.size;
	if (ioctl(device->fd, DRM_IOCTL_MODE_MAP_DUMB, &map))
		return MAP_FAILED;
	/* The buffer lasts as long as the file. */
	return mmap(NULL, create.size, PROT_READ | PROT_WRITE, MAP_SHARED, device->fd, map.offset);
}

/* Measure copies to memory of the device, and beside them copies within ordinary memory. */
static void measure_memory(const struct device *device, double seconds, struct bench *bench)
{
	struct copy copy = { 0 }, plain;
	void *buffer = map_buffer(device, &copy.size);

	if (buffer == MAP_FAILED)
		return;
	plain = (struct copy){ malloc(copy.size), malloc(copy.size), copy.size };
	if (plain.from && plain.to) {
		memset(plain.from, 1, plain.size);
		memset(plain.to, 2, plain.size);
		copy.from = plain.from;
		copy.to = buffer;
		bench->size = copy.size;
		bench->mapped = measure(copy_once, &copy, seconds, &bench->to_device) &&
				measure(copy_once, &plain, seconds, &bench->plain);
		copy = (struct copy){ buffer, plain.to, plain.size };
		bench->mapped = bench->mapped &&
				measure(copy_once, &copy, seconds, &bench->from_device);
	}
	free(plain.from);
	free(plain.to);
	munmap(buffer, bench->size);
}

/* Find a node of this guest by its path, or the name of its export; NULL: take the first one. */
static const struct vgpu_node_info *find_node(struct vgpu_node_info **nodes, size_t nr,
					      const char *name)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (!name || !strcmp(nodes[i]->name, name) || !strcmp(nodes[i]->node, name) ||
		    !strcmp(nodes[i]->drm_node, name) || !strcmp(nodes[i]->class_node, name))
			return nodes[i];
	return NULL;
}

static int run(const struct vgpu_node_info *node, double seconds, struct bench *bench)
{
	struct device device = { .path = *node->drm_node ? node->drm_node :
				 *node->class_node ? node->class_node : node->node };
	uint32_t cid, port;

	if (!number_parse_guest(node->host, &cid, &port))
		return fail(EXIT_FAILED, "%s: the host '%s' is not known: install the same vgpu on both machines",
			    device.path, node->host);
	device.fd = open(device.path, O_RDWR | O_CLOEXEC);
	if (device.fd < 0)
		return fail(exit_status(-errno), "%s: %s: %s", device.path, strerror(errno),
			    errno == EACCES ? "use sudo, or join the group of this file" :
			    "'vgpuctl doctor' may say why");
	bench->path = device.path;
	bench->raw = measure(raw_once, &cid, seconds / PARTS, &bench->round_trip);
	if (!measure(call_once, &device, seconds / PARTS, &bench->call)) {
		close(device.fd);
		return fail(EXIT_FAILED, "%s: the call that bench repeats fails: 'vgpuctl doctor' may say why, or name another device",
			    device.path);
	}
	measure_memory(&device, seconds / PARTS, bench);
	close(device.fd);
	return 0;
}

int cmd_bench(const char *name, const struct options *options)
{
	unsigned long long seconds = SECONDS;
	const char *given = options->values[OPT_SECONDS];
	struct vgpu_node_info **nodes = NULL;
	const struct vgpu_node_info *node;
	struct bench bench = { 0 };
	size_t nr = 0;
	int ret;

	if (given && (!number_parse(given, &seconds) || !seconds || seconds > 3600))
		return fail(EXIT_USAGE, "--seconds %s: give a number from 1 to 3600 (vgpuctl help bench)",
			    given);
	if (vgpu_nodes(&nodes, &nr))
		return fail(EXIT_NO_VGPU, "bench measures in a guest, and this machine is none (vgpu_guest is not loaded): run it in a guest, or 'modprobe vgpu_guest'");
	node = find_node(nodes, nr, name);
	if (!node)
		ret = fail(EXIT_NOT_FOUND, "this guest has no device%s%s: 'vgpuctl list' shows all devices, or why there is none",
			   name ? " called " : "", name ? name : "");
	else
		ret = run(node, seconds, &bench);
	if (!ret)
		bench_print(&bench, option_given(options, OPT_JSON));
	vgpu_nodes_free(nodes, nr);
	return ret;
}
