/* SPDX-License-Identifier: GPL-2.0-only */
/* Files of exports.d that tests write while vgpud runs. */
#ifndef AGENT_EXPORTS_H
#define AGENT_EXPORTS_H

#include <regex.h>
#include <signal.h>

#include "agent.h"

#include "kselftest_harness.h"

static inline bool write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	return file && fputs(text, file) >= 0 && !fclose(file);
}

#define DIR_EXPORTS	"/etc/vgpu/exports.d"
#define CONF		DIR_EXPORTS "/config-1.conf"
#define OTHER_CONF	DIR_EXPORTS "/config-2.conf"
#define LOG		"/run/vgpud.log"

/* Returns the number of lines in which vgpud logged these words. */
static inline int logged(const char *words)
{
	FILE *stream = fopen(LOG, "r");
	char *line = NULL;
	size_t room = 0;
	int nr = 0;

	while (stream && getline(&line, &room, stream) > 0)
		nr += !!strstr(line, words);
	free(line);
	if (stream)
		fclose(stream);
	return nr;
}

/* Writes a section for these guests. */
static inline bool write_export(const char *conf, const char *name, const char *to,
				const char *more)
{
	char text[512];

	snprintf(text, sizeof(text), "[%s]\npath = %s\nto = %s\n%s", name, getenv("VGPU_REAL"), to,
		 more);
	return write_file(conf, text);
}

/* Has vgpud read its files again. Return: true if vgpud has done so. */
static inline bool reload(void)
{
	int before = logged("reading the exports again"), tries;
	pid_t pid;

	if (tool_processes("/vgpud", &pid) != 1 || kill(pid, SIGHUP))
		return false;
	for (tries = 0; tries < 1000; tries++) {
		/* vgpud answers only after it has read all files. */
		if (logged("reading the exports again") > before)
			return !tool_run("vgpuctl list")->status;
		usleep(20000);
	}
	return false;
}

/* Return: true if a line of vgpuctl's list has this pattern. */
static inline bool listed(const char *pattern)
{
	struct tool_run *run = tool_run("vgpuctl list");
	regex_t regex;
	bool found;

	if (run->status || regcomp(&regex, pattern, REG_NOSUB | REG_NEWLINE))
		return false;
	found = !regexec(&regex, run->out, 0, NULL, 0);
	regfree(&regex);
	return found;
}

#define NR_OPEN		"/proc/sys/fs/nr_open"

FIXTURE(files) {
	bool any;
};

FIXTURE_SETUP(files)
{
	if (!tool_has_host())
		SKIP(return, "needs the host in the same machine");
	ASSERT_EQ(0, tool_run("mkdir -p " DIR_EXPORTS)->status);
	self->any = true;
}

FIXTURE_TEARDOWN(files)
{
	if (!self->any)
		return;
	unlink(CONF);
	unlink(OTHER_CONF);
	EXPECT_TRUE(reload());
	EXPECT_FALSE(listed("^config-"));
}

#endif /* AGENT_EXPORTS_H */
