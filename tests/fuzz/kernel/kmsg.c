// SPDX-License-Identifier: GPL-2.0-only
/* Reports of errors in the kernel's log, see kmsg.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "kmsg.h"

static int log_fds[KMSG_READERS];

/* Beginnings of reports; tests/harness/kernlog.py, which has them all, reads the console again. */
static const char *const reports[] = {
	"BUG: ", "KASAN: ", "WARNING: ", "UBSAN: ", "Oops: ", "general protection fault",
	"refcount_t: ", "list_add corruption", "list_del corruption", "INFO: possible",
	"possible recursive", "bad unlock balance", "held lock freed", "INFO: task ",
	"scheduling while atomic", "VFS: Close: file count is 0", "suspicious RCU",
};

bool kmsg_open(void)
{
	unsigned int i;

	for (i = 0; i < KMSG_READERS; i++) {
		log_fds[i] = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (log_fds[i] < 0 || lseek(log_fds[i], 0, SEEK_END) < 0)
			return false;
	}
	return true;
}

const char *kmsg_report(unsigned int reader)
{
	static char lines[KMSG_READERS][8192], texts[KMSG_READERS][256];
	char *line = lines[reader], *found = texts[reader];
	bool any = false;
	ssize_t len;
	size_t i;

	for (;;) {
		len = read(log_fds[reader], line, sizeof(lines[0]) - 1);
		/* EPIPE: messages were overwritten before they were read. */
		if (len < 0 && (errno == EPIPE || errno == EINTR))
			continue;
		if (len <= 0)
			return any ? found : NULL;
		line[len] = '\0';
		for (i = 0; !any && i < sizeof(reports) / sizeof(reports[0]); i++) {
			const char *at = strstr(line, reports[i]);

			if (!at)
				continue;
			any = true;
			strncpy(found, at, sizeof(texts[0]) - 1);
			found[strcspn(found, "\n")] = '\0';
		}
	}
}
