/* SPDX-License-Identifier: MIT */
/* Denials: ioctls that the lists of exports deny, or would deny but for an audit. */
#ifndef VGPUD_EXPORT_DENIAL_H
#define VGPUD_EXPORT_DENIAL_H

#include <linux/vgpu_host.h>

struct export;
struct peer;

/**
 * struct export_denials - counts of denied ioctls of a guest and an export
 * @nr: number of entries of @list
 * @others: counts of all ioctls that @list has no room for
 * @list: array of the counts
 */
struct export_denials {
	unsigned int nr;
	struct vgpu_host_denial others;
	struct vgpu_host_denial list[VGPU_HOST_DENIALS_MAX];
};

/* Get the counts of a connected guest, which are 0 if it does not have the export. */
void export_denials(const struct export *export, const struct peer *peer,
		    struct export_denials *denials);
/* Write the name of an ioctl of the export, or its number, to @words. */
void denial_words(const struct export *export, const struct vgpu_host_denial *denial,
		  char words[80]);

/* Look for ioctls that audits let through from now on, and log each once for a guest. */
void audits_begin(void);

#endif /* VGPUD_EXPORT_DENIAL_H */
