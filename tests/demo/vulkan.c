// SPDX-License-Identifier: GPL-2.0-only
/*
 * vulkan: runs a Vulkan compute shader on a DRM node and checks its results.
 *
 *	vulkan NODE|VENDOR [DISPATCHES]
 *
 * Each dispatch makes a step of a random generator (step.comp) in each of 65536 numbers. They
 * are in memory of the device that stays mapped: the program compares all of them with its own
 * as soon as the fence is signalled, and replaces some by new ones. Prints the device's name,
 * its driver's name, and dispatches per second, without the first one.
 *
 * The device is the one that reports to be NODE, so no other one, and no software driver, takes
 * its place. For drivers without a node, a number is the PCI vendor of the device; the first
 * such device is used.
 *
 * Exit status: 0 all results are right, 1 not (and why).
 */
#include <err.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include <vulkan/vulkan.h>

#define GROUP		64
#define NUMBERS		65536
#define BYTES		(NUMBERS * sizeof(uint32_t))
/* The program writes one in so many numbers. */
#define WRITTEN		16
#define TIMEOUT_NS	60000000000ull

static const uint32_t step_code[] = {
#include "step.spv.h"
};

static VkPhysicalDevice physical;
static VkDevice device;
static VkQueue queue;
static uint32_t family;
static VkBuffer buffer;
static uint32_t *number;
static VkPipelineLayout layout;
static VkPipeline pipeline;
static VkDescriptorSet set;
static VkCommandBuffer commands;
static VkFence fence;

static void must(VkResult result, const char *what)
{
	if (result < 0)
		errx(1, "%s: Vulkan error %d", what, result);
}

static bool has_extension(VkPhysicalDevice candidate, const char *name)
{
	VkExtensionProperties *list;
	uint32_t count = 0, i;
	bool found = false;

	must(vkEnumerateDeviceExtensionProperties(candidate, NULL, &count, NULL), "extensions");
	list = calloc(count, sizeof(*list));
	if (!list)
		err(1, "extensions");
	must(vkEnumerateDeviceExtensionProperties(candidate, NULL, &count, list), "extensions");
	for (i = 0; i < count; i++)
		found |= !strcmp(list[i].extensionName, name);
	free(list);
	return found;
}

/* Return: true if this is the device of the vendor, or of the node if no vendor is given. */
static bool is_wanted(VkPhysicalDevice candidate, dev_t node, uint32_t vendor)
{
	VkPhysicalDeviceDrmPropertiesEXT drm = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRM_PROPERTIES_EXT,
	};
	VkPhysicalDeviceDriverProperties driver = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES,
		.pNext = &drm,
	};
	VkPhysicalDeviceProperties2 properties = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
		.pNext = &driver,
	};

	if (vendor)
		driver.pNext = NULL;
	else if (!has_extension(candidate, VK_EXT_PHYSICAL_DEVICE_DRM_EXTENSION_NAME))
		return false;
	vkGetPhysicalDeviceProperties2(candidate, &properties);
	if (vendor && properties.properties.vendorID != vendor)
		return false;
	if (!vendor &&
	    !(drm.hasRender && makedev(drm.renderMajor, drm.renderMinor) == node) &&
	    !(drm.hasPrimary && makedev(drm.primaryMajor, drm.primaryMinor) == node))
		return false;
	printf("device: %s, driver: %s, %s\n", properties.properties.deviceName,
	       driver.driverName, driver.driverInfo);
	return true;
}

static void find_device(const char *path)
{
	VkApplicationInfo application = {
		.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
		.apiVersion = VK_API_VERSION_1_2,
	};
	VkInstanceCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
		.pApplicationInfo = &application,
	};
	VkPhysicalDevice candidates[16];
	VkInstance instance;
	struct stat st;
	uint32_t count = 16, i;
	unsigned long vendor;
	VkResult result;
	char *end;

	vendor = strtoul(path, &end, 0);
	if (*end)
		vendor = 0;
	if (!vendor && stat(path, &st))
		err(1, "%s", path);
	must(vkCreateInstance(&info, NULL, &instance), "instance");
	result = vkEnumeratePhysicalDevices(instance, &count, candidates);
	/* The loader returns this error if no driver has found a device. */
	if (result == VK_ERROR_INITIALIZATION_FAILED)
		count = 0;
	else
		must(result, "devices");
	for (i = 0; i < count; i++) {
		if (is_wanted(candidates[i], vendor ? 0 : st.st_rdev, vendor)) {
			physical = candidates[i];
			return;
		}
	}
	errx(1, "%s: none of %u Vulkan devices is %s", path, count,
	     vendor ? "that vendor's" : "this node");
}

