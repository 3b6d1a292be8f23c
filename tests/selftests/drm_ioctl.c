// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each ioctl of DRM core, mode setting, vgem and virtio-gpu that a schema describes is made
 * with non-empty arrays on each DRM device. When forwarded, each takes one round trip and
 * fetches no page. Its result and the memory afterwards are as on the real node. Ioctls that a
 * device does not implement are listed by name.
 */
#include <virtgpu_drm.h>

#include "drm_node.h"

/* These structs are newer than libdrm's header. */
struct create_blob {
	__u32 blob_mem, blob_flags, bo_handle, res_handle;
	__u64 size;
	__u32 pad, cmd_size;
	__u64 cmd, blob_id;
};

struct context_init {
	__u32 num_params, pad;
	__u64 ctx_set_params;
};

#define DRM_IOCTL_VIRTGPU_CREATE_BLOB	DRM_IOWR(DRM_COMMAND_BASE + 0x0a, struct create_blob)
#define DRM_IOCTL_VIRTGPU_CONTEXT	DRM_IOWR(DRM_COMMAND_BASE + 0x0b, struct context_init)

#define NR_ARRAYS	4
#define ARRAY_BYTES	2048

static union {
	__u8 bytes[512];
	__u64 words[64];
} arg;

/*
 * The arrays are at the same address in every run, as arguments are logged with pointers to
 * them.
 */
#define ARRAYS_ADDRESS	((void *)0x200000000000)

static union {
	__u8 bytes[ARRAY_BYTES];
	__u32 words[ARRAY_BYTES / 4];
	__u64 longs[ARRAY_BYTES / 8];
} *arrays;

#define ARRAY(n)	((__u64)(uintptr_t)&arrays[n])

/* The device has these objects; 0 means none. */
static struct {
	__u32 gamma_size, crtc, connector, encoder, plane, property, handle, magic, blob, syncobj[2];
	int dma_buf;
} ids;

/* --- arguments that need more than zeros ------------------------------------- */

static void arg_version(void *p)
{
	struct drm_version *v = p;

	v->name = (void *)(uintptr_t)ARRAY(0);
	v->date = (void *)(uintptr_t)ARRAY(1);
	v->desc = (void *)(uintptr_t)ARRAY(2);
	v->name_len = 5;
	v->date_len = 40;
	v->desc_len = 40;
}

static void arg_unique(void *p)
{
	struct drm_unique *u = p;

	u->unique = (void *)(uintptr_t)ARRAY(0);
	u->unique_len = 64;
}

static void arg_auth(void *p)
{
	((struct drm_auth *)p)->magic = ids.magic;
}

static void client_is_this(void *p)
{
	struct drm_client *client = p;

	CHECK(client->pid == (unsigned long)gettid());
	client->pid = 0;
}

static void arg_handle(void *p)
{
	*(__u32 *)p = ids.handle;
}

static void arg_cap(void *p)
{
	((struct drm_get_cap *)p)->capability = DRM_CAP_DUMB_BUFFER;
}

static void arg_client_cap(void *p)
{
	struct drm_set_client_cap *c = p;

	c->capability = DRM_CLIENT_CAP_UNIVERSAL_PLANES;
	c->value = 1;
}

static void arg_buf_info(void *p)
{
	struct drm_buf_info *b = p;

	b->count = 2;
	b->list = (void *)(uintptr_t)ARRAY(0);
}

static void arg_buf_free(void *p)
{
	struct drm_buf_free *b = p;

	b->count = 2;
	b->list = (void *)(uintptr_t)ARRAY(0);
}

static void arg_ctx_res(void *p)
{
	struct drm_ctx_res *c = p;

	c->count = 2;
	c->contexts = (void *)(uintptr_t)ARRAY(0);
}

