// SPDX-License-Identifier: MIT
/* Time that drivers may wait for a guest, which outlives the guest's engines. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config/config.h"
#include "config/guests.h"
#include "engines/patience.h"
#include "process/spawn.h"
#include "shared/loop.h"
#include "shared/proto.h"

/* Number of guests without an engine of which only counters are left to be remembered. */
#define GUESTS_KEPT	64

static LIST_HEAD(, remembered) guests = LIST_HEAD_INITIALIZER(guests);

uint64_t patience_whole(uint32_t cid, uint32_t port)
{
	unsigned int ms = guest_limits(cid, port).patience_ms;

	return (ms ? ms : settings.fetch_timeout_ms) * UINT64_C(1000);
}

static uint64_t now_us(void)
{
	return now_ns() / 1000;
}

/*
 * Read the time that a guest has left from a copy: the guest's shadows may write anything to
 * the shared memory at any time.
 */
static struct vgpu_patience patience_copy(const struct remembered *guest)
{
	struct vgpu_patience patience = guest->memory->patience;

	patience.whole = patience_whole(guest->cid, guest->port);
	return patience;
}

/*
 * Let guests without an engine that have all of their time left begin anew with it. Forget those
 * that were first seen longest ago.
 */
static void guests_expire(void)
{
	unsigned int kept = 0;
	struct remembered *guest = LIST_FIRST(&guests), *next;
	struct vgpu_patience patience;
	struct vgpu_rates rates;

	for (; guest; guest = next) {
		next = LIST_NEXT(guest, node);
		patience = patience_copy(guest);
		rates = guest->memory->rates;
		if (guest->engines || !vgpu_patience_is_whole(&patience, now_us()) ||
		    !vgpu_rates_are_whole(&rates, now_ns()))
			continue;
		vgpu_patience_init(&guest->memory->patience, patience_whole(guest->cid, guest->port),
				   now_us());
		if (kept++ < GUESTS_KEPT)
			continue;
		LIST_REMOVE(guest, node);
		munmap(guest->memory, PAGE);
		close(guest->fd);
		free(guest);
	}
}

int patience_get(uint32_t cid, uint32_t port, struct remembered **found)
{
	struct remembered *guest;
	void *memory;
	int ret;

	guests_expire();
	LIST_FOREACH(guest, &guests, node)
		if (guest->cid == cid && guest->port == port)
			goto out;
	guest = calloc(1, sizeof(*guest));
	if (!guest)
		return -ENOMEM;
	ret = pages_make(&guest->fd, PAGE, &memory);
	if (ret) {
		free(guest);
		return ret;
	}
	guest->cid = cid;
	guest->port = port;
	guest->memory = memory;
	vgpu_patience_init(&guest->memory->patience, patience_whole(cid, port), now_us());
	LIST_INSERT_HEAD(&guests, guest, node);
out:
	guest->engines++;
	guest->totals.connections++;
	*found = guest;
	return 0;
}

int patience_adopt(uint32_t cid, uint32_t port, int fd, struct remembered **found)
{
	struct remembered *guest = calloc(1, sizeof(*guest));
	void *memory;
	int ret = guest ? 0 : -ENOMEM;

	if (!ret)
		ret = fd < 0 ? -EBADF : pages_map(fd, PAGE, &memory);
	if (ret) {
		if (fd >= 0)
			close(fd);
		free(guest);
		return ret;
	}
	guest->cid = cid;
	guest->port = port;
	guest->fd = fd;
	guest->memory = memory;
	guest->engines = 1;
	guest->totals.connections = 1;
	LIST_INSERT_HEAD(&guests, guest, node);
	*found = guest;
	return 0;
}

struct remembered *patience_find(uint32_t cid, uint32_t port, bool next)
{
	const uint64_t wanted = (uint64_t)cid << 32 | port;
	struct remembered *guest, *found = NULL;
	uint64_t key, best = UINT64_MAX;

	LIST_FOREACH(guest, &guests, node) {
		key = (uint64_t)guest->cid << 32 | guest->port;
		if (next ? key > wanted && key < best : key == wanted) {
			best = key;
			found = guest;
		}
	}
	return found;
}

void patience_stat(const struct remembered *guest, struct vgpu_host_peer_stat *stat)
{
	struct vgpu_patience patience = patience_copy(guest);

	stat->out_patience_ms = vgpu_patience_left(&patience, now_us()) / 1000;
	stat->out_spent = patience.total;
	stat->out_cut_off = vgpu_patience_is_cut_off(&patience);
}

void patience_return_pages(struct remembered *guest, uint32_t pages)
{
	__u32 *nr = &guest->memory->nr_pages, old = __atomic_load_n(nr, __ATOMIC_RELAXED);

	/* The numbers are those of shadows, which may say anything: none may wrap around. */
	while (!__atomic_compare_exchange_n(nr, &old, pages < old ? old - pages : 0, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

uint32_t patience_most_pages(const struct remembered *guest)
{
	return __atomic_load_n(&guest->memory->most_pages, __ATOMIC_RELAXED);
}

void patience_forget_rates(struct remembered *guest, const struct vgpu_host_rates *rates)
{
	/* No lock of shadows is waited for. A shadow that looks at the same time may undo it. */
	vgpu_rates_forget(&guest->memory->rates, rates);
}

void patience_put(struct remembered *guest)
{
	guest->engines--;
}
