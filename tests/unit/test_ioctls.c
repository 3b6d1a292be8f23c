// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of vgpud's tables of ioctls (userspace-lib/vgpud/ioctls): names and numbers are those of
 * the drivers' headers, and profiles have what Mesa's drivers and compositors need, and no more.
 */
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#include "policy.h"
#include "tap.h"
#include "vgpud/ioctls/ioctls.h"
#include "vgpud/ioctls/table.h"

/* names.h includes the headers, and lists their ioctls. */
#define IOCTL(name)
#include "names.h"
#undef IOCTL

static const struct {
	const char *name;
	u32 cmd;
} headers[] = {
#define IOCTL(name)	{ #name, name },
#include "names.h"
#undef IOCTL
};

static void test_headers(void)
{
	u32 key, table;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(headers); i++) {
		key = 0;
		tap_expect(ioctl_find(headers[i].name, &key, &table), "%s is known",
			   headers[i].name);
		tap_expect(key == vgpu_ioctl_key(headers[i].cmd), "%s is %#x", headers[i].name,
			   headers[i].cmd);
	}
	tap_expect(ARRAY_SIZE(headers) > 400, "the headers have %zu ioctls", ARRAY_SIZE(headers));
	tap_expect(!ioctl_find("DRM_IOCTL_", &key, &table), "the beginning of a name is none");
	tap_subject("names and numbers of the headers");
}

static const struct ioctl_table *const tables[] = {
	&drm_table, &virtio_gpu_table, &amdgpu_table, &nouveau_table, &vgem_table, &i915_table,
	&xe_table, &panfrost_table, &panthor_table, &msm_table, &v3d_table, &v4l2_table,
	&media_table, &alsa_table, &dma_buf_table, &sync_file_table,
};

static void test_tables(void)
{
	const struct ioctl *ioctl;
	u32 key, table, own = 0, seen = 0;
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(tables); i++)
		for (j = 0; j < tables[i]->nr; j++) {
			ioctl = &tables[i]->ioctls[j];
			tap_expect(ioctl_find(ioctl->name, &key, &table) && key == ioctl->key,
				   "%s is in one table only", ioctl->name);
			tap_expect(ioctl_name(table, key), "%s has a name", ioctl->name);
			if (!j)
				own = table;
			tap_expect(table == own, "%s has the bit of its table", ioctl->name);
			tap_expect(ioctl_is_query(table, key) ==
				   !!(ioctl->classes & IOCTL_QUERY) ||
				   strcmp(ioctl_name(table, key), ioctl->name),
				   "%s is a query or none", ioctl->name);
			seen |= table;
		}
	tap_expect(__builtin_popcount(seen) == ARRAY_SIZE(tables), "each table has its own bit");
	tap_expect(!ioctl_name(~0U, 0xffff), "what no driver has is without a name");
	tap_subject("tables");
}

/* --- profiles ----------------------------------------------------------------------------- */

static bool has(u32 kind, const char *driver, unsigned int profiles, const char *name)
{
	u32 keys[1024], key, table;
	size_t nr, i;

	if (!ioctl_find(name, &key, &table))
		return false;
	nr = ioctls_list(ioctls_tables(kind, driver), profiles, keys, ARRAY_SIZE(keys));
	for (i = 0; i < nr; i++)
		if (keys[i] == key)
			return true;
	return false;
}

#define DRM		"DRM_IOCTL_"
#define NAMES_MAX	40

