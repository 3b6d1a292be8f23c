// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sound nodes: each node of the host's class sound has a node of that class in the guest, on a
 * card of that class. alsa-lib uses the cards that have a /dev/snd/controlCN, and queries them
 * by ioctls; udev and sound servers read sysfs as well.
 *
 * Cards of this machine have numbers from 0 on, the host's cards from 31 down to 16; alsa-lib
 * tries 32 numbers. ALSA's core does not know of the host's cards: it would answer ioctls on
 * the control device by itself.
 */
#include <linux/cdev.h>
#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/uaccess.h>

#include <sound/core.h>
#include <sound/asound.h>

#include "compat.h"
#include "file/class.h"
#include "file/file.h"
#include "file/object.h"
#include "link/export.h"
#include "node/device.h"
#include "node/node.h"
#include "node/sound.h"

#define SOUND_MINORS	256
/* Number of cards in alsa-lib (card.c); sound/core.h has its own limit for the kernel. */
#define SOUND_CARDS	32
#define SOUND_CARD_MIN	16

/**
 * struct vgpu_sound_card - nodes with the same parent
 * @group: the nodes
 * @dev: device of the card in the class; freed with its last node
 * @number: number N of cardN
 */
struct vgpu_sound_card {
	struct vgpu_node_group group;
	struct device dev;
	unsigned int number;
};

/**
 * struct vgpu_sound - sound node; freed with its last open file
 * @node: node of node.c
 * @dev: device in the class, child of the card
 * @cdev: character device
 * @card: number of the card
 */
struct vgpu_sound {
	struct vgpu_node node;
	struct device dev;
	struct cdev cdev;
	unsigned int card;
};

static DEFINE_IDA(sound_minors);
static dev_t sound_devt;

static struct vgpu_sound_card *to_vgpu_sound_card(struct device *dev)
{
	return container_of(dev, struct vgpu_sound_card, dev);
}

/* --- open files ----------------------------------------------------------- */

static int sound_open(struct inode *inode, struct file *file)
{
	struct vgpu_sound *sound = container_of(inode->i_cdev, struct vgpu_sound, cdev);
	int ret = vgpu_node_open(file, &sound->node, NULL);

	if (!ret)
		WRITE_ONCE(vgpu_file_object(file)->node.card, sound->card);
	return ret;
}

static const struct file_operations sound_fops = {
	.owner = THIS_MODULE,
	.open = sound_open,
};

/*
 * Return: true for SNDRV_UMP_IOCTL_{ENDPOINT,BLOCK}_INFO and
 * SNDRV_CTL_IOCTL_UMP_{ENDPOINT,BLOCK}_INFO, which some kernels lack. They fill in struct
 * snd_ump_endpoint_info and struct snd_ump_block_info.
 */
static bool sound_is_ump_info(unsigned int cmd)
{
	unsigned int nr = _IOC_NR(cmd);

	return _IOC_TYPE(cmd) == 'W' ? nr == 0x40 || nr == 0x41 :
	       _IOC_TYPE(cmd) == 'U' && (nr == 0x44 || nr == 0x45);
}

/*
 * Find the card number in a struct that an ioctl fills in. The structs are the same for 32-bit
 * programs. Return: offset of the number, or -1.
 */
static int sound_card_offset(unsigned int cmd)
{
	switch (cmd) {
	case SNDRV_CTL_IOCTL_CARD_INFO:
		return offsetof(struct snd_ctl_card_info, card);
	case SNDRV_CTL_IOCTL_PCM_INFO:
	case SNDRV_PCM_IOCTL_INFO:
		return offsetof(struct snd_pcm_info, card);
	case SNDRV_CTL_IOCTL_RAWMIDI_INFO:
	case SNDRV_RAWMIDI_IOCTL_INFO:
		return offsetof(struct snd_rawmidi_info, card);
	case SNDRV_CTL_IOCTL_HWDEP_INFO:
	case SNDRV_HWDEP_IOCTL_INFO:
		return offsetof(struct snd_hwdep_info, card);
	default:
		return sound_is_ump_info(cmd) ? 0 : -1;
	}
}

/*
 * Replace the host's card number in the results of an ioctl. A program that unmaps its argument
 * meanwhile may miss the change.
 */
static void sound_ioctl_done(const struct vgpu_object *object, unsigned int cmd, unsigned long arg)
{
	int card = READ_ONCE(object->node.card);
	int offset = card < 0 ? -1 : sound_card_offset(cmd);

	if (offset >= 0 && put_user(card, (int __user *)(arg + offset)))
		pr_debug("%s: cannot write the card number to the program's buffer\n",
			 current->comm);
}

const struct vgpu_class_ops vgpu_sound_class_ops = {
	.ioctl_done = sound_ioctl_done,
};

/* --- nodes ---------------------------------------------------------------- */

static ssize_t number_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", to_vgpu_sound_card(dev)->number);
}
static DEVICE_ATTR_RO(number);

static struct attribute *sound_card_attrs[] = {
	&dev_attr_number.attr,
	NULL,
};
ATTRIBUTE_GROUPS(sound_card);

