// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of uevents (userspace-lib/vgpud/export/uevent.c): exports are reviewed once after a burst,
 * and soon although uevents do not end. The clock and the kernel's uevents are simulated.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/netlink.h>

#include "export/change.h"
#include "export/export.h"
#include "export/uevent.h"
#include "shared/loop.h"
#include "tap.h"
#include "vgpud/device/paths.h"

static struct source *uevents;
static struct timer *timer;
static uint64_t clock_ms = 1000;
static unsigned int nr_reviews, nr_changes;
static void (*paths_change)(void);
/* Uevent that the next recvfrom() returns; NULL: uevents were lost. */
static const char *uevent;

/* --- functions that uevent.c calls --------------------------------------------------------- */

uint64_t now_ms(void)
{
	return clock_ms;
}

void timer_set(struct timer *set, unsigned int ms)
{
	timer = set;
	timer->set = true;
	timer->deadline_ms = clock_ms + ms;
}

int source_add(struct source *source, uint32_t events)
{
	uevents = source;
	return 0;
}

void paths_init(void (*on_change)(void))
{
	paths_change = on_change;
}

void exports_rescan(void)
{
	nr_reviews++;
}

void exports_change(dev_t rdev, const struct vgpu_host_export_change *change)
{
	nr_changes++;
}

/* Only the kernel can send uevents, by the port 0. */
ssize_t recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *addr,
		 socklen_t *addr_len)
{
	if (!uevent) {
		errno = ENOBUFS;
		return -1;
	}
	((struct sockaddr_nl *)addr)->nl_pid = 0;
	memcpy(buf, uevent, strlen(uevent) + 1);
	return strlen(uevent) + 1;
}

/* --- tests ---------------------------------------------------------------------------------- */

static void tell(const char *text)
{
	uevent = text;
	uevents->ready(uevents, 0);
}

/* Lets this time pass in steps of one millisecond, and the timer expire. */
static void wait_ms(unsigned int ms)
{
	while (ms--) {
		clock_ms++;
		if (timer && timer->set && timer->deadline_ms <= clock_ms) {
			timer->set = false;
			timer->expired(timer);
		}
	}
}

static void begin(void)
{
	wait_ms(5000);
	nr_reviews = 0;
}

static void test_burst(void)
{
	unsigned int i;

	begin();
	for (i = 0; i < 5; i++) {
		tell(i % 2 ? "remove@/devices/x" : "add@/devices/x");
		wait_ms(100);
	}
	tap_expect(!nr_reviews, "%u reviews while devices come", nr_reviews);
	wait_ms(5000);
	tap_expect(nr_reviews == 1, "%u reviews, not 1, of a burst", nr_reviews);
	tap_subject("one review of a burst");
}

/* A device that comes and goes for ever must not keep other devices from being seen. */
static void test_stream(void)
{
	unsigned int i;

	begin();
	for (i = 0; i < 100; i++) {
		tell("add@/devices/x");
		wait_ms(100);
	}
	tap_expect(nr_reviews >= 9 && nr_reviews <= 10, "%u reviews in 10 s of uevents",
		   nr_reviews);
	tap_subject("reviews while uevents do not end");
	begin();
	for (i = 0; i < 100; i++) {
		tell(NULL);
		wait_ms(100);
	}
	tap_expect(nr_reviews >= 9 && nr_reviews <= 10, "%u reviews in 10 s of losses", nr_reviews);
	tap_expect(nr_changes == 100, "%u changes, not 100", nr_changes);
	tap_subject("reviews while uevents are lost again and again");
}

/* A changed directory does not wait for more, and neither do uevents that come after it. */
static void test_paths(void)
{
	unsigned int i;

	begin();
	for (i = 0; i < 100; i++) {
		paths_change();
		wait_ms(50);
		tell("add@/devices/x");
		wait_ms(50);
	}
	tap_expect(nr_reviews >= 9, "%u reviews in 10 s", nr_reviews);
	begin();
	paths_change();
	wait_ms(200);
	tap_expect(nr_reviews == 1, "%u reviews, not 1, of a directory", nr_reviews);
	tap_subject("reviews of directories");
}

static void test_others(void)
{
	begin();
	tell("bind@/devices/x");
	tell("change@/devices/x");
	wait_ms(5000);
	tap_expect(!nr_reviews, "%u reviews, not 0", nr_reviews);
	tap_subject("other uevents");
}

int main(void)
{
	if (uevents_init())
		return EXIT_FAILURE;
	test_burst();
	test_stream();
	test_paths();
	test_others();
	return tap_done();
}
