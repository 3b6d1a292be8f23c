// SPDX-License-Identifier: MIT
/* Start of vgpud with user-space engines. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "engines/engine.h"
#include "engines/init.h"
#include "engines/need.h"
#include "engines/node.h"
#include "engines/shadow.h"
#include "process/spawn.h"
#include "shared/log.h"

#define LOCK_FILE	"/run/vgpu/engine.lock"

/*
 * Take the lock that lets one vgpud run with engines, and hold it until vgpud ends. Only one
 * process may make nodes, and there is no module that would refuse a second agent.
 */
static int lock_take(void)
{
	int fd = open(LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC, 0600), ret;

	if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB))
		return 0;
	ret = -errno;
	if (ret == -EWOULDBLOCK)
		log_error("another vgpud is running");
	else
		log_error("%s: %s", LOCK_FILE, strerror(-ret));
	if (fd >= 0)
		close(fd);
	return ret;
}

int engine_init(const struct host_events *handlers)
{
	int faults_fd = needs_check(), ret, other;

	if (faults_fd < 0)
		return faults_fd;
	engines_init(handlers);
	engine_shadows_init(faults_fd);
	ret = spawn_open(SPAWN_ENGINE);
	other = spawn_open(SPAWN_ENGINE_SHADOW);
	if (ret || other)
		return -ENOENT;
	ret = lock_take();
	return ret ? ret : nodes_init();
}
