// SPDX-License-Identifier: MIT
/* Settings that libvirt needs to let its QEMUs open a window (Documentation/admin/window.rst). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vgpuctl/doctor/doctor.h"

#define QEMU_CONF	"/etc/libvirt/qemu.conf"
#define PROFILE		"/etc/apparmor.d/abstractions/libvirt-qemu"

/* Check whether a line of the text that is no comment has this word. */
static bool has_word(const char *text, const char *word)
{
	const char *at, *line;

	for (at = text ? strstr(text, word) : NULL; at; at = strstr(at + 1, word)) {
		line = memrchr(text, '\n', at - text);
		line = line ? line + 1 : text;
		if (!memchr(line, '#', at - line))
			return true;
	}
	return false;
}

static bool file_has(const struct doctor *doctor, const char *path, const char *word)
{
	char *text = root_read(&doctor->root, path, NULL);
	bool has = has_word(text, word);

	free(text);
	return has;
}

static bool dir_has(const struct doctor *doctor, const char *path, const char *word)
{
	DIR *dir = root_dir(&doctor->root, path);
	struct dirent *entry;
	bool has = false;
	char file[600];

	while (dir && !has && (entry = readdir(dir))) {
		snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
		has = file_has(doctor, file, word);
	}
	if (dir)
		closedir(dir);
	return has;
}

/* Examine the list of devices that libvirt's QEMUs may open. */
static void examine_list(struct doctor *doctor, uint32_t cid)
{
	char *text = root_read(&doctor->root, QEMU_CONF, NULL), path[64], about[16];

	snprintf(about, sizeof(about), "%" PRIu32, cid);
	snprintf(path, sizeof(path), "\"/dev/vgpu-window-%" PRIu32 "\"", cid);
	if (!text) {
		found(doctor, UNSEEN, "libvirt", "", QEMU_CONF " cannot be read, so libvirt's list of devices was not examined");
		advise(doctor, "run this command as root");
	} else if (!has_word(text, path)) {
		found(doctor, WARNING, "libvirt-device-list", about,
		      QEMU_CONF " does not name %s: a QEMU that libvirt starts may not open it (Permission denied)",
		      path);
		advise(doctor, "add it to cgroup_device_acl with the default entries ('With libvirt' in Documentation/admin/window.rst), then: systemctl restart libvirtd (or virtqemud)");
	}
	free(text);
}

static void examine_profile(struct doctor *doctor)
{
	static const char word[] = "/dev/vgpu-window-";
	char line[256];

	if (!root_line(&doctor->root, "/sys/module/apparmor/parameters/enabled", line) ||
	    line[0] != 'Y' || !root_exists(&doctor->root, PROFILE))
		return;
	if (file_has(doctor, PROFILE, word) || dir_has(doctor, PROFILE ".d", word) ||
	    file_has(doctor, "/etc/apparmor.d/local/abstractions/libvirt-qemu", word))
		return;
	found(doctor, WARNING, "apparmor-rule", "",
	      "AppArmor's profile of libvirt's QEMUs does not let them open windows (Permission denied)");
	advise(doctor, "write '/dev/vgpu-window-* rw,' to " PROFILE ".d/vgpu (libvirt up to 9: /etc/apparmor.d/local/abstractions/libvirt-qemu)");
}

void libvirt_examine(struct doctor *doctor)
{
	const struct wanted *wanted;
	bool windows = false;
	size_t i, j;
	char line[256];

	if (!root_exists(&doctor->root, QEMU_CONF) || !strcmp(doctor->settings.engine, "user") ||
	    (doctor->info && doctor->info->user_engine))
		return;
	for (i = 0; i < doctor->settings.nr_exports; i++) {
		wanted = &doctor->settings.exports[i];
		if (!wanted->window)
			continue;
		windows = true;
		for (j = 0; j < wanted->nr_guests; j++)
			examine_list(doctor, wanted->guests[j]);
	}
	if (!windows)
		return;
	examine_profile(doctor);
	if (root_line(&doctor->root, "/sys/fs/selinux/enforce", line) && line[0] == '1') {
		found(doctor, NOTE, "selinux", "",
		      "SELinux confines libvirt's QEMUs; whether they can open windows was not tried");
		advise(doctor, "if QEMU is refused a window, ausearch -m avc says so");
	}
}
