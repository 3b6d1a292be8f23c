/* SPDX-License-Identifier: MIT */
/* Completion: what the scripts for shells have in common. */
#ifndef VGPUCTL_COMPLETE_H
#define VGPUCTL_COMPLETE_H

#include "vgpuctl/command.h"

#define COMPLETE_HEAD	\
	"# SPDX-" "License-Identifier: MIT\n" \
	"# Completion of vgpuctl's command line. 'vgpuctl completion' has printed this.\n"

/* Print the names of the options in a bit mask, each after @before, and @after in the end. */
void complete_put_options(uint64_t options, const char *before, const char *after);
/* Return the bit mask of the options that take a value. */
uint64_t complete_options_with_value(void);
/* Print the names of all commands, with a blank after each. */
void complete_put_commands(void);
/* Print the names of a command's verbs, with a blank after each. */
void complete_put_verbs(const struct command *command);

/* Print the script for a shell. */
void complete_print_bash(void);
void complete_print_zsh(void);
void complete_print_fish(void);

#endif /* VGPUCTL_COMPLETE_H */