static void open_device(void)
{
	VkQueueFamilyProperties families[16];
	float priority = 1;
	VkDeviceQueueCreateInfo queue_info = {
		.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
		.queueCount = 1,
		.pQueuePriorities = &priority,
	};
	VkDeviceCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
		.queueCreateInfoCount = 1,
		.pQueueCreateInfos = &queue_info,
	};
	uint32_t count = 16;

	vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
	while (family < count && !(families[family].queueFlags & VK_QUEUE_COMPUTE_BIT))
		family++;
	if (family == count)
		errx(1, "the device has no queue that computes");
	queue_info.queueFamilyIndex = family;
	must(vkCreateDevice(physical, &info, NULL, &device), "device");
	vkGetDeviceQueue(device, family, 0, &queue);
}

/* Makes the buffer of numbers, in memory that device and program can access at any time. */
static void make_buffer(void)
{
	const VkMemoryPropertyFlags wanted =
		VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
	VkBufferCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
		.size = BYTES,
		.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
	};
	VkMemoryAllocateInfo allocate = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO };
	VkPhysicalDeviceMemoryProperties properties;
	VkMemoryRequirements needs;
	VkDeviceMemory memory;
	uint32_t type = 0;

	must(vkCreateBuffer(device, &info, NULL, &buffer), "buffer");
	vkGetBufferMemoryRequirements(device, buffer, &needs);
	vkGetPhysicalDeviceMemoryProperties(physical, &properties);
	while (type < properties.memoryTypeCount &&
	       (!(needs.memoryTypeBits & 1u << type) ||
		(properties.memoryTypes[type].propertyFlags & wanted) != wanted))
		type++;
	if (type == properties.memoryTypeCount)
		errx(1, "the device has no memory that can be mapped");
	allocate.allocationSize = needs.size;
	allocate.memoryTypeIndex = type;
	must(vkAllocateMemory(device, &allocate, NULL, &memory), "memory");
	must(vkBindBufferMemory(device, buffer, memory, 0), "memory of the buffer");
	must(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, (void **)&number), "mapping");
}

static void make_pipeline(void)
{
	VkDescriptorSetLayoutBinding binding = {
		.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
		.descriptorCount = 1,
		.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
	};
	VkDescriptorSetLayoutCreateInfo set_info = {
		.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
		.bindingCount = 1,
		.pBindings = &binding,
	};
	VkPushConstantRange push = {
		.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
		.size = sizeof(uint32_t),
	};
	VkDescriptorSetLayout set_layout;
	VkPipelineLayoutCreateInfo layout_info = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
		.setLayoutCount = 1,
		.pSetLayouts = &set_layout,
		.pushConstantRangeCount = 1,
		.pPushConstantRanges = &push,
	};
	VkShaderModuleCreateInfo module_info = {
		.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
		.codeSize = sizeof(step_code),
		.pCode = step_code,
	};
	VkComputePipelineCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
		.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
		.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT,
		.stage.pName = "main",
	};
	VkDescriptorPoolSize size = {
		.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
		.descriptorCount = 1,
	};
	VkDescriptorPoolCreateInfo pool_info = {
		.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
		.maxSets = 1,
		.poolSizeCount = 1,
		.pPoolSizes = &size,
	};
	VkDescriptorSetAllocateInfo allocate = {
		.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
		.descriptorSetCount = 1,
		.pSetLayouts = &set_layout,
	};
	VkDescriptorBufferInfo whole = { .buffer = buffer, .range = VK_WHOLE_SIZE };
	VkWriteDescriptorSet write = {
		.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
		.descriptorCount = 1,
		.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
		.pBufferInfo = &whole,
	};
	VkDescriptorPool pool;

	must(vkCreateDescriptorSetLayout(device, &set_info, NULL, &set_layout), "set layout");
	must(vkCreatePipelineLayout(device, &layout_info, NULL, &layout), "layout");
	must(vkCreateShaderModule(device, &module_info, NULL, &info.stage.module), "shader");
	info.layout = layout;
	must(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline),
	     "pipeline");
	must(vkCreateDescriptorPool(device, &pool_info, NULL, &pool), "pool");
	allocate.descriptorPool = pool;
	must(vkAllocateDescriptorSets(device, &allocate, &set), "set");
	write.dstSet = set;
	vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
}

