// SPDX-License-Identifier: MIT
/* vgpud's service, its programs, and what it says of its files. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vgpuctl/doctor/doctor.h"

#define UNIT	"vgpud.service"

/* --- unit ------------------------------------------------------------------------ */

static bool file_has(const struct doctor *doctor, const char *path, const char *setting)
{
	char *text = root_read(&doctor->root, path, NULL), *line, *rest;
	bool has = false;

	for (line = text ? strtok_r(text, "\n", &rest) : NULL; line && !has;
	     line = strtok_r(NULL, "\n", &rest))
		has = !strncmp(line, setting, strlen(setting));
	free(text);
	return has;
}

bool service_has(const struct doctor *doctor, const char *setting)
{
	static const char dropins[] = "/etc/systemd/system/" UNIT ".d";
	DIR *dir = root_dir(&doctor->root, dropins);
	bool has = file_has(doctor, "/etc/systemd/system/" UNIT, setting) ||
		   file_has(doctor, "/usr/lib/systemd/system/" UNIT, setting);
	struct dirent *entry;
	char path[320];

	while (dir && !has && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s", dropins, entry->d_name);
		has = file_has(doctor, path, setting);
	}
	if (dir)
		closedir(dir);
	return has;
}

static void examine_unit(struct doctor *doctor)
{
	char target[256];

	if (root_link(&doctor->root, "/etc/systemd/system/" UNIT, target) &&
	    !strcmp(target, "/dev/null")) {
		found(doctor, ERROR, "service-masked", "", UNIT " is masked, so systemd does not start vgpud");
		advise(doctor, "systemctl unmask vgpud && systemctl enable --now vgpud");
		return;
	}
	if (!root_exists(&doctor->root, "/usr/lib/systemd/system/" UNIT) &&
	    !root_exists(&doctor->root, "/etc/systemd/system/" UNIT))
		return;
	if (!service_has(doctor, "Delegate=") && strcmp(doctor->settings.cgroups, "no")) {
		found(doctor, ERROR, "service-without-delegate", "",
		      UNIT " has no Delegate=, so vgpud may not make control groups for guests");
		advise(doctor, "systemctl edit vgpud, and add '[Service]' and 'Delegate=cpu io memory pids'");
	}
	/* The link is made by systemctl enable. Its target need not exist in an image. */
	if (!root_link(&doctor->root, "/etc/systemd/system/multi-user.target.wants/" UNIT, target)) {
		found(doctor, WARNING, "service-not-enabled", "",
		      UNIT " is not enabled, so vgpud does not run after the next start of this machine");
		advise(doctor, "systemctl enable vgpud");
	}
}

/* --- programs --------------------------------------------------------------------- */

static void examine_program(struct doctor *doctor, const char *path)
{
	struct stat st;
	int ret = root_stat(&doctor->root, path, &st);

	if (ret == -ENOENT) {
		found(doctor, ERROR, "program-missing", path, "%s does not exist, so vgpud cannot serve guests",
		      path);
		advise(doctor, "install vgpu again, see README.md (or correct 'program' in [shadow] of vgpud.conf)");
	} else if (!ret && (!S_ISREG(st.st_mode) || !(st.st_mode & 0111))) {
		found(doctor, ERROR, "program-not-executable", path,
		      "%s cannot be executed, so vgpud cannot serve guests", path);
		advise(doctor, "chmod 755 %s, or install vgpu again", path);
	}
}

static bool uses_engines(const struct doctor *doctor)
{
	if (doctor->info)
		return doctor->info->user_engine;
	return !strcmp(doctor->settings.engine, "user") ||
	       (!*doctor->settings.engine && !module_is_loaded(doctor, "vgpu_host"));
}

static void examine_programs(struct doctor *doctor)
{
	if (!root_exists(&doctor->root, SBINDIR "/vgpud"))
		return;
	if (!uses_engines(doctor)) {
		examine_program(doctor, doctor->settings.program);
		return;
	}
	examine_program(doctor, LIBEXECDIR "/vgpu-engine");
	examine_program(doctor, LIBEXECDIR "/vgpu-engine-shadow");
	examine_program(doctor, LIBEXECDIR "/vgpu-keeper");
}

