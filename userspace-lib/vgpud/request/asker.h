/* SPDX-License-Identifier: MIT */
/*
 * Those who ask by the control socket: their rights, their names in the log, and the log of
 * requests that led to nothing.
 */
#ifndef VGPUD_ASKER_H
#define VGPUD_ASKER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

/* Size of the words for one who asks. */
#define ASKER_WORDS	96

/*
 * Classes by which connections are counted, so that none takes another's room. Root and members of
 * the group in 'control-group' may change things; others may ask for the state.
 */
enum asker_class { ASKER_OTHER, ASKER_MEMBER, ASKER_ROOT, ASKER_CLASSES };

struct answer;

/*
 * Find the group in 'control-group', and whether it has members, for asker_take(). Return: 0; or a
 * negative errno with words in @words: for example, the group does not exist although a setting
 * names it.
 */
int asker_plan(struct answer *words);
/* Let the group that was found take effect. Return: true if it is not what it was. */
bool asker_take(void);

/*
 * Give the control socket its owner and mode: if the group has members, they and root alone can
 * connect, or else all users can. Return: 0 or a negative errno.
 */
int asker_own_socket(const char *path);

/*
 * Get the class of the one at the other end of a connection. The kernel tells the user and the
 * groups as they were when the connection was made. Return: 0 or a negative errno.
 */
int asker_class(int fd, struct ucred *cred, enum asker_class *class);

/* Describe one who asks, for the log: user name, user ID and process ID. */
void asker_words(const struct ucred *cred, char words[ASKER_WORDS]);

/* Words for a request that only root, and the members if there is a group, may make. */
const char *asker_denied(void);

/**
 * asker_log_failure - log a request that was refused or has failed
 * @cred: user and process that asked
 * @what: words for the request, which may contain strings of the client's; at most 200 bytes are
 *	logged
 * @refused: true if the user may not make such requests
 * @message: reason, which may contain strings of the client's
 *
 * A user gets ten such lines in ten seconds.
 */
void asker_log_failure(const struct ucred *cred, const char *what, bool refused,
		       const char *message);

#endif /* VGPUD_ASKER_H */