static void make_commands(void)
{
	VkCommandPoolCreateInfo pool_info = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
		.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
		.queueFamilyIndex = family,
	};
	VkCommandBufferAllocateInfo allocate = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
		.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
		.commandBufferCount = 1,
	};
	VkFenceCreateInfo fence_info = { .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO };

	must(vkCreateCommandPool(device, &pool_info, NULL, &allocate.commandPool), "pool");
	must(vkAllocateCommandBuffers(device, &allocate, &commands), "commands");
	must(vkCreateFence(device, &fence_info, NULL, &fence), "fence");
}

static void dispatch(uint32_t turn)
{
	VkCommandBufferBeginInfo begin = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
		.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
	};
	VkMemoryBarrier barrier = {
		.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
		.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
		.dstAccessMask = VK_ACCESS_HOST_READ_BIT,
	};
	VkSubmitInfo submit = {
		.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
		.commandBufferCount = 1,
		.pCommandBuffers = &commands,
	};
	VkResult result;

	must(vkBeginCommandBuffer(commands, &begin), "begin");
	vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
	vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0,
				NULL);
	vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(turn), &turn);
	vkCmdDispatch(commands, NUMBERS / GROUP, 1, 1);
	vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
			     VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
	must(vkEndCommandBuffer(commands), "end");
	must(vkQueueSubmit(queue, 1, &submit, fence), "submit");
	result = vkWaitForFences(device, 1, &fence, VK_TRUE, TIMEOUT_NS);
	if (result == VK_TIMEOUT)
		errx(1, "dispatch %u: not done in time", turn);
	must(result, "fence");
	must(vkResetFences(device, 1, &fence), "fence");
}

static void step(uint32_t *expected, uint32_t turn)
{
	uint32_t i, x;

	for (i = 0; i < NUMBERS; i++) {
		x = expected[i] * 1664525u + 1013904223u + turn;
		x ^= x >> 13;
		expected[i] = x + (i << (turn & 7));
	}
}

static void compare(const uint32_t *expected, uint32_t turn)
{
	uint32_t i, got;

	for (i = 0; i < NUMBERS; i++) {
		got = ((volatile uint32_t *)number)[i];
		if (got != expected[i])
			errx(1, "dispatch %u: number %u is %08x, not %08x", turn, i, got,
			     expected[i]);
	}
}

static void write_some(uint32_t *expected, uint32_t turn)
{
	uint32_t i;

	for (i = turn % WRITTEN; i < NUMBERS; i += WRITTEN)
		number[i] = expected[i] = (turn + 1) * 2654435761u ^ i;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	static uint32_t expected[NUMBERS];
	uint32_t dispatches = argc > 2 ? strtoul(argv[2], NULL, 0) : 20;
	double start = 0;
	uint32_t i, turn;

	if (argc < 2 || argc > 3 || dispatches < 2)
		errx(2, "usage: vulkan NODE|VENDOR [DISPATCHES]");
	find_device(argv[1]);
	open_device();
	make_buffer();
	make_pipeline();
	make_commands();
	for (i = 0; i < NUMBERS; i++)
		number[i] = expected[i] = i * 2654435761u;
	for (turn = 0; turn < dispatches; turn++) {
		if (turn == 1) {
			/*
			 * A test that waits until the program works can read the device's name
			 * from here on.
			 */
			fflush(stdout);
			start = now();
		}
		dispatch(turn);
		step(expected, turn);
		compare(expected, turn);
		write_some(expected, turn);
	}
	printf("%u dispatches, %u results each, all right: %.1f per second\n", dispatches,
	       NUMBERS, (dispatches - 1) / (now() - start));
	return 0;
}