/* --- settings ----------------------------------------------------------------------- */

/* Run vgpud --check on the system's files. Return: its output; NULL: it cannot be run. */
static FILE *start_check(const struct doctor *doctor, pid_t *pid)
{
	char config[512], exports[512], path[4096];
	const char *before = getenv("PATH");
	int pipes[2];

	if (pipe2(pipes, O_CLOEXEC))
		return NULL;
	snprintf(config, sizeof(config), "%s" VGPUD_CONF, doctor->root.path);
	snprintf(exports, sizeof(exports), "%s%s", doctor->root.path,
		 doctor->settings.exports_dir);
	*pid = fork();
	if (!*pid) {
		dup2(pipes[1], STDERR_FILENO);
		dup2(pipes[1], STDOUT_FILENO);
		unsetenv("JOURNAL_STREAM");
		/* Users other than root seldom have these directories. */
		snprintf(path, sizeof(path), "%s%s/usr/sbin:/usr/local/sbin:/sbin",
			 before ? before : "", before ? ":" : "");
		setenv("PATH", path, 1);
		/* Settings that are given have to be there. */
		if (root_exists(&doctor->root, VGPUD_CONF))
			execlp("vgpud", "vgpud", "--config", config, "--exports-dir", exports,
			       "--check", NULL);
		else
			execlp("vgpud", "vgpud", "--exports-dir", exports, "--check", NULL);
		_exit(127);
	}
	close(pipes[1]);
	if (*pid > 0)
		return fdopen(pipes[0], "r");
	close(pipes[0]);
	return NULL;
}

/* Check whether another system has files of guests: vgpud would read those of this one instead. */
static bool has_other_guests(const struct doctor *doctor)
{
	DIR *dir = root_is_live(&doctor->root) ? NULL : root_dir(&doctor->root, GUESTS_DIR);
	struct dirent *entry;
	bool has = false;

	while (dir && (entry = readdir(dir)))
		has |= strstr(entry->d_name, ".conf") != NULL;
	if (dir)
		closedir(dir);
	return has;
}

/* Say what vgpud says of its files. A warning is one that vgpud marks as such: it then succeeds. */
static void examine_settings(struct doctor *doctor)
{
	char *line = NULL, *text;
	struct findings lines = { .nr = 0 };
	size_t size = 0, i;
	int status = -1;
	FILE *output;
	pid_t pid;

	if (has_other_guests(doctor)) {
		found(doctor, UNSEEN, "settings", "",
		      "the settings were not checked for mistakes, because this is another system and has files in " GUESTS_DIR);
		return;
	}
	output = start_check(doctor, &pid);
	while (output && getline(&line, &size, output) > 0) {
		line[strcspn(line, "\n")] = '\0';
		text = strncmp(line, "vgpud: ", 7) ? line : line + 7;
		/* Skip this system's files of guests if another system is examined. */
		if (root_is_live(&doctor->root) || strstr(text, doctor->root.path))
			finding_add(&lines, FINDING_ERROR, "", "", "%s", text);
	}
	free(line);
	if (output) {
		fclose(output);
		waitpid(pid, &status, 0);
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) == 127 || (status && !lines.nr))
		found(doctor, UNSEEN, "settings", "", "vgpud cannot be run, so its files were not checked");
	else if (!lines.nr)
		found(doctor, PASSED, "settings", "", "vgpud finds no mistake in its files");
	for (i = 0; i < lines.nr; i++) {
		if (status) {
			found(doctor, ERROR, "settings-mistake", "", "%s", lines.list[i].problem);
			advise(doctor, "correct the file (vgpud.conf: vgpud(8), exports: vgpu-exports(5)), then: vgpuctl reload; after a change of vgpud.conf: systemctl restart vgpud");
		} else {
			found(doctor, WARNING, "settings-warning", "", "%s", lines.list[i].problem);
			advise(doctor, "see vgpud(8)");
		}
	}
	findings_free(&lines);
}

void service_examine(struct doctor *doctor)
{
	examine_unit(doctor);
	examine_programs(doctor);
	examine_settings(doctor);
}