/* Ioctls that libdrm and Mesa make for every driver. */
static const char *const common[] = {
	DRM "VERSION", DRM "GET_UNIQUE", DRM "GET_CAP", DRM "SET_CLIENT_CAP", DRM "GEM_CLOSE",
	DRM "SET_CLIENT_NAME", DRM "PRIME_HANDLE_TO_FD", DRM "PRIME_FD_TO_HANDLE",
	DRM "SYNCOBJ_CREATE", DRM "SYNCOBJ_DESTROY", DRM "SYNCOBJ_HANDLE_TO_FD",
	DRM "SYNCOBJ_FD_TO_HANDLE", DRM "SYNCOBJ_WAIT", DRM "SYNCOBJ_RESET", DRM "SYNCOBJ_SIGNAL",
	DRM "SYNCOBJ_TIMELINE_WAIT", DRM "SYNCOBJ_QUERY", DRM "SYNCOBJ_TRANSFER",
	DRM "SYNCOBJ_TIMELINE_SIGNAL", DRM "SYNCOBJ_EVENTFD", "DMA_BUF_IOCTL_SYNC",
	"DMA_BUF_IOCTL_EXPORT_SYNC_FILE", "DMA_BUF_IOCTL_IMPORT_SYNC_FILE", "SYNC_IOC_MERGE",
	"SYNC_IOC_FILE_INFO",
};

/* Ioctls of each driver that its OpenGL and Vulkan drivers in Mesa make. */
static const struct {
	const char *driver;
	const char *prefix;
	const char *names[NAMES_MAX];
} mesa[] = {
	{ "virtio_gpu", DRM "VIRTGPU_",
	  { "GETPARAM", "GET_CAPS", "CONTEXT_INIT", "RESOURCE_CREATE", "RESOURCE_CREATE_BLOB",
	    "RESOURCE_INFO", "MAP", "EXECBUFFER", "TRANSFER_FROM_HOST", "TRANSFER_TO_HOST",
	    "WAIT" } },
	{ "amdgpu", DRM "AMDGPU_",
	  { "INFO", "GEM_CREATE", "GEM_MMAP", "CTX", "BO_LIST", "CS", "GEM_METADATA",
	    "GEM_WAIT_IDLE", "GEM_VA", "WAIT_CS", "GEM_OP", "GEM_USERPTR", "WAIT_FENCES", "VM",
	    "FENCE_TO_HANDLE", "USERQ", "USERQ_SIGNAL", "USERQ_WAIT" } },
	{ "i915", DRM "I915_",
	  { "GETPARAM", "QUERY", "REG_READ", "GET_RESET_STATS", "GEM_GET_APERTURE", "GEM_CREATE",
	    "GEM_CREATE_EXT", "GEM_MMAP", "GEM_MMAP_OFFSET", "GEM_MMAP_GTT", "GEM_EXECBUFFER2",
	    "GEM_EXECBUFFER2_WR", "GEM_CONTEXT_CREATE", "GEM_CONTEXT_CREATE_EXT",
	    "GEM_CONTEXT_DESTROY", "GEM_CONTEXT_GETPARAM", "GEM_CONTEXT_SETPARAM",
	    "GEM_VM_CREATE", "GEM_VM_DESTROY", "GEM_BUSY", "GEM_WAIT", "GEM_SET_DOMAIN",
	    "GEM_SET_TILING", "GEM_GET_TILING", "GEM_SET_CACHING", "GEM_MADVISE", "GEM_USERPTR",
	    "GEM_PREAD", "GEM_PWRITE", "GEM_SW_FINISH", "GEM_THROTTLE" } },
	{ "xe", DRM "XE_",
	  { "DEVICE_QUERY", "GEM_CREATE", "GEM_MMAP_OFFSET", "VM_CREATE", "VM_DESTROY", "VM_BIND",
	    "EXEC_QUEUE_CREATE", "EXEC_QUEUE_DESTROY", "EXEC_QUEUE_GET_PROPERTY", "EXEC",
	    "WAIT_USER_FENCE", "MADVISE" } },
	{ "nouveau", "DRM_",
	  { "IOCTL_NOUVEAU_GETPARAM", "IOCTL_NOUVEAU_CHANNEL_ALLOC",
	    "IOCTL_NOUVEAU_CHANNEL_FREE", "NOUVEAU_NVIF", "NOUVEAU_GROBJ_ALLOC",
	    "NOUVEAU_NOTIFIEROBJ_ALLOC", "NOUVEAU_GPUOBJ_FREE", "IOCTL_NOUVEAU_GEM_NEW",
	    "IOCTL_NOUVEAU_GEM_PUSHBUF", "IOCTL_NOUVEAU_GEM_CPU_PREP",
	    "IOCTL_NOUVEAU_GEM_CPU_FINI", "IOCTL_NOUVEAU_GEM_INFO", "IOCTL_NOUVEAU_VM_INIT",
	    "IOCTL_NOUVEAU_VM_BIND", "IOCTL_NOUVEAU_EXEC" } },
	{ "panfrost", DRM "PANFROST_",
	  { "SUBMIT", "WAIT_BO", "CREATE_BO", "MMAP_BO", "GET_PARAM", "GET_BO_OFFSET",
	    "MADVISE", "SET_LABEL_BO", "JM_CTX_CREATE", "JM_CTX_DESTROY" } },
	{ "panthor", DRM "PANTHOR_",
	  { "DEV_QUERY", "VM_CREATE", "VM_DESTROY", "VM_BIND", "VM_GET_STATE", "BO_CREATE",
	    "BO_MMAP_OFFSET", "GROUP_CREATE", "GROUP_DESTROY", "GROUP_SUBMIT",
	    "GROUP_GET_STATE", "TILER_HEAP_CREATE", "TILER_HEAP_DESTROY", "BO_SET_LABEL",
	    "SET_USER_MMIO_OFFSET" } },
	{ "msm_dpu", DRM "MSM_",
	  { "GET_PARAM", "SET_PARAM", "GEM_NEW", "GEM_INFO", "GEM_CPU_PREP", "GEM_CPU_FINI",
	    "GEM_SUBMIT", "WAIT_FENCE", "GEM_MADVISE", "SUBMITQUEUE_NEW", "SUBMITQUEUE_CLOSE",
	    "SUBMITQUEUE_QUERY", "VM_BIND" } },
	{ "v3d", DRM "V3D_",
	  { "SUBMIT_CL", "WAIT_BO", "CREATE_BO", "MMAP_BO", "GET_PARAM", "GET_BO_OFFSET",
	    "SUBMIT_TFU", "SUBMIT_CSD", "SUBMIT_CPU", "PERFMON_CREATE", "PERFMON_DESTROY",
	    "PERFMON_GET_VALUES", "PERFMON_GET_COUNTER" } },
};

