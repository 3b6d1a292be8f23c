// SPDX-License-Identifier: GPL-2.0-only
/*
 * These tests show which file is master of a card that several files have open. The rights of a
 * process decide, as on a real node; for a forwarded node the guest checks the rights.
 */
#include <poll.h>

#include "drm_screen.h"

#include <linux/capability.h>
#include <sys/syscall.h>

#define USER	65534

static int set_master(int fd)
{
	return ioctl(fd, DRM_IOCTL_SET_MASTER, 0);
}

static int drop_master(int fd)
{
	return ioctl(fd, DRM_IOCTL_DROP_MASTER, 0);
}

/* Logs whether the file may set modes, by an invalid request. */
static void log_may_set_modes(const char *who, int fd)
{
	struct drm_mode_crtc crtc = { .crtc_id = 4711 };
	int error = ioctl(fd, DRM_IOCTL_MODE_SETCRTC, &crtc) ? errno : 0;

	log_line("%s: %s", who, error == EACCES ? "no" : "yes");
}

/* A process with rights uses a file that was opened beside a master. */
static void beside(void)
{
	int first = open_device(O_RDWR), second = open_device(O_RDWR);

	LOG_CALL(set_master(second));
	LOG_CALL(drop_master(second));
	LOG_CALL(set_master(first));
	LOG_CALL(drop_master(first));
	LOG_CALL(drop_master(first));
	log_may_set_modes("nobody is master: the second", second);
	LOG_CALL(set_master(second));
	LOG_CALL(set_master(second));
	log_may_set_modes("the second", second);
	log_may_set_modes("the first", first);
	LOG_CALL(set_master(first));
	LOG_CALL(drop_master(first));
	LOG_CALL(drop_master(second));
	LOG_CALL(set_master(first));
	close(first);
	/* The master's file is closed, and no other file is master. */
	log_may_set_modes("the second", second);
	LOG_CALL(set_master(second));
	close(second);
}

DIFF_TEST_NODE(beside_vkms, "VKMS_CARD", DIFF_SECONDS)
{
	beside();
}

DIFF_TEST_NODE(beside_virtio_gpu, "GPU_CARD", DIFF_SECONDS)
{
	beside();
}

DIFF_TEST_NODE(beside_vgem, "VGEM_CARD", DIFF_SECONDS)
{
	beside();
}

/* A process without rights can become master again only by a file that was master before. */
DIFF_TEST_NODE(without_rights, "VKMS_CARD", DIFF_SECONDS)
{
	int first = open_device(O_RDWR), second = open_device(O_RDWR);

	MUST(!setresuid(USER, USER, USER));
	LOG_CALL(set_master(second));
	LOG_CALL(drop_master(second));
	LOG_CALL(drop_master(first));
	LOG_CALL(set_master(second));
	LOG_CALL(drop_master(second));
	LOG_CALL(set_master(first));
	LOG_CALL(drop_master(first));
	close(first);
	close(second);
}

/* Drops all capabilities that are not in the mask. Return: 0, or -1. */
static int keep_capabilities(__u64 mask)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	int i;

	if (syscall(SYS_capget, &header, data))
		return -1;
	for (i = 0; i < 2; i++) {
		data[i].effective &= mask >> 32 * i;
		data[i].permitted = data[i].effective;
		data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &header, data);
}

/* CAP_SYS_ADMIN alone is enough, and all others together are not. */
DIFF_TEST_NODE(one_capability, "VKMS_CARD", DIFF_SECONDS)
{
	int first = open_device(O_RDWR), second = open_device(O_RDWR);

	MUST(!drop_master(first));
	if (!fork()) {
		MUST(!keep_capabilities(1ULL << CAP_SYS_ADMIN));
		LOG_CALL(set_master(second));
		LOG_CALL(drop_master(second));
		_exit(0);
	}
	wait(NULL);
	MUST(!keep_capabilities(~(1ULL << CAP_SYS_ADMIN)));
	LOG_CALL(set_master(second));
	LOG_CALL(drop_master(second));
	close(first);
	close(second);
}

/* Sends a word to the other process, so that the processes take turns. */
static void say(int socket, char word)
{
	MUST(write(socket, &word, 1) == 1);
}

