// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of messages to the guest of which very many may be due at once: wakeups of objects
 * (userspace-lib/engine/object/wakeup.c) and answers to RELEASE (session/kept.c). A guest that
 * reads them slowly gets each of them, and keeps its engine.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/base/agent.h"
#include "engine/guest/control.h"
#include "engine/memory/owner.h"
#include "engine/memory/window.h"
#include "engine/object/object.h"
#include "engine/object/wakeup.h"
#include "engine/session/kept.h"
#include "engine/session/reference.h"
#include "shared/loop.h"
#include "tap.h"

/* Twice as many messages of 32 bytes as the engine's buffer has room for. */
#define MANY		16384
/* The guest reads this many bytes at a time. */
#define READS		4096

static struct engine_shared counts;
static struct object objects[MANY];
static bool applied;
/* End of the connection at the guest, and what the guest has got. */
static struct source guest;
static unsigned int got, times[MANY + 1];
static struct vgpu_poll_event first, last;

struct engine_shared *shared = &counts;
struct engine_start start;
struct vgpu_wire_limits wire_limits;

/* --- functions that control.c and kept.c call ------------------------------------------ */

static void look(void)
{
	kept_look();
	wakeups_send();
}

void (*progress_notify)(void) = look;

void engine_end(const char *why)
{
	tap_expect(false, "the engine ends: %s", why);
	tap_subject("the engine goes on");
	exit(tap_done());
}

struct object *object_find(uint32_t id)
{
	return NULL;
}

bool objects_applied(uint64_t seq)
{
	return applied;
}

bool owner_shares(const struct object *object)
{
	return false;
}

bool owner_shows(uint64_t number)
{
	return false;
}

uint64_t owner_last_shown(void)
{
	return 0;
}

uint64_t window_now(void)
{
	return 0;
}

bool window_owns_since(uint64_t since)
{
	return false;
}

/* --- the loop ------------------------------------------------------------------------------ */

static struct {
	struct source *source;
	uint32_t events;
} sources[4];
static unsigned int nr_sources;

int source_add(struct source *source, uint32_t events)
{
	sources[nr_sources].source = source;
	sources[nr_sources++].events = events;
	return 0;
}

int source_set(struct source *source, uint32_t events)
{
	unsigned int i;

	for (i = 0; i < nr_sources; i++)
		if (sources[i].source == source)
			sources[i].events = events;
	return 0;
}

void timer_set(struct timer *timer, unsigned int ms)
{
}

void timer_cancel(struct timer *timer)
{
}

/* The events of poll() and epoll have the same values. */
static void loop_turn(void)
{
	struct pollfd fds[4];
	unsigned int i;

	for (i = 0; i < nr_sources; i++)
		fds[i] = (struct pollfd){
			.fd = sources[i].source->fd, .events = sources[i].events,
		};
	poll(fds, nr_sources, -1);
	for (i = 0; i < nr_sources; i++)
		if (fds[i].revents)
			sources[i].source->ready(sources[i].source, fds[i].revents);
}

/* --- the guest ----------------------------------------------------------------------------- */

static void guest_take(const void *bytes)
{
	const struct vgpu_hdr *hdr = bytes;
	const struct vgpu_release *release = bytes;
	uint64_t number = 0;

	if (le16_to_cpu(hdr->type) == VGPU_MSG_POLL_EVENT) {
		memcpy(&last, bytes, sizeof(last));
		if (!got)
			first = last;
		number = le32_to_cpu(last.object);
	} else if (le16_to_cpu(hdr->type) == VGPU_MSG_RELEASE) {
		number = le64_to_cpu(release->number);
	}
	tap_expect(number && number <= MANY, "a message of type %u", le16_to_cpu(hdr->type));
	times[number <= MANY ? number : 0]++;
	got++;
}

static void guest_ready(struct source *source, uint32_t events)
{
	static uint8_t bytes[READS + VGPU_CONTROL_MSG_MAX] __attribute__((aligned(8)));
	static size_t have;
	ssize_t len = recv(source->fd, bytes + have, READS, MSG_DONTWAIT);
	size_t at = 0, size;

	have += len > 0 ? len : 0;
	while (have - at >= sizeof(struct vgpu_hdr)) {
		size = le32_to_cpu(((struct vgpu_hdr *)(bytes + at))->len);
		if (have - at < size)
			break;
		guest_take(bytes + at);
		at += size;
	}
	have -= at;
	memmove(bytes, bytes + at, have);
}