static void arg_dma(void *p)
{
	struct drm_dma *d = p;

	d->send_count = 2;
	d->send_indices = (void *)(uintptr_t)ARRAY(0);
	d->send_sizes = (void *)(uintptr_t)ARRAY(1);
	d->request_count = 2;
	d->request_indices = (void *)(uintptr_t)ARRAY(2);
	d->request_sizes = (void *)(uintptr_t)ARRAY(3);
}

static void arg_prime_export(void *p)
{
	struct drm_prime_handle *h = p;

	h->handle = ids.handle;
	h->flags = O_CLOEXEC;
	h->fd = -1;
}

static void arg_prime_import(void *p)
{
	((struct drm_prime_handle *)p)->fd = ids.dma_buf;
}

static void arg_syncobj(void *p)
{
	*(__u32 *)p = ids.syncobj[0];
}

static void arg_syncobj_create(void *p)
{
	((struct drm_syncobj_create *)p)->flags = DRM_SYNCOBJ_CREATE_SIGNALED;
}

static void arg_syncobj_wait(void *p)
{
	struct drm_syncobj_wait *w = p;

	w->handles = ARRAY(0);
	w->count_handles = 2;
	w->flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL;
	memcpy(arrays[0].words, ids.syncobj, sizeof(ids.syncobj));
}

static void arg_syncobj_timeline_wait(void *p)
{
	struct drm_syncobj_timeline_wait *w = p;

	w->handles = ARRAY(0);
	w->points = ARRAY(1);
	w->count_handles = 2;
	memcpy(arrays[0].words, ids.syncobj, sizeof(ids.syncobj));
	memset(arrays[1].longs, 0, 16);
}

static void arg_syncobj_array(void *p)
{
	struct drm_syncobj_array *a = p;

	a->handles = ARRAY(0);
	a->count_handles = 2;
	memcpy(arrays[0].words, ids.syncobj, sizeof(ids.syncobj));
}

static void arg_syncobj_timeline(void *p)
{
	struct drm_syncobj_timeline_array *a = p;

	a->handles = ARRAY(0);
	a->points = ARRAY(1);
	a->count_handles = 2;
	memcpy(arrays[0].words, ids.syncobj, sizeof(ids.syncobj));
	arrays[1].longs[0] = 3;
	arrays[1].longs[1] = 4;
}

static void arg_card_res(void *p)
{
	struct drm_mode_card_res *r = p;

	r->fb_id_ptr = ARRAY(0);
	r->crtc_id_ptr = ARRAY(1);
	r->connector_id_ptr = ARRAY(2);
	r->encoder_id_ptr = ARRAY(3);
	r->count_fbs = 20;
	r->count_crtcs = 20;
	r->count_connectors = 20;
	r->count_encoders = 20;
}

static void arg_crtc(void *p)
{
	((struct drm_mode_crtc *)p)->crtc_id = ids.crtc;
}

static void arg_set_crtc(void *p)
{
	struct drm_mode_crtc *c = p;

	c->crtc_id = ids.crtc;
	c->set_connectors_ptr = ARRAY(0);
	c->count_connectors = 1;
	arrays[0].words[0] = ids.connector;
}

static void arg_cursor(void *p)
{
	struct drm_mode_cursor *c = p;

	c->flags = DRM_MODE_CURSOR_MOVE;
	c->crtc_id = ids.crtc;
}

static void arg_gamma(void *p)
{
	struct drm_mode_crtc_lut *l = p;

	l->crtc_id = ids.crtc;
	l->red = ARRAY(0);
	l->green = ARRAY(1);
	l->blue = ARRAY(2);
	/* The call succeeds with the device's own size; 256 is used if there is none. */
	l->gamma_size = ids.gamma_size ? ids.gamma_size : 256;
}

static void arg_encoder(void *p)
{
	((struct drm_mode_get_encoder *)p)->encoder_id = ids.encoder;
}

