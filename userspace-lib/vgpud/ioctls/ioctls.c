// SPDX-License-Identifier: MIT
/* Ioctls of drivers by name and class: lookups in the tables, and profiles. */
#include <stdio.h>
#include <string.h>

#include <linux/vgpu_wire.h>

#include "ioctls/ioctls.h"
#include "ioctls/table.h"
#include "nvidia_ioctls.h"

enum { DRM, VIRTIO_GPU, AMDGPU, NOUVEAU, VGEM, I915, XE, PANFROST, PANTHOR, MSM, V3D, V4L2, MEDIA,
       ALSA, DMA_BUF, SYNC_FILE, NR_TABLES, NVIDIA = NR_TABLES };

/* Tables of files that devices of all kinds make. */
#define DERIVED		(BIT(DMA_BUF) | BIT(SYNC_FILE))

static const struct {
	const char *name;
	const struct ioctl_table *table;
} tables_all[NR_TABLES] = {
	[DRM] = { "DRM", &drm_table },
	[VIRTIO_GPU] = { "virtio_gpu", &virtio_gpu_table },
	[AMDGPU] = { "amdgpu", &amdgpu_table },
	[NOUVEAU] = { "nouveau", &nouveau_table },
	[VGEM] = { "vgem", &vgem_table },
	[I915] = { "i915", &i915_table },
	[XE] = { "xe", &xe_table },
	[PANFROST] = { "panfrost", &panfrost_table },
	[PANTHOR] = { "panthor", &panthor_table },
	[MSM] = { "msm", &msm_table },
	[V3D] = { "v3d", &v3d_table },
	[V4L2] = { "V4L2", &v4l2_table },
	[MEDIA] = { "media devices", &media_table },
	[ALSA] = { "ALSA", &alsa_table },
	[DMA_BUF] = { "dma-bufs", &dma_buf_table },
	[SYNC_FILE] = { "sync_files", &sync_file_table },
};

/* Names by which sysfs knows drivers of DRM. Those without a table have no ioctls of their own. */
static const struct {
	const char *driver;
	uint32_t tables;
} drivers[] = {
	{ "virtio_gpu", BIT(VIRTIO_GPU) },
	{ "amdgpu", BIT(AMDGPU) },
	{ "nouveau", BIT(NOUVEAU) },
	{ "vgem", BIT(VGEM) },
	{ "i915", BIT(I915) },
	{ "xe", BIT(XE) },
	{ "panfrost", BIT(PANFROST) },
	{ "panthor", BIT(PANTHOR) },
	/* The device of msm's nodes is the display controller, or the GPU if there is no other. */
	{ "msm", BIT(MSM) },
	{ "msm_dpu", BIT(MSM) },
	{ "msm-mdss", BIT(MSM) },
	{ "msm_mdp", BIT(MSM) },
	{ "mdp4", BIT(MSM) },
	{ "adreno", BIT(MSM) },
	{ "v3d", BIT(V3D) },
	{ "vkms", 0 },
	{ "bochs-drm", 0 },
	{ "simple-framebuffer", 0 },
	{ "ast", 0 },
	{ "mgag200", 0 },
	{ "udl", 0 },
};

static const struct {
	const char *name;
	unsigned int profile;
	unsigned int classes;
} profiles_all[] = {
	{ "render", PROFILE_RENDER, IOCTL_QUERY | IOCTL_RENDER },
	{ "display", PROFILE_DISPLAY, IOCTL_QUERY | IOCTL_DISPLAY | IOCTL_MASTER },
	{ "compute", PROFILE_COMPUTE, IOCTL_QUERY | IOCTL_COMPUTE },
	{ "all", PROFILE_ALL, 0 },
};

#define NR_PROFILES	(sizeof(profiles_all) / sizeof(profiles_all[0]))

unsigned int profile_find(const char *name)
{
	size_t i;

	for (i = 0; i < NR_PROFILES; i++)
		if (!strcmp(profiles_all[i].name, name))
			return profiles_all[i].profile;
	return 0;
}

void profile_words(unsigned int profiles, char words[32])
{
	size_t i, at = 0;

	words[0] = '\0';
	for (i = 0; i < NR_PROFILES; i++)
		if (profiles & profiles_all[i].profile)
			at += snprintf(words + at, 32 - at, "%s%s", at ? ", " : "",
				       profiles_all[i].name);
}

