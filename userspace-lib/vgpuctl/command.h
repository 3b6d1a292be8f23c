/* SPDX-License-Identifier: MIT */
/*
 * Tables of vgpuctl's commands and options. The command line's parser, help texts, completions of
 * shells and the check of the manual follow from these tables.
 */
#ifndef VGPUCTL_COMMAND_H
#define VGPUCTL_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct options;
struct vgpu_agent;
struct vgpu_window_request;

/* Kinds of words that a shell offers for an argument. */
enum value {
	VALUE_NONE,		/* nothing */
	VALUE_WORDS,		/* words that the table has */
	VALUE_DEVICE,		/* device files */
	VALUE_FILE,		/* files */
	VALUE_DIR,		/* directories */
	VALUE_USER,		/* users of this machine */
	VALUE_EXPORT,		/* names of exports */
	VALUE_GUEST,		/* guests by number and name */
	VALUE_LIMIT,		/* limits of the guest that the argument before names */
	VALUE_SHOWN,		/* exports, guests and devices */
	VALUE_COMMAND,		/* commands of vgpuctl */
};

/**
 * struct option_words - an option
 * @name: name without its dashes
 * @operand: name of its value in help texts; NULL: it takes no value
 * @help: lines for help texts; the first one has to make sense alone
 * @value: kind of its value, an enum value
 * @words: words for VALUE_WORDS, with blanks between them; else NULL
 * @letter: letter that stands for the option; 0: none
 */
struct option_words {
	const char *name;
	const char *operand;
	const char *help;
	enum value value;
	const char *words;
	char letter;
};

/**
 * struct verb - a command after another one, such as "create" after "vgpuctl window"
 * @name: name; NULL ends an array of verbs
 * @summary: a line for completions of shells
 * @options: bit mask of the options that it may have, beside those of all commands
 * @needed: bit mask of those of @options without which it fails
 * @run: function that runs it, and returns an exit status
 */
struct verb {
	const char *name;
	const char *summary;
	uint64_t options;
	uint64_t needed;
	int (*run)(struct vgpu_agent *agent, const struct vgpu_window_request *request,
		   const struct options *options);
};

/**
 * struct command - a command
 * @name: name; NULL ends the table
 * @synopsis: lines that follow "vgpuctl"; one that begins with a blank continues the one before
 * @operand: words for the argument in error messages; NULL: the command takes none
 * @options: bit mask of the options that it may have, beside those of all commands
 * @run: function that runs it, and returns an exit status
 * @summary: a line for help texts and completions of shells; every command needs one
 * @value: kind of its argument, an enum value
 * @words: words for VALUE_WORDS, with blanks between them; else NULL
 * @optional: true if the argument may be left out
 * @more: kind of the arguments after the first one; VALUE_NONE: there may be none
 * @verbs: array of the commands that its argument may be; else NULL
 */
struct command {
	const char *name;
	const char *synopsis;
	const char *operand;
	uint64_t options;
	int (*run)(const char *operand, const struct options *options);
	const char *summary;
	enum value value;
	const char *words;
	bool optional;
	enum value more;
	const struct verb *verbs;
};

/* --- main.c: the tables -------------------------------------------------------- */

extern const struct command commands[];
extern const struct option_words options_words[];

/* Return the command of a name; NULL: there is none. */
const struct command *command_find(const char *name);

/* --- option.c: options of the command line ------------------------------------- */

/* Bit mask of the options of all commands. */
#define COMMON_OPTIONS	(ALLOW(OPT_SOCKET) | ALLOW(OPT_JSON) | ALLOW(OPT_HELP))

/* Return the name of an option, without its dashes. */
const char *option_name(int option);
/* Return the first option of a bit mask that is not 0. */
int option_first(uint64_t options);
/* Handle all options, and sort the other arguments to the end. Return: 0 or an exit status. */
int options_take(int argc, char **argv, struct options *options);

/* --- help.c: texts about commands ---------------------------------------------- */

/* Print help for all commands. */
void help_print(FILE *to);
/* Print help for a command. */
void help_print_command(const struct command *command);
/* Print an error: @name is no command. Return: an exit status. */
int help_no_command(const char *name);

/* --- window.c ------------------------------------------------------------------ */

extern const struct verb window_verbs[];

#endif /* VGPUCTL_COMMAND_H */