static void arg_connector(void *p)
{
	struct drm_mode_get_connector *c = p;

	c->connector_id = ids.connector;
	c->encoders_ptr = ARRAY(0);
	c->modes_ptr = ARRAY(1);
	c->props_ptr = ARRAY(2);
	c->prop_values_ptr = ARRAY(3);
	c->count_encoders = 20;
	c->count_modes = 29;
	c->count_props = 100;
}

static void arg_property(void *p)
{
	struct drm_mode_get_property *q = p;

	q->prop_id = ids.property;
	q->values_ptr = ARRAY(0);
	q->enum_blob_ptr = ARRAY(1);
	q->count_values = 20;
	q->count_enum_blobs = 20;
}

static void arg_set_property(void *p)
{
	struct drm_mode_connector_set_property *s = p;

	s->connector_id = ids.connector;
	s->prop_id = ids.property;
}

static void arg_get_blob(void *p)
{
	struct drm_mode_get_blob *b = p;

	b->blob_id = ids.blob;
	b->length = 96;
	b->data = ARRAY(0);
}

static void arg_dirty(void *p)
{
	struct drm_mode_fb_dirty_cmd *d = p;

	d->fb_id = 4711;
	d->num_clips = 2;
	d->clips_ptr = ARRAY(0);
}

static void arg_plane_res(void *p)
{
	struct drm_mode_get_plane_res *r = p;

	r->plane_id_ptr = ARRAY(0);
	r->count_planes = 64;
}

static void arg_plane(void *p)
{
	struct drm_mode_get_plane *g = p;

	g->plane_id = ids.plane;
	g->format_type_ptr = ARRAY(0);
	g->count_format_types = 200;
}

static void arg_set_plane(void *p)
{
	((struct drm_mode_set_plane *)p)->plane_id = ids.plane;
}

static void arg_obj_properties(void *p)
{
	struct drm_mode_obj_get_properties *o = p;

	o->obj_id = ids.connector;
	o->obj_type = DRM_MODE_OBJECT_CONNECTOR;
	o->props_ptr = ARRAY(0);
	o->prop_values_ptr = ARRAY(1);
	o->count_props = 100;
}

static void arg_atomic(void *p)
{
	struct drm_mode_atomic *a = p;

	a->flags = DRM_MODE_ATOMIC_TEST_ONLY;
	a->count_objs = 2;
	a->objs_ptr = ARRAY(0);
	a->count_props_ptr = ARRAY(1);
	a->props_ptr = ARRAY(2);
	a->prop_values_ptr = ARRAY(3);
	arrays[0].words[0] = ids.connector;
	arrays[0].words[1] = ids.crtc;
	arrays[1].words[0] = 2;
	arrays[1].words[1] = 3;
}

static void arg_create_blob(void *p)
{
	struct drm_mode_create_blob *b = p;

	b->data = ARRAY(0);
	b->length = 96;
}

static void arg_blob(void *p)
{
	((struct drm_mode_destroy_blob *)p)->blob_id = ids.blob;
}

static void arg_lease(void *p)
{
	struct drm_mode_create_lease *l = p;

	l->object_ids = ARRAY(0);
	l->object_count = 2;
	l->flags = O_CLOEXEC;
	arrays[0].words[0] = ids.crtc;
	arrays[0].words[1] = 4711;
}

static void arg_lessees(void *p)
{
	struct drm_mode_list_lessees *l = p;

	l->lessees_ptr = ARRAY(0);
	l->count_lessees = 8;
}

static void arg_get_lease(void *p)
{
	struct drm_mode_get_lease *l = p;

	l->objects_ptr = ARRAY(0);
	l->count_objects = 8;
}

static void arg_dumb(void *p)
{
	struct drm_mode_create_dumb *d = p;

	d->width = 64;
	d->height = 32;
	d->bpp = 32;
}

static void arg_fb(void *p)
{
	struct drm_mode_fb_cmd *f = p;

	f->width = 64;
	f->height = 32;
	f->pitch = 256;
	f->bpp = 32;
	f->depth = 24;
	f->handle = ids.handle;
}