/* Ioctls that no profile has, and that are not those of any other driver's numbers. */
static const char *const never[] = {
	DRM "GEM_FLINK", DRM "GEM_OPEN", DRM "ADD_MAP", DRM "DMA", DRM "LOCK", DRM "AGP_ENABLE",
	DRM "GEM_CHANGE_HANDLE", "DMA_BUF_SET_NAME",
};

static void test_mesa(void)
{
	char name[64];
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(mesa); i++) {
		const char *driver = mesa[i].driver;

		for (j = 0; j < NAMES_MAX && mesa[i].names[j]; j++) {
			snprintf(name, sizeof(name), "%s%s", mesa[i].prefix, mesa[i].names[j]);
			tap_expect(has(VGPU_EXPORT_DRM_RENDER, driver, PROFILE_RENDER, name),
				   "%s draws with %s", driver, name);
			tap_expect(has(VGPU_EXPORT_DRM_RENDER, driver, PROFILE_COMPUTE, name),
				   "%s computes with %s", driver, name);
		}
		for (j = 0; j < ARRAY_SIZE(common); j++)
			tap_expect(has(VGPU_EXPORT_DRM_RENDER, driver, PROFILE_RENDER, common[j]) &&
				   has(VGPU_EXPORT_DRM_RENDER, driver, PROFILE_COMPUTE, common[j]),
				   "%s needs %s", driver, common[j]);
		for (j = 0; j < ARRAY_SIZE(never); j++)
			tap_expect(!has(VGPU_EXPORT_DRM_PRIMARY, driver, PROFILE_RENDER |
					PROFILE_DISPLAY | PROFILE_COMPUTE, never[j]),
				   "%s has no %s", driver, never[j]);
		tap_expect(ioctls_known(VGPU_EXPORT_DRM_RENDER, driver), "%s is known", driver);
	}
	tap_expect(!has(VGPU_EXPORT_DRM_RENDER, "i915", PROFILE_RENDER, DRM "I915_PERF_OPEN"),
		   "drawing measures nothing");
	tap_expect(!has(VGPU_EXPORT_DRM_RENDER, "nouveau", PROFILE_RENDER, DRM "NOUVEAU_SVM_INIT") &&
		   has(VGPU_EXPORT_DRM_RENDER, "nouveau", PROFILE_COMPUTE, DRM "NOUVEAU_SVM_INIT"),
		   "computing alone shares addresses");
	tap_subject("profiles of Mesa's drivers");
}

