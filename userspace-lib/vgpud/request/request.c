// SPDX-License-Identifier: MIT
/*
 * Requests on the control socket: the functions here read the JSON objects of requests, run
 * them, and make the answers.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "reload/reload.h"
#include "request/export.h"
#include "request/json.h"
#include "request/request.h"
#include "request/status.h"
#include "request/window.h"

/* Read the files of exports again; without @who, only describe what would change. */
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

struct json_object *request_run(struct json_object *request, bool may_change, const char *who)
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