static void arg_execbuffer(void *p)
{
	struct drm_virtgpu_execbuffer *e = p;

	e->command = ARRAY(0);
	e->size = 64;
	e->bo_handles = ARRAY(1);
	e->num_bo_handles = 2;
	e->fence_fd = -1;
}

static void arg_getparam(void *p)
{
	struct drm_virtgpu_getparam *g = p;

	g->param = VIRTGPU_PARAM_3D_FEATURES;
	g->value = ARRAY(0);
}

static void arg_caps(void *p)
{
	struct drm_virtgpu_get_caps *c = p;

	c->cap_set_id = 1;
	c->cap_set_ver = 1;
	c->addr = ARRAY(0);
	c->size = 1000;
}

static void arg_create_blob_resource(void *p)
{
	struct create_blob *b = p;

	b->blob_mem = 1;	/* memory of the guest */
	b->size = 4096;
	b->cmd = ARRAY(0);
	b->cmd_size = 32;
}

static void arg_context_init(void *p)
{
	struct context_init *c = p;

	c->num_params = 2;
	c->ctx_set_params = ARRAY(0);
	arrays[0].longs[0] = 1;	/* capability set 63 */
	arrays[0].longs[1] = 63;
	arrays[0].longs[2] = 2;	/* one ring */
	arrays[0].longs[3] = 1;
}

/* --- the list ------------------------------------------------------------- */

/* The result has numbers of the whole device, or times, and is not logged. */
#define OPAQUE		1

struct probe {
	const char *name;
	unsigned long cmd;
	void (*fill)(void *arg);
	unsigned int flags;
	/* checks a part of the result that differs in each run, and clears it */
	void (*settle)(void *arg);
};

#define P(c, ...)	{ .name = #c, .cmd = DRM_IOCTL_ ## c, ##__VA_ARGS__ }
#define WITH(f)		.fill = arg_ ## f

static const struct probe core[] = {
	P(VERSION, WITH(version)),
	P(GET_UNIQUE, WITH(unique)),
	P(GET_MAGIC, .flags = OPAQUE),
	P(AUTH_MAGIC, WITH(auth), .flags = OPAQUE),
	P(IRQ_BUSID),
	P(GET_MAP),
	P(GET_CLIENT, .settle = client_is_this),
	P(GET_STATS),
	P(SET_VERSION),
	P(MODESET_CTL),
	P(MODE_CREATE_DUMB, WITH(dumb)),
	P(MODE_MAP_DUMB, WITH(handle), .flags = OPAQUE),
	P(PRIME_HANDLE_TO_FD, WITH(prime_export)),
	P(PRIME_FD_TO_HANDLE, WITH(prime_import)),
	P(GEM_FLINK, WITH(handle), .flags = OPAQUE),
	P(GEM_OPEN),
	P(GET_CAP, WITH(cap)),
	P(SET_CLIENT_CAP, WITH(client_cap)),
	P(SET_UNIQUE, WITH(unique)),
	P(BLOCK),
	P(UNBLOCK),
	P(CONTROL),
	P(ADD_MAP),
	P(ADD_BUFS),
	P(MARK_BUFS),
	P(INFO_BUFS, WITH(buf_info)),
	P(FREE_BUFS, WITH(buf_free)),
	P(RM_MAP),
	P(SET_SAREA_CTX),
	P(GET_SAREA_CTX),
	P(SET_MASTER),
	P(ADD_CTX),
	P(RM_CTX),
	P(MOD_CTX),
	P(GET_CTX),
	P(SWITCH_CTX),
	P(NEW_CTX),
	P(RES_CTX, WITH(ctx_res)),
	P(ADD_DRAW),
	P(RM_DRAW),
	P(DMA, WITH(dma)),
	P(LOCK),
	P(UNLOCK),
	P(FINISH),
	P(AGP_ACQUIRE),
	P(AGP_RELEASE),
	P(AGP_ENABLE),
	P(AGP_INFO),
	P(AGP_ALLOC),
	P(AGP_FREE),
	P(AGP_BIND),
	P(AGP_UNBIND),
	P(SG_ALLOC),
	P(SG_FREE),
	P(WAIT_VBLANK, .flags = OPAQUE),
	P(CRTC_GET_SEQUENCE, WITH(crtc), .flags = OPAQUE),
	P(CRTC_QUEUE_SEQUENCE, .flags = OPAQUE),
	P(UPDATE_DRAW),
	P(SYNCOBJ_CREATE, WITH(syncobj_create)),
	P(SYNCOBJ_CREATE, WITH(syncobj_create)),
	P(SYNCOBJ_HANDLE_TO_FD, WITH(syncobj), .flags = OPAQUE),
	P(SYNCOBJ_FD_TO_HANDLE),
	P(SYNCOBJ_WAIT, WITH(syncobj_wait)),
	P(SYNCOBJ_TIMELINE_WAIT, WITH(syncobj_timeline_wait)),
	P(SYNCOBJ_TIMELINE_SIGNAL, WITH(syncobj_timeline)),
	P(SYNCOBJ_QUERY, WITH(syncobj_timeline)),
	P(SYNCOBJ_TRANSFER),
	P(SYNCOBJ_SIGNAL, WITH(syncobj_array)),
	P(SYNCOBJ_RESET, WITH(syncobj_array)),
	P(SYNCOBJ_EVENTFD),
	P(SYNCOBJ_DESTROY, WITH(syncobj)),
};

