// SPDX-License-Identifier: MIT
/* Check whether nested VMX of KVM could keep pages of device memory that are taken away. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "keeper/nested.h"

#define NESTED_FILE	"/sys/module/kvm_intel/parameters/nested"
/* Directory that shows that sysfs is there: without it, a missing NESTED_FILE proves nothing. */
#define NESTED_SYSFS	"/sys/module"

/* Check for Linux 6.13 and later, whose KVM does not keep such pages. */
static bool kernel_is_new(void)
{
	unsigned int major, minor;
	struct utsname name;

	return !uname(&name) && sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 13));
}

int nested_check(void)
{
	char value;
	ssize_t len;
	int fd;

	if (kernel_is_new())
		return 0;
	fd = open(NESTED_FILE, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT && !access(NESTED_SYSFS, F_OK) ? 0 : -EPERM;
	len = read(fd, &value, 1);
	close(fd);
	return len == 1 && (value == 'N' || value == '0') ? 0 : -EPERM;
}
