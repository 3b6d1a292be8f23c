/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions that end vgpud and start it again, from a test in the same machine. */
#ifndef AGENT_H
#define AGENT_H

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "tool.h"
#include "vgpu_mock.h"

#define AGENT_CONF	"/etc/vgpu/exports.d/agent.conf"

/* Saves the exports made by vgpuctl to the file AGENT_CONF, as they would end with vgpud. */
static inline bool agent_keep_exports(void)
{
	char *line, *rest = tool_run("vgpuctl list --json")->out, *at;
	char name[64] = "", path[128] = "", cid[32] = "", port[32] = "";
	bool master = false, by_hand = false, any_port = false, any = false;
	FILE *file;

	if (system("mkdir -p /etc/vgpu/exports.d"))
		return false;
	file = fopen(AGENT_CONF, "w");
	if (!file)
		return false;
	/* Pretty-printed JSON: one member a line, in a fixed order. */
	while ((line = strsep(&rest, "\n"))) {
		if (strstr(line, "\"guest\""))
			break;
		if ((at = strstr(line, "\"name\":"))) {
			sscanf(at, "\"name\":\"%63[^\"]", name);
			any_port = false;
		} else if ((at = strstr(line, "\"path\":"))) {
			sscanf(at, "\"path\":\"%127[^\"]", path);
		} else if (strstr(line, "\"master\":")) {
			master = strstr(line, "true");
		} else if ((at = strstr(line, "\"origin\":"))) {
			/* An export that comes from another file is in that file already. */
			by_hand = strstr(at, "null") || strstr(at, AGENT_CONF);
			if (by_hand && fprintf(file, "[%s]\npath = %s\n%s", name, path,
					       master ? "master = yes\n" : "") > 0)
				any = true;
		} else if ((at = strstr(line, "\"cid\":"))) {
			sscanf(at, "\"cid\":%31[0-9]", cid);
		} else if ((at = strstr(line, "\"port\":")) &&
			   sscanf(at, "\"port\":%31[0-9]", port) == 1 && by_hand) {
			fprintf(file, "to = %s:%s\n", cid, port);
		} else if (by_hand && !any_port && strstr(line, "\"any_port\":true")) {
			/* any-port is written once an export, however many guests have it. */
			any_port = true;
			fputs("any-port = yes\n", file);
		}
	}
	return !fclose(file) && any;
}

/*
 * Finds the node of the forwarded device @name, whose number may have changed after a restart.
 * Return: there is such a device.
 */
static inline bool agent_node(const char *name, char node[64])
{
	int number = tool_find_export(name);

	if (number < 0)
		return false;
	snprintf(node, 64, "/dev/vgpu%d", number);
	return true;
}

