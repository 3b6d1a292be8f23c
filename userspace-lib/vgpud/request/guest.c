// SPDX-License-Identifier: MIT
/* Requests about guests by name. */
#include <errno.h>
#include <stdint.h>

#include "base/answer.h"
#include "config/guests.h"
#include "request/guest.h"
#include "request/json.h"

struct json_object *request_guest(struct json_object *request)
{
	const char *name = json_get_string(request, "name");
	struct json_object *object;
	struct answer words;
	uint32_t cid, port;

	if (!name || !guest_by_name(name, &cid, &port))
		return answer_error(answer_say(&words, -ENOENT, "there is no guest '%s': a section [guest NAME] in a file of guests.d, or in vgpud.conf, gives a guest its name",
					       name ? name : ""), words.text);
	object = answer_ok();
	json_put_number(object, "cid", cid);
	json_put_number(object, "port", port);
	return object;
}
