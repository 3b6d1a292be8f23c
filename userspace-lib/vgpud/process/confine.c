// SPDX-License-Identifier: MIT
/*
 * Confinement of the programs of guests: the order of its steps, the empty root directory, resource
 * limits, users and capabilities.
 */
#include <errno.h>
#include <linux/capability.h>
#include <linux/vgpu_host.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/answer.h"
#include "config/guests.h"
#include "process/confine.h"
#include "process/filter.h"
#include "process/oom.h"
#include "process/sandbox.h"
#include "shared/log.h"

/* Empty directory that becomes the root of a guest's programs. */
#define EMPTY_DIR	"/run/vgpu/empty"

/**
 * struct limit - a limit of a process
 * @what: number of the limit, RLIMIT_*
 * @value: value of the limit
 * @means: name of the limited resource, for messages
 * @setting: name of the setting in [limits] that determines @value; NULL: none does
 */
struct limit {
	int what;
	rlim_t value;
	const char *means;
	const char *setting;
};

#define LIMITS	5

static bool has_keys;
/* True if user-space engines serve the guests. */
static bool for_engines;

int confine_enter(const struct sandbox *sandbox)
{
	int ret;

	if (settings.namespaces) {
		ret = namespaces_enter(sandbox->namespaces);
		if (ret)
			return ret;
		/* MS_SLAVE: file systems that the host unmounts are unmounted here, too. */
		if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL))
			return -errno;
	}
	if (chroot(EMPTY_DIR) || chdir("/"))
		return -errno;
	return 0;
}

/* Fill in @limits. Return: the number of entries. */
static unsigned int limits_of(enum spawn_kind kind, const struct limits *guest,
			      struct limit limits[LIMITS])
{
	const rlim_t page = 4096;
	/* RLIMIT_NPROC counts by user: all shadows of the guest together, including zombies. */
	rlim_t threads = room_threads(guest);
	unsigned int nr = 0;

	limits[nr++] = (struct limit) { RLIMIT_CORE, 0, "core dumps", NULL };
	limits[nr++] = (struct limit) { RLIMIT_NOFILE, room_files(kind, guest),
		"open files",
		kind == SPAWN_KEEPER || kind == SPAWN_MASTER ? NULL : "objects" };
	/* Secret memory counts as locked memory, and each page is mapped twice. */
	if (kind == SPAWN_ENGINE_SHADOW)
		limits[nr++] = (struct limit) { RLIMIT_MEMLOCK,
			(2 * (rlim_t)guest->host.pages + 256) * page,
			"bytes of locked memory", "pages" };
	limits[nr++] = (struct limit) { RLIMIT_NPROC, threads, "threads", "sessions" };
	/* A shadow maps memory anywhere in the address space of the guest process. */
	limits[nr++] = (struct limit) { RLIMIT_AS, RLIM_INFINITY, "address space", NULL };
	return nr;
}

void confine_raise(pid_t pid, enum spawn_kind kind, uint32_t cid, uint32_t port)
{
	const struct limits guest = guest_limits(cid, port);
	struct limit limits[LIMITS];
	unsigned int i, nr = limits_of(kind, &guest, limits);
	struct rlimit old, new;

	for (i = 0; i < nr; i++) {
		new = (struct rlimit) { limits[i].value, limits[i].value };
		/* Without CAP_SYS_RESOURCE, vgpud may not even read limits of another user. */
		if (!prlimit(pid, limits[i].what, NULL, &old) && old.rlim_max >= new.rlim_max)
			continue;
		if (prlimit(pid, limits[i].what, &new, NULL) && errno != EPERM && errno != ESRCH)
			log_guest(cid, port, "the limit of %s cannot be raised for a program that runs: %s",
				  limits[i].means, strerror(errno));
	}
}

static int limits_set(enum spawn_kind kind, const struct limits *guest)
{
	struct limit limits[LIMITS];
	unsigned int i, nr = limits_of(kind, guest, limits);
	struct rlimit rlimit;

	for (i = 0; i < nr; i++) {
		rlimit = (struct rlimit) { limits[i].value, limits[i].value };
		if (setrlimit(limits[i].what, &rlimit))
			return -errno;
	}
	return 0;
}

/*
 * Check that a child can have the limit. Without CAP_SYS_RESOURCE vgpud cannot raise its own
 * hard limit, which it tries; then the limit is put back, as a child sets its own. @name: name of
 * the guest; NULL: none.
 */
static int limit_check(const struct limit *limit, const char *name, struct answer *words)
{
	struct rlimit have, more;

	if (getrlimit(limit->what, &have))
		return answer_say(words, -errno, "%s: %s", limit->means, strerror(errno));
	if (have.rlim_max >= limit->value)
		return 0;
	more = have;
	more.rlim_max = limit->value;
	if (!setrlimit(limit->what, &more)) {
		if (!setrlimit(limit->what, &have))
			return 0;
		return answer_say(words, -errno, "%s: %s", limit->means, strerror(errno));
	}
	answer_say(words, 0, "programs of %s%s need %llu %s, but the limit of vgpud is %llu and vgpud may not raise it (CAP_SYS_RESOURCE): raise that limit",
		   name ? "guest " : "guests", name ? name : "", (unsigned long long)limit->value,
		   limit->means, (unsigned long long)have.rlim_max);
	if (limit->setting)
		snprintf(words->text + strlen(words->text), sizeof(words->text) - strlen(words->text),
			 ", or lower '%s' in [%s%s]", limit->setting, name ? "guest " : "limits",
			 name ? name : "");
	return -EINVAL;
}

