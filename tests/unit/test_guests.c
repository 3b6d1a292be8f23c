// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of guests by name (userspace-lib/vgpud/config/guests.c and guestfile.c): which names and
 * limits follow from vgpud.conf and guests.d, and that a mistake changes nothing.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"
#include "vgpud/base/answer.h"
#include "vgpud/base/ini.h"
#include "vgpud/config/config.h"
#include "vgpud/config/guestfile.h"
#include "vgpud/config/guests.h"

static char dir[] = "/tmp/vgpu-guests-XXXXXX";

/* --- what config.c has ---------------------------------------------------------------------- */

struct settings settings = {
	.port = 100,
	.guests_dir = dir,
	.cgroups = CGROUPS_YES,
	.limits = { .host = { .sessions = 8, .objects = 50, .mapped_bytes = 1 << 20 },
		    .session_rate = 5 },
};

int room_check(unsigned int objects, struct answer *words)
{
	return objects > 1000 ? answer_say(words, -EINVAL, "too many") : 0;
}

unsigned long long room_threads(const struct limits *limits)
{
	return limits->host.sessions;
}

/* --- memory --------------------------------------------------------------------------------- */

static bool no_memory;

int __real_vasprintf(char **text, const char *fmt, va_list args);
int __wrap_vasprintf(char **text, const char *fmt, va_list args);

/* Stands for vasprintf() in the code that is tested (--wrap). */
int __wrap_vasprintf(char **text, const char *fmt, va_list args)
{
	return no_memory ? -1 : __real_vasprintf(text, fmt, args);
}

/* --- files ---------------------------------------------------------------------------------- */

static void put(const char *name, const char *text)
{
	char path[sizeof(dir) + 32];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (!text) {
		unlink(path);
		return;
	}
	file = fopen(path, "w");
	tap_expect(file && fputs(text, file) >= 0 && !fclose(file), "%s cannot be written", path);
}

static unsigned int mistakes;

static void conf_line(void *data, const struct ini_line *line)
{
	struct answer words;

	mistakes += guestfile_has(line->section) && guestfile_conf_line("conf", line, &words);
}

static void read_conf(const char *text)
{
	struct text words = { 0 };
	char path[sizeof(dir) + 16];

	put("conf", text);
	snprintf(path, sizeof(path), "%s/conf", dir);
	guest_sections_free(&guests_by_conf);
	mistakes = 0;
	tap_expect(!ini_read(path, conf_line, NULL), "%s cannot be read", path);
	mistakes += guestfile_check(&guests_by_conf, &words);
	text_free(&words);
}

/* Read guests.d, and let it take effect if it has no mistake. */
static int take(void)
{
	struct text words = { 0 };
	int ret = guests_plan(&words);

	tap_expect(!ret == !words.len, "%d with words '%s'", ret, words.lines ? words.lines : "");
	text_free(&words);
	if (!ret)
		guests_take();
	guests_plan_end();
	return ret;
}

static bool is(const char *name, uint32_t cid, uint32_t port)
{
	uint32_t its_cid, its_port;

	return guest_by_name(name, &its_cid, &its_port) && its_cid == cid && its_port == port &&
	       !strcmp(guest_name(cid, port), name);
}

/* --- tests ---------------------------------------------------------------------------------- */

static void test_names(void)
{
	static const char *const good[] = { "a", "web-1", "0a", "a.b_c", "3.14" };
	static const char *const bad[] = { "", "3", "007", "0x1f", "-a", ".a", "a b", "a/b", "a:3",
		"abcdefghijklmnopqrstuvwxyzabcdef" };
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		tap_expect(guest_name_ok(good[i]), "'%s' is refused", good[i]);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		tap_expect(!guest_name_ok(bad[i]), "'%s' is a name", bad[i]);
	tap_subject("names of guests");
}

