// SPDX-License-Identifier: GPL-2.0-only
/*
 * A node of the host's class sound is one of that class here, on a card of that
 * class. alsa-lib takes those cards that have a /dev/snd/controlCN, and asks them
 * by ioctl; udev and sound servers look at sysfs as well.
 *
 * Cards of this machine are numbered from 0, the host's from 31 down, of the 32
 * that alsa-lib tries. ALSA itself knows nothing of them: its core would answer for
 * the control device on its own.
 */
#include <linux/cdev.h>
#include <linux/compat.h>
#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/uaccess.h>

#include <sound/core.h>
#include <sound/asound.h>

#include "compat.h"
#include "export.h"
#include "file.h"
#include "object.h"
#include "parent.h"
#include "pci.h"
#include "sound.h"

#define SOUND_MINORS	256
/* sound/core.h says how many there may be here, alsa-lib's card.c 32. */
#define SOUND_CARDS	32

/**
 * struct vgpu_sound_card - what nodes with the same parent have in common
 * @dev: in the class; freed with its last node
 * @entry: in sound_cards
 * @nodes: struct vgpu_sound
 * @number: N of cardN
 */
struct vgpu_sound_card {
	struct device dev;
	struct list_head entry;
	struct list_head nodes;
	unsigned int number;
};

/**
 * struct vgpu_sound - a node; freed with its last open file
 * @dev: in the class, on the card
 * @cdev: opens it
 * @entry: in vgpu_sound_card.nodes
 * @export: what it is a node of (a reference)
 * @card: number of its card
 */
struct vgpu_sound {
	struct device dev;
	struct cdev cdev;
	struct list_head entry;
	struct vgpu_export *export;
	unsigned int card;
};

static DEFINE_MUTEX(sound_lock);
static LIST_HEAD(sound_cards);
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
	int ret;

	/* The node's cdev has a reference to this module already. */
	__module_get(THIS_MODULE);
	replace_fops(file, &vgpu_file_fops);
	ret = vgpu_file_open_export(file, sound->export, NULL);
	if (!ret)
		WRITE_ONCE(vgpu_file_object(file)->card, sound->card);
	return ret;
}

static const struct file_operations sound_fops = {
	.owner = THIS_MODULE,
	.open = sound_open,
};

/*
 * Where a struct that an ioctl fills says which card it is; they are the same for
 * 32-bit programs. Return: offset, or -1.
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
		return -1;
	}
}

/**
 * vgpu_sound_ioctl_done - the host's number of the card becomes the one here
 * @object: opened through a node of ours, or otherwise
 * @cmd: ioctl that succeeded
 * @arg: of the calling program
 *
 * A program that takes its argument away meanwhile has itself to blame.
 */
void vgpu_sound_ioctl_done(const struct vgpu_object *object, unsigned int cmd, unsigned long arg)
{
	int card = READ_ONCE(object->card);
	int offset = card < 0 ? -1 : sound_card_offset(cmd);

	if (offset >= 0 && put_user(card, (int __user *)(arg + offset)))
		pr_debug("%s: no number of a card\n", current->comm);
}

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
}

static bool sound_card_exists(const char *name)
{
	struct device *dev = class_find_device_by_name(VGPU_SOUND_CLASS, name);

	put_device(dev);
	return dev;
}