/* Find a driver of DRM. Return: false if it is unknown. */
static bool find_driver(const char *driver, uint32_t *tables)
{
	size_t i;

	*tables = 0;
	for (i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
		if (!strcmp(drivers[i].driver, driver)) {
			*tables = drivers[i].tables;
			return true;
		}
	return false;
}

static bool is_drm(uint32_t kind)
{
	return kind == VGPU_EXPORT_DRM_PRIMARY || kind == VGPU_EXPORT_DRM_RENDER;
}

bool ioctls_known(uint32_t kind, const char *driver)
{
	uint32_t tables;

	return is_drm(kind) ? find_driver(driver, &tables) : kind != VGPU_EXPORT_PLAIN;
}

uint32_t ioctls_tables(uint32_t kind, const char *driver)
{
	uint32_t tables;

	switch (kind) {
	case VGPU_EXPORT_DRM_PRIMARY:
	case VGPU_EXPORT_DRM_RENDER:
		find_driver(driver, &tables);
		return tables | BIT(DRM) | DERIVED;
	case VGPU_EXPORT_VIDEO:
	case VGPU_EXPORT_VBI:
	case VGPU_EXPORT_RADIO:
	case VGPU_EXPORT_SDR:
	case VGPU_EXPORT_TOUCH:
		return BIT(V4L2) | DERIVED;
	case VGPU_EXPORT_MEDIA:
		return BIT(MEDIA) | DERIVED;
	case VGPU_EXPORT_SOUND:
		return BIT(ALSA) | DERIVED;
	case VGPU_EXPORT_NVIDIA:
		return BIT(NVIDIA) | DERIVED;
	default:
		return DERIVED;
	}
}

bool ioctl_find(const char *name, uint32_t *key, uint32_t *table)
{
	const struct ioctl *ioctl;
	uint32_t nr;
	size_t i;

	for (nr = 0; nr < NR_TABLES; nr++)
		for (i = 0; i < tables_all[nr].table->nr; i++) {
			ioctl = &tables_all[nr].table->ioctls[i];
			if (strcmp(ioctl->name, name))
				continue;
			*key = ioctl->key;
			*table = BIT(nr);
			return true;
		}
	for (i = 0; i < vgpu_nvidia_nr_ioctls; i++)
		if (!strcmp(vgpu_nvidia_ioctls[i].name, name)) {
			*key = vgpu_nvidia_ioctls[i].key;
			*table = BIT(NVIDIA);
			return true;
		}
	return false;
}

static const struct ioctl *find_key(uint32_t tables, uint32_t key)
{
	const struct ioctl_table *table;
	uint32_t nr;
	size_t i;

	for (nr = 0; nr < NR_TABLES; nr++) {
		if (!(tables & BIT(nr)))
			continue;
		table = tables_all[nr].table;
		for (i = 0; i < table->nr; i++)
			if (table->ioctls[i].key == key)
				return &table->ioctls[i];
	}
	return NULL;
}

const char *ioctl_name(uint32_t tables, uint32_t key)
{
	const struct ioctl *ioctl = find_key(tables, key);

	if (ioctl)
		return ioctl->name;
	return tables & BIT(NVIDIA) ? vgpu_nvidia_name(key) : NULL;
}

const char *ioctls_table_name(uint32_t table)
{
	uint32_t nr = __builtin_ctz(table);

	return nr < NR_TABLES ? tables_all[nr].name : "NVIDIA's driver";
}

static unsigned int classes_of(unsigned int profiles)
{
	unsigned int classes = profiles ? 0 : IOCTL_QUERY;
	size_t i;

	for (i = 0; i < NR_PROFILES; i++)
		if (profiles & profiles_all[i].profile)
			classes |= profiles_all[i].classes;
	return classes;
}

/* Add a number unless it is there already. Return: how many there are. */
static size_t key_add(uint32_t *keys, size_t nr, size_t max, uint32_t key)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (keys[i] == key)
			return nr;
	if (nr < max)
		keys[nr++] = key;
	return nr;
}

/* Fill in the numbers of all ioctls of these tables that have one of the classes. */
static size_t list_classes(uint32_t tables, unsigned int classes, uint32_t *keys, size_t max)
{
	const struct ioctl_table *table;
	size_t i, nr_keys = 0;
	uint32_t nr;

	for (nr = 0; nr < NR_TABLES; nr++) {
		if (!(tables & BIT(nr)))
			continue;
		table = tables_all[nr].table;
		for (i = 0; i < table->nr; i++)
			if (table->ioctls[i].classes & classes)
				nr_keys = key_add(keys, nr_keys, max, table->ioctls[i].key);
	}
	for (i = 0; tables & BIT(NVIDIA) && i < vgpu_nvidia_nr_ioctls; i++)
		if (nvidia_classes(vgpu_nvidia_ioctls[i].key) & classes)
			nr_keys = key_add(keys, nr_keys, max, vgpu_nvidia_ioctls[i].key);
	return nr_keys;
}

size_t ioctls_list(uint32_t tables, unsigned int profiles, uint32_t *keys, size_t max)
{
	return list_classes(tables, classes_of(profiles), keys, max);
}

size_t ioctls_submits(uint32_t tables, uint32_t *keys, size_t max)
{
	return list_classes(tables, IOCTL_SUBMIT, keys, max);
}

static bool is_nvidia_query(uint32_t key)
{
	return vgpu_nvidia_name(key) && nvidia_classes(key) & IOCTL_QUERY;
}

bool ioctl_is_query(uint32_t tables, uint32_t key)
{
	const struct ioctl *ioctl = find_key(tables, key);

	if (ioctl)
		return ioctl->classes & IOCTL_QUERY;
	return tables & BIT(NVIDIA) && is_nvidia_query(key);
}
