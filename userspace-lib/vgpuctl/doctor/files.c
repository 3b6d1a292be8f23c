// SPDX-License-Identifier: MIT
/* Files of settings: who may change and read them, and which vgpud does not read. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "vgpuctl/doctor/doctor.h"

/* Ends of names by which people put a file aside. */
static const char *const aside[] = { ".off", "~", ".bak", ".disabled", ".dpkg-old", ".dpkg-dist",
				     ".rpmsave", ".rpmnew", ".orig" };

static bool ends_with(const char *name, const char *end)
{
	size_t len = strlen(name), end_len = strlen(end);

	return len >= end_len && !strcmp(name + len - end_len, end);
}

/* Examine the owner and the mode of a file or directory. Who may change it is as powerful as root. */
static void examine_mode(struct doctor *doctor, const char *path)
{
	bool by_group, by_all;
	struct stat st;

	if (root_stat(&doctor->root, path, &st))
		return;
	by_all = st.st_mode & 002;
	by_group = st.st_mode & 020 && st.st_gid;
	if (st.st_uid) {
		found(doctor, ERROR, "settings-owner", path,
		      "%s belongs to user %" PRIu32 ", who can so export any device; vgpud may be unable to read it",
		      path, st.st_uid);
		advise(doctor, "chown root: %s", path);
	}
	if (by_group || by_all) {
		found(doctor, ERROR, "settings-writable", path,
		      "%s can be changed by %s, who can so export any device", path,
		      by_all ? "everybody" : "its group");
		advise(doctor, "chmod go-w %s", path);
	}
	if (S_ISREG(st.st_mode) && !(st.st_mode & 0400)) {
		found(doctor, ERROR, "settings-unreadable", path,
		      "%s cannot be read by its owner, nor by vgpud, which has no rights beyond that in its service",
		      path);
		advise(doctor, "chmod 644 %s", path);
	}
}

/* Say which files of a directory vgpud does not read, as their names do not end in .conf. */
static void examine_name(struct doctor *doctor, const char *dir, const char *name)
{
	size_t i;

	if (ends_with(name, ".conf"))
		return;
	for (i = 0; i < sizeof(aside) / sizeof(aside[0]); i++)
		if (ends_with(name, aside[i]))
			return;
	found(doctor, WARNING, "file-ignored", name,
	      "vgpud does not read %s/%s, as its name does not end in .conf", dir, name);
	advise(doctor, "rename it to %s/NAME.conf, then: vgpuctl reload", dir);
}

static void examine_dir(struct doctor *doctor, const char *path)
{
	DIR *dir = root_dir(&doctor->root, path);
	struct dirent *entry;
	char file[600];

	examine_mode(doctor, path);
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
		examine_mode(doctor, file);
		examine_name(doctor, path, entry->d_name);
	}
	if (dir)
		closedir(dir);
}

void files_examine(struct doctor *doctor)
{
	size_t before = doctor->findings.nr;

	examine_mode(doctor, "/etc/vgpu");
	examine_mode(doctor, VGPUD_CONF);
	examine_dir(doctor, doctor->settings.exports_dir);
	examine_dir(doctor, GUESTS_DIR);
	if (!root_exists(&doctor->root, doctor->settings.exports_dir)) {
		found(doctor, WARNING, "exports-dir-missing", doctor->settings.exports_dir,
		      "the directory of exports' files, %s, does not exist",
		      doctor->settings.exports_dir);
		advise(doctor, "mkdir -p %s", doctor->settings.exports_dir);
	}
	if (before == doctor->findings.nr)
		found(doctor, PASSED, "files", "", "only root may change the files of settings");
}
