// SPDX-License-Identifier: MIT
/* Resource limits of the programs of guests. */
#include <errno.h>
#include <stddef.h>
#include <sys/resource.h>

#include "config/config.h"
#include "config/room.h"
#include "process/limit.h"
#include "shared/log.h"

/*
 * Number of threads of a shadow beside its lanes: the main thread, the service thread (host
 * module) or the pager and the tracer (engine), and some to spare while lanes come and go.
 */
#define EXTRA_THREADS	16

/**
 * struct limit - a limit of a process
 * @what: number of the limit, RLIMIT_*
 * @value: value of the limit
 * @means: name of what is limited, for messages
 * @setting: name of the setting in [limits] that determines @value; NULL: none does
 */
struct limit {
	int what;
	rlim_t value;
	const char *means;
	const char *setting;
};

#define LIMITS	5

/* Fill in @limits. Return: the number of entries. */
static unsigned int limits_of(enum spawn_kind kind, struct limit limits[LIMITS])
{
	const rlim_t page = 4096;
	/* RLIMIT_NPROC counts by user: all shadows of the guest together, including zombies. */
	rlim_t threads = (rlim_t)settings.limits.sessions *
		(settings.limits.lanes + EXTRA_THREADS) +
		room_zombies(&settings.limits, settings.session_rate);
	unsigned int nr = 0;

	limits[nr++] = (struct limit) { RLIMIT_CORE, 0, "core dumps", NULL };
	limits[nr++] = (struct limit) { RLIMIT_NOFILE, room_files(&settings.limits, kind),
		"open files",
		kind == SPAWN_KEEPER || kind == SPAWN_MASTER ? NULL : "objects" };
	/* Secret memory counts as locked memory, and each page is mapped twice. */
	if (kind == SPAWN_ENGINE_SHADOW)
		limits[nr++] = (struct limit) { RLIMIT_MEMLOCK,
			(2 * (rlim_t)settings.limits.pages + 256) * page,
			"bytes of locked memory", "pages" };
	limits[nr++] = (struct limit) { RLIMIT_NPROC, threads, "threads", "sessions" };
	/* A shadow maps memory anywhere in the address space of the guest process. */
	limits[nr++] = (struct limit) { RLIMIT_AS, RLIM_INFINITY, "address space", NULL };
	return nr;
}

int limits_set(enum spawn_kind kind)
{
	struct limit limits[LIMITS];
	unsigned int i, nr = limits_of(kind, limits);

	for (i = 0; i < nr; i++) {
		const struct rlimit rlimit = { limits[i].value, limits[i].value };

		if (setrlimit(limits[i].what, &rlimit))
			return -errno;
	}
	return 0;
}

/*
 * Check that a child can have the limit. Without CAP_SYS_RESOURCE vgpud cannot raise its own
 * hard limit.
 */
static int check_limit(const struct limit *limit)
{
	struct rlimit have;
	rlim_t hard;

	if (getrlimit(limit->what, &have))
		return -errno;
	hard = have.rlim_max;
	if (hard >= limit->value)
		return 0;
	have.rlim_max = limit->value;
	if (!setrlimit(limit->what, &have))
		return 0;
	log_error("programs of guests need %llu %s, but the limit of vgpud is %llu and vgpud may not raise it (CAP_SYS_RESOURCE): raise that limit%s%s%s",
		  (unsigned long long)limit->value, limit->means, (unsigned long long)hard,
		  limit->setting ? ", or lower '" : "", limit->setting ? limit->setting : "",
		  limit->setting ? "' in [limits]" : "");
	return -EPERM;
}

static int check_limits_of(enum spawn_kind kind)
{
	struct limit limits[LIMITS];
	unsigned int i, nr = limits_of(kind, limits);
	int ret = 0;

	for (i = 0; !ret && i < nr; i++)
		ret = check_limit(&limits[i]);
	return ret;
}

int limits_check(bool engines)
{
	int ret = check_limits_of(engines ? SPAWN_ENGINE : SPAWN_SHADOW);

	if (!ret && engines)
		ret = check_limits_of(SPAWN_ENGINE_SHADOW);
	return ret ? ret : check_limits_of(SPAWN_KEEPER);
}
