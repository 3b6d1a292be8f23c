// SPDX-License-Identifier: GPL-2.0-only
/*
 * Log messages about versions. NVIDIA's libraries send their version to the driver, which
 * rejects any version other than its own. Error messages of the libraries are mostly
 * unspecific, and the driver's message is in the log of the host. So the guest logs the
 * mismatch as well.
 *
 * The guest also logs a driver release for which the schemas were not written.
 */
#include <linux/ctype.h>
#include <linux/errno.h>
#include <linux/ioctl.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "argument/marshal.h"
#include "link/export.h"
#include "link/host.h"
#include "node/nvidia_version.h"

#define VERSION_LEN		64
/* First and last release of the open modules that the schemas are based on. */
#define RELEASE_FIRST		550
#define RELEASE_LAST		595
/* Maximum number of bytes of the first line of a file that are parsed. */
#define RELEASE_LINE		256
/* Number of programs that are remembered to log each only once. */
#define VERSION_PROGRAMS	8

struct version_check {
	__le32 cmd;
	__le32 reply;
	char version[VERSION_LEN];
};

#define VERSION_CHECK		_IOWR('F', 0xd2, struct version_check)

/**
 * struct version_program - program that was logged
 * @comm: name of the program
 * @version: version of its libraries
 */
struct version_program {
	char comm[TASK_COMM_LEN];
	char version[VERSION_LEN];
};

static DEFINE_SPINLOCK(version_lock);
static struct version_program version_programs[VERSION_PROGRAMS];
static unsigned int version_next;

/* Return: true if the calling program has to be logged: it is not among the last programs. */
static bool version_is_new(const char *version)
{
	struct version_program *program;
	char comm[TASK_COMM_LEN];
	bool is_new = true;
	unsigned int i;

	get_task_comm(comm, current);
	spin_lock(&version_lock);
	for (i = 0; is_new && i < VERSION_PROGRAMS; i++) {
		program = &version_programs[i];
		is_new = strcmp(program->comm, comm) || strcmp(program->version, version);
	}
	if (is_new) {
		program = &version_programs[version_next++ % VERSION_PROGRAMS];
		strscpy(program->comm, comm, sizeof(program->comm));
		strscpy(program->version, version, sizeof(program->version));
	}
	spin_unlock(&version_lock);
	return is_new;
}

/**
 * vgpu_nvidia_version_checked - log a mismatch of versions after an ioctl
 * @export: export of the file
 * @cmd: command of the ioctl
 * @m: marshalled ioctl
 * @reply: reply of the host
 * @result: result of the ioctl
 *
 * The driver returns its own version if it has found another one.
 */
void vgpu_nvidia_version_checked(const struct vgpu_export *export, unsigned int cmd,
				 const struct vgpu_marshal *m, const struct vgpu_reply_view *reply,
				 long result)
{
	struct version_check given, got;

	if (export->kind != VGPU_EXPORT_NVIDIA || cmd != VERSION_CHECK || result != -EINVAL ||
	    m->data_len < sizeof(given) || reply->data_len < sizeof(got))
		return;
	memcpy(&given, m->data, sizeof(given));
	memcpy(&got, reply->data, sizeof(got));
	given.version[VERSION_LEN - 1] = '\0';
	got.version[VERSION_LEN - 1] = '\0';
	if (!got.version[0] || !strcmp(given.version, got.version) ||
	    !version_is_new(given.version))
		return;
	pr_warn_ratelimited("%s uses NVIDIA libraries of version %*pE, but the driver of host %s has version %*pE: install the libraries of the driver's version in this machine\n",
			    current->comm, (int)strlen(given.version), given.version,
			    export->host->name, (int)strlen(got.version), got.version);
}

/* Parse a version such as "580.159.04". Return: the release, its first number; 0: no version. */
static unsigned int version_release(const char *word)
{
	unsigned int release, rest;

	if (!isdigit(word[0]) || word[strspn(word, "0123456789.")] ||
	    sscanf(word, "%u.%u", &release, &rest) != 2)
		return 0;
	return release;
}

/**
 * vgpu_nvidia_version_told - log an unknown driver release
 * @export: export of the control node
 * @data: contents of /proc/driver/nvidia/version on the host
 * @len: number of bytes at @data
 * @said: release that was checked last, so that it is logged once; updated
 *
 * A driver of an unknown release is used like the known ones.
 */
void vgpu_nvidia_version_told(const struct vgpu_export *export, const u8 *data, u32 len,
			      unsigned int *said)
{
	char line[RELEASE_LINE], *rest = line, *word;
	unsigned int release = 0;

	len = min_t(u32, len, sizeof(line) - 1);
	memcpy(line, data, len);
	line[len] = '\0';
	line[strcspn(line, "\n")] = '\0';
	while (!release && (word = strsep(&rest, " \t")))
		release = version_release(word);
	if (!release || release == *said)
		return;
	*said = release;
	if (release < RELEASE_FIRST || release > RELEASE_LAST)
		pr_notice_ratelimited("host %s has NVIDIA driver %s, which this module does not know (it knows %u to %u): the driver is treated like a known one\n",
				      export->host->name, word, RELEASE_FIRST, RELEASE_LAST);
}
