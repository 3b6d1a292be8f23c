// SPDX-License-Identifier: MIT
/* Modules: whether they are loaded, and else why not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vgpuctl/doctor/doctor.h"

/* Folders of /lib/modules/RELEASE in which modules of this project are installed. */
static const char *const folders[] = { "extra", "updates", "updates/dkms" };
static const char *const suffixes[] = { "", ".xz", ".zst", ".gz" };

/* Names of directories with settings of modprobe. */
static const char *const conf_dirs[] = {
	"/etc/modprobe.d", "/run/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d",
};

/* Parameters of this project's modules. */
static const char *const parameters[] = { "cid", "port", "poll_us", "expire_ms", "cover", "plant",
					  "dyndbg" };

bool module_is_loaded(const struct doctor *doctor, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/module/%s", name);
	return root_exists(&doctor->root, path);
}

/* Check whether a list of modules' files has this module. */
static bool is_listed(const struct doctor *doctor, const char *list, const char *name,
		      char file[256])
{
	char path[320], word[64], *text;
	const char *at, *start;
	bool listed;

	snprintf(path, sizeof(path), "/lib/modules/%s/%s", doctor->release, list);
	text = root_read(&doctor->root, path, NULL);
	snprintf(word, sizeof(word), "/%s.ko", name);
	at = text ? strstr(text, word) : NULL;
	/* A line of modules.dep begins with a module's file; those that it needs follow. */
	while (at && memrchr(text, '\n', at - text) < memrchr(text, ':', at - text))
		at = strstr(at + 1, word);
	listed = at;
	file[0] = '\0';
	if (listed) {
		start = memrchr(text, '\n', at - text);
		start = start ? start + 1 : text;
		snprintf(file, 256, "%.*s", (int)strcspn(start, ":\n"), start);
	}
	free(text);
	return listed;
}

/* Find the file of a module that depmod does not know. */
static bool is_unlisted(const struct doctor *doctor, const char *name, char file[256])
{
	char path[600];
	size_t i, j;

	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		for (j = 0; j < sizeof(suffixes) / sizeof(suffixes[0]); j++) {
			snprintf(file, 256, "%s/%s.ko%s", folders[i], name, suffixes[j]);
			snprintf(path, sizeof(path), "/lib/modules/%s/%s", doctor->release, file);
			if (root_exists(&doctor->root, path))
				return true;
		}
	return false;
}

/* Find another kernel for which the module is installed. */
static bool other_kernel(const struct doctor *doctor, const char *name, char release[256])
{
	DIR *dir = root_dir(&doctor->root, "/lib/modules");
	struct doctor other = { .root = doctor->root };
	struct dirent *entry;
	bool there = false;
	char file[256];

	while (dir && !there && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || !strcmp(entry->d_name, doctor->release))
			continue;
		snprintf(other.release, sizeof(other.release), "%s", entry->d_name);
		there = is_unlisted(&other, name, file) ||
			is_listed(&other, "modules.dep", name, file);
		if (there)
			snprintf(release, 256, "%s", entry->d_name);
	}
	if (dir)
		closedir(dir);
	return there;
}

/* --- settings of modprobe --------------------------------------------------- */

/* Call @fn with the path and content of each file, until it returns true. Return: it did. */
static bool confs_each_text(struct doctor *doctor, const char *name,
			    bool (*fn)(struct doctor *doctor, const char *name, const char *path,
				       const char *text))
{
	struct dirent *entry;
	bool done = false;
	char path[320];
	char *text;
	size_t i;
	DIR *dir;

	for (i = 0; !done && i < sizeof(conf_dirs) / sizeof(conf_dirs[0]); i++) {
		dir = root_dir(&doctor->root, conf_dirs[i]);
		while (dir && !done && (entry = readdir(dir))) {
			if (entry->d_name[0] == '.' || !strstr(entry->d_name, ".conf"))
				continue;
			snprintf(path, sizeof(path), "%s/%s", conf_dirs[i], entry->d_name);
			text = root_read(&doctor->root, path, NULL);
			done = text && fn(doctor, name, path, text);
			free(text);
		}
		if (dir)
			closedir(dir);
	}
	return done;
}

static bool blocks(struct doctor *doctor, const char *name, const char *path, const char *text)
{
	bool blacklist = text_has_line(text, "blacklist", name);

	if (!blacklist && !text_has_line(text, "install", name))
		return false;
	found(doctor, ERROR, "module-blocked", name, "%s keeps %s from being loaded%s", path, name,
	      blacklist ? " by itself" : "");
	advise(doctor, "remove the line '%s %s' from %s, then: modprobe %s",
	       blacklist ? "blacklist" : "install", name, path, name);
	return true;
}

