// SPDX-License-Identifier: MIT
/* Those who ask by the control socket: their rights, their names, and failed requests. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "base/answer.h"
#include "base/users.h"
#include "config/config.h"
#include "request/asker.h"
#include "shared/log.h"

/* Most groups of a user (NGROUPS_MAX of the kernel). */
#define GROUPS_MAX	65536
/* Most lines about a user's requests that led to nothing, in ten seconds. */
#define FAILURES	10
/* Words for a user who is not root, where no group may change things. */
#define ONLY_ROOT	"only root may change anything, or see more than 'vgpuctl list' and 'vgpuctl status' show: use sudo"

/**
 * struct control_group - the group whose members may change things
 * @known: true if there is such a group
 * @has_members: true if it has members
 * @id: ID of the group
 */
struct control_group {
	bool known;
	bool has_members;
	uint32_t id;
};

/* The group in force, and the one that asker_plan() has found. */
static struct control_group group, planned;
static char denied[320] = ONLY_ROOT;

int asker_plan(struct answer *words)
{
	int ret;

	planned = (struct control_group) { 0 };
	if (!settings.control_group[0])
		return 0;
	ret = group_find(settings.control_group, &planned.id, &planned.has_members);
	planned.known = !ret;
	/* The default group need not exist. */
	if (!ret || (ret == -ENOENT && !strcmp(settings.control_group, CONTROL_GROUP)))
		return 0;
	return answer_say(words, ret, "control-group = %s: %s", settings.control_group,
			  ret == -ENOENT ? "there is no such group in /etc/group: give its ID" :
			  strerror(-ret));
}

bool asker_take(void)
{
	const bool same = group.known == planned.known && group.id == planned.id &&
			  group.has_members == planned.has_members;

	group = planned;
	if (group.known)
		snprintf(denied, sizeof(denied),
			 "only root and members of the group '%.40s' may change anything, or see more than 'vgpuctl list' and 'vgpuctl status' show: use sudo, or join the group (usermod -aG %.40s USER) and log in again",
			 settings.control_group, settings.control_group);
	else
		strcpy(denied, ONLY_ROOT);
	return !same;
}

int asker_own_socket(const char *path)
{
	const bool closed = group.known && group.has_members;

	/*
	 * The owner comes before the mode, so that a group that loses the socket never has it with
	 * the mode of another one.
	 */
	if (chown(path, 0, group.known ? group.id : 0))
		return -errno;
	return chmod(path, closed ? 0660 : 0666) ? -errno : 0;
}

/* Check whether the group is a supplementary one of the peer. Return: 1, 0 or a negative errno. */
static int is_supplementary(int fd)
{
	socklen_t len = 64 * sizeof(gid_t), i;
	gid_t *groups = malloc(len), *more;
	int ret;

	/* With ERANGE the kernel sets @len to the size that is needed. */
	while (groups && getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len)) {
		ret = -errno;
		more = ret == -ERANGE && len <= GROUPS_MAX * sizeof(gid_t) ? realloc(groups, len) :
			NULL;
		if (!more) {
			free(groups);
			return ret;
		}
		groups = more;
	}
	if (!groups)
		return -ENOMEM;
	for (i = 0, ret = 0; !ret && i < len / sizeof(gid_t); i++)
		ret = groups[i] == group.id;
	free(groups);
	return ret;
}

int asker_class(int fd, struct ucred *cred, enum asker_class *class)
{
	socklen_t len = sizeof(*cred);
	int ret;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, cred, &len))
		return -errno;
	*class = cred->uid == 0 ? ASKER_ROOT : ASKER_OTHER;
	if (*class == ASKER_ROOT || !group.known)
		return 0;
	ret = cred->gid == group.id ? 1 : is_supplementary(fd);
	if (ret > 0)
		*class = ASKER_MEMBER;
	return ret < 0 ? ret : 0;
}

void asker_words(const struct ucred *cred, char words[ASKER_WORDS])
{
	char name[40];

	user_name(cred->uid, name);
	snprintf(words, ASKER_WORDS, "%s, uid %u, pid %d", name, cred->uid, cred->pid);
}

const char *asker_denied(void)
{
	return denied;
}

void asker_log_failure(const struct ucred *cred, const char *what, bool refused,
		       const char *message)
{
	static struct log_limit limit = { .burst = FAILURES };
	char line[448], who[ASKER_WORDS], *at;

	/* Finding the user's name takes longer than the request. */
	if (!log_has_room(&limit, cred->uid, 0))
		return;
	asker_words(cred, who);
	snprintf(line, sizeof(line), "%s: %.200s, by vgpuctl (%s): %s", refused ? "refused" : "failed",
		 what, who, message);
	/* Strings of the client must not end the line, or command a terminal. */
	for (at = line; *at; at++)
		if (!isprint((unsigned char)*at))
			*at = *at == '\n' ? ' ' : '?';
	log_within(&limit, cred->uid, 0, LOG_NOTICE, "%s", line);
}