static void test_limits(void)
{
	struct limits limits;

	read_conf("[guest web]\ncid = 3\nobjects = 60\nsessions = 9\n");
	tap_expect(!mistakes, "%u mistakes", mistakes);
	put("a.conf", "[guest web]\nsessions = 10\nmapped-bytes = 2M\n"
		      "[guest db]\ncid = 3:200\nobjects = 7\n");
	tap_expect(!take(), "files without a mistake are refused");
	tap_expect(is("web", 3, 100) && is("db", 3, 200), "wrong guests");
	limits = guest_limits(3, 100);
	tap_expect(limits.host.objects == 60 && limits.host.sessions == 10 &&
		   limits.host.mapped_bytes == 2 << 20 && limits.session_rate == 5,
		   "web has %u objects, %u sessions", limits.host.objects, limits.host.sessions);
	limits = guest_limits(3, 200);
	tap_expect(limits.host.objects == 7 && limits.host.sessions == 8,
		   "db has %u objects, %u sessions", limits.host.objects, limits.host.sessions);
	limits = guest_limits(4, 100);
	tap_expect(limits.host.objects == 50, "a guest without a name has %u objects",
		   limits.host.objects);
	put("a.conf", NULL);
	tap_expect(!take(), "no files are refused");
	tap_expect(guest_limits(3, 100).host.sessions == 9 && !guest_name(3, 200),
		   "a file that is gone still counts");
	tap_subject("limits: guests.d before vgpud.conf, a guest's before those of all");
}

static void test_mistakes(void)
{
	static const char *const files[] = {
		"[web]\ncid = 4\n", "[guest 4]\ncid = 4\n", "[guest new]\n",
		"[guest new]\ncid = 0\n", "[guest new]\ncid = 4\ncid = 5\n",
		"[guest new]\ncid = 4\nobjects = 0\n",
		"[guest new]\ncid = 4\nobjects = 1\nobjects = 2\n",
		"[guest new]\ncid = 4\nfoo = 1\n", "[guest new]\ncid = 3\n",
		"[guest new]\ncid = 4\n[guest new]\nobjects = 1\n", "[guest web]\ncid = 5\n",
		"[guest new]\ncid = 4\nobjects = 1001\n", "[guest new]\ncid = 6:200\n",
	};
	size_t i;

	read_conf("[guest web]\ncid = 3\n");
	put("a.conf", "[guest old]\ncid = 6:200\nsessions = 2\n");
	tap_expect(!take(), "a file without a mistake is refused");
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		put("b.conf", files[i]);
		tap_expect(take() == -EBADMSG, "no mistake: %s", files[i]);
		tap_expect(is("old", 6, 200) && is("web", 3, 100) && !guest_name(4, 100) &&
			   guest_limits(6, 200).host.sessions == 2, "changed by %s", files[i]);
	}
	put("b.conf", NULL);
	read_conf("[guest web]\ncid = 3\n[guest x]\ncid = 3:100\n");
	tap_expect(mistakes, "no mistake in vgpud.conf");
	tap_subject("mistakes change nothing");
}

static void test_groups(void)
{
	struct limits limits;

	settings.all_groups.tasks = 1000;
	read_conf("[guest web]\ncid = 3\nmemory = 1%\ntasks = 7\n");
	tap_expect(!mistakes, "%u mistakes", mistakes);
	put("a.conf", "[guest web]\ncpu-weight = 50\n");
	tap_expect(!take(), "a file without a mistake is refused");
	limits = guest_limits(3, 100);
	tap_expect(limits.group.memory && limits.group.cpu_weight == 50 &&
		   group_limits_of(&limits).tasks == 7, "%u tasks", limits.group.tasks);
	limits.group.tasks = 0;
	tap_expect(group_limits_of(&limits).tasks > limits.host.sessions, "too few tasks: %u",
		   group_limits_of(&limits).tasks);
	limits.host.sessions = 4000;
	tap_expect(group_limits_of(&limits).tasks == 500, "not half of all tasks: %u",
		   group_limits_of(&limits).tasks);
	put("a.conf", "[guest web]\nmemory = 101%\n");
	tap_expect(take() == -EBADMSG, "more memory than there is");
	put("a.conf", "[guest web]\nmemory = 0\n");
	settings.cgroups = CGROUPS_NO;
	tap_expect(!take(), "no limit of memory is refused");
	put("a.conf", "[guest web]\nmemory = 1M\n");
	tap_expect(take() == -EBADMSG, "memory cannot be limited without groups");
	settings.cgroups = CGROUPS_YES;
	put("a.conf", NULL);
	tap_expect(!take(), "no files are refused");
	tap_subject("limits of control groups");
}