static inline int agent_open(const char *name)
{
	char node[64] = "";
	int fd;

	agent_node(name, node);
	fd = open(node, O_RDWR);
	if (fd >= 0 && ioctl(fd, VGPU_MOCK_IOC_NOOP, 0)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Waits until no process runs the program. Return: false if that did not happen before @end. */
static inline bool agent_await_none(const char *program, uint64_t end)
{
	while (tool_processes(program, NULL)) {
		if (tool_now_ms() >= end)
			return false;
		usleep(20000);
	}
	return true;
}

/*
 * Finds vgpud, which leads its session. A child that has not executed its program yet runs the same
 * program as vgpud. Return: its pid; 0: no vgpud runs.
 */
static inline pid_t agent_pid(void)
{
	char path[300], exe[4096];
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	pid_t pid, found = 0;
	ssize_t len;

	while (proc && !found && (entry = readdir(proc))) {
		pid = atoi(entry->d_name);
		snprintf(path, sizeof(path), "/proc/%s/exe", entry->d_name);
		len = pid > 0 ? readlink(path, exe, sizeof(exe) - 1) : -1;
		exe[len > 0 ? len : 0] = '\0';
		if (len > 6 && !strcmp(exe + len - 6, "/vgpud") && getsid(pid) == pid)
			found = pid;
	}
	if (proc)
		closedir(proc);
	return found;
}

/* Sends vgpud a signal that ends it. Return: a pidfd for agent_gone(); -1: no vgpud runs. */
static inline int agent_kill(int signal)
{
	pid_t pid = agent_pid();
	int pidfd = -1;

	if (pid)
		pidfd = syscall(SYS_pidfd_open, pid, 0);
	if (pidfd >= 0 && !kill(pid, signal))
		return pidfd;
	close(pidfd);
	return -1;
}

/* Time that vgpud may take to end, on a machine that runs other tests as well. */
#define AGENT_END_MS	120000

/*
 * Waits for the end of vgpud. Return: vgpud has ended. The kernel closes files before
 * exit_notify(), so another process can be the module's agent then.
 */
static inline bool agent_gone(int pidfd)
{
	struct pollfd pfd = { .fd = pidfd, .events = POLLIN };
	bool gone = pidfd >= 0 && poll(&pfd, 1, AGENT_END_MS) == 1;

	close(pidfd);
	return gone;
}

/* Ends vgpud. Return: vgpud has ended, and the guest has noticed. */
static inline bool agent_end(const char *name, int signal)
{
	int fd = agent_open(name), tries = 1000;
	bool gone = agent_gone(agent_kill(signal));

	while (fd >= 0 && !ioctl(fd, VGPU_MOCK_IOC_NOOP, 0) && --tries)
		usleep(20000);
	close(fd);
	return gone && tries;
}

/* Starts vgpud, whose shadows run the program @shadow; NULL: the default program. */
static inline void agent_run(const char *shadow)
{
	int fd;

	if (fork())
		return;
	setsid();
	fd = open("/run/vgpud.log", O_WRONLY | O_APPEND | O_CREAT, 0644);
	dup2(fd, 1);
	dup2(fd, 2);
	close_range(3, ~0U, 0);
	execlp("vgpud", "vgpud", shadow ? "--shadow" : NULL, shadow, NULL);
	_exit(127);
}

/* Waits for the export @name. Return: an fd of the device; -1: it did not come in 40 s. */
static inline int agent_await(const char *name)
{
	uint64_t end = tool_now_ms() + 40000;
	int fd;

	while ((fd = agent_open(name)) < 0 && tool_now_ms() < end)
		usleep(50000);
	return fd;
}

/* Starts vgpud and waits for the export @name. Return: an fd of the device, or -1. */
static inline int agent_start(const char *name)
{
	agent_run(NULL);
	return agent_await(name);
}

/*
 * Ends vgpud, adds @settings to its original settings, and starts it. Return: the device @name is
 * back.
 */
static inline bool agent_start_with(const char *name, const char *settings)
{
	int fd;

	if (!agent_end(name, SIGTERM))
		return false;
	/* An original setting of the same name is removed, as no setting may be given twice. */
	if (tool_run("set -e; cd /etc/vgpu; [ -e vgpud.conf.keep ] || cp vgpud.conf vgpud.conf.keep\n"
		     "cp vgpud.conf.keep vgpud.conf; printf '%s' >/run/vgpud.more\n"
		     "for key in $(sed -n 's/ *=.*//p' /run/vgpud.more); do\n"
		     "sed -i \"/^$key *=/d\" vgpud.conf\ndone\n"
		     "cat /run/vgpud.more >>vgpud.conf", settings)->status)
		return false;
	fd = agent_start(name);
	close(fd);
	return fd >= 0;
}

/* Writes the devices' numbers, which may have changed, for the tests that follow. */
static inline bool agent_write_env(void)
{
	return access("/usr/lib/vgpu-test/setup", X_OK) ||
	       !tool_run("/usr/lib/vgpu-test/setup env")->status;
}

#endif /* AGENT_H */