/* Ioctls that a compositor makes to drive screens. */
static const char *const screens[] = {
	"GETRESOURCES", "GETCRTC", "SETCRTC", "CURSOR", "CURSOR2", "GETENCODER", "GETCONNECTOR",
	"GETPROPERTY", "SETPROPERTY", "GETPROPBLOB", "CREATEPROPBLOB", "DESTROYPROPBLOB", "ADDFB",
	"ADDFB2", "RMFB", "PAGE_FLIP", "DIRTYFB", "CREATE_DUMB", "MAP_DUMB", "DESTROY_DUMB",
	"GETPLANERESOURCES", "GETPLANE", "SETPLANE", "OBJ_GETPROPERTIES", "OBJ_SETPROPERTY",
	"ATOMIC", "SETGAMMA", "CREATE_LEASE", "LIST_LESSEES", "GET_LEASE", "REVOKE_LEASE",
	"CLOSEFB",
};

static void test_display(void)
{
	char name[64];
	u32 key, table;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(screens); i++) {
		snprintf(name, sizeof(name), DRM "MODE_%s", screens[i]);
		tap_expect(has(VGPU_EXPORT_DRM_PRIMARY, "vkms", PROFILE_DISPLAY, name), "%s", name);
		ioctl_find(name, &key, &table);
		tap_expect(has(VGPU_EXPORT_DRM_PRIMARY, "vkms", PROFILE_RENDER, name) ==
			   ioctl_is_query(table, key), "drawing: %s", name);
	}
	tap_expect(has(VGPU_EXPORT_DRM_PRIMARY, "vkms", PROFILE_DISPLAY, DRM "SET_MASTER") &&
		   !has(VGPU_EXPORT_DRM_PRIMARY, "vkms", PROFILE_RENDER, DRM "SET_MASTER"),
		   "becoming master");
	tap_expect(!has(VGPU_EXPORT_DRM_PRIMARY, "amdgpu", PROFILE_DISPLAY, DRM "AMDGPU_CS") &&
		   has(VGPU_EXPORT_DRM_PRIMARY, "amdgpu", PROFILE_DISPLAY | PROFILE_RENDER,
		       DRM "AMDGPU_CS"), "both");
	tap_subject("profile of compositors");
}

/* Words of names of ioctls that change something. */
static const char *const changing[] = {
	"_CREATE", "_SUBMIT", "_EXEC", "_S_FMT", "_WRITE", "_SETCRTC", "_ATOMIC", "_MASTER",
	"_CLOSE", "STREAMON", "_QBUF", "REQBUFS", "_BIND", "_SIGNAL", "_RESET_", "DESTROY", "FLINK",
};

