// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the answers to users who may not change anything (userspace-lib/vgpud/request/other.c):
 * these users get a part of vgpud's time, whatever they ask for and however often.
 */
#include <string.h>

#include "shared/loop.h"
#include "tap.h"
#include "vgpud/request/json.h"
#include "vgpud/request/metrics.h"
#include "vgpud/request/other.h"
#include "vgpud/request/status.h"

#define LIST	"{\"op\":\"list\"}"
#define STATUS	"{\"op\":\"status\"}"
#define METRICS	"{\"op\":\"metrics\"}"
#define MS	1000000ULL
/* Time that one description takes. */
#define COST	(5 * MS)

static uint64_t now = 1000 * MS;
static unsigned int nr_made;

/* --- functions that other.c calls --------------------------------------------------------- */

static struct json_object *describe(const char *what)
{
	struct json_object *answer = json_object_new_object();

	now += COST;
	nr_made++;
	json_object_object_add(answer, what, json_object_new_int(nr_made));
	return answer;
}

struct json_object *request_list(void)
{
	return describe("list");
}

struct json_object *request_status(bool programs)
{
	tap_expect(!programs, "the names of programs are told");
	return describe("status");
}

struct json_object *request_metrics(bool programs)
{
	tap_expect(!programs, "the names of programs are told");
	return describe("metrics");
}

uint64_t now_ns(void)
{
	return now;
}

/* --- tests -------------------------------------------------------------------------------- */

static void test_lines(void)
{
	tap_expect(other_may_ask(LIST) && other_may_ask(STATUS) && other_may_ask(METRICS),
		   "a request is refused");
	tap_expect(!other_may_ask("") && !other_may_ask(LIST " ") &&
		   !other_may_ask("{\"op\":\"limits\"}"), "another request is allowed");
	tap_subject("requests that every user may make");
}

static void test_fresh(void)
{
	unsigned int before = nr_made, i;

	for (i = 0; i < 10; i++) {
		tap_expect(strstr(other_answer(LIST), "list"), "no list");
		tap_expect(strstr(other_answer(STATUS), "status"), "no status");
		tap_expect(strstr(other_answer(METRICS), "metrics"), "no metrics");
	}
	tap_expect(nr_made == before + 30, "%u descriptions", nr_made - before);
	tap_subject("those who ask seldom get what there is now");
}

static void test_flood(void)
{
	unsigned int before, i;
	uint64_t start, spent;

	for (i = 0; i < 1000; i++)
		other_answer(i % 2 ? LIST : STATUS);
	before = nr_made;
	start = now;
	for (i = 0; i < 20000; i++) {
		tap_expect(other_answer(i % 2 ? LIST : STATUS), "no answer");
		now += MS / 10;
	}
	spent = (nr_made - before) * COST;
	tap_expect(spent > (now - start) / 20 && spent <= (now - start) / 9,
		   "%llu ms of %llu ms for descriptions", (unsigned long long)(spent / MS),
		   (unsigned long long)((now - start) / MS));
	tap_subject("those who ask all the time get a tenth of the time");
}

int main(void)
{
	test_lines();
	test_fresh();
	test_flood();
	return tap_done();
}