int confine_check(const char *name, const struct limits *guest, struct answer *words)
{
	static const enum spawn_kind kinds[2][3] = {
		{ SPAWN_SHADOW, SPAWN_KEEPER, SPAWN_KEEPER },
		{ SPAWN_ENGINE, SPAWN_ENGINE_SHADOW, SPAWN_KEEPER },
	};
	struct limit limits[LIMITS];
	unsigned int kind, i, nr;
	int ret = 0;

	for (kind = 0; kind < 3; kind++) {
		nr = limits_of(kinds[for_engines][kind], guest, limits);
		for (i = 0; !ret && i < nr; i++)
			ret = limit_check(&limits[i], name, words);
	}
	return ret;
}

static int check_guest(const char *name, const struct limits *guest, void *data)
{
	return confine_check(name, guest, data);
}

int confine_check_guests(bool planned, struct answer *words)
{
	return guests_each(planned, check_guest, words);
}

static int check_all(bool engines, bool planned, struct answer *words)
{
	int ret;

	for_engines = engines;
	ret = confine_check(NULL, &settings.limits, words);
	return ret ? ret : confine_check_guests(planned, words);
}

int confine_foresee(struct answer *words)
{
	/* Without the setting vgpud uses engines, which need more, if there is no host module. */
	const bool engines = settings.engine ? strcmp(settings.engine, "kernel") :
			     access(VGPU_HOST_DEVICE, F_OK);

	/* A user who cannot run vgpud has other limits than vgpud. */
	return geteuid() ? 0 : check_all(engines, true, words);
}

static int drop_capabilities(enum spawn_kind kind)
{
	int cap;

	for (cap = 0; ; cap++) {
		if (cap == CAP_SYS_ADMIN && kind == SPAWN_MASTER)
			continue;
		/* EINVAL: the number is above the last capability that this kernel knows. */
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0))
			return errno == EINVAL ? 0 : -errno;
	}
}

/* Keep CAP_SYS_ADMIN alone. The capability must be ambient, or exec would drop it. */
static int keep_admin(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {
		[CAP_TO_INDEX(CAP_SYS_ADMIN)] = {
			.effective = CAP_TO_MASK(CAP_SYS_ADMIN),
			.permitted = CAP_TO_MASK(CAP_SYS_ADMIN),
			.inheritable = CAP_TO_MASK(CAP_SYS_ADMIN),
		},
	};

	if (syscall(SYS_capset, &header, data) ||
	    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0))
		return -errno;
	return 0;
}

/*
 * Change user and groups by plain system calls. glibc's functions would do so in all threads,
 * and in a forked child glibc's list of threads is still vgpud's: the child would wait for ever
 * for a thread that was about to start (setxid_mark_thread() in nptl_setxid.c).
 */
static int become_user(const struct sandbox *sandbox)
{
	/* A change from user 0 clears all capability sets, unless PR_SET_KEEPCAPS is set. */
	if (syscall(SYS_setgroups, 0, NULL) ||
	    syscall(SYS_setresgid, settings.gid, settings.gid, settings.gid) ||
	    syscall(SYS_setresuid, sandbox->uid, sandbox->uid, sandbox->uid))
		return -errno;
	return 0;
}

/* Check whether programs of this kind may serve the next vgpud. */
static bool may_last(enum spawn_kind kind)
{
	return kind == SPAWN_SHADOW || kind == SPAWN_ENGINE || kind == SPAWN_ENGINE_SHADOW;
}

int confine_self(const struct sandbox *sandbox, enum spawn_kind kind, int oom, const char **step)
{
	const struct limits limits = guest_limits(sandbox->cid, sandbox->port);
	int ret;

	*step = "limits";
	ret = limits_set(kind, &limits);
	if (ret)
		return ret;

	*step = "capabilities";
	ret = drop_capabilities(kind);
	if (ret)
		return ret;
	if (kind == SPAWN_MASTER && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
		return -errno;

	*step = "user";
	ret = become_user(sandbox);
	if (ret)
		return ret;
	if (kind == SPAWN_MASTER) {
		*step = "CAP_SYS_ADMIN";
		ret = keep_admin();
		if (ret)
			return ret;
	}

	/*
	 * If vgpud ended before the next call, no process holds the other end of the socket for
	 * lanes, and the program ends by itself. A shadow or an engine may have to outlive vgpud:
	 * the module, or the holder, holds that end for the next vgpud.
	 */
	*step = "parent death signal";
	if (!(settings.lasting && may_last(kind)) &&
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		return -errno;
	*step = "no new privileges";
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	/* Until exec the child is as large as vgpud. The filter may have no write(). */
	*step = "oom_score_adj";
	ret = oom_rank(oom, kind);
	if (ret)
		return ret;
	*step = "system call filter";
	return filter_load(kind);
}

bool confine_has_keys(void)
{
	return has_keys;
}

int confine_init(bool engines)
{
	/* Check for protection keys, as shadows do at their start. */
	int key = pkey_alloc(0, 0), ret;
	struct answer words;

	has_keys = key >= 0;
	if (has_keys)
		pkey_free(key);
	ret = check_all(engines, false, &words);
	if (ret) {
		log_error("%s", words.text);
		return ret;
	}
	if (mkdir(EMPTY_DIR, 0555) && errno != EEXIST) {
		log_error("%s: %s", EMPTY_DIR, strerror(errno));
		return -errno;
	}
	ret = filters_init(engines);
	if (ret)
		log_error("seccomp: %s: the filters of system calls cannot be made: this needs CONFIG_SECCOMP_FILTER and libseccomp 2.5",
			  strerror(-ret));
	return ret;
}