/* The highest number that is free. */
static int sound_card_set_name(struct vgpu_sound_card *card)
{
	int number, ret;

	for (number = SOUND_CARDS - 1; number >= 0; number--) {
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

static struct vgpu_sound_card *sound_card_get(struct device *parent)
{
	struct vgpu_sound_card *card;
	int ret;

	list_for_each_entry(card, &sound_cards, entry)
		if (card->dev.parent == parent)
			return card;
	card = kzalloc(sizeof(*card), GFP_KERNEL);
	if (!card)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&card->nodes);
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
	list_add(&card->entry, &sound_cards);
	return card;
}

/* Its last node may be gone. */
static void sound_card_put(struct vgpu_sound_card *card)
{
	if (!list_empty(&card->nodes))
		return;
	list_del(&card->entry);
	device_unregister(&card->dev);
}

static void sound_free(struct device *dev)
{
	struct vgpu_sound *sound = container_of(dev, struct vgpu_sound, dev);

	ida_free(&sound_minors, MINOR(dev->devt));
	vgpu_export_put(sound->export);
	kfree(sound);
}

/*
 * The host's "pcmC0D3p" is "pcmC31D3p" here. Return: 0, or -EINVAL: it is called
 * otherwise; -ENOMEM.
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

static int sound_register(struct vgpu_sound_card *card, struct vgpu_export *export)
{
	struct vgpu_sound *sound = kzalloc(sizeof(*sound), GFP_KERNEL);
	int ret;

	if (!sound)
		return -ENOMEM;
	ret = ida_alloc_max(&sound_minors, SOUND_MINORS - 1, GFP_KERNEL);
	if (ret < 0) {
		kfree(sound);
		return ret;
	}
	device_initialize(&sound->dev);
	sound->dev.class = VGPU_SOUND_CLASS;
	sound->dev.parent = &card->dev;
	sound->dev.devt = MKDEV(MAJOR(sound_devt), ret);
	sound->dev.release = sound_free;
	sound->export = vgpu_export_get(export);
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
		return ret;
	}
	list_add(&sound->entry, &card->nodes);
	if (sysfs_create_link(&export->dev.kobj, &sound->dev.kobj, "sound"))
		dev_dbg(&export->dev, "no link to its ALSA node\n");
	return 0;
}

static void sound_unregister(struct vgpu_sound *sound)
{
	list_del(&sound->entry);
	sysfs_remove_link(&sound->export->dev.kobj, "sound");
	cdev_device_del(&sound->cdev, &sound->dev);
	put_device(&sound->dev);
}

/**
 * vgpu_sound_add - an export is one of ALSA's nodes
 * @export: it, with a parent
 */
void vgpu_sound_add(struct vgpu_export *export)
{
	struct device *parent = vgpu_parent_device(export->parent);
	struct vgpu_sound_card *card;
	int ret = -ENODEV;

	vgpu_pci_lock();
	mutex_lock(&sound_lock);
	if (!device_is_registered(parent))
		goto out_unlock;
	card = sound_card_get(parent);
	if (IS_ERR(card)) {
		ret = PTR_ERR(card);
		goto out_unlock;
	}
	ret = sound_register(card, export);
	sound_card_put(card);

out_unlock:
	mutex_unlock(&sound_lock);
	vgpu_pci_unlock();
	if (ret)
		dev_dbg(&export->dev, "no ALSA node (%d)\n", ret);
}

/* An export is gone. */
void vgpu_sound_del(struct vgpu_export *export)
{
	struct vgpu_sound_card *card;
	struct vgpu_sound *sound;

	vgpu_pci_lock();
	mutex_lock(&sound_lock);
	list_for_each_entry(card, &sound_cards, entry) {
		list_for_each_entry(sound, &card->nodes, entry) {
			if (sound->export != export)
				continue;
			sound_unregister(sound);
			sound_card_put(card);
			goto out_unlock;
		}
	}

out_unlock:
	mutex_unlock(&sound_lock);
	vgpu_pci_unlock();
}

/**
 * vgpu_sound_orphan - a parent is being removed, maybe not by us
 * @parent: it; vgpu_pci_lock() is held
 */
void vgpu_sound_orphan(struct device *parent)
{
	struct vgpu_sound_card *card, *next_card;
	struct vgpu_sound *sound, *next;

	mutex_lock(&sound_lock);
	list_for_each_entry_safe(card, next_card, &sound_cards, entry) {
		if (card->dev.parent != parent)
			continue;
		list_for_each_entry_safe(sound, next, &card->nodes, entry)
			sound_unregister(sound);
		sound_card_put(card);
	}
	mutex_unlock(&sound_lock);
}

int vgpu_sound_global_init(void)
{
	return alloc_chrdev_region(&sound_devt, 0, SOUND_MINORS, "vgpu-sound");
}

void vgpu_sound_global_exit(void)
{
	unregister_chrdev_region(sound_devt, SOUND_MINORS);
}
