// SPDX-License-Identifier: MIT
/* The control socket: connections of vgpuctl and other clients, and their requests. */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/unixsock.h"
#include "config/config.h"
#include "reload/reload.h"
#include "request/asker.h"
#include "request/control.h"
#include "request/export.h"
#include "request/guest.h"
#include "request/json.h"
#include "request/limit.h"
#include "request/metrics.h"
#include "request/other.h"
#include "request/status.h"
#include "request/window.h"
#include "shared/json.h"
#include "shared/log.h"
#include "shared/loop.h"

/* Most connections of one user other than root, and of a class of users. */
#define USER_MAX	16
#define CLASS_MAX	64
/* Size of the longest request in bytes. */
#define REQUEST_MAX	16384
/* Size of the words for a request. */
#define WORDS_MAX	224
/* Time in milliseconds after which an idle connection is closed. */
#define IDLE_MS		30000
#define OUT_OF_MEMORY	"out of memory"

/**
 * struct client - a connection to the control socket
 * @node: entry of clients
 * @source: socket of the connection
 * @idle: timer that closes an idle connection
 * @uid: user ID of the client
 * @class: class of the client, with whose other clients it is counted
 * @in: bytes of a request that were read so far
 * @in_len: number of bytes in @in
 * @out: answer that is being sent; while it is not NULL, nothing is read
 * @out_len: length of @out in bytes
 * @out_pos: number of bytes that were sent
 */
struct client {
	LIST_ENTRY(client) node;
	struct source source;
	struct timer idle;
	uid_t uid;
	enum asker_class class;
	char in[REQUEST_MAX];
	size_t in_len;
	char *out;
	size_t out_len;
	size_t out_pos;
};

static struct source control = { .fd = -1 };
static struct timer control_full;
static LIST_HEAD(, client) clients = LIST_HEAD_INITIALIZER(clients);

/* --- requests --------------------------------------------------------------- */

/* Let the group of 'control-group' that was found take effect. @words: gets a line if it changed. */
static void take_group(struct text *words)
{
	int ret;

	if (!asker_take())
		return;
	ret = asker_own_socket(settings.socket);
	if (ret)
		log_error("%s: %s", settings.socket, strerror(-ret));
	text_add(words, "control-group = %s: the group, or whether it has members, has changed",
		 settings.control_group);
	log_info("control-group = %s: the group, or whether it has members, has changed",
		 settings.control_group);
}

int control_reload(const char *by, struct text *words)
{
	struct answer what;
	int ret;

	if (asker_plan(&what)) {
		text_add(words, "%s", what.text);
		log_error("%s: nothing was read again, for %s", what.text, by);
		return -EBADMSG;
	}
	ret = reload_run(by, words);
	if (!ret || ret == -EIO)
		take_group(words);
	return ret;
}

/*
 * Read the files of exports again, and change exports and windows to what they say. @who: user for
 * the log; NULL: only describe what would change.
 */
static struct json_object *do_reload(const char *who)
{
	struct text words = { 0 }, message = { 0 };
	struct json_object *answer;
	char by[ASKER_WORDS + 16];
	int ret;

	if (who)
		snprintf(by, sizeof(by), "vgpuctl (%s)", who);
	ret = who ? control_reload(by, &words) : reload_diff(&words);
	/* A description that lacks a line would be wrong. */
	if (!ret && !who && words.lost)
		ret = -ENOMEM;
	if (ret == -ENOMEM) {
		answer = answer_error(ret, OUT_OF_MEMORY ": nothing was changed");
	} else if (ret) {
		text_add(&message, "%s\n%s", ret == -EIO ? "not all of it was done:" :
			 "nothing was changed, as there are mistakes:",
			 words.lines ? words.lines : words.lost ? OUT_OF_MEMORY : strerror(-ret));
		/* Cut off the newlines at the end of the message. */
		while (message.len && message.lines[message.len - 1] == '\n')
			message.lines[--message.len] = '\0';
		answer = answer_error(ret, message.lines ? message.lines : OUT_OF_MEMORY);
	} else {
		if (words.lost)
			text_add(&words, OUT_OF_MEMORY ": not all changes are listed");
		answer = answer_ok();
		json_put_string(answer, "changes", words.lines ? words.lines : "");
	}
	text_free(&message);
	text_free(&words);
	return answer;
}

/* Run a request for a change. @who: description of the user for the log. Return: the answer. */
static struct json_object *change_run(struct json_object *request, const char *op, const char *who)
{
	if (!strcmp(op, "export"))
		return request_export(request, who);
	if (!strcmp(op, "unexport"))
		return request_unexport(request, who);
	if (!strcmp(op, "window-create"))
		return request_window_create(request, who);
	if (!strcmp(op, "window-drain"))
		return request_window_drain(request, who);
	if (!strcmp(op, "window-destroy"))
		return request_window_destroy(request, who);
	if (!strcmp(op, "limit"))
		return request_limit(request, who);
	if (!strcmp(op, "evict"))
		return request_evict(request, who);
	if (!strcmp(op, "reload"))
		return do_reload(who);
	return answer_error(-EOPNOTSUPP, "this vgpud does not know the request: is vgpud older than the program that asks? Then restart it (systemctl restart vgpud)");
}

