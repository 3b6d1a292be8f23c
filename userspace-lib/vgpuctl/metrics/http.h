/* SPDX-License-Identifier: MIT */
/* One request of HTTP for metrics, as a service for each connection answers it. */
#ifndef VGPUCTL_HTTP_H
#define VGPUCTL_HTTP_H

#include <stdbool.h>
#include <stdio.h>

/**
 * struct http_request - a request
 * @status: status of the answer, if no metrics can be sent: 400, 404, 405 or 408; else 200
 * @head: true if only the head of the answer is asked for
 * @open: true if the client takes OpenMetrics
 */
struct http_request {
	int status;
	bool head;
	bool open;
};

/* Understand a request, whose head is @text. */
struct http_request http_parse(const char *text);
/* Read the head of a request from @fd, for 10 seconds at most, and understand it. */
struct http_request http_read(int fd);
/* Write an answer. @body: text of it, for status 200; else NULL. */
void http_answer(FILE *to, const struct http_request *request, const char *body);

#endif /* VGPUCTL_HTTP_H */
