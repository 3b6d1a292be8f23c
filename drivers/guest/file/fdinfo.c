// SPDX-License-Identifier: GPL-2.0-only
/*
 * Driver's part of /proc/PID/fdinfo. The reader may have nothing to do with the device: lsof
 * and monitors read the files of all processes. So the call runs in an existing shadow, of
 * whichever process, and no shadow is made for it. The call carries nothing of that process. It
 * has a short timeout, after which no fdinfo is asked for during a pause.
 */
#include <linux/fs.h>
#include <linux/pci.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include <drm/drm_device.h>

#include "base/deadline.h"
#include "file/fdinfo.h"
#include "file/op.h"
#include "link/call.h"
#include "link/export.h"
#include "link/host.h"
#include "link/session.h"
#include "memory/object.h"

/* Limit of the driver's part in bytes: names and numbers. */
#define FDINFO_LEN		SZ_16K
#define FDINFO_TIMEOUT		(2 * HZ)
/* Pause of a file, and of the session whose shadow was used, after a timeout. */
#define FDINFO_PAUSE		(30 * HZ)
/* Pause of the host after a timeout: a reader may be going through many files of a slow host. */
#define FDINFO_HOST_PAUSE	(4 * HZ)

#define FDINFO_PDEV		"drm-pdev:"

static bool fdinfo_is_paused(const unsigned long *until)
{
	unsigned long deadline = READ_ONCE(*until);

	return deadline && !vgpu_deadline_passed(deadline);
}

/*
 * Tells vgpu_session_any() which sessions may be used. vgpu_session_any() prefers the session that
 * opened the file, because the driver knows the shadow of that session.
 */
static bool fdinfo_may_use(const struct vgpu_session *session)
{
	return !fdinfo_is_paused(&session->fdinfo_pause);
}

/*
 * Shows the driver's text. The line with the PCI address gets the address in this machine, where
 * monitors look for the device; it is left out if this machine has no such PCI device.
 */
static void fdinfo_show_text(struct seq_file *seq, const struct vgpu_object *object,
			     const char *text, size_t len)
{
	while (len) {
		const char *end = memchr(text, '\n', len);
		size_t line = end ? end - text + 1 : len;
		bool pdev = line >= strlen(FDINFO_PDEV) &&
			!memcmp(text, FDINFO_PDEV, strlen(FDINFO_PDEV));

		if (!object->node.drm || !pdev)
			seq_write(seq, text, line);
		else if (dev_is_pci(object->node.drm->dev))
			seq_printf(seq, FDINFO_PDEV "\t%s\n", dev_name(object->node.drm->dev));
		text += line;
		len -= line;
	}
}

/* f_op->show_fdinfo */
void vgpu_fdinfo_show(struct seq_file *seq, struct file *file)
{
	struct vgpu_object *object = file->private_data;
	struct vgpu_host *host = object->host;
	struct vgpu_session *session;
	struct vgpu_guest_call xcall;
	int ret;

	if (!(object->fops & VGPU_FOP_FDINFO) || vgpu_host_is_down(host) ||
	    fdinfo_is_paused(&host->fdinfo_pause) || fdinfo_is_paused(&object->fdinfo_pause))
		return;
	session = vgpu_session_any(host, object->opener.session, fdinfo_may_use);
	if (!session)
		return;
	vgpu_op_fill_call(file, &xcall, VGPU_OP_FDINFO, 0);
	xcall.flags = VGPU_GUEST_CALL_NO_MAPPED | VGPU_GUEST_CALL_NO_CANCEL |
		      VGPU_GUEST_CALL_FOREIGN;
	xcall.deadline = vgpu_deadline_in(FDINFO_TIMEOUT);
	vgpu_guest_call_seg(&xcall, NULL, FDINFO_LEN, VGPU_SEG_OUT, NULL);
	/* FDINFO does not give the file to the shadow, so vgpu_keep_use() is not needed (op.c). */
	ret = vgpu_call_run(session, &xcall);
	if (!ret && xcall.result > 0)
		fdinfo_show_text(seq, object, xcall.reply.data, xcall.result);
	if (ret == -ETIMEDOUT) {
		WRITE_ONCE(session->fdinfo_pause, vgpu_deadline_in(FDINFO_PAUSE));
		WRITE_ONCE(object->fdinfo_pause, vgpu_deadline_in(FDINFO_PAUSE));
		WRITE_ONCE(host->fdinfo_pause, vgpu_deadline_in(FDINFO_HOST_PAUSE));
	}
	vgpu_guest_call_fini(&xcall);
	vgpu_session_put(session);
}