/* Return the message of an answer that is an error; NULL: the answer is none. */
static const char *answer_failure(struct json_object *answer)
{
	const char *message = json_get_string(answer, "message");

	if (json_get_bool(answer, "ok"))
		return NULL;
	return message ? message : "";
}

/* Describe a request in words: what is to be done, with what, and for which guest. */
static void request_words(struct json_object *request, char words[WORDS_MAX])
{
	const char *op = json_get_string(request, "op"), *path = json_get_string(request, "path");
	const char *name = json_get_string(request, "name");
	uint32_t cid = json_get_number(request, "cid");
	struct json_object *value;
	int len;

	len = snprintf(words, WORDS_MAX, "%.32s", op ? op : "?");
	if (path)
		len += snprintf(words + len, WORDS_MAX - len, " %.80s", path);
	if (name)
		len += snprintf(words + len, WORDS_MAX - len, " %.40s", name);
	if (json_object_object_get_ex(request, "nvidia", &value))
		len += snprintf(words + len, WORDS_MAX - len, " nvidia");
	if (cid)
		len += snprintf(words + len, WORDS_MAX - len, " (guest %" PRIu32 ")", cid);
	if (json_object_object_get_ex(request, "guests", &value) &&
	    json_object_is_type(value, json_type_array))
		snprintf(words + len, WORDS_MAX - len, " (%zu guests)", json_object_array_length(value));
}

/* Run a request of root or of a member of the group, and log it if it leads to nothing. */
static struct json_object *request_run(struct json_object *request, const struct ucred *cred)
{
	const char *op = json_get_string(request, "op"), *failure;
	char who[ASKER_WORDS], words[WORDS_MAX];
	struct json_object *answer;
	struct answer mistake;

	if (json_check(request, &mistake)) {
		request_words(request, words);
		asker_log_failure(cred, words, false, mistake.text);
		return answer_error(-EINVAL, mistake.text);
	}
	if (!op)
		return answer_error(-EINVAL, "a request needs an op");
	if (!strcmp(op, "list"))
		return request_list();
	if (!strcmp(op, "status"))
		return request_status(true);
	if (!strcmp(op, "metrics"))
		return request_metrics(true);
	if (!strcmp(op, "guest"))
		return request_guest(request);
	if (!strcmp(op, "limits"))
		return request_limits(request);
	if (!strcmp(op, "diff"))
		return do_reload(NULL);
	asker_words(cred, who);
	answer = change_run(request, op, who);
	failure = answer_failure(answer);
	if (failure) {
		request_words(request, words);
		asker_log_failure(cred, words, false, failure);
	}
	return answer;
}

/* --- connections ------------------------------------------------------------ */

static void client_end(struct client *client)
{
	timer_cancel(&client->idle);
	source_close(&client->source);
	LIST_REMOVE(client, node);
	free(client->out);
	free(client);
}

static void client_expired(struct timer *timer)
{
	client_end(container_of(timer, struct client, idle));
}

/* Queue the text of an answer; NULL: there is none. Return: false if the connection has to end. */
static bool client_say(struct client *client, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	client->out = text ? malloc(len + 1) : NULL;
	if (!client->out)
		return false;
	memcpy(client->out, text, len);
	client->out[len] = '\n';
	client->out_len = len + 1;
	client->out_pos = 0;
	return true;
}

/* Queue an answer, and free it. Return: false if the connection has to end. */
static bool client_answer(struct client *client, struct json_object *answer)
{
	bool ok = client_say(client, json_text(answer));

	json_object_put(answer);
	return ok;
}

/*
 * Run a request of a user who may not change anything. Such a user's text does not get to the
 * parser of JSON: it is compared with the requests that every user may make. Return: false if
 * the connection has to end.
 */
static bool client_line_of_other(struct client *client, const char *line, const struct ucred *cred)
{
	struct json_object *answer;

	if (other_may_ask(line))
		return client_say(client, other_answer(line));
	asker_log_failure(cred, line, true, asker_denied());
	answer = answer_error(-EPERM, asker_denied());
	return client_answer(client, answer);
}

