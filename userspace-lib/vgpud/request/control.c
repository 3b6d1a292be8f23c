// SPDX-License-Identifier: MIT
/* The control socket: connections of vgpuctl and other clients, and their requests. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/unixsock.h"
#include "config/config.h"
#include "reload/reload.h"
#include "request/control.h"
#include "request/export.h"
#include "request/json.h"
#include "request/status.h"
#include "request/window.h"
#include "shared/loop.h"

/* Most connections of one user, of all users but root, and of root. */
#define USER_MAX	16
#define USERS_MAX	64
#define ROOT_MAX	64
/* Size of the longest request in bytes. */
#define REQUEST_MAX	16384
/* Time in milliseconds after which an idle connection is closed. */
#define IDLE_MS		30000

/**
 * struct client - a connection to the control socket
 * @node: entry of clients
 * @source: socket of the connection
 * @idle: timer that closes an idle connection
 * @uid: user ID of the client; root may change things
 * @who: user ID and process ID in words, for the log
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
	char who[48];
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

/*
 * Read the files of exports again, and change exports and windows to what they say. @who: user for
 * the log; NULL: only describe what would change.
 */
static struct json_object *do_reload(const char *who)
{
	struct text words = { 0 }, message = { 0 };
	struct json_object *answer;
	char by[64];
	int ret;

	if (who)
		snprintf(by, sizeof(by), "vgpuctl (%s)", who);
	ret = who ? reload_run(by, &words) : reload_diff(&words);
	if (ret) {
		text_add(&message, "%s\n%s", ret == -EIO ? "not all of it was done:" :
			 "nothing was changed, as there are mistakes:",
			 words.lines ? words.lines : strerror(-ret));
		/* Cut off the newlines at the end of the message. */
		while (message.len && message.lines[message.len - 1] == '\n')
			message.lines[--message.len] = '\0';
		answer = answer_error(ret, message.lines ? message.lines : "out of memory");
	} else {
		answer = answer_ok();
		json_put_string(answer, "changes", words.lines ? words.lines : "");
	}
	text_free(&message);
	text_free(&words);
	return answer;
}

/*
 * Run a request. @may_change: true if the request comes from root; @who: description of the
 * user for the log. Return: the answer.
 */
static struct json_object *request_run(struct json_object *request, bool may_change,
				       const char *who)
{
	const char *op = json_get_string(request, "op");

	if (!op)
		return answer_error(-EINVAL, "a request needs an op");
	if (!strcmp(op, "list"))
		return request_list();
	if (!strcmp(op, "status"))
		return request_status(may_change);
	if (!may_change)
		return answer_error(-EPERM, "only root may change exports, or compare them with the files");
	if (!strcmp(op, "diff"))
		return do_reload(NULL);
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
	if (!strcmp(op, "reload"))
		return do_reload(who);
	return answer_error(-EOPNOTSUPP, "this vgpud does not know the request: is vgpud older than the program that asks?");
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

/* Queue an answer, and free it. Return: false if the connection has to end. */
static bool client_answer(struct client *client, struct json_object *answer)
{
	const char *text = json_object_to_json_string_ext(answer, JSON_C_TO_STRING_PLAIN);
	size_t len = text ? strlen(text) : 0;

	client->out = text ? malloc(len + 1) : NULL;
	if (client->out) {
		memcpy(client->out, text, len);
		client->out[len] = '\n';
		client->out_len = len + 1;
		client->out_pos = 0;
	}
	json_object_put(answer);
	return client->out;
}

/* Run the request of one line. Return: false if the connection has to end. */
static bool client_line(struct client *client, const char *line)
{
	struct json_object *request = json_tokener_parse(line);
	struct json_object *answer;

	if (!json_object_is_type(request, json_type_object)) {
		json_object_put(request);
		return false;
	}
	answer = request_run(request, client->uid == 0, client->who);
	json_object_put(request);
	return answer && client_answer(client, answer);
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

/* Check for room. No user can shut out other users, and all users together cannot shut out root. */
static bool control_room(uid_t uid)
{
	unsigned int of_user = 0, of_root = 0, all = 0;
	struct client *client;

	LIST_FOREACH(client, &clients, node) {
		all++;
		of_user += client->uid == uid;
		of_root += client->uid == 0;
	}
	if (uid == 0)
		return of_root < ROOT_MAX;
	return of_user < USER_MAX && all - of_root < USERS_MAX;
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
		"{\"ok\":false,\"errno\":11,\"message\":\"too many connections of this user, or of all users\"}\n";
	struct ucred cred = { .uid = (uid_t)-1 };
	socklen_t len = sizeof(cred);
	struct client *client;
	int fd;

	fd = source_accept(&control, &control_full, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return false;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) || !control_room(cred.uid)) {
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
	snprintf(client->who, sizeof(client->who), "uid %u, pid %d", cred.uid, cred.pid);
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
	if (bind(control.fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    chmod(settings.socket, 0666) || listen(control.fd, SOMAXCONN)) {
		ret = -errno;
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
