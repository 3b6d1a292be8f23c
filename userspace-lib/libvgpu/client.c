// SPDX-License-Identifier: MIT
/* Connection to the host's agent: requests and their answers, one JSON object a line. */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "client.h"
#include "request.h"
#include "shared/json.h"

/* Words for an answer that is no answer of this version of vgpud. */
#define MALFORMED	"the answer of vgpud is malformed: is vgpud of the same version (vgpud --version), and restarted since?"
/* Size of the longest answer, with many guests and many programs. */
#define ANSWER_MAX	(16U << 20)
/* Seconds after which an agent that does not answer is given up. */
#define TIMEOUT_S	10

struct vgpu_agent {
	int fd;
	char *message;
};

VGPU_PUBLIC int vgpu_agent_open(const char *path, struct vgpu_agent **agent)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct timeval timeout = { .tv_sec = TIMEOUT_S };
	int ret;

	if (!path)
		path = VGPU_AGENT_SOCKET;
	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);

	*agent = calloc(1, sizeof(**agent));
	if (!*agent)
		return -ENOMEM;
	(*agent)->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if ((*agent)->fd >= 0 &&
	    !setsockopt((*agent)->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) &&
	    !setsockopt((*agent)->fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) &&
	    !connect((*agent)->fd, (struct sockaddr *)&addr, sizeof(addr)))
		return 0;
	ret = -errno;
	vgpu_agent_close(*agent);
	*agent = NULL;
	return ret;
}

VGPU_PUBLIC void vgpu_agent_close(struct vgpu_agent *agent)
{
	if (!agent)
		return;
	if (agent->fd >= 0)
		close(agent->fd);
	free(agent->message);
	free(agent);
}

VGPU_PUBLIC const char *vgpu_agent_message(const struct vgpu_agent *agent)
{
	return agent->message ? agent->message : "";
}

static int fail(struct vgpu_agent *agent, int error, const char *message)
{
	free(agent->message);
	/* The message in an answer may be null. */
	agent->message = strdup(message ? message : "");
	return error;
}

/* Return the words for an error of send_line() or receive_line(). */
static const char *no_answer_words(int error)
{
	switch (error) {
	case -ETIMEDOUT:
		return "vgpud does not answer: 'journalctl -u vgpud' may say why, 'systemctl restart vgpud' helps";
	case -ENOMEM:
		return "out of memory";
	case -EPROTO:
		return "the answer of vgpud is too long: are vgpud and this program of the same version?";
	default:
		return "vgpud closed the connection: 'journalctl -u vgpud' may say why; try again";
	}
}

int request_copy(struct vgpu_agent *agent, void *to, size_t size, size_t least, const void *from)
{
	const unsigned char *bytes = from;
	size_t given, i;

	memcpy(&given, from, sizeof(given));
	if (given < least)
		return fail(agent, -EINVAL, "the program gives a struct without its size");
	for (i = size; i < given; i++)
		if (bytes[i])
			return fail(agent, -E2BIG, "libvgpu is older than the program");
	memset(to, 0, size);
	memcpy(to, from, given < size ? given : size);
	return 0;
}

void *infos_alloc(size_t nr, size_t size)
{
	void **infos = calloc(nr ? nr : 1, sizeof(*infos));
	size_t i;

	for (i = 0; infos && i < nr; i++) {
		infos[i] = calloc(1, size);
		if (!infos[i]) {
			infos_free(infos, i);
			return NULL;
		}
		memcpy(infos[i], &size, sizeof(size));
	}
	return infos;
}

void infos_free(void *infos, size_t nr)
{
	void **array = infos;
	size_t i;

	for (i = 0; array && i < nr; i++)
		free(array[i]);
	free(array);
}

static int send_line(struct vgpu_agent *agent, const char *text)
{
	size_t len = strlen(text), pos = 0;
	ssize_t ret;

	/*
	 * The newline is sent after the text, in a call of its own: position @len stands for it.
	 */
	while (pos < len + 1) {
		if (pos < len)
			ret = send(agent->fd, text + pos, len - pos, MSG_NOSIGNAL);
		else
			ret = send(agent->fd, "\n", 1, MSG_NOSIGNAL);
		if (ret < 0 && errno == EINTR)
			continue;
		if (ret < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -ECONNRESET;
		pos += ret;
	}
	return 0;
}

/* Read an answer, which ends with a newline. */
static int receive_line(struct vgpu_agent *agent, char **line)
{
	size_t size = 16384, len = 0;
	char *text = malloc(size), *larger;
	ssize_t ret;

	while (text) {
		ret = recv(agent->fd, text + len, size - 1 - len, 0);
		if (ret < 0 && errno == EINTR)
			continue;
		if (ret <= 0) {
			free(text);
			return ret && errno == EAGAIN ? -ETIMEDOUT : -ECONNRESET;
		}
		len += ret;
		if (text[len - 1] == '\n') {
			text[len - 1] = '\0';
			*line = text;
			return 0;
		}
		if (len < size - 1)
			continue;
		if (size >= ANSWER_MAX) {
			free(text);
			return -EPROTO;
		}
		larger = realloc(text, size *= 2);
		if (!larger)
			free(text);
		text = larger;
	}
	return -ENOMEM;
}

static int check_answer(struct vgpu_agent *agent, struct json_object *answer)
{
	struct json_object *ok, *number, *message;
	int error;

	if (!json_object_object_get_ex(answer, "ok", &ok))
		return fail(agent, -EPROTO, MALFORMED);
	if (json_object_get_boolean(ok))
		return 0;
	if (!json_object_object_get_ex(answer, "errno", &number) ||
	    !json_object_object_get_ex(answer, "message", &message))
		return fail(agent, -EPROTO, MALFORMED);
	error = json_object_get_int(number);
	return fail(agent, error > 0 && error < 4096 ? -error : -EPROTO,
		    json_object_get_string(message));
}

int agent_ask(struct vgpu_agent *agent, struct request *request, struct json_object **answer)
{
	const char *text = json_print(request->object, JSON_C_TO_STRING_PLAIN);
	char *line = NULL;
	int ret = request->lost || !request->object || !text ? -ENOMEM : 0;

	free(agent->message);
	agent->message = NULL;
	if (!ret)
		ret = send_line(agent, text);
	json_object_put(request->object);
	/* An agent that refuses a connection sends an answer before it closes the connection. */
	if (!ret || ret == -ECONNRESET)
		ret = receive_line(agent, &line);
	if (ret)
		return fail(agent, ret, no_answer_words(ret));
	*answer = json_parse(line);
	ret = errno == ENOMEM ? -ENOMEM : -EPROTO;
	free(line);
	if (!*answer)
		return fail(agent, ret, ret == -ENOMEM ? no_answer_words(ret) : MALFORMED);
	ret = check_answer(agent, *answer);
	if (ret)
		json_object_put(*answer);
	return ret;
}