/* Run the request of one line. Return: false if the connection has to end. */
static bool client_line(struct client *client, const char *line)
{
	struct json_object *request, *answer;
	enum asker_class class;
	struct ucred cred;

	if (asker_class(client->source.fd, &cred, &class))
		return false;
	if (class == ASKER_OTHER)
		return client_line_of_other(client, line, &cred);
	request = json_parse(line);
	if (!json_object_is_type(request, json_type_object)) {
		json_object_put(request);
		return false;
	}
	answer = request_run(request, &cred);
	json_object_put(request);
	return client_answer(client, answer);
}

static bool client_read(struct client *client)
{
	char *end;
	ssize_t len;
	size_t used;

	len = recv(client->source.fd, client->in + client->in_len,
		   sizeof(client->in) - 1 - client->in_len, MSG_DONTWAIT);
	if (len < 0)
		return errno == EAGAIN || errno == EINTR;
	if (!len)
		return false;
	client->in_len += len;
	client->in[client->in_len] = '\0';

	end = memchr(client->in, '\n', client->in_len);
	if (!end)
		return client->in_len < sizeof(client->in) - 1;
	*end = '\0';
	if (!client_line(client, client->in))
		return false;
	/* The rest belongs to the next request, which waits until the answer is sent. */
	used = end + 1 - client->in;
	client->in_len -= used;
	memmove(client->in, end + 1, client->in_len);
	if (memchr(client->in, '\n', client->in_len))
		return false;	/* clients send one request at a time */
	return true;
}

static bool client_write(struct client *client)
{
	ssize_t len;

	len = send(client->source.fd, client->out + client->out_pos,
		   client->out_len - client->out_pos, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (len < 0)
		return errno == EAGAIN || errno == EINTR;
	client->out_pos += len;
	if (client->out_pos == client->out_len) {
		free(client->out);
		client->out = NULL;
	}
	return true;
}

static void client_ready(struct source *source, uint32_t events)
{
	struct client *client = container_of(source, struct client, source);
	bool ok;

	(void)events;
	if (client->out)
		ok = client_write(client);
	else
		ok = client_read(client) && (!client->out || client_write(client));
	if (!ok) {
		client_end(client);
		return;
	}
	source_set(source, client->out ? EPOLLOUT : EPOLLIN);
	timer_set(&client->idle, IDLE_MS);
}

/*
 * Check for room. No user can shut out other users, unless that user has several user IDs, and then
 * only those of the same class.
 */
static bool control_room(uid_t uid, enum asker_class class)
{
	unsigned int of_user = 0, of_class = 0;
	struct client *client;

	LIST_FOREACH(client, &clients, node) {
		of_user += client->uid == uid;
		of_class += client->class == class;
	}
	return of_class < CLASS_MAX && (uid == 0 || of_user < USER_MAX);
}

static void control_reopen(struct timer *timer)
{
	(void)timer;
	source_set(&control, EPOLLIN);
}

/* Accept a connection. Return: true if there was one. */
static bool control_accept(void)
{
	static const char too_many[] =
		"{\"ok\":false,\"errno\":11,\"message\":\"too many connections of this user, or of users with the same rights\"}\n";
	enum asker_class class;
	struct client *client;
	struct ucred cred;
	int fd;

	fd = source_accept(&control, &control_full, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return false;
	if (asker_class(fd, &cred, &class) || !control_room(cred.uid, class)) {
		send(fd, too_many, sizeof(too_many) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
		close(fd);
		return true;
	}
	client = calloc(1, sizeof(*client));
	if (!client) {
		close(fd);
		return true;
	}
	LIST_INSERT_HEAD(&clients, client, node);
	client->uid = cred.uid;
	client->class = class;
	client->source.fd = fd;
	client->source.ready = client_ready;
	client->idle.expired = client_expired;
	timer_set(&client->idle, IDLE_MS);
	if (source_add(&client->source, EPOLLIN))
		client_end(client);
	return true;
}

static void control_ready(struct source *source, uint32_t events)
{
	unsigned int i;

	(void)source;
	(void)events;
	for (i = 0; i < LOOP_ACCEPTS && control_accept(); i++)
		;
}

int control_init(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int ret;

	if (strlen(settings.socket) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, settings.socket);
	control.ready = control_ready;
	control_full.expired = control_reopen;
	control.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (control.fd < 0)
		return -errno;
	unixsock_refuse_files(control.fd);
	/* vgpud is the only agent, so an existing socket was left behind by a vgpud that died. */
	unlink(settings.socket);
	ret = bind(control.fd, (struct sockaddr *)&addr, sizeof(addr)) ? -errno :
		asker_own_socket(settings.socket);
	if (!ret && listen(control.fd, SOMAXCONN))
		ret = -errno;
	if (ret) {
		close(control.fd);
		control.fd = -1;
		return ret;
	}
	return source_add(&control, EPOLLIN);
}

void control_exit(void)
{
	if (control.fd >= 0)
		unlink(settings.socket);
	timer_cancel(&control_full);
	source_close(&control);
}
