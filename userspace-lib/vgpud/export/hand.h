/* SPDX-License-Identifier: MIT */
/* Exports that people ask for by vgpuctl. Those that files of exports.d ask for: see reload/. */
#ifndef VGPUD_HAND_H
#define VGPUD_HAND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/answer.h"

struct export;
struct export_spec;
struct grant;

/*
 * Add an export that a person asks for. If the name exists with the same path and terms, the
 * guests of @spec are added to that export. Return: 0, or a negative errno with words in
 * @answer; -EEXIST if the name means something else.
 */
int export_add(struct export_spec *spec, struct answer *answer);

/**
 * enum removal - how an export is taken back
 * @REMOVE_UNUSED: only if no guest that has it runs programs that use a device
 * @REMOVE_FORCE: in any case; open files stay usable
 * @REMOVE_NOW: in any case, with all files that are open
 */
enum removal { REMOVE_UNUSED, REMOVE_FORCE, REMOVE_NOW };

/*
 * Remove an export, or one guest's right to it if @cid is not 0. Return: 0 or a negative errno;
 * -EBUSY if a guest that has the export runs programs that use a device, with REMOVE_UNUSED.
 */
int export_remove(const char *name, uint32_t cid, uint32_t port, enum removal how,
		  struct answer *answer);
/* Check whether export_remove() would succeed. Return: what export_remove() would return. */
int export_check_remove(const char *name, uint32_t cid, uint32_t port, enum removal how,
			struct answer *answer);
/*
 * Check that no guest of the export runs programs that use a device; @only: check only the guest of
 * this grant. Return: 0 or -EBUSY.
 */
int export_check_unused(struct export *export, struct grant *only, struct answer *answer);

#endif /* VGPUD_HAND_H */