/* A mistake counts also if there is no memory to say what it is. */
static void test_memory(void)
{
	static const char *const files[] = { "[guest new]\ncid = 4\nobjects = 0\n", "[guest new]\n" };
	struct text words = { 0 };
	size_t i;

	read_conf("");
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		put("a.conf", files[i]);
		no_memory = true;
		tap_expect(guests_plan(&words) == -EBADMSG, "no mistake: %s", files[i]);
		no_memory = false;
		guests_plan_end();
		tap_expect(words.lost && !words.lines, "nothing was lost");
		text_free(&words);
	}
	put("a.conf", NULL);
	tap_expect(!take(), "no files are refused");
	tap_subject("mistakes without memory");
}

/* The default directory may be missing, and one that the settings name may not. */
static void test_directory(void)
{
	settings.guests_dir = "/nonexistent/guests.d";
	tap_expect(!take(), "the default directory is missing");
	settings.guests_dir_named = true;
	tap_expect(take() == -ENOENT, "a directory that was named is missing, and not missed");
	settings.guests_dir = dir;
	tap_expect(!take(), "a directory that was named is refused");
	settings.guests_dir_named = false;
	tap_subject("directory of the files");
}

/* vgpud has a file for each session of each guest, and guests have limits of their own. */
static void test_sessions(void)
{
	read_conf("[guest web]\ncid = 3\nsessions = 100\n[guest db]\ncid = 4\n");
	put("a.conf", "[guest web]\nsessions = 2000\n[guest new]\ncid = 5\nsessions = 30\n");
	tap_expect(!take(), "a file without a mistake is refused");
	tap_expect(guests_sessions() == 8 + 2000 + 8 + 30, "%llu sessions", guests_sessions());
	put("a.conf", NULL);
	tap_expect(!take(), "no files are refused");
	tap_expect(guests_sessions() == 8 + 100 + 8, "%llu sessions", guests_sessions());
	tap_subject("sessions of all guests");
}

static void test_planned(void)
{
	uint32_t cid, port;
	struct text words = { 0 };

	read_conf("");
	put("a.conf", "[guest old]\ncid = 6\nsessions = 2\n");
	tap_expect(!take(), "a file without a mistake is refused");
	put("a.conf", "[guest new]\ncid = 6\nsessions = 3\n");
	tap_expect(!guests_plan(&words), "a file without a mistake is refused");
	tap_expect(guest_by_name("new", &cid, &port) && !guest_by_name("old", &cid, &port),
		   "exports that are read see the guests in force");
	tap_expect(guest_limits(6, 100).host.sessions == 2 &&
		   guest_limits_planned(6, 100).host.sessions == 3, "limits took effect too early");
	guests_plan_end();
	tap_expect(is("old", 6, 100) && guest_limits(6, 100).host.sessions == 2,
		   "what was only read took effect");
	put("a.conf", NULL);
	text_free(&words);
	tap_subject("what was read takes effect when it is taken");
}

int main(void)
{
	if (!mkdtemp(dir))
		return EXIT_FAILURE;
	test_names();
	test_limits();
	test_mistakes();
	test_groups();
	test_memory();
	test_directory();
	test_sessions();
	test_planned();
	guest_sections_free(&guests_by_files);
	guest_sections_free(&guests_by_conf);
	put("conf", NULL);
	rmdir(dir);
	return tap_done();
}