/* Check whether the kernel's command line keeps a module from being loaded. */
static bool is_blocked_at_boot(struct doctor *doctor, const char *name)
{
	static const char *const keys[] = { "module_blacklist=", "modprobe.blacklist=" };
	char *text = root_read(&doctor->root, "/proc/cmdline", NULL), *word, *rest, *names, *more;
	bool blocked = false;
	size_t i;

	for (word = text ? strtok_r(text, " \n", &rest) : NULL; word;
	     word = strtok_r(NULL, " \n", &rest))
		for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
			if (strncmp(word, keys[i], strlen(keys[i])))
				continue;
			for (names = strtok_r(word + strlen(keys[i]), ",", &more); names;
			     names = strtok_r(NULL, ",", &more))
				blocked |= !strcmp(names, name);
		}
	free(text);
	if (!blocked)
		return false;
	found(doctor, ERROR, "module-blocked", name,
	      "the kernel's command line keeps %s from being loaded", name);
	advise(doctor, "remove %s from module_blacklist= or modprobe.blacklist= there, and restart the machine",
	       name);
	return true;
}

/* Look for options of a module that it does not have: the kernel ignores them. */
static bool mistakes(struct doctor *doctor, const char *name, const char *path, const char *text)
{
	char module[64], option[64];
	const char *line, *at;
	size_t i, nr = sizeof(parameters) / sizeof(parameters[0]);
	int len;

	for (line = text; line && *line; line = strchr(line, '\n')) {
		line += strspn(line, " \t\n");
		if (sscanf(line, "options %63s%n", module, &len) != 1 || strcmp(module, name))
			continue;
		for (at = line + len; sscanf(at, "%*[ \t]%63[^ \t\n=]%n", option, &len) == 1;
		     at += strcspn(at, " \t\n")) {
			at += len;
			for (i = 0; i < nr && strcmp(parameters[i], option); i++)
				;
			if (i < nr)
				continue;
			found(doctor, ERROR, "module-option-unknown", name,
			      "%s gives %s the option %s, which the module does not have", path,
			      name, option);
			advise(doctor, "correct the line: the module has cid= and port=, see README.md");
		}
	}
	return false;
}

/* --- findings ---------------------------------------------------------------- */

void module_examine(struct doctor *doctor, enum finding_kind kind, const char *name,
		    const char *why)
{
	char file[256];

	if (module_is_loaded(doctor, name) || is_listed(doctor, "modules.builtin", name, file)) {
		found(doctor, PASSED, "module-loaded", name, "%s is loaded", name);
		return;
	}
	if (is_blocked_at_boot(doctor, name) || confs_each_text(doctor, name, blocks))
		return;
	if (root_line(&doctor->root, "/proc/sys/kernel/modules_disabled", file) && file[0] == '1') {
		found(doctor, ERROR, "modules-disabled", name,
		      "%s is not loaded, and the kernel loads no modules any more: %s", name, why);
		advise(doctor, "remove kernel.modules_disabled=1 from /etc/sysctl.d, and restart the machine");
		return;
	}
	if (!*doctor->release) {
		finding_add(&doctor->findings, kind, "module-not-loaded", name,
			    "%s is not loaded: %s", name, why);
		advise(doctor, "modprobe %s", name);
	} else if (is_listed(doctor, "modules.dep", name, file)) {
		finding_add(&doctor->findings, kind, "module-not-loaded", name,
			    "%s is not loaded: %s", name, why);
		advise(doctor, "modprobe %s (if that fails, the kernel's log says why: dmesg)", name);
	} else if (is_unlisted(doctor, name, file)) {
		finding_add(&doctor->findings, kind, "module-unlisted", name,
			    "/lib/modules/%s/%s is there, but modprobe does not find it: %s",
			    doctor->release, file, why);
		advise(doctor, "depmod && modprobe %s", name);
	} else if (other_kernel(doctor, name, file)) {
		finding_add(&doctor->findings, kind, "module-other-kernel", name,
			    "%s is installed for kernel %s, but kernel %s runs: %s", name, file,
			    doctor->release, why);
		advise(doctor, "install it for this kernel ('make dkms' does so for each kernel, README.md), or start kernel %s",
		       file);
	} else {
		finding_add(&doctor->findings, kind, "module-not-installed", name,
			    "%s is not installed for kernel %s: %s", name, doctor->release, why);
		advise(doctor, strncmp(name, "vgpu_", 5) ?
		       "take a kernel that has this module (%s)" :
		       "install the modules, see README.md (%s)", name);
	}
}

