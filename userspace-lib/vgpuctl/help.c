// SPDX-License-Identifier: MIT
/* Help texts, which are made from the tables of commands and options. */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "shared/word.h"
#include "vgpuctl.h"

/* Order of the options in help texts. An option that is missing here comes last. */
static const int options_order[] = {
	OPT_TO, OPT_NVIDIA, OPT_NAME, OPT_MASTER, OPT_NO_DEMAND, OPT_READ_ONLY, OPT_PROFILE,
	OPT_AUDIT, OPT_ANY_PORT,
	OPT_SIZE, OPT_OWNER, OPT_MEMORY, OPT_SAVE, OPT_FORCE, OPT_NOW, OPT_ROOT, OPT_VERBOSE, OPT_SECONDS,
};

static const int options_last[] = { OPT_JSON, OPT_SOCKET, OPT_HELP, OPT_VERSION };

#define NR(array)	(sizeof(array) / sizeof((array)[0]))

/* Print the lines of @text: the first one after @first, the others with the same indentation. */
static void put_lines(FILE *to, const char *first, const char *text)
{
	const char *line, *end;

	for (line = text; *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		fprintf(to, "%*s%.*s\n", line == text ? 0 : (int)strlen(first),
			line == text ? first : "", (int)(end - line), line);
	}
}

static void put_synopsis(FILE *to, const struct command *command, bool first)
{
	const char *line, *end;

	for (line = command->synopsis; *line; line = end + 1) {
		end = strchr(line, '\n');
		fprintf(to, "%s %s%.*s\n", first ? "usage:" : "      ",
			*line == ' ' ? "" : "vgpuctl ", (int)(end - line), line);
		first = false;
	}
}

static void put_option(FILE *to, int option)
{
	const struct option_words *words = &options_words[option];
	const char letter[] = { '-', words->letter, ',', ' ', '\0' };
	char name[48];

	snprintf(name, sizeof(name), "%s--%s%s%s%s", words->letter ? letter : "", words->name,
		 words->operand ? " " : "", words->operand ? words->operand : "",
		 option == OPT_NVIDIA ? " [N]" : "");
	snprintf(name, sizeof(name), "  %-18s", strdupa(name));
	put_lines(to, name, words->help);
}

static void put_options(FILE *to, uint64_t which)
{
	uint64_t last = 0;
	size_t i;
	int opt;

	fputc('\n', to);
	for (i = 0; i < NR(options_last); i++)
		last |= ALLOW(options_last[i]);
	last &= which;
	which &= ~last;
	for (i = 0; i < NR(options_order); i++) {
		if (which & ALLOW(options_order[i]))
			put_option(to, options_order[i]);
		which &= ~ALLOW(options_order[i]);
	}
	for (opt = 1; opt < NR_OPTIONS; opt++)
		if (which & ALLOW(opt))
			put_option(to, opt);
	for (i = 0; i < NR(options_last); i++)
		if (last & ALLOW(options_last[i]))
			put_option(to, options_last[i]);
}

void help_print(FILE *to)
{
	const struct command *command;

	for (command = commands; command->name; command++)
		put_synopsis(to, command, command == commands);
	fputs("       vgpuctl --version\n"
	      "\n"
	      "On a host: let a guest use a device file, take the file back, show exports\n"
	      "and their users. In a guest: show its devices, the state of its hosts,\n"
	      "and what its programs do with them (trace). On both: say what is wrong and\n"
	      "what to do (doctor).\n"
	      "\n", to);
	for (command = commands; command->name; command++)
		fprintf(to, "  %-18s%s\n", command->name, command->summary);
	put_options(to, ~0ULL);
	fputs("\n"
	      "Exit status: 0 done; 1 failed; 2 wrong arguments; 3 neither vgpud nor module\n"
	      "vgpu_guest here; 4 not allowed; 5 not found; 6 in use; 7 no device to export.\n"
	      "In a guest without a device: 8 no host answers; 9 the host refuses this guest;\n"
	      "10 the host has another version; 11 the host exports nothing to this guest\n"
	      "\n"
	      "The manual: man vgpuctl, and man vgpu for all of vgpu.\n", to);
}

void help_print_command(const struct command *command)
{
	const struct verb *verb;

	put_synopsis(stdout, command, true);
	printf("\n%c%s.\n", command->summary[0] - ('a' - 'A'), command->summary + 1);
	for (verb = command->verbs; verb && verb->name; verb++)
		printf("%s  %-18s%s\n", verb == command->verbs ? "\n" : "", verb->name,
		       verb->summary);
	put_options(stdout, command->options | COMMON_OPTIONS);
}

int help_no_command(const char *name)
{
	const struct command *command;
	const char *near;
	const char **names;
	size_t nr = 0;
	int ret;

	for (command = commands; command->name; command++)
		nr++;
	names = calloc(nr + 1, sizeof(*names));
	for (nr = 0, command = commands; names && command->name; command++)
		names[nr++] = command->name;
	near = names ? word_near(name, names) : NULL;
	ret = fail(EXIT_USAGE, "there is no command %s%s%s%s (vgpuctl help lists all)", name,
		   near ? ": did you mean " : "", near ? near : "", near ? "?" : "");
	free(names);
	return ret;
}

int cmd_help(const char *name, const struct options *options)
{
	const struct command *command = name ? command_find(name) : NULL;

	if (name && !command)
		return help_no_command(name);
	if (option_given(options, OPT_JSON))
		print_commands_json(command);
	else if (command)
		help_print_command(command);
	else
		help_print(stdout);
	return EXIT_SUCCESS;
}
