/* SPDX-License-Identifier: MIT */
/* Checks of exports before they are made. */
#ifndef VGPUD_CHECK_H
#define VGPUD_CHECK_H

#include "base/answer.h"

struct export_spec;

/*
 * Check an export that a file asks for, as far as possible: its path, which is valid even if no
 * such file exists yet, and its name and guests, which vgpuctl may have exported on other
 * terms. Return: 0, or a negative errno with words in @answer.
 */
int export_check(const struct export_spec *spec, struct answer *answer);
/* Check that the terms do not contradict each other. */
int export_check_terms(const struct export_spec *spec, struct answer *answer);
/* Check the path. Paths appear in lines of the log and of tables, which they must not break. */
int export_check_path(const struct export_spec *spec, struct answer *answer);

#endif /* VGPUD_CHECK_H */
