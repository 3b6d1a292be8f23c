// SPDX-License-Identifier: GPL-2.0-only
/*
 * The connectors of a forwarded card are in sysfs. Their files have the same contents as on the
 * host, also when a display was unplugged, or when the host's driver was made to believe so.
 */
#include <dirent.h>

#include "drm_node.h"

#define CHANGE_MS	15000

static const char *const files[] = {
	"status", "enabled", "dpms", "modes", "edid", "connector_id",
};

static ssize_t file_read(const char *dir, const char *name, char *data, size_t size)
{
	char file[512];
	ssize_t len = 0, got;
	int fd;

	snprintf(file, sizeof(file), "%s/%s", dir, name);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	while ((got = read(fd, data + len, size - len)) > 0)
		len += got;
	close(fd);
	return got ? -1 : len;
}

static const char *card_of(const char *node)
{
	return strrchr(node, '/') + 1;
}

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

/*
 * Stores the names of a card's connectors, in order, without the card's name. Return: their
 * number.
 */
static unsigned int connectors(const char *node, char names[16][64])
{
	const char *card = card_of(node);
	struct dirent *entry;
	unsigned int nr = 0;
	char path_of[128];
	DIR *dir;

	snprintf(path_of, sizeof(path_of), "/sys/class/drm/%s", card);
	dir = opendir(path_of);
	MUST(dir);
	while ((entry = readdir(dir))) {
		if (strncmp(entry->d_name, card, strlen(card)) || entry->d_name[strlen(card)] != '-')
			continue;
		MUST(nr < 16);
		snprintf(names[nr++], 64, "%.63s", entry->d_name + strlen(card) + 1);
	}
	closedir(dir);
	qsort(names, nr, 64, compare);
	return nr;
}

/* Waits until the host has announced the connectors, soon after the card. Return: their number. */
static unsigned int await_connectors(char names[16][64])
{
	__u64 end = now_ms() + CHANGE_MS;
	unsigned int nr;

	while (!(nr = connectors(path, names)) && now_ms() < end)
		sleep_ms(20);
	return nr;
}

static void dir_of(char *dir, size_t size, const char *node, const char *connector)
{
	/* Programs find all connectors in the class's directory. */
	snprintf(dir, size, "/sys/class/drm/%.32s-%.63s", card_of(node), connector);
}

/*
 * Waits until the guest's files of a connector are as the host's. Changes by earlier programs
 * arrive after a while.
 */
static void await_same(const char *node, const char *connector)
{
	static char here[65536], there[65536];
	__u64 end = now_ms() + CHANGE_MS;
	char dir[256], real[256];
	unsigned int i = 0;
	ssize_t len;

	if (!forwarded || getenv("VGPU_RECORDED"))
		return;
	dir_of(dir, sizeof(dir), path, connector);
	dir_of(real, sizeof(real), diff_node("VGPU_REAL", node), connector);
	while (i < sizeof(files) / sizeof(files[0]) && now_ms() < end) {
		len = file_read(dir, files[i], here, sizeof(here));
		if (len != file_read(real, files[i], there, sizeof(there)) ||
		    (len > 0 && memcmp(here, there, len)))
			sleep_ms(20);
		else
			i++;
	}
	CHECK(i == sizeof(files) / sizeof(files[0]));
}

static void look(const char *connector)
{
	static char data[65536];
	char dir[256];
	unsigned int i;
	ssize_t len;

	dir_of(dir, sizeof(dir), path, connector);
	log_line("%s", connector);
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		len = file_read(dir, files[i], data, sizeof(data));
		if (len < 0)
			log_line("  no %s", files[i]);
		else
			log_bytes(files[i], data, len);
	}
	len = file_read(dir, "uevent", data, sizeof(data));
	log_line("uevent: %.*s", (int)(len < 0 ? 0 : len), data);
}

static bool await_status(const char *connector, const char *status)
{
	__u64 end = now_ms() + CHANGE_MS;
	char dir[256], data[64];
	ssize_t len;

	dir_of(dir, sizeof(dir), path, connector);
	do {
		len = file_read(dir, "status", data, sizeof(data) - 1);
		if (len > 0 && !strncmp(data, status, strlen(status)))
			return true;
		sleep_ms(20);
	} while (now_ms() < end);
	log_line("status of %s: %.*s", connector, (int)(len < 0 ? 0 : len), data);
	return false;
}

static void force(const char *real, const char *connector, const char *what)
{
	char file[300];
	int fd;

	dir_of(file, 256, real, connector);
	strcat(file, "/status");
	fd = open(file, O_WRONLY | O_CLOEXEC);
	MUST(fd >= 0);
	MUST(write(fd, what, strlen(what)) == (ssize_t)strlen(what));
	close(fd);
}

/* Has root of the host force the display off, and then has the driver detect it again. */
static void unplug(const char *node, const char *connector)
{
	const char *real = diff_node("VGPU_REAL", node);

	if (!forwarded || getenv("VGPU_RECORDED") || geteuid())
		return;
	force(real, connector, "off");
	CHECK(await_status(connector, "disconnected"));
	force(real, connector, "detect");
	CHECK(await_status(connector, "connected"));
}

static void card(const char *node)
{
	char names[16][64];
	unsigned int nr, i;

	nr = await_connectors(names);
	CHECK(nr);
	log_line("%u connectors", nr);
	for (i = 0; i < nr; i++) {
		await_same(node, names[i]);
		look(names[i]);
	}
	if (nr)
		unplug(node, names[0]);
}

DIFF_TEST_NODE(virtio_gpu, "GPU_CARD", 60) { card("GPU_CARD"); }
DIFF_TEST_NODE(vkms, "VKMS_CARD", 60) { card("VKMS_CARD"); }

TEST_HARNESS_MAIN