/* Return the value of a field of a module's file, such as "vermagic"; "": it has none. */
static void info_of(const char *text, size_t size, const char *field, char value[128])
{
	char key[32];
	const char *at;
	size_t len = snprintf(key, sizeof(key), "%s=", field);

	for (at = text; (at = memmem(at, size - (at - text), key, len)); at++)
		/* A field begins after the null byte of the one before. */
		if (at == text || !at[-1])
			break;
	snprintf(value, 128, "%s", at ? at + len : "");
}

static bool kernel_wants_signatures(const struct doctor *doctor)
{
	char line[256];

	if (root_line(&doctor->root, "/sys/kernel/security/lockdown", line) &&
	    !strstr(line, "[none]"))
		return true;
	return root_line(&doctor->root, "/sys/module/module/parameters/sig_enforce", line) &&
	       line[0] == 'Y';
}

/* Examine the file of an installed module. */
static void examine_file(struct doctor *doctor, const char *name, const char *file)
{
	static const char signature[] = "~Module signature appended~\n";
	char path[600], value[128], loaded[256];
	char *text;
	size_t size;

	snprintf(path, sizeof(path), "/lib/modules/%s/%s", doctor->release, file);
	text = root_read(&doctor->root, path, &size);
	/* A compressed file is left to modinfo(8). */
	if (!text || size < 4 || memcmp(text, "\177ELF", 4)) {
		free(text);
		return;
	}
	info_of(text, size, "vermagic", value);
	if (*value && *doctor->release && strncmp(value, doctor->release, strcspn(value, " "))) {
		found(doctor, ERROR, "module-other-kernel", name,
		      "%s was built for kernel %.*s, but kernel %s runs", path,
		      (int)strcspn(value, " "), value, doctor->release);
		advise(doctor, "build and install the modules again for this kernel, see README.md");
	}
	info_of(text, size, "srcversion", value);
	snprintf(path, sizeof(path), "/sys/module/%s/srcversion", name);
	if (*value && root_line(&doctor->root, path, loaded) && strcmp(value, loaded)) {
		found(doctor, WARNING, "module-stale", name,
		      "the %s that is loaded is not the one that is installed", name);
		advise(doctor, "load the installed one when no guest or program uses it: rmmod %s && modprobe %s (or restart the machine)",
		       name, name);
	}
	if (kernel_wants_signatures(doctor) &&
	    (size < sizeof(signature) ||
	     memcmp(text + size - (sizeof(signature) - 1), signature, sizeof(signature) - 1))) {
		found(doctor, ERROR, "module-unsigned", name,
		      "this kernel takes signed modules only (lockdown, Secure Boot or sig_enforce), and %s has no signature",
		      name);
		advise(doctor, "have DKMS sign it with a key that the firmware knows (mokutil --import), or turn Secure Boot off");
	}
	free(text);
}

void module_examine_own(struct doctor *doctor, const char *name)
{
	char file[256];

	confs_each_text(doctor, name, mistakes);
	if (!*doctor->release)
		return;
	if (is_listed(doctor, "modules.dep", name, file) || is_unlisted(doctor, name, file))
		examine_file(doctor, name, file);
}

void host_module_examine(struct doctor *doctor)
{
	const char *engine = doctor->settings.engine;

	module_examine_own(doctor, "vgpu_host");
	if (*engine && strcmp(engine, "user") && strcmp(engine, "kernel")) {
		found(doctor, ERROR, "engine-unknown", "",
		      "vgpud.conf has 'engine = %s', so vgpud does not start", engine);
		advise(doctor, "set 'engine = kernel' or 'engine = user' (Documentation/admin/engine.rst)");
	}
	if (!strcmp(engine, "user")) {
		found(doctor, PASSED, "engine", "", "the settings choose the user-space engine");
		return;
	}
	if (!strcmp(engine, "kernel"))
		module_examine(doctor, FINDING_ERROR, "vgpu_host",
			       "vgpud does not start without it, as vgpud.conf has 'engine = kernel'");
	else
		module_examine(doctor, FINDING_WARNING, "vgpu_host",
			       "user-space engines serve the guests, and protect this host from less");
	if (!module_is_loaded(doctor, "vgpu_host"))
		return;
	if (!root_exists(&doctor->root, "/dev/vgpu-host")) {
		found(doctor, ERROR, "module-node-missing", "vgpu_host",
		      "/dev/vgpu-host is not there, although vgpu_host is loaded");
		advise(doctor, "is this a container, or is /dev not managed by udev? The node's number is in /sys/class/misc/vgpu-host/dev");
	}
	if (doctor->info && doctor->info->user_engine) {
		found(doctor, WARNING, "module-unused", "vgpu_host",
		      "vgpu_host is loaded, but vgpud started without it, so user-space engines serve the guests");
		advise(doctor, "systemctl restart vgpud (this ends what guests have open)");
	}
}
