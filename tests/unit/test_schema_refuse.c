// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of memory of the process that a device would keep: each way to pass such
 * memory fails with its errno before the call is sent, similar calls succeed, and
 * no reply offers the capability. In the same way, calls fail that need more than
 * copies of mapped memory where there are only copies.
 */
#include <stdio.h>

#include "fake_host.h"
#include "argument/schema/tables.h"
#include "argument/schema_uapi.h"
#include "tap.h"

static struct host host;
static u32 reached;

static long driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	reached++;
	return 0;
}

static void expect(const struct vgpu_schema *schema, u32 cmd, void *arg, long result,
		   const char *what)
{
	long got;

	reached = 0;
	got = host_ioctl(&host, schema, cmd, (uintptr_t)arg, false, driver, NULL);
	tap_expect(got == result, "%s: %ld", what, got);
	tap_expect(reached == !result, "%s: reaches the driver", what);
}

static void start(void)
{
	user_reset();
	host_init(&host);
}

static void whole_ioctls(void)
{
	static const struct {
		const struct vgpu_schema *schema;
		u32 cmd;
		long result;
		const char *name;
	} cases[] = {
		{ &vgpu_schema_amdgpu, DRM_IOCTL_AMDGPU_GEM_USERPTR, -ENODEV, "amdgpu" },
		{ &vgpu_schema_i915, DRM_IOCTL_I915_GEM_USERPTR, -ENODEV, "i915" },
		{ &vgpu_schema_nouveau, DRM_IOCTL_NOUVEAU_SVM_INIT, -ENOSYS, "nouveau" },
		{ &vgpu_schema_nouveau, DRM_IOCTL_NOUVEAU_SVM_BIND, -ENOSYS, "nouveau: bind" },
		{ &vgpu_schema_udmabuf, UDMABUF_CREATE, -EINVAL, "udmabuf" },
		{ &vgpu_schema_udmabuf, UDMABUF_CREATE_LIST, -EINVAL, "udmabuf: list" },
		{ &vgpu_schema_i915, DRM_IOCTL_I915_GEM_CREATE, 0, "a buffer" },
	};
	u32 i;

	start();
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		expect(cases[i].schema, cases[i].cmd, user_alloc(256), cases[i].result,
		       cases[i].name);
	tap_subject("ioctls for nothing else");
}

#ifdef DRM_IOCTL_XE_VM_BIND
static void xe_vm_bind(void)
{
	const struct vgpu_schema *xe = &vgpu_schema_xe;
	struct drm_xe_vm_bind_op *ops;
	struct drm_xe_vm_bind *bind;
	struct drm_xe_sync *sync;

	start();
	bind = user_alloc(sizeof(*bind));
	bind->num_binds = 1;
	bind->bind.op = DRM_XE_VM_BIND_OP_MAP;
	bind->bind.userptr = 0x1000;	/* offset in a buffer */
	expect(xe, DRM_IOCTL_XE_VM_BIND, bind, 0, "one, a buffer");
	bind->bind.op = DRM_XE_VM_BIND_OP_MAP_USERPTR;
	expect(xe, DRM_IOCTL_XE_VM_BIND, bind, -EOPNOTSUPP, "one");

	/* The inner bind is no bind when there are several: its bytes are the array's pointer. */
	ops = user_alloc(3 * sizeof(*ops));
	bind->num_binds = 3;
	bind->vector_of_binds = (uintptr_t)ops;
	expect(xe, DRM_IOCTL_XE_VM_BIND, bind, 0, "three, buffers");
	ops[2].op = DRM_XE_VM_BIND_OP_MAP_USERPTR;
	ops[2].userptr = 0x1000;
	expect(xe, DRM_IOCTL_XE_VM_BIND, bind, -EOPNOTSUPP, "the last of three");
#ifdef DRM_XE_VM_BIND_FLAG_CPU_ADDR_MIRROR
	ops[2].op = DRM_XE_VM_BIND_OP_MAP;
	ops[2].flags = DRM_XE_VM_BIND_FLAG_CPU_ADDR_MIRROR | DRM_XE_VM_BIND_FLAG_READONLY;
	expect(xe, DRM_IOCTL_XE_VM_BIND, bind, -EOPNOTSUPP, "all memory");
	ops[2].flags = DRM_XE_VM_BIND_FLAG_READONLY;
	expect(xe, DRM_IOCTL_XE_VM_BIND, bind, 0, "another flag");
#endif
	bind->num_binds = 0;
	sync = user_alloc(sizeof(*sync));
	bind->syncs = (uintptr_t)sync;
	bind->num_syncs = 1;
	sync->addr = 0x1000;
	expect(xe, DRM_IOCTL_XE_VM_BIND, bind, 0, "a syncobj");
	sync->type = DRM_XE_SYNC_TYPE_USER_FENCE;
	expect(xe, DRM_IOCTL_XE_VM_BIND, bind, -EOPNOTSUPP, "a fence in memory");
	tap_subject("xe: VM_BIND");
}
#endif