static void hear(int socket, char word)
{
	struct pollfd pollfd = { .fd = socket, .events = POLLIN };
	char got = 0;

	MUST(poll(&pollfd, 1, 20000) == 1 && read(socket, &got, 1) == 1 && got == word);
}

/*
 * A splash screen shows its picture from the machine's start. The compositor starts meanwhile,
 * opens the card, makes its buffers, and asks the splash screen to end. The picture stays until
 * the compositor shows its own; the splash screen closes its file after that.
 */
static void splash(int socket)
{
	struct screen s = { .fd = open_device(O_RDWR) };

	screen_make(&s, 0x336699);
	LOG_CALL(screen_show(&s));
	say(socket, 's');
	hear(socket, 'q');
	LOG_CALL(drop_master(s.fd));
	say(socket, 'd');
	hear(socket, 'c');
	log_line("the splash screen's picture: %d", screen_is_shown(&s));
	LOG_CALL(screen_show(&s));
	LOG_CALL(set_master(s.fd));
	close(s.fd);
	say(socket, 'e');
}

static void compositor(int socket)
{
	struct screen s;

	hear(socket, 's');
	s.fd = open_device(O_RDWR);
	screen_make(&s, 0x112233);
	LOG_CALL(screen_show(&s));
	LOG_CALL(set_master(s.fd));
	say(socket, 'q');
	hear(socket, 'd');
	LOG_CALL(set_master(s.fd));
	LOG_CALL(screen_show(&s));
	log_line("the compositor's picture: %d", screen_is_shown(&s));
	say(socket, 'c');
	hear(socket, 'e');
	close(s.fd);
}

static void hand_over(void)
{
	int sockets[2], status = -1;
	pid_t pid;

	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	pid = fork();
	if (!pid) {
		compositor(sockets[1]);
		_exit(0);
	}
	splash(sockets[0]);
	MUST(waitpid(pid, &status, 0) == pid && !status);
}

DIFF_TEST_NODE(splash_to_compositor_vkms, "VKMS_CARD", DIFF_SECONDS)
{
	hand_over();
}

DIFF_TEST_NODE(splash_to_compositor_virtio_gpu, "GPU_CARD", DIFF_SECONDS)
{
	hand_over();
}

/*
 * A process with rights does as logind: it opens the card, passes the file to a compositor
 * without rights, and switches between seats by making the file master or not.
 */
DIFF_TEST_NODE(logind, "VKMS_CARD", DIFF_SECONDS)
{
	struct screen s, first;
	int sockets[2], other, status;
	pid_t pid;

	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	/* The first session has the card when the second one begins. */
	other = open_device(O_RDWR);
	first.fd = other;
	screen_make(&first, 0x778899);
	LOG_CALL(screen_show(&first));
	pid = fork();
	if (!pid) {
		close(other);
		MUST(!setresuid(USER, USER, USER));
		s.fd = receive_fd(sockets[1]);
		screen_make(&s, 0x445566);
		log_may_set_modes("before", s.fd);
		LOG_CALL(set_master(s.fd));
		LOG_CALL(drop_master(s.fd));
		say(sockets[1], 'r');
		hear(sockets[1], 'a');
		LOG_CALL(screen_show(&s));
		LOG_CALL(drop_master(s.fd));
		say(sockets[1], 'r');
		hear(sockets[1], 'p');
		log_may_set_modes("paused", s.fd);
		LOG_CALL(screen_show(&s));
		LOG_CALL(set_master(s.fd));
		say(sockets[1], 'r');
		hear(sockets[1], 'a');
		LOG_CALL(screen_show(&s));
		_exit(0);
	}
	s.fd = open_device(O_RDWR);
	send_fd(sockets[0], s.fd);
	hear(sockets[0], 'r');
	LOG_CALL(set_master(s.fd));
	LOG_CALL(drop_master(other));
	LOG_CALL(set_master(s.fd));
	say(sockets[0], 'a');
	hear(sockets[0], 'r');
	LOG_CALL(drop_master(s.fd));
	LOG_CALL(set_master(other));
	say(sockets[0], 'p');
	hear(sockets[0], 'r');
	LOG_CALL(drop_master(other));
	LOG_CALL(set_master(s.fd));
	say(sockets[0], 'a');
	MUST(waitpid(pid, &status, 0) == pid && !status);
	LOG_CALL(drop_master(s.fd));
	close(s.fd);
	close(other);
}

TEST_HARNESS_MAIN