static const struct probe mode[] = {
	P(MODE_GETRESOURCES, WITH(card_res)),
	P(MODE_GETCRTC, WITH(crtc), .flags = OPAQUE),
	P(MODE_SETCRTC, WITH(set_crtc)),
	P(MODE_CURSOR, WITH(cursor)),
	P(MODE_CURSOR2, WITH(cursor)),
	P(MODE_SETGAMMA, WITH(gamma)),
	P(MODE_GETGAMMA, WITH(gamma)),
	P(MODE_GETENCODER, WITH(encoder)),
	P(MODE_GETCONNECTOR, WITH(connector)),
	P(MODE_ATTACHMODE),
	P(MODE_DETACHMODE),
	P(MODE_GETPROPERTY, WITH(property)),
	P(MODE_SETPROPERTY, WITH(set_property)),
	P(MODE_CREATEPROPBLOB, WITH(create_blob), .flags = OPAQUE),
	P(MODE_GETPROPBLOB, WITH(get_blob), .flags = OPAQUE),
	P(MODE_DESTROYPROPBLOB, WITH(blob), .flags = OPAQUE),
	P(MODE_ADDFB, WITH(fb), .flags = OPAQUE),
	P(MODE_GETFB),
	P(MODE_ADDFB2),
	P(MODE_GETFB2),
	P(MODE_RMFB),
	P(MODE_CLOSEFB),
	P(MODE_PAGE_FLIP, WITH(crtc)),
	P(MODE_DIRTYFB, WITH(dirty)),
	P(MODE_GETPLANERESOURCES, WITH(plane_res)),
	P(MODE_GETPLANE, WITH(plane), .flags = OPAQUE),
	P(MODE_SETPLANE, WITH(set_plane)),
	P(MODE_OBJ_GETPROPERTIES, WITH(obj_properties), .flags = OPAQUE),
	P(MODE_OBJ_SETPROPERTY),
	P(MODE_ATOMIC, WITH(atomic)),
	P(MODE_CREATE_LEASE, WITH(lease), .flags = OPAQUE),
	P(MODE_LIST_LESSEES, WITH(lessees)),
	P(MODE_GET_LEASE, WITH(get_lease)),
	P(MODE_REVOKE_LEASE),
	P(GEM_CLOSE, WITH(handle)),
	P(MODE_DESTROY_DUMB, WITH(handle)),
	P(DROP_MASTER),
};

