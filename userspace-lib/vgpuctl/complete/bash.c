// SPDX-License-Identifier: MIT
/* Completion for bash. */
#include <stdio.h>

#include "vgpuctl/complete/complete.h"
#include "vgpuctl/vgpuctl.h"

static const char bash_start[] =
	COMPLETE_HEAD "# shellcheck shell=bash\n"
	"\n"
	"_vgpuctl_offer() {	# _vgpuctl_offer ARGUMENT...: adds what compgen makes of them\n"
	"	mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen \"$@\")\n"
	"}\n"
	"\n"
	"_vgpuctl_said() {	# _vgpuctl_said ARGUMENT...: words that vgpuctl knows\n"
	"	vgpuctl completion \"$@\" 2>/dev/null\n"
	"}\n"
	"\n"
	"_vgpuctl() {\n"
	"	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
	"	local i command='' first='' options=''\n"
	"\n"
	"	COMPREPLY=()\n"
	"	for ((i = 1; i < COMP_CWORD; i++)); do\n"
	"		case ${COMP_WORDS[i]} in\n";

static const char bash_words[] =
	"i=$((i + 1)) ;;\n"
	"		-*) ;;\n"
	"		*)	if [ -z \"$command\" ]; then\n"
	"				command=${COMP_WORDS[i]}\n"
	"			elif [ -z \"$first\" ]; then\n"
	"				first=${COMP_WORDS[i]}\n"
	"			fi ;;\n"
	"		esac\n"
	"	done\n"
	"	case $before in\n";

static const char bash_end[] =
	"	esac\n"
	"	_vgpuctl_offer -W \"$options\" -- \"$word\"\n"
	"	case ${COMPREPLY[*]} in\n"
	"	*=) compopt -o nospace 2>/dev/null ;;\n"
	"	esac\n"
	"}\n"
	"complete -o filenames -F _vgpuctl vgpuctl\n";

/* Print a command of bash that offers words of a kind. */
static void put_bash_offer(enum value value, const char *words)
{
	switch (value) {
	case VALUE_NONE:
		fputs(":", stdout);
		break;
	case VALUE_WORDS:
		printf("_vgpuctl_offer -W '%s' -- \"$word\"", words);
		break;
	case VALUE_COMMAND:
		fputs("_vgpuctl_offer -W '", stdout);
		complete_put_commands();
		fputs("' -- \"$word\"", stdout);
		break;
	case VALUE_DEVICE:
		fputs("_vgpuctl_offer -f -- \"${word:-/dev/}\"", stdout);
		break;
	case VALUE_FILE:
		fputs("_vgpuctl_offer -f -- \"$word\"", stdout);
		break;
	case VALUE_DIR:
		fputs("_vgpuctl_offer -d -- \"$word\"", stdout);
		break;
	case VALUE_USER:
		fputs("_vgpuctl_offer -u -- \"$word\"", stdout);
		break;
	case VALUE_EXPORT:
		fputs("_vgpuctl_offer -W \"$(_vgpuctl_said exports)\" -- \"$word\"", stdout);
		break;
	case VALUE_GUEST:
		fputs("_vgpuctl_offer -W \"$(_vgpuctl_said guests)\" -- \"$word\"", stdout);
		break;
	case VALUE_SHOWN:
		fputs("_vgpuctl_offer -W \"$(_vgpuctl_said names)\" -- \"$word\"", stdout);
		break;
	case VALUE_LIMIT:
		fputs("_vgpuctl_offer -W \"$(_vgpuctl_said limits \"$first\")\" -- \"$word\"",
		      stdout);
		break;
	}
}

static void put_bash_command(const struct command *command)
{
	const struct verb *verb;

	for (verb = command->verbs; verb && verb->name; verb++) {
		printf("	'%s %s') options='", command->name, verb->name);
		complete_put_options(verb->options | COMMON_OPTIONS, " ", "' ;;\n");
	}
	printf("	'%s '*) options='", command->name);
	complete_put_options(command->options | COMMON_OPTIONS, " ", "'\n");
	if (command->verbs) {
		fputs("		[ -n \"$first\" ] || _vgpuctl_offer -W '", stdout);
		complete_put_verbs(command);
		fputs("' -- \"$word\" ;;\n", stdout);
		return;
	}
	fputs("		case $word:$first in\n		-*) ;;\n		*:) ", stdout);
	put_bash_offer(command->value, command->words);
	fputs(" ;;\n		*) ", stdout);
	put_bash_offer(command->more, NULL);
	fputs(" ;;\n		esac ;;\n", stdout);
}

void complete_print_bash(void)
{
	const struct command *command;
	int opt;

	fputs(bash_start, stdout);
	fputs("		--", stdout);
	/* The first name has no " | " before it. */
	opt = option_first(complete_options_with_value());
	fputs(option_name(opt), stdout);
	complete_put_options(complete_options_with_value() & ~ALLOW(opt), " | ", "");
	for (opt = 1; opt < NR_OPTIONS; opt++)
		if (options_words[opt].operand && options_words[opt].letter)
			printf(" | -%c", options_words[opt].letter);
	fputs(") ", stdout);
	fputs(bash_words, stdout);
	for (opt = 1; opt < NR_OPTIONS; opt++) {
		if (!options_words[opt].operand)
			continue;
		printf("	--%s", option_name(opt));
		if (options_words[opt].letter)
			printf(" | -%c", options_words[opt].letter);
		fputs(") ", stdout);
		put_bash_offer(options_words[opt].value, options_words[opt].words);
		fputs("; return ;;\n", stdout);
	}
	fputs("	esac\n	case \"$command $first\" in\n	' ') options='", stdout);
	complete_put_commands();
	complete_put_options(COMMON_OPTIONS | ALLOW(OPT_VERSION), " ", "' ;;\n");
	for (command = commands; command->name; command++)
		put_bash_command(command);
	fputs(bash_end, stdout);
}
