// SPDX-License-Identifier: MIT
/* Completion for zsh. */
#include <stdio.h>
#include <string.h>

#include "vgpuctl/complete/complete.h"
#include "vgpuctl/vgpuctl.h"

/* Print the first line of a text for a quoted description of _arguments or _describe. */
static void put_zsh_text(const char *text)
{
	for (; *text && *text != '\n'; text++) {
		if (*text == '\'')
			fputs("'\\'", stdout);
		else if (strchr("[]:\\", *text))
			putchar('\\');
		putchar(*text);
	}
}

/* Print the action of _arguments that offers words of a kind. */
static void put_zsh_action(enum value value, const char *words)
{
	switch (value) {
	case VALUE_NONE:
		putchar(' ');
		break;
	case VALUE_WORDS:
		printf("(%s)", words);
		break;
	case VALUE_COMMAND:
		fputs("_vgpuctl_commands", stdout);
		break;
	case VALUE_DEVICE:
		fputs("_files -W /dev", stdout);
		break;
	case VALUE_FILE:
		fputs("_files", stdout);
		break;
	case VALUE_DIR:
		fputs("_files -/", stdout);
		break;
	case VALUE_USER:
		fputs("_users", stdout);
		break;
	case VALUE_EXPORT:
		fputs(" _vgpuctl_said exports", stdout);
		break;
	case VALUE_GUEST:
		fputs(" _vgpuctl_said guests", stdout);
		break;
	case VALUE_SHOWN:
		fputs(" _vgpuctl_said names", stdout);
		break;
	case VALUE_LIMIT:
		fputs(" _vgpuctl_said limits \"$words[2]\"", stdout);
		break;
	}
}

/* Print the arguments of _arguments for options, each on a line. */
static void put_zsh_options(uint64_t options)
{
	const struct option_words *words;
	int opt;

	for (opt = 1; opt < NR_OPTIONS; opt++) {
		if (!(options & ALLOW(opt)))
			continue;
		words = &options_words[opt];
		printf(" \\\n			'%s--%s[", opt == OPT_TO ? "*" : "", words->name);
		put_zsh_text(words->help);
		putchar(']');
		if (words->operand) {
			printf(":%s:", words->operand);
			put_zsh_action(words->value, words->words);
		}
		putchar('\'');
	}
}

static void put_zsh_command(const struct command *command)
{
	const struct verb *verb;

	printf("	%s)\n", command->name);
	if (command->verbs) {
		fputs("		case $words[2] in\n", stdout);
		for (verb = command->verbs; verb->name; verb++) {
			printf("		%s) _arguments", verb->name);
			put_zsh_options(verb->options | COMMON_OPTIONS);
			fputs(" '1: : ' ;;\n", stdout);
		}
		fputs("		*) _arguments '1:command:((", stdout);
		for (verb = command->verbs; verb->name; verb++) {
			printf("%s\\:\"", verb->name);
			put_zsh_text(verb->summary);
			fputs("\" ", stdout);
		}
		fputs("))' ;;\n		esac ;;\n", stdout);
		return;
	}
	fputs("		_arguments", stdout);
	put_zsh_options(command->options | COMMON_OPTIONS);
	if (command->value) {
		fputs(" \\\n			'1:argument:", stdout);
		put_zsh_action(command->value, command->words);
		putchar('\'');
	}
	if (command->more) {
		fputs(" \\\n			'*:argument:", stdout);
		put_zsh_action(command->more, NULL);
		putchar('\'');
	}
	fputs(" ;;\n", stdout);
}

void complete_print_zsh(void)
{
	const struct command *command;

	fputs("#compdef vgpuctl\n" COMPLETE_HEAD
	      "\n"
	      "_vgpuctl_said() {	# words that vgpuctl knows\n"
	      "	local -a said\n"
	      "	said=(${(f)\"$(vgpuctl completion \"$@\" 2>/dev/null)\"})\n"
	      "	compadd -a said\n"
	      "}\n"
	      "\n"
	      "_vgpuctl_commands() {\n"
	      "	local -a all\n"
	      "	all=(\n", stdout);
	for (command = commands; command->name; command++) {
		printf("		'%s:", command->name);
		put_zsh_text(command->summary);
		fputs("'\n", stdout);
	}
	fputs("	)\n"
	      "	_describe command all\n"
	      "}\n"
	      "\n"
	      "_vgpuctl() {\n"
	      "	local curcontext=$curcontext state line\n"
	      "	typeset -A opt_args\n"
	      "	_arguments -C", stdout);
	put_zsh_options(COMMON_OPTIONS | ALLOW(OPT_VERSION));
	fputs(" \\\n"
	      "			'1:command:_vgpuctl_commands' '*::argument:->rest'\n"
	      "	[[ $state = rest ]] || return\n"
	      "	case $words[1] in\n", stdout);
	for (command = commands; command->name; command++)
		put_zsh_command(command);
	fputs("	esac\n"
	      "}\n"
	      "\n"
	      "_vgpuctl \"$@\"\n", stdout);
}