/* libdrm's headers lack vgem_drm.h. */
#define DRM_IOCTL_VGEM_FENCE_ATTACH	DRM_IOWR(DRM_COMMAND_BASE + 1, __u32[4])
#define DRM_IOCTL_VGEM_FENCE_SIGNAL	DRM_IOW(DRM_COMMAND_BASE + 2, __u32[2])

static const struct probe vgem[] = {
	P(MODE_CREATE_DUMB, WITH(dumb)),
	P(VGEM_FENCE_ATTACH, WITH(handle)),
	P(VGEM_FENCE_SIGNAL),
};

static const struct probe virtgpu[] = {
	P(MODE_CREATE_DUMB, WITH(dumb)),
	P(VIRTGPU_GETPARAM, WITH(getparam)),
	P(VIRTGPU_GET_CAPS, WITH(caps)),
	P(VIRTGPU_CONTEXT, WITH(context_init)),
	P(VIRTGPU_RESOURCE_CREATE, .flags = OPAQUE),
	P(VIRTGPU_RESOURCE_INFO, WITH(handle), .flags = OPAQUE),
	P(VIRTGPU_MAP, .flags = OPAQUE),
	P(VIRTGPU_EXECBUFFER, WITH(execbuffer)),
	P(VIRTGPU_TRANSFER_TO_HOST),
	P(VIRTGPU_TRANSFER_FROM_HOST),
	P(VIRTGPU_WAIT),
	P(VIRTGPU_CREATE_BLOB, WITH(create_blob_resource), .flags = OPAQUE),
};

/* --- running it ----------------------------------------------------------- */

static __u32 first_id(int fd, unsigned long cmd, void *p, __u32 *count, __u64 *pointer)
{
	__u32 list[64] = { 0 };

	*count = 64;
	*pointer = (__u64)(uintptr_t)list;
	return ioctl(fd, cmd, p) ? 0 : list[0];
}

static void find_ids(int fd)
{
	struct drm_set_client_cap cap = { .capability = DRM_CLIENT_CAP_ATOMIC, .value = 1 };
	struct drm_mode_card_res r = { 0 };
	struct drm_mode_get_plane_res planes = { 0 };
	struct drm_mode_obj_get_properties props = { 0 };
	struct drm_mode_crtc crtc = { 0 };

	memset(&ids, 0, sizeof(ids));
	ids.dma_buf = -1;
	/* Planes and properties are hidden without this capability. */
	ioctl(fd, DRM_IOCTL_SET_CLIENT_CAP, &cap);
	ids.crtc = first_id(fd, DRM_IOCTL_MODE_GETRESOURCES, &r, &r.count_crtcs, &r.crtc_id_ptr);
	crtc.crtc_id = ids.crtc;
	if (!ioctl(fd, DRM_IOCTL_MODE_GETCRTC, &crtc))
		ids.gamma_size = crtc.gamma_size;
	memset(&r, 0, sizeof(r));
	ids.connector = first_id(fd, DRM_IOCTL_MODE_GETRESOURCES, &r, &r.count_connectors,
				 &r.connector_id_ptr);
	memset(&r, 0, sizeof(r));
	ids.encoder = first_id(fd, DRM_IOCTL_MODE_GETRESOURCES, &r, &r.count_encoders,
			       &r.encoder_id_ptr);
	ids.plane = first_id(fd, DRM_IOCTL_MODE_GETPLANERESOURCES, &planes, &planes.count_planes,
			     &planes.plane_id_ptr);
	props.obj_id = ids.plane;
	props.obj_type = DRM_MODE_OBJECT_PLANE;
	ids.property = first_id(fd, DRM_IOCTL_MODE_OBJ_GETPROPERTIES, &props, &props.count_props,
				&props.props_ptr);
}

