// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzz target for the marshaller: any memory of a program, any ioctl of any schema,
 * any driver. The unit tests' host checks that each message is well-formed, and
 * that no object or fd leaks.
 */
#include <stdarg.h>

#include "fake_host.h"
#include "fuzz.h"
#include "fuzz_marshal.h"
#include "argument/marshal_user.h"
#include "tap.h"

/* Ends the program at an unmet expectation, which unit tests only report. */
bool tap_expect(bool ok, const char *fmt, ...)
{
	va_list ap;

	if (ok)
		return true;
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	abort();
}

static u32 next_random(u32 *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* A driver that changes some bytes of the segments, and puts new fds anywhere in them. */
static long driver(struct host *host, u32 cmd, u64 arg, void *data)
{
	const struct marshal_head *head = data;
	u32 state = head->seed, i, n;
	s32 fd;

	for (i = 0; i < host->nr_segs; i++) {
		if (!host->lens[i])
			continue;
		for (n = next_random(&state) % 8; n; n--)
			host->segs[i][next_random(&state) % host->lens[i]] = next_random(&state);
		if (!(head->options & OPT_FDS) || host->lens[i] < 4)
			continue;
		for (n = next_random(&state) % 4; n; n--) {
			u32 at = next_random(&state) % (host->lens[i] / 4) * 4;

			fd = driver_fd_new(host, 1 + next_random(&state) % 8);
			memcpy(host->segs[i] + at, &fd, sizeof(fd));
		}
	}
	if ((head->options & OPT_FDS) && head->result >= 0 && host->next_fd < HOST_FDS)
		return driver_fd_new(host, 1);
	return head->result;
}

static const struct vgpu_schema *choose(const struct marshal_head *head, u32 *cmd)
{
	const struct vgpu_schema *schema =
		marshal_schemas[head->schema % ARRAY_SIZE(marshal_schemas)];
	u32 nr = schema->nr_ioctls + schema->nr_compat, i = head->ioctl % (nr ? nr : 1);

	if ((head->options & OPT_RAW_CMD) || !nr) {
		*cmd = (u32)head->size << 16 | head->seed;
		return head->options & OPT_COMPAT ? schema : NULL;
	}
	*cmd = i < schema->nr_ioctls ? schema->ioctls[i].cmd :
		schema->compat[i - schema->nr_ioctls].cmd;
	if (head->size)
		*cmd = (*cmd & ~(_IOC_SIZEMASK << _IOC_SIZESHIFT)) |
			(head->size & _IOC_SIZEMASK) << _IOC_SIZESHIFT;
	return schema;
}

static void fill(const struct marshal_head *head, const u8 *data, size_t len)
{
	u8 *memory = user_alloc_pages(MEMORY_MAX);
	u32 i;

	memcpy(memory, data, min_t(size_t, len, MEMORY_MAX));
	for (i = 0; i < NR_RELOCS; i++) {
		u64 to = (uintptr_t)memory + head->relocs[i].to;

		if (!head->relocs[i].to || head->relocs[i].at > MEMORY_MAX - sizeof(to))
			continue;
		memcpy(memory + head->relocs[i].at, &to,
		       head->options & OPT_COMPAT ? sizeof(u32) : sizeof(to));
	}
	for (i = 0; i < MEMORY_MAX / USER_PAGE; i++)
		if (head->rights)
			user_protect(memory + i * USER_PAGE, USER_PAGE,
				     head->rights >> (2 * i) & 3);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	static const struct vgpu_wire_limits limits[] = {
		/* Larger limits would make inputs slow. */
		{ 256 << 10, VGPU_SEGS_MAX, 128, VGPU_FEATURES },
		{ 64 << 10, 64, 64, VGPU_FEATURES },
		{ 16 << 10, 4, 4, VGPU_FEATURES },
		{ 16 << 10, 1, 1, VGPU_FEATURES },
	};
	const struct vgpu_schema *schema;
	struct marshal_head head;
	struct host host;
	u32 cmd;

	if (len < sizeof(head))
		return 0;
	memcpy(&head, data, sizeof(head));
	user_reset();
	fill(&head, data + sizeof(head), len - sizeof(head));
	host_init(&host);
	host.limits = limits[head.limits % ARRAY_SIZE(limits)];
	user.fail_reserve = head.fail_reserve;
	schema = choose(&head, &cmd);
	vgpu_user_alloc_fail = head.alloc_fail;
	host_ioctl(&host, schema, cmd, USER_BASE + head.arg, head.options & OPT_COMPAT, driver,
		   &head);
	vgpu_user_alloc_fail = 0;
	return 0;
}