/* A driver with all capabilities. */
static long v4l2_driver(struct host *h, u32 cmd, u64 arg, void *data)
{
	struct v4l2_requestbuffers *req;
	struct v4l2_create_buffers *create;

	switch (cmd) {
	case VIDIOC_REQBUFS:
		req = driver_mem(h, arg, sizeof(*req), USER_WRITE);
		req->capabilities = 0x1f;
		break;
	case VIDIOC_CREATE_BUFS:
		create = driver_mem(h, arg, sizeof(*create), USER_WRITE);
		create->capabilities = 0x1f;
		break;
	}
	return *(long *)data;
}

static long v4l2(u32 cmd, void *arg, long result)
{
	return host_ioctl(&host, &vgpu_schema_v4l2, cmd, (uintptr_t)arg, false, v4l2_driver,
			  &result);
}

static void v4l2_memory(void)
{
	static const u32 cmds[] = { VIDIOC_QBUF, VIDIOC_PREPARE_BUF };
	struct v4l2_requestbuffers *req;
	struct v4l2_create_buffers *create;
	struct v4l2_buffer *buf;
	u32 i;

	start();
	host.limits.features &= ~VGPU_FEATURE_KEEP_ALONE;
	req = user_alloc(sizeof(*req));
	create = user_alloc(sizeof(*create));
	buf = user_alloc(sizeof(*buf));
	req->memory = V4L2_MEMORY_USERPTR;
	create->memory = V4L2_MEMORY_USERPTR;
	buf->memory = V4L2_MEMORY_USERPTR;
	expect(&vgpu_schema_v4l2, VIDIOC_REQBUFS, req, -EINVAL, "REQBUFS");
	expect(&vgpu_schema_v4l2, VIDIOC_CREATE_BUFS, create, -EINVAL, "CREATE_BUFS");
	for (i = 0; i < ARRAY_SIZE(cmds); i++)
		expect(&vgpu_schema_v4l2, cmds[i], buf, -EINVAL, "QBUF, PREPARE_BUF");

	req->memory = V4L2_MEMORY_MMAP;
	create->memory = V4L2_MEMORY_MMAP;
	tap_expect(!v4l2(VIDIOC_REQBUFS, req, 0) && req->capabilities == 0x1d,
		   "REQBUFS says it cannot: %#x", req->capabilities);
	tap_expect(!v4l2(VIDIOC_CREATE_BUFS, create, 0) && create->capabilities == 0x1d,
		   "CREATE_BUFS says it cannot: %#x", create->capabilities);
	/* The argument of a failed call is not changed. */
	tap_expect(v4l2(VIDIOC_REQBUFS, req, -EBUSY) == -EBUSY && req->capabilities == 0x1f,
		   "after an error: %#x", req->capabilities);
	/* A host that can keep memory passes the driver's capabilities on. */
	host.limits.features |= VGPU_FEATURE_KEEP_ALONE;
	req->memory = V4L2_MEMORY_USERPTR;
	create->memory = V4L2_MEMORY_USERPTR;
	tap_expect(!v4l2(VIDIOC_REQBUFS, req, 0) && req->capabilities == 0x1f,
		   "REQBUFS says it can: %#x", req->capabilities);
	tap_expect(!v4l2(VIDIOC_CREATE_BUFS, create, 0) && create->capabilities == 0x1f,
		   "CREATE_BUFS says it can: %#x", create->capabilities);
	tap_subject("V4L2: memory of the process");
}

/*
 * Runs an ioctl. Return: the number of pages in its KEPT segments. *result gets the ioctl's result.
 */
static long kept_pages(u32 cmd, void *arg, bool compat, long *result)
{
	struct vgpu_marshal m;
	u64 pages = 0;
	u32 i;

	*result = host_ioctl_keep(&host, &m, &vgpu_schema_v4l2, cmd, (uintptr_t)arg, compat, driver,
				  NULL);
	for (i = 0; i < m.nr_segs; i++) {
		const struct vgpu_kept *kept = (const void *)(m.data + m.info[i].in_off);

		if (le32_to_cpu(m.segs[i].flags) & VGPU_SEG_KEPT)
			pages += le64_to_cpu(kept->len) / USER_PAGE;
	}
	vgpu_marshal_fini(&m);
	return pages;
}