static void sound_card_free(struct device *dev)
{
	kfree(to_vgpu_sound_card(dev));
	vgpu_device_end();
}

static bool sound_card_exists(const char *name)
{
	struct device *dev = class_find_device_by_name(VGPU_SOUND_CLASS, name);

	put_device(dev);
	return dev;
}

/* Name the card by the highest free number. */
static int sound_card_set_name(struct vgpu_sound_card *card)
{
	int number, ret;

	for (number = SOUND_CARDS - 1; number >= SOUND_CARD_MIN; number--) {
		ret = dev_set_name(&card->dev, "card%d", number);
		if (ret)
			return ret;
		if (sound_card_exists(dev_name(&card->dev)))
			continue;
		card->number = number;
		return 0;
	}
	return -ENOSPC;
}

static struct vgpu_node_group *sound_create_group(struct device *parent)
{
	struct vgpu_sound_card *card = kzalloc(sizeof(*card), GFP_KERNEL);
	int ret;

	if (!card)
		return ERR_PTR(-ENOMEM);
	vgpu_device_begin();
	device_initialize(&card->dev);
	card->dev.class = VGPU_SOUND_CLASS;
	card->dev.parent = parent;
	card->dev.groups = sound_card_groups;
	card->dev.release = sound_card_free;
	ret = sound_card_set_name(card);
	if (!ret)
		ret = device_add(&card->dev);
	if (ret) {
		put_device(&card->dev);
		return ERR_PTR(ret);
	}
	return &card->group;
}

static void sound_destroy_group(struct vgpu_node_group *group)
{
	device_unregister(&container_of(group, struct vgpu_sound_card, group)->dev);
}

static void sound_free(struct device *dev)
{
	struct vgpu_sound *sound = container_of(dev, struct vgpu_sound, dev);

	ida_free(&sound_minors, MINOR(dev->devt));
	vgpu_export_put(sound->node.export);
	kfree(sound);
	vgpu_device_end();
}

/*
 * Name a node: the host's "pcmC0D3p" becomes "pcmC31D3p" with the guest's card number.
 *
 * Return: 0, -EINVAL for a name of another form, or -ENOMEM.
 */
static int sound_set_name(struct vgpu_sound *sound, const char *host)
{
	const char *rest = host;
	size_t prefix;

	while (islower(*rest))
		rest++;
	prefix = rest - host;
	if (!prefix || *rest++ != 'C' || !isdigit(*rest))
		return -EINVAL;
	while (isdigit(*rest))
		rest++;
	if (rest[strspn(rest, "D0123456789cp")])
		return -EINVAL;
	return dev_set_name(&sound->dev, "%.*sC%u%s", (int)prefix, host, sound->card, rest);
}

static struct vgpu_node *sound_create(struct vgpu_node_group *group, struct vgpu_export *export)
{
	struct vgpu_sound_card *card = container_of(group, struct vgpu_sound_card, group);
	struct vgpu_sound *sound = kzalloc(sizeof(*sound), GFP_KERNEL);
	int ret;

	if (!sound)
		return ERR_PTR(-ENOMEM);
	ret = ida_alloc_max(&sound_minors, SOUND_MINORS - 1, GFP_KERNEL);
	if (ret < 0) {
		kfree(sound);
		return ERR_PTR(ret);
	}
	vgpu_device_begin();
	device_initialize(&sound->dev);
	sound->dev.class = VGPU_SOUND_CLASS;
	sound->dev.parent = &card->dev;
	sound->dev.devt = MKDEV(MAJOR(sound_devt), ret);
	sound->dev.release = sound_free;
	sound->node.export = vgpu_export_get(export);
	sound->node.dev = &sound->dev;
	sound->card = card->number;
	cdev_init(&sound->cdev, &sound_fops);
	sound->cdev.owner = THIS_MODULE;
	ret = sound_set_name(sound, export->title);
	if (!ret && sound_card_exists(dev_name(&sound->dev)))
		ret = -EEXIST;
	if (!ret)
		ret = cdev_device_add(&sound->cdev, &sound->dev);
	if (ret) {
		put_device(&sound->dev);
		return ERR_PTR(ret);
	}
	return &sound->node;
}

static void sound_destroy(struct vgpu_node *node)
{
	struct vgpu_sound *sound = container_of(node, struct vgpu_sound, node);

	cdev_device_del(&sound->cdev, &sound->dev);
	put_device(&sound->dev);
}

const struct vgpu_node_ops vgpu_sound_node_ops = {
	.class = "sound",
	.create_group = sound_create_group,
	.destroy_group = sound_destroy_group,
	.create = sound_create,
	.destroy = sound_destroy,
};

int vgpu_sound_global_init(void)
{
	return alloc_chrdev_region(&sound_devt, 0, SOUND_MINORS, "vgpu-sound");
}

void vgpu_sound_global_exit(void)
{
	unregister_chrdev_region(sound_devt, SOUND_MINORS);
	ida_destroy(&sound_minors);
}
