// SPDX-License-Identifier: MIT
/* vgpud: whether it runs and answers, its version and its group. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vgpuctl/doctor/doctor.h"

static const char *const programs[] = {
	SBINDIR "/vgpud", "/usr/local/sbin/vgpud", "/sbin/vgpud",
};

static bool is_installed(const struct doctor *doctor)
{
	size_t i;

	for (i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (root_exists(&doctor->root, programs[i]))
			return true;
	return false;
}

/* Say why there is no connection to vgpud. */
static void examine_silence(struct doctor *doctor)
{
	switch (doctor->agent_error) {
	case -ENOENT:
		if (!is_installed(doctor)) {
			found(doctor, ERROR, "agent-not-installed", "",
			      "vgpud is not installed on this host");
			advise(doctor, "install it, see README.md");
			return;
		}
		found(doctor, ERROR, "agent-not-running", "", "vgpud does not run (there is no %s)",
		      doctor->socket);
		advise(doctor, "systemctl start vgpud; if that fails: journalctl -u vgpud");
		return;
	case -ECONNREFUSED:
		found(doctor, ERROR, "agent-dead", "",
		      "nobody listens on %s: vgpud was killed, or its socket is not in use any more",
		      doctor->socket);
		advise(doctor, "systemctl restart vgpud; journalctl -u vgpud says how it ended");
		return;
	case -EAGAIN:
		found(doctor, ERROR, "agent-busy", "", "vgpud has too many clients");
		advise(doctor, "which processes have connected says: ss -xp | grep vgpud.sock");
		return;
	case -ETIMEDOUT:
		found(doctor, ERROR, "agent-hung", "", "vgpud does not answer");
		advise(doctor, "was it stopped (SIGSTOP), or does it wait for a device? cat /proc/PID/stack as root; else: systemctl restart vgpud");
		return;
	case -EACCES:
		found(doctor, UNSEEN, "agent", "",
		      "only root and members of the group of %s may ask vgpud, so exports, guests and windows were not examined",
		      doctor->socket);
		advise(doctor, "run this command as root");
		return;
	default:
		found(doctor, ERROR, "agent-answer", "", "%s: %s", doctor->socket,
		      strerror(-doctor->agent_error));
		advise(doctor, "systemctl restart vgpud; journalctl -u vgpud");
	}
}

static void examine_answer(struct doctor *doctor)
{
	const struct vgpu_host_info *info = doctor->info;
	char path[64], program[256];
	ssize_t len;

	if (strcmp(info->version, VGPU_VERSION)) {
		found(doctor, WARNING, "agent-other-version", "",
		      "vgpud has version %s, but vgpuctl has version " VGPU_VERSION, info->version);
		advise(doctor, "install both from one version, then: systemctl restart vgpud (this ends what guests have open)");
	}
	/* Only a user who may trace vgpud sees its program. */
	snprintf(path, sizeof(path), "/proc/%u/exe", info->pid);
	len = root_is_live(&doctor->root) ? readlink(path, program, sizeof(program) - 1) : -1;
	program[len > 0 ? len : 0] = '\0';
	if (strstr(program, " (deleted)")) {
		found(doctor, WARNING, "agent-replaced", "",
		      "vgpud runs a program that was replaced on the disk since it started");
		advise(doctor, "systemctl restart vgpud (this ends what guests have open)");
	}
	if (!info->cgroups) {
		found(doctor, WARNING, "agent-without-cgroups", "",
		      "the processes of guests have no control groups, so a guest can use up this host's memory");
		advise(doctor, "set 'cgroups = yes' in [shadow] of vgpud.conf unless all guests are trusted, and start vgpud by systemctl");
	}
	found(doctor, PASSED, "agent", "", "vgpud %s answers", info->version);
}

/* --- group ---------------------------------------------------------------------- */

/* Find a group. *@gid, *@members: filled in. Return: false if there is none. */
static bool find_group(const struct doctor *doctor, const char *name, unsigned int *gid,
		       bool *members)
{
	static const char *const files[] = { "/etc/group", "/usr/lib/group" };
	char *text, *line, *rest, *end;
	bool there = false;
	size_t i, len;

	for (i = 0; !there && i < sizeof(files) / sizeof(files[0]); i++) {
		text = root_read(&doctor->root, files[i], NULL);
		for (line = text ? strtok_r(text, "\n", &rest) : NULL; line && !there;
		     line = strtok_r(NULL, "\n", &rest)) {
			len = strlen(name);
			if (strncmp(line, name, len) || line[len] != ':')
				continue;
			end = strchr(line + len + 1, ':');
			there = end;
			*gid = end ? strtoul(end + 1, &end, 10) : 0;
			*members = there && end[0] == ':' && end[1];
		}
		free(text);
	}
	return there;
}

/* Members of the group, or all users if there are none, may connect to the socket. */
static void examine_socket(struct doctor *doctor, bool members)
{
	mode_t wanted = members ? 0020 : 0002;
	struct stat st;

	if (!doctor->info || stat(doctor->socket, &st) || st.st_mode & wanted)
		return;
	found(doctor, WARNING, "socket-closed", doctor->socket,
	      "%s has mode %04o, so %s cannot ask vgpud", doctor->socket, st.st_mode & 07777,
	      members ? "members of the group" : "users");
	advise(doctor, "chmod %s %s; systemctl restart vgpud makes it anew", members ? "660" : "666",
	       doctor->socket);
}

static void examine_group(struct doctor *doctor)
{
	const char *name = doctor->settings.group;
	unsigned int gid = 0;
	bool members = false;
	struct stat st;

	/* With an empty value there is no group, and a number needs no name. */
	if (!*name || strspn(name, "0123456789") == strlen(name))
		return;
	if (!find_group(doctor, name, &gid, &members)) {
		finding_add(&doctor->findings, doctor->settings.group_given ? FINDING_ERROR :
			    FINDING_WARNING, "group-missing", name,
			    "there is no group %s (control-group), so %s", name,
			    doctor->settings.group_given ? "vgpud does not start" :
			    "only root may change exports");
		advise(doctor, "systemd-sysusers, or: groupadd --system %s; then: vgpuctl reload", name);
		return;
	}
	examine_socket(doctor, members);
	if (!members)
		return;
	if (doctor->info && !stat(doctor->socket, &st) && st.st_gid != gid) {
		found(doctor, WARNING, "group-stale", name,
		      "the group %s has members, but did not when vgpud read it: they may not change exports",
		      name);
		advise(doctor, "vgpuctl reload (as root)");
	} else {
		found(doctor, PASSED, "group", name, "the group %s has members", name);
	}
}

void agent_examine(struct doctor *doctor)
{
	if (doctor->info)
		examine_answer(doctor);
	else
		examine_silence(doctor);
	examine_group(doctor);
}