static void v4l2_kept(void)
{
	static const u32 cmds[] = { VIDIOC_QBUF, VIDIOC_PREPARE_BUF };
	struct v4l2_plane *planes;
	struct v4l2_buffer *buf;
	long result, pages;
	u8 *p;
	u32 i;

	start();
	buf = user_alloc(sizeof(*buf));
	planes = user_alloc(3 * sizeof(*planes));
	p = user_alloc_pages(6 * USER_PAGE);
	for (i = 0; i < ARRAY_SIZE(cmds); i++) {
		*buf = (struct v4l2_buffer) {
			.type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_USERPTR,
			.m.userptr = (uintptr_t)p + 100, .length = 2 * USER_PAGE,
		};
		pages = kept_pages(cmds[i], buf, false, &result);
		tap_expect(!result && pages == 3 && buf->m.userptr == (uintptr_t)p + 100,
			   "capture: %ld, %ld pages", result, pages);
		buf->type = V4L2_BUF_TYPE_VIDEO_OUTPUT;
		user_protect(p, USER_PAGE, USER_READ);
		pages = kept_pages(cmds[i], buf, false, &result);
		tap_expect(!result && pages == 3, "output: %ld, %ld pages", result, pages);
		user_protect(p, USER_PAGE, USER_READ | USER_WRITE);
		buf->memory = V4L2_MEMORY_MMAP;
		pages = kept_pages(cmds[i], buf, false, &result);
		tap_expect(!result && !pages, "an offset: %ld, %ld pages", result, pages);

		memset(planes, 0, 3 * sizeof(*planes));
		*buf = (struct v4l2_buffer) {
			.type = V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE, .memory = V4L2_MEMORY_USERPTR,
			.m.planes = planes, .length = 3,
		};
		planes[0].m.userptr = (uintptr_t)p;
		planes[0].length = 6000;
		planes[1].m.userptr = (uintptr_t)p + 6000;
		planes[1].length = 6000;
		planes[2].m.userptr = (uintptr_t)p + 5 * USER_PAGE;
		planes[2].length = USER_PAGE;
		pages = kept_pages(cmds[i], buf, false, &result);
		tap_expect(!result && pages == 4 && planes[1].m.userptr == (uintptr_t)p + 6000,
			   "planes: %ld, %ld pages", result, pages);
	}
	tap_subject("V4L2: memory that the device keeps");
}

/* A 32-bit program's memory is below 4 GiB, where this test has none: -ENOMEM shows the attempt. */
static void v4l2_kept32(void)
{
	struct v4l2_buffer32 *buf;
	long result;

	start();
	user.fail_keep = ENOMEM;
	buf = user_alloc(sizeof(*buf));
	*buf = (struct v4l2_buffer32) {
		.type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_USERPTR,
		.m.userptr = 0x1000, .length = 2 * USER_PAGE,
	};
	kept_pages(VIDIOC_QBUF32, buf, true, &result);
	tap_expect(result == -ENOMEM, "it is to be kept: %ld", result);
	buf->memory = V4L2_MEMORY_MMAP;
	kept_pages(VIDIOC_QBUF32, buf, true, &result);
	tap_expect(!result, "it is not: %ld", result);
	tap_subject("V4L2: memory of a 32-bit process that the device keeps");
}

/* Refusals also work for 32-bit programs, whose structs have the field at another offset. */
static void v4l2_memory32(void)
{
	static const struct {
		u32 cmd;
		u32 memory;
	} cases[] = {
		{ VIDIOC_QBUF32, offsetof(struct v4l2_buffer32, memory) },
		{ VIDIOC_PREPARE_BUF32, offsetof(struct v4l2_buffer32, memory) },
		{ VIDIOC_QBUF32_TIME32, offsetof(struct v4l2_buffer32_time32, memory) },
		{ VIDIOC_PREPARE_BUF32_TIME32, offsetof(struct v4l2_buffer32_time32, memory) },
		{ VIDIOC_CREATE_BUFS32, offsetof(struct v4l2_create_buffers32, memory) },
	};
	u32 userptr = V4L2_MEMORY_USERPTR, i;
	long got;
	u8 *arg;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		start();
		host.limits.features &= ~VGPU_FEATURE_KEEP_ALONE;
		arg = user_alloc(_IOC_SIZE(cases[i].cmd));
		memcpy(arg + cases[i].memory, &userptr, sizeof(userptr));
		got = host_ioctl(&host, &vgpu_schema_v4l2, cases[i].cmd, (uintptr_t)arg, true,
				 driver, NULL);
		tap_expect(got == -EINVAL, "%#x: %ld", cases[i].cmd, got);
	}
	tap_subject("V4L2: memory of a 32-bit process");
}

