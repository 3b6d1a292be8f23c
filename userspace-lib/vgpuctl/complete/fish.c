// SPDX-License-Identifier: MIT
/* Completion for fish. */
#include <stdio.h>
#include <string.h>

#include "vgpuctl/complete/complete.h"
#include "vgpuctl/vgpuctl.h"

/* Print the first line of a text, quoted. */
static void put_fish_text(const char *text)
{
	putchar('\'');
	for (; *text && *text != '\n'; text++) {
		if (strchr("\\'", *text))
			putchar('\\');
		putchar(*text);
	}
	putchar('\'');
}

/* Print the words that fish offers, as an option of its command complete. */
static void put_fish_words(enum value value, const char *words)
{
	switch (value) {
	case VALUE_NONE:
		break;
	case VALUE_WORDS:
		printf(" -a '%s'", words);
		break;
	case VALUE_COMMAND:
		fputs(" -a '", stdout);
		complete_put_commands();
		putchar('\'');
		break;
	case VALUE_DEVICE:
	case VALUE_FILE:
		fputs(" -F", stdout);
		break;
	case VALUE_DIR:
		fputs(" -a '(__fish_complete_directories)'", stdout);
		break;
	case VALUE_USER:
		fputs(" -a '(__fish_complete_users)'", stdout);
		break;
	case VALUE_EXPORT:
		fputs(" -a '(__vgpuctl_said exports)'", stdout);
		break;
	case VALUE_GUEST:
		fputs(" -a '(__vgpuctl_said guests)'", stdout);
		break;
	case VALUE_SHOWN:
		fputs(" -a '(__vgpuctl_said names)'", stdout);
		break;
	case VALUE_LIMIT:
		fputs(" -a '(__vgpuctl_said limits (__vgpuctl_words)[2])'", stdout);
		break;
	}
}

static void put_fish_options(const char *when, uint64_t options)
{
	const struct option_words *words;
	int opt;

	for (opt = 1; opt < NR_OPTIONS; opt++) {
		if (!(options & ALLOW(opt)))
			continue;
		words = &options_words[opt];
		printf("complete -c vgpuctl -n '%s' -l %s", when, words->name);
		if (words->letter)
			printf(" -s %c", words->letter);
		printf("%s -d ", !words->operand ? "" : words->value == VALUE_FILE ? " -r" : " -x");
		put_fish_text(words->help);
		if (words->operand)
			put_fish_words(words->value, words->words);
		putchar('\n');
	}
}

static void put_fish_command(const struct command *command)
{
	const struct verb *verb;
	char when[96];

	printf("complete -c vgpuctl -n '__vgpuctl_at' -a %s -d ", command->name);
	put_fish_text(command->summary);
	putchar('\n');
	for (verb = command->verbs; verb && verb->name; verb++) {
		printf("complete -c vgpuctl -n '__vgpuctl_at %s' -a %s -d ", command->name,
		       verb->name);
		put_fish_text(verb->summary);
		putchar('\n');
		snprintf(when, sizeof(when), "__vgpuctl_in %s %s", command->name, verb->name);
		put_fish_options(when, verb->options | COMMON_OPTIONS);
	}
	snprintf(when, sizeof(when), "__vgpuctl_in %s", command->name);
	if (!command->verbs)
		put_fish_options(when, command->options | COMMON_OPTIONS);
	if (command->value) {
		printf("complete -c vgpuctl -n '__vgpuctl_at %s'", command->name);
		put_fish_words(command->value, command->words);
		putchar('\n');
	}
	if (command->more) {
		printf("complete -c vgpuctl -n '__vgpuctl_in %s; and not __vgpuctl_at %s'",
		       command->name, command->name);
		put_fish_words(command->more, NULL);
		putchar('\n');
	}
}

void complete_print_fish(void)
{
	const struct command *command;
	int opt;

	fputs(COMPLETE_HEAD
	      "\n"
	      "function __vgpuctl_said	# words that vgpuctl knows\n"
	      "	vgpuctl completion $argv 2>/dev/null\n"
	      "end\n"
	      "\n"
	      "function __vgpuctl_words	# the words before the cursor that are no options\n"
	      "	set -l skip\n"
	      "	for word in (commandline -opc)[2..]\n"
	      "		if set -q skip[1]\n"
	      "			set -e skip[1]\n"
	      "			continue\n"
	      "		end\n"
	      "		switch $word\n"
	      "			case", stdout);
	for (opt = 1; opt < NR_OPTIONS; opt++) {
		if (!options_words[opt].operand)
			continue;
		printf(" --%s", option_name(opt));
		if (options_words[opt].letter)
			printf(" -%c", options_words[opt].letter);
	}
	fputs("\n"
	      "				set skip yes\n"
	      "			case '-*'\n"
	      "			case '*'\n"
	      "				echo $word\n"
	      "		end\n"
	      "	end\n"
	      "end\n"
	      "\n"
	      "function __vgpuctl_at	# true if these are all the words\n"
	      "	set -l words (__vgpuctl_words)\n"
	      "	test \"$words\" = \"$argv\"\n"
	      "end\n"
	      "\n"
	      "function __vgpuctl_in	# true if these are the first words\n"
	      "	set -l words (__vgpuctl_words)\n"
	      "	set -l number (count $argv)\n"
	      "	test (count $words) -ge $number; and test \"$words[1..$number]\" = \"$argv\"\n"
	      "end\n"
	      "\n"
	      "complete -c vgpuctl -f\n", stdout);
	put_fish_options("__vgpuctl_at", COMMON_OPTIONS | ALLOW(OPT_VERSION));
	for (command = commands; command->name; command++)
		put_fish_command(command);
}
