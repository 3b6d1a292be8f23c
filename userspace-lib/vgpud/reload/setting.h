/* SPDX-License-Identifier: MIT */
/* Settings of a section of exports.d. */
#ifndef VGPUD_SETTING_H
#define VGPUD_SETTING_H

#include <stdbool.h>
#include <stddef.h>

struct answer;
struct export_spec;

/**
 * struct plan_setting - a setting
 * @name: name of the setting
 * @is_list: true if the setting is a list, and may occur more than once in a section
 * @is_window: true if the setting is about the window
 * @set: parses a value; returns 0, or a negative errno with words in @words
 */
struct plan_setting {
	const char *name;
	bool is_list;
	bool is_window;
	int (*set)(struct export_spec *spec, const char *value, struct answer *words);
};

extern const struct plan_setting plan_settings[];
extern const size_t plan_nr_settings;

#endif /* VGPUD_SETTING_H */
