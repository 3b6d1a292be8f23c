// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the sockets that vgpud has handed out (userspace-lib/vgpud/guest/sockets.c). This
 * program plays the shadow as well, which keeps sockets or closes them: a pipe is as good as a
 * socket.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"
#include "vgpud/guest/sockets.h"

#define MANY	256
#define NO_END	1000000U

static uint64_t now = 5000;

uint64_t now_ms(void)
{
	return now;
}

/*
 * Adds a file, as vgpud does with a lane: its own descriptor is closed. @kept: set to the shadow's
 * descriptor; NULL: the shadow has closed it. Return: what sockets_add() returned.
 */
static int hand_out(struct sockets *sockets, int *kept, unsigned int most, unsigned int all_most)
{
	int ends[2], ret;

	if (pipe2(ends, O_CLOEXEC))
		return -EIO;
	ret = sockets_add(sockets, ends[0], most, all_most);
	if (kept)
		*kept = ret ? -1 : dup(ends[0]);
	close(ends[0]);
	close(ends[1]);
	return ret;
}

static void close_all(int *kept, unsigned int nr)
{
	while (nr--)
		close(kept[nr]);
}

static void test_kept(void)
{
	struct sockets sockets;
	int kept[4], i;

	tap_expect(!sockets_open(&sockets), "no epoll instance");
	for (i = 0; i < 4; i++)
		tap_expect(!hand_out(&sockets, &kept[i], 4, NO_END), "socket %d was refused", i);
	tap_expect(hand_out(&sockets, NULL, 4, NO_END) == -EMFILE, "a fifth socket was accepted");
	close(kept[3]);
	now += 1000;
	tap_expect(!hand_out(&sockets, &kept[3], 4, NO_END), "a closed socket still counts");
	tap_expect(hand_out(&sockets, NULL, 4, NO_END) == -EMFILE, "a fifth socket was accepted");
	close_all(kept, 4);
	sockets_close(&sockets);
	tap_subject("sockets that are kept");
}

/* Connections that come and go are never refused, even if there are many at a time. */
static void test_closed(void)
{
	struct sockets sockets;
	int kept[3], ret = 0;
	unsigned int i;

	tap_expect(!sockets_open(&sockets), "no epoll instance");
	for (i = 0; i < 3; i++)
		ret |= hand_out(&sockets, &kept[i], 4, NO_END);
	for (i = 0; i < 10 * MANY; i++)
		ret |= hand_out(&sockets, NULL, 4, NO_END);
	tap_expect(!ret, "a socket was refused: %s", strerror(-ret));
	close_all(kept, 3);
	sockets_close(&sockets);
	tap_subject("sockets that are closed");
}

/* A guest cannot have its sockets counted at each connection. */
static void test_pace(void)
{
	struct sockets sockets;
	int kept[MANY], ret = 0;
	unsigned int i;

	tap_expect(!sockets_open(&sockets), "no epoll instance");
	for (i = 0; i < MANY; i++)
		ret |= hand_out(&sockets, &kept[i], MANY, NO_END);
	tap_expect(!ret, "a socket was refused: %s", strerror(-ret));
	tap_expect(hand_out(&sockets, NULL, MANY, NO_END) == -EMFILE, "too many sockets");
	close(kept[MANY - 1]);
	now += 999;
	tap_expect(hand_out(&sockets, NULL, MANY, NO_END) == -EMFILE, "counted too soon");
	now += 1;
	tap_expect(!hand_out(&sockets, NULL, MANY, NO_END), "not counted after a second");
	close_all(kept, MANY - 1);
	sockets_close(&sockets);
	tap_subject("pace of counts");
}

static void test_all(void)
{
	struct sockets a, b;
	int kept[2], again;

	tap_expect(!sockets_open(&a) && !sockets_open(&b), "no epoll instance");
	tap_expect(!hand_out(&a, &kept[0], 2, 2), "the first socket was refused");
	tap_expect(!hand_out(&b, &kept[1], 2, 2), "the second socket was refused");
	tap_expect(hand_out(&a, NULL, 2, 2) == -EMFILE, "a third socket was accepted");
	/* The sockets of the other guest are counted as well. */
	close(kept[1]);
	now += 1000;
	tap_expect(!hand_out(&a, &again, 2, 2), "another guest's closed socket still counts");
	close(kept[0]);
	close(again);
	sockets_close(&a);
	tap_expect(!hand_out(&b, NULL, 1, 1), "sockets of a guest that is gone count");
	sockets_close(&b);
	tap_subject("sockets of all guests");
}

/* Adds a file with a large buffer, and keeps it. Return: what sockets_charge() returned. */
static int charge(struct sockets *sockets, int *kept, uint64_t bytes, uint64_t most,
		  uint64_t all_most)
{
	int ends[2], ret = -EIO;

	if (pipe2(ends, O_CLOEXEC))
		return -EIO;
	if (!sockets_add(sockets, ends[0], NO_END, NO_END))
		ret = sockets_charge(sockets, ends[0], bytes, most, all_most);
	*kept = ends[0];
	close(ends[1]);
	return ret;
}

static void test_bytes(void)
{
	const uint64_t large = 3ULL << 33;
	struct sockets a, b;
	int kept[5];

	tap_expect(!sockets_open(&a) && !sockets_open(&b), "no epoll instance");
	tap_expect(!charge(&a, &kept[0], large, 2 * large, 3 * large), "no large buffer");
	tap_expect(!charge(&a, &kept[1], large, 2 * large, 3 * large), "no second buffer");
	tap_expect(charge(&a, &kept[2], large, 2 * large, 3 * large) == -ENOBUFS,
		   "a third buffer of the guest");
	tap_expect(!charge(&b, &kept[3], large, 2 * large, 3 * large), "none for another guest");
	close(kept[0]);
	now += 1000;
	tap_expect(!charge(&a, &kept[0], large, 2 * large, 3 * large),
		   "the buffer of a closed socket still counts");
	tap_expect(charge(&b, &kept[4], large, 2 * large, 3 * large) == -ENOBUFS,
		   "a fourth buffer of all guests");
	close_all(kept, 5);
	sockets_close(&a);
	sockets_close(&b);
	tap_subject("bytes of large buffers");
}

int main(void)
{
	test_kept();
	test_closed();
	test_pace();
	test_all();
	test_bytes();
	return tap_done();
}
