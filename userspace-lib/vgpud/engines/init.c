// SPDX-License-Identifier: MIT
/*
 * Start of vgpud with user-space engines, and checks for features of the kernel that they need.
 * Also a limit of mappings, for shadows of the host module as well.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sysfs.h"
#include "config/config.h"
#include "engines/engine.h"
#include "engines/init.h"
#include "engines/node.h"
#include "engines/shadow.h"
#include "process/spawn.h"
#include "shared/log.h"
#include "shared/proto.h"

#define LOCK_FILE	"/run/vgpu/engine.lock"
/* Milliseconds to wait for children of a vgpud that was killed, and between two looks. */
#define LOCK_MS		10000
#define LOCK_LOOK_MS	50
#define FAULTS_DEVICE	"/dev/userfaultfd"

/* End of messages about features of the kernel that containers and services may deny even root. */
#define NEED	"and neither a container nor SystemCallFilter= may deny it to vgpud; the host module works without it (modprobe vgpu_host)"

/* Make a userfaultfd with the features that a shadow asks for, and close it again. */
static int faults_try(int device)
{
	struct uffdio_api api = { .api = UFFD_API, .features = ESHADOW_FAULTS };
	int faults = ioctl(device, USERFAULTFD_IOC_NEW, O_CLOEXEC), ret = 0;

	if (faults < 0)
		return -errno;
	if (ioctl(faults, UFFDIO_API, &api))
		ret = -errno;
	close(faults);
	return ret;
}

static int faults_open(void)
{
	int fd = open(FAULTS_DEVICE, O_RDWR | O_CLOEXEC), ret;

	ret = fd < 0 ? -errno : faults_try(fd);
	if (!ret)
		return fd;
	log_error(FAULTS_DEVICE ": %s: user-space engines cannot serve page faults of the kernel: this needs Linux 6.1 or later with CONFIG_USERFAULTFD, "
		  NEED, strerror(-ret));
	if (fd >= 0)
		close(fd);
	return -ENOTSUP;
}

static int secret_check(void)
{
	int fd = syscall(SYS_memfd_secret, 0);

	if (fd < 0) {
		log_error("memfd_secret: %s: user-space engines cannot allocate memory that drivers cannot keep: this needs CONFIG_SECRETMEM (before Linux 6.5: boot with secretmem.enable=1), "
			  NEED, strerror(errno));
		return -ENOTSUP;
	}
	close(fd);
	return 0;
}

static int files_check(int faults_fd)
{
	pid_t self = getpid();

	if (syscall(SYS_kcmp, self, self, KCMP_FILE, faults_fd, faults_fd)) {
		log_error("kcmp: %s: user-space engines cannot compare open files: this needs CONFIG_KCMP, "
			  NEED, strerror(errno));
		return -ENOTSUP;
	}
	return 0;
}

static unsigned int maps_max(void)
{
	unsigned long long max;

	return sysctl_read("/proc/sys/vm/max_map_count", &max) ? max : 0;
}

uint32_t engine_pieces_max(void)
{
	return maps_max() / 2;
}

/*
 * Warn if vm.max_map_count is too low for the limits. A mapping of a device, and a page of a
 * program, takes up to two VMAs: its own, and that of the memory up to the next one. They get half
 * of vm.max_map_count, as the other half is for engine_pieces_max().
 */
static void maps_check(void)
{
	const uint64_t need = 4 * ((uint64_t)settings.limits.host.mappings + settings.limits.host.pages);
	unsigned int max = maps_max();

	if (max < need)
		log_warning("vm.max_map_count is %u, but 'mappings' and 'pages' in [limits] need %llu: raise vm.max_map_count (sysctl vm.max_map_count=%llu) or lower these limits; otherwise programs of guests that reach them are ended",
			    max, (unsigned long long)need, (unsigned long long)need);
}

/*
 * Check that the kernel has all that engines need. Return: the file of /dev/userfaultfd, or a
 * negative errno; the log then names what is missing.
 */
static int needs_check(void)
{
	int faults_fd = faults_open(), ret;

	if (faults_fd < 0)
		return faults_fd;
	ret = secret_check();
	if (!ret)
		ret = files_check(faults_fd);
	if (ret) {
		close(faults_fd);
		return ret;
	}
	maps_check();
	return faults_fd;
}

/*
 * Wait until no process holds the lock of a file, LOCK_MS at most, and take it. Return: 0;
 * -EWOULDBLOCK: another process holds it; another negative errno.
 */
static int lock_await(int fd)
{
	unsigned int left = LOCK_MS;

	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK || !left)
			return -errno;
		usleep(1000 * LOCK_LOOK_MS);
		left -= LOCK_LOOK_MS;
	}
	return 0;
}

/*
 * Take the locks that let one vgpud run with engines, and hold them until vgpud ends. Only one
 * process may make nodes, and there is no module that would refuse a second agent.
 *
 * A record lock (fcntl) belongs to one process, so another vgpud that runs is noticed at once. A
 * child has the files of its vgpud for a moment, until it executes its program. If vgpud is killed
 * then, the child still listens on vgpud's sockets, and holds the lock of the file (flock).
 */
static int lock_take(void)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open(LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC, 0600), ret = 0;

	if (fd < 0)
		ret = -errno;
	else if (fcntl(fd, F_SETLK, &whole))
		ret = errno == EACCES ? -EAGAIN : -errno;
	else
		ret = lock_await(fd);
	if (!ret)
		return 0;
	if (ret == -EWOULDBLOCK)
		log_error("another vgpud is running: end that one first (systemctl stop vgpud)");
	else
		log_error("%s: %s", LOCK_FILE, strerror(-ret));
	if (fd >= 0)
		close(fd);
	return ret;
}

int engine_init(const struct host_events *handlers)
{
	/* All are opened now: vgpud may serve guests for long after a later version was installed. */
	static const enum spawn_kind kinds[] = {
		SPAWN_ENGINE, SPAWN_ENGINE_SHADOW, SPAWN_MASTER
	};
	int faults_fd = needs_check(), ret = 0;
	size_t i;

	if (faults_fd < 0)
		return faults_fd;
	engines_init(handlers);
	engine_shadows_init(faults_fd);
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (spawn_open(kinds[i]))
			ret = -ENOENT;
	if (ret)
		return ret;
	ret = lock_take();
	return ret ? ret : nodes_init();
}