/* Keeps the results of ioctls that later ones use. */
static void keep_ids(const struct probe *probe)
{
	switch (probe->cmd) {
	case DRM_IOCTL_GET_MAGIC:
		ids.magic = ((struct drm_auth *)&arg)->magic;
		break;
	case DRM_IOCTL_MODE_CREATE_DUMB:
		ids.handle = ((struct drm_mode_create_dumb *)&arg)->handle;
		break;
	case DRM_IOCTL_PRIME_HANDLE_TO_FD:
		ids.dma_buf = ((struct drm_prime_handle *)&arg)->fd;
		CHECK(ids.dma_buf >= 0);
		break;
	case DRM_IOCTL_MODE_CREATEPROPBLOB:
		ids.blob = ((struct drm_mode_create_blob *)&arg)->blob_id;
		break;
	case DRM_IOCTL_SYNCOBJ_CREATE:
		ids.syncobj[1] = ids.syncobj[0];
		ids.syncobj[0] = ((struct drm_syncobj_create *)&arg)->handle;
		break;
	}
}

static void run_probe(int fd, const struct probe *probe)
{
	int ret, error, i;

	memset(&arg, 0, sizeof(arg));
	for (i = 0; i < NR_ARRAYS; i++)
		vgpu_mock_pattern(&arrays[i], sizeof(arrays[i]), i + 1, 0);
	if (probe->fill)
		probe->fill(&arg);
	ret = drm_counted(fd, probe->cmd, &arg, probe->name, 1);
	error = ret < 0 ? errno : 0;
	if (!error)
		keep_ids(probe);
	if (!error && probe->settle)
		probe->settle(&arg);
	if (!forwarded && (error == ENOTTY || error == EOPNOTSUPP || error == ENOSYS ||
			   (error == EINVAL && !probe->fill)))
		printf("# %s: %s is not implemented (%s)\n", drm_node, probe->name,
		       strerrorname_np(error));
	log_line("%s = %d %s", probe->name, ret, error ? strerrorname_np(error) : "");
	if (probe->flags & OPAQUE)
		return;
	log_bytes("argument", &arg, _IOC_SIZE(probe->cmd));
	for (i = 0; i < NR_ARRAYS; i++)
		log_line("array %d: %016llx", i, (unsigned long long)
			 vgpu_mock_sum(VGPU_MOCK_SUM_INIT, &arrays[i], sizeof(arrays[i])));
}

static void run_probes(int fd, const struct probe *probes, size_t nr)
{
	while (nr--)
		run_probe(fd, probes++);
}

#define RUN(fd, list)	run_probes(fd, list, sizeof(list) / sizeof(list[0]))

static void all_on(const char *node, const struct probe *own, size_t nr)
{
	int fd, second;

	drm_node = node;
	arrays = mmap(ARRAYS_ADDRESS, NR_ARRAYS * sizeof(*arrays), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	MUST(arrays == ARRAYS_ADDRESS);
	fd = open_device(O_RDWR | O_CLOEXEC);
	second = open_device(O_RDWR | O_CLOEXEC);
	/* The probes run as an ordinary user, as shadows on the host have no privileges. */
	MUST(getuid() || !setresuid(65534, 65534, 65534));
	find_ids(fd);
	RUN(fd, core);
	RUN(fd, mode);
	close(fd);
	run_probes(second, own, nr);
	close(second);
}

DIFF_TEST_NODE(vgem, "VGEM_CARD", 60)
{
	all_on("VGEM_CARD", vgem, sizeof(vgem) / sizeof(vgem[0]));
}

DIFF_TEST_NODE(vkms, "VKMS_CARD", 60)
{
	all_on("VKMS_CARD", NULL, 0);
}

DIFF_TEST_NODE(virtio_gpu, "GPU_CARD", 60)
{
	all_on("GPU_CARD", virtgpu, sizeof(virtgpu) / sizeof(virtgpu[0]));
}

TEST_HARNESS_MAIN