static void test_query(void)
{
	const struct ioctl *ioctl;
	size_t i, j, k;

	for (i = 0; i < ARRAY_SIZE(tables); i++)
		for (j = 0; j < tables[i]->nr; j++) {
			ioctl = &tables[i]->ioctls[j];
			for (k = 0; ioctl->classes & IOCTL_QUERY && k < ARRAY_SIZE(changing); k++)
				tap_expect(!strstr(ioctl->name, changing[k]) ||
					   !strcmp(ioctl->name, DRM "I915_GET_RESET_STATS"),
					   "%s changes nothing", ioctl->name);
		}
	tap_expect(has(VGPU_EXPORT_DRM_RENDER, "i915", 0, DRM "I915_QUERY") &&
		   !has(VGPU_EXPORT_DRM_RENDER, "i915", 0, DRM "I915_GEM_CREATE"), "of i915");
	tap_expect(has(VGPU_EXPORT_NVIDIA, "nvidia", 0, "NV_ESC_CARD_INFO") &&
		   !has(VGPU_EXPORT_NVIDIA, "nvidia", 0, "NV_ESC_RM_CONTROL"), "of NVIDIA");
	tap_expect(has(VGPU_EXPORT_VIDEO, "uvcvideo", 0, "VIDIOC_QUERYCAP") &&
		   !has(VGPU_EXPORT_VIDEO, "uvcvideo", 0, "VIDIOC_S_CTRL"), "of a camera");
	tap_expect(!has(VGPU_EXPORT_PLAIN, "vgpu-mock", 0, "VIDIOC_QUERYCAP"), "of others");
	tap_subject("queries");
}

static void test_drivers(void)
{
	char words[32];

	tap_expect(!ioctls_known(VGPU_EXPORT_PLAIN, "i915"), "no node of DRM");
	tap_expect(!ioctls_known(VGPU_EXPORT_DRM_RENDER, "lima"), "a driver without a table");
	tap_expect(ioctls_known(VGPU_EXPORT_NVIDIA, "nvidia-uvm"), "NVIDIA");
	tap_expect(has(VGPU_EXPORT_NVIDIA, "nvidia-uvm", PROFILE_COMPUTE, "UVM_MIGRATE") &&
		   has(VGPU_EXPORT_NVIDIA, "nvidia", PROFILE_COMPUTE, "NV_ESC_RM_ALLOC") &&
		   !has(VGPU_EXPORT_NVIDIA, "nvidia-uvm", PROFILE_COMPUTE,
			"UVM_TOOLS_READ_PROCESS_MEMORY") &&
		   !has(VGPU_EXPORT_NVIDIA, "nvidia", PROFILE_RENDER, "NV_ESC_RM_I2C_ACCESS"),
		   "NVIDIA's own");
	tap_expect(has(VGPU_EXPORT_VIDEO, "vivid", PROFILE_RENDER, "VIDIOC_QBUF") &&
		   !has(VGPU_EXPORT_VIDEO, "vivid", PROFILE_RENDER, "VIDIOC_DBG_S_REGISTER"),
		   "V4L2");
	tap_expect(has(VGPU_EXPORT_SOUND, "snd_aloop", PROFILE_DISPLAY, "SNDRV_PCM_IOCTL_HW_PARAMS") &&
		   has(VGPU_EXPORT_MEDIA, "vimc", PROFILE_RENDER, "MEDIA_REQUEST_IOC_QUEUE"),
		   "ALSA and media");
	tap_expect(!strcmp(ioctl_name(ioctls_tables(VGPU_EXPORT_NVIDIA, "nvidia"),
				      vgpu_ioctl_key(_IO('F', 0x2a))), "NV_ESC_RM_CONTROL"),
		   "a name of NVIDIA's");
	tap_expect(profile_find("render") == PROFILE_RENDER && !profile_find("rend") &&
		   !profile_find("") && profile_find("all") == PROFILE_ALL, "names of profiles");
	profile_words(PROFILE_RENDER | PROFILE_DISPLAY | PROFILE_COMPUTE, words);
	tap_expect(!strcmp(words, "render, display, compute"), "words");
	tap_subject("drivers and profiles");
}

int main(void)
{
	test_headers();
	test_tables();
	test_mesa();
	test_display();
	test_query();
	test_drivers();
	return tap_done();
}
