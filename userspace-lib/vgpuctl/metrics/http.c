// SPDX-License-Identifier: MIT
/*
 * One request of HTTP for metrics. systemd starts a service for each connection, with the
 * connection as standard input and output (vgpu-metrics.socket), so there is one request, and the
 * end of the program ends the connection.
 */
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "vgpuctl/metrics/format.h"
#include "vgpuctl/metrics/http.h"

/* Length of the longest head of a request, and time in milliseconds for all of it. */
#define HEAD_MAX	8192
#define HEAD_MS		10000

/* Check whether the request line asks for a path, with or without a query. */
static bool is_path(const char *at, const char *path)
{
	size_t len = strlen(path);

	return !strncmp(at, path, len) && (at[len] == ' ' || at[len] == '?');
}

struct http_request http_parse(const char *text)
{
	struct http_request request = { .status = 200 };
	const char *path = strchr(text, ' ');

	if (!path || !strstr(text, " HTTP/1.") || strcspn(text, "\r\n") < 14) {
		request.status = 400;
		return request;
	}
	path++;
	request.head = !strncmp(text, "HEAD ", 5);
	if (!request.head && strncmp(text, "GET ", 4))
		request.status = 405;
	else if (!is_path(path, "/metrics") && !is_path(path, "/"))
		request.status = 404;
	/* Prometheus names this type first if it takes it. */
	request.open = strcasestr(text, "\naccept:") &&
		strcasestr(strcasestr(text, "\naccept:"), "application/openmetrics-text");
	return request;
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

struct http_request http_read(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	const long end = now_ms() + HEAD_MS;
	char text[HEAD_MAX + 1];
	size_t len = 0;
	ssize_t got;
	long left;

	while (len < HEAD_MAX) {
		left = end - now_ms();
		if (left <= 0 || poll(&pfd, 1, left) <= 0)
			return (struct http_request) { .status = 408 };
		got = read(fd, text + len, HEAD_MAX - len);
		if (got <= 0)
			break;
		len += got;
		text[len] = '\0';
		if (strstr(text, "\r\n\r\n") || strstr(text, "\n\n"))
			return http_parse(text);
	}
	return (struct http_request) { .status = 400 };
}

void http_answer(FILE *to, const struct http_request *request, const char *body)
{
	static const struct {
		int status;
		const char *reason;
	} reasons[] = {
		{ 200, "OK" }, { 400, "Bad Request" }, { 404, "Not Found" },
		{ 405, "Method Not Allowed" }, { 408, "Request Timeout" },
		{ 503, "Service Unavailable" },
	};
	const char *reason = "Error", *type = FORMAT_TEXT_TYPE;
	char text[64];
	size_t i;

	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].status == request->status)
			reason = reasons[i].reason;
	if (request->status != 200) {
		snprintf(text, sizeof(text), "%s: metrics are at /metrics\n", reason);
		body = text;
		type = "text/plain; charset=utf-8";
	} else if (request->open) {
		type = FORMAT_OPEN_TYPE;
	}
	fprintf(to, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n%s\r\n",
		request->status, reason, type, strlen(body),
		request->status == 405 ? "Allow: GET, HEAD\r\n" : "");
	if (!request->head)
		fputs(body, to);
	fflush(to);
}