/* Contexts with a ring in mapped memory fail where mappings are copies. */
static void virtgpu_rings(void)
{
	static const struct {
		u64 param, value;
		long copied;
		const char *name;
	} cases[] = {
		{ VIRTGPU_CONTEXT_PARAM_CAPSET_ID, 1, 0, "virgl" },
		{ VIRTGPU_CONTEXT_PARAM_CAPSET_ID, 2, 0, "virgl 2" },
		{ VIRTGPU_CONTEXT_PARAM_CAPSET_ID, 3, -EINVAL, "gfxstream" },
		{ VIRTGPU_CONTEXT_PARAM_CAPSET_ID, 4, -EINVAL, "venus" },
		{ VIRTGPU_CONTEXT_PARAM_CAPSET_ID, 5, -EINVAL, "cross domain" },
		{ VIRTGPU_CONTEXT_PARAM_CAPSET_ID, 6, -EINVAL, "drm" },
		{ VIRTGPU_CONTEXT_PARAM_CAPSET_ID, 63, 0, "one that is not known" },
		{ VIRTGPU_CONTEXT_PARAM_NUM_RINGS, 4, 0, "4 rings" },
		{ VIRTGPU_CONTEXT_PARAM_POLL_RINGS_MASK, 4, 0, "polled rings" },
	};
	struct drm_virtgpu_context_init *init;
	struct drm_virtgpu_context_set_param *params;
	struct vgpu_marshal m;
	long got;
	u32 i;

	for (i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		long copied = cases[i / 2].copied;

		start();
		host.live = i & 1;
		reached = 0;
		init = user_alloc(sizeof(*init));
		params = user_alloc(2 * sizeof(*params));
		params[0].param = VIRTGPU_CONTEXT_PARAM_NUM_RINGS;
		params[0].value = 1;
		params[1].param = cases[i / 2].param;
		params[1].value = cases[i / 2].value;
		init->num_params = 2;
		init->ctx_set_params = (uintptr_t)params;
		got = host_ioctl_keep(&host, &m, &vgpu_schema_virtgpu,
				      DRM_IOCTL_VIRTGPU_CONTEXT_INIT, (uintptr_t)init, false,
				      driver, NULL);
		tap_expect(got == (host.live ? 0 : copied), "%s: %ld", cases[i / 2].name, got);
		tap_expect(reached == !got, "%s: reaches the driver", cases[i / 2].name);
		tap_expect(m.found.wants_live == !!copied, "%s: of use as a copy",
			   cases[i / 2].name);
		vgpu_marshal_fini(&m);
	}
	tap_subject("virtio-gpu: rings in mapped memory");
}

#ifdef DRM_IOCTL_AMDGPU_USERQ
/* Creating a queue with a ring in mapped memory fails where mappings are copies. */
static void amdgpu_queues(void)
{
	static const u32 ops[] = { AMDGPU_USERQ_OP_CREATE, AMDGPU_USERQ_OP_FREE };
	union drm_amdgpu_userq *queue;
	struct vgpu_marshal m;
	long got;
	u32 i;

	for (i = 0; i < 2 * ARRAY_SIZE(ops); i++) {
		bool create = ops[i / 2] == AMDGPU_USERQ_OP_CREATE;

		start();
		host.live = i & 1;
		reached = 0;
		queue = user_alloc(sizeof(*queue));
		queue->in.op = ops[i / 2];
		got = host_ioctl_keep(&host, &m, &vgpu_schema_amdgpu, DRM_IOCTL_AMDGPU_USERQ,
				      (uintptr_t)queue, false, driver, NULL);
		tap_expect(got == (create && !host.live ? -EINVAL : 0), "%u: %ld", ops[i / 2], got);
		tap_expect(reached == !got, "%u: reaches the driver", ops[i / 2]);
		tap_expect(m.found.wants_live == create, "%u: of use as a copy", ops[i / 2]);
		vgpu_marshal_fini(&m);
	}
	tap_subject("amdgpu: queues in mapped memory");
}
#endif

int main(void)
{
	whole_ioctls();
#ifdef DRM_IOCTL_XE_VM_BIND
	xe_vm_bind();
#endif
	v4l2_memory();
	v4l2_memory32();
	v4l2_kept();
	v4l2_kept32();
	virtgpu_rings();
#ifdef DRM_IOCTL_AMDGPU_USERQ
	amdgpu_queues();
#endif
	return tap_done();
}
