// SPDX-License-Identifier: MIT
/* Number of files that vgpud itself may have open: one for each session and each new connection. */
#include <sys/resource.h>

#include "config/config.h"
#include "config/guests.h"
#include "process/own.h"
#include "shared/log.h"

/*
 * Number of files beside 'pending' and the sessions of guests: those of other guests without names,
 * windows, clients and vgpud itself.
 */
#define FILES_OTHERS	512

void own_files_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

void own_files_check(void)
{
	const unsigned long long need = settings.pending + guests_sessions() + FILES_OTHERS;
	static unsigned long long warned;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= need || need == warned)
		return;
	log_warning("a limit of %llu open files is too low for 'pending' and the 'sessions' of all guests with names and of one without: set LimitNOFILE to %llu or more",
		    (unsigned long long)limit.rlim_cur, need);
	warned = need;
}