static void handle(const struct vgpu_hdr *msg)
{
}

static void begin(void)
{
	int ends[2], size = READS;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		exit(1);
	guest.fd = fcntl(ends[0], F_DUPFD_CLOEXEC, 64);
	guest.ready = guest_ready;
	ends[1] = fcntl(ends[1], F_DUPFD_CLOEXEC, 64);
	setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	if (dup2(ends[1], ENGINE_FD_CONTROL) < 0 || wakeups_init() || control_init(handle) ||
	    source_add(&guest, EPOLLIN))
		exit(1);
}

/* Let the guest read until it has got @nr messages. */
static void guest_reads(unsigned int nr)
{
	while (got < nr)
		loop_turn();
}

static void guest_forgets(void)
{
	got = 0;
	memset(times, 0, sizeof(times));
}

static void expect_each_once(void)
{
	unsigned int i;

	tap_expect(got == MANY, "%u messages", got);
	for (i = 1; i <= MANY; i++)
		if (!tap_expect(times[i] == 1, "%u has come %u times", i, times[i]))
			break;
}

/* --- tests ------------------------------------------------------------------------------- */

/* RELEASE messages wait for the same file, and are answered when it is closed. */
static void test_releases(void)
{
	unsigned int i;

	for (i = 1; i <= MANY; i++)
		kept_release(i, i);
	applied = true;
	guest_forgets();
	kept_look();
	guest_reads(MANY);
	expect_each_once();
	tap_subject("answers to many RELEASEs");
}

/* An export with many objects is taken from the guest: engine/session/reference.c. */
static void test_cut(void)
{
	unsigned int i;

	guest_forgets();
	for (i = 0; i < MANY; i++) {
		objects[i].id = i + 1;
		wakeup_tell(&objects[i], POLLHUP);
		wakeup_keep(&objects[i]);
		wakeup_forget(&objects[i]);
	}
	wakeups_send();
	guest_reads(MANY);
	expect_each_once();
	tap_subject("wakeups of many objects at once");
}

/* Another message empties the buffer while others wait: these go on nevertheless. */
static void test_other(void)
{
	const struct vgpu_poll_event other = {
		.hdr.len = cpu_to_le32(sizeof(other)),
		.hdr.type = cpu_to_le16(VGPU_MSG_POLL_EVENT),
		.object = cpu_to_le32(1),
	};
	unsigned int i, others, last_got = MANY;

	guest_forgets();
	for (i = 0; i < MANY; i++)
		wakeup_tell(&objects[i], POLLIN);
	loop_turn();
	tap_expect(control_is_behind(), "there is room for all");
	for (others = 0; control_is_behind(); others++) {
		guest_ready(&guest, EPOLLIN);
		control_send(&other, sizeof(other));
	}
	/* The first of these empties the buffer, and the next finds it empty. */
	while (got < MANY + others && others < 2 * MANY && last_got != got) {
		last_got = got;
		guest_ready(&guest, EPOLLIN);
		control_send(&other, sizeof(other));
		others++;
	}
	guest_reads(MANY + others);
	for (i = 1; i < MANY && times[i + 1] == 1; i++)
		;
	tap_expect(i == MANY, "%u has come %u times", i + 1, times[i < MANY ? i + 1 : 0]);
	tap_subject("wakeups that wait while another message is sent");
}

static void test_one(void)
{
	unsigned int i;

	guest_forgets();
	wakeup_tell(&objects[1], POLLIN);
	wakeup_forget(&objects[1]);
	for (i = 0; i < MANY; i++) {
		objects[0].poll.number = i;
		wakeup_tell(&objects[0], i % 2 ? POLLIN : POLLOUT);
	}
	wakeup_tell(&objects[2], POLLIN);
	guest_reads(2);
	tap_expect(got == 2 && times[1] == 1 && times[3] == 1, "%u messages", got);
	tap_expect(le32_to_cpu(last.object) == 3, "the last is for %u", le32_to_cpu(last.object));
	tap_expect(le32_to_cpu(first.revents) == (POLLIN | POLLOUT) &&
		   le32_to_cpu(first.number) == MANY - 1, "events %#x, number %u",
		   le32_to_cpu(first.revents), le32_to_cpu(first.number));
	tap_subject("wakeups of one object are one message");
}

int main(void)
{
	alarm(120);
	begin();
	test_releases();
	test_cut();
	test_other();
	test_one();
	return tap_done();
}
