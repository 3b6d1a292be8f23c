// SPDX-License-Identifier: MIT
/* Requests that change windows. */
#include <errno.h>
#include <stdio.h>

#include "base/answer.h"
#include "config/config.h"
#include "host/window.h"
#include "reload/wanted.h"
#include "request/json.h"
#include "request/window.h"
#include "shared/log.h"

/* Return "size" in bytes; 0 if it is missing or invalid. */
static uint64_t get_size(struct json_object *request)
{
	struct json_object *value;
	int64_t size;

	if (!json_object_object_get_ex(request, "size", &value))
		return 0;
	size = json_object_get_int64(value);
	return size < 0 ? 0 : size;
}

struct json_object *request_window_create(struct json_object *request, const char *who)
{
	struct window_spec spec = {
		.cid = json_get_number(request, "cid"),
		.port = json_get_number(request, "port"),
		.size = get_size(request),
		.owner = json_get_string(request, "owner"),
	};
	struct answer words = { "" };
	struct json_object *answer;
	char path[48];
	int ret;

	if (!spec.cid || !spec.size)
		return answer_error(-EINVAL, "a window needs a guest and a size");
	ret = window_create(&spec, path, &words);
	if (ret)
		return answer_error(ret, words.text);
	log_info("window %s: is made, by vgpuctl (%s)", path, who);
	answer = answer_ok();
	json_put_string(answer, "path", path);
	return answer;
}

struct json_object *request_window_destroy(struct json_object *request, const char *who)
{
	uint32_t cid = json_get_number(request, "cid"), port = json_get_number(request, "port");
	bool force = json_get_bool(request, "force");
	const char *origin = wanted_by(cid, port);
	struct answer words = { "" };
	int ret;

	if (origin && !force) {
		snprintf(words.text, sizeof(words.text),
			 "%.150s asks for this window: change that file and reload vgpud (--force makes the window anew)",
			 origin);
		return answer_error(-EBUSY, words.text);
	}
	ret = window_destroy(cid, port, force, &words);
	if (ret)
		return answer_error(ret, words.text);
	log_info("window of guest %u:%u: is taken away, by vgpuctl (%s)", cid,
		 port ? port : settings.port, who);
	wanted_again();
	return answer_ok();
}

struct json_object *request_window_drain(struct json_object *request, const char *who)
{
	uint32_t cid = json_get_number(request, "cid"), port = json_get_number(request, "port");
	bool drain = json_get_bool(request, "drain");
	struct answer words = { "" };
	int ret;

	ret = window_drain(cid, port, drain, &words);
	if (ret)
		return answer_error(ret, words.text);
	log_info("window of guest %u:%u: is to be %s, by vgpuctl (%s)", cid,
		 port ? port : settings.port, drain ? "empty" : "used", who);
	return answer_ok();
}
