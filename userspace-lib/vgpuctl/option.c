// SPDX-License-Identifier: MIT
/* Options of the command line. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "shared/word.h"
#include "vgpuctl.h"

const char *option_name(int option)
{
	return options_words[option].name;
}

int option_first(uint64_t options)
{
	return __builtin_ctzll(options);
}

/* Print an error: @word, which may end in =VALUE, is no option. Return: an exit status. */
static int no_option(const char *word)
{
	const char *names[NR_OPTIONS], *near;
	char *name = strndup(word, strcspn(word, "="));
	int i, ret;

	for (i = 1; i < NR_OPTIONS; i++)
		names[i - 1] = option_name(i);
	names[NR_OPTIONS - 1] = NULL;
	near = name ? word_near(name + strspn(name, "-"), names) : NULL;
	ret = fail(EXIT_USAGE, "there is no option %s%s%s%s (vgpuctl --help)", name ? name : word,
		   near ? ": did you mean --" : "", near ? near : "", near ? "?" : "");
	free(name);
	return ret;
}

/* Handle an option. Return: 0 or an exit status. */
static int take_option(int opt, struct options *options)
{
	/*
	 * A second value of an option is refused, because either of the two may be the one
	 * meant.
	 */
	if (optarg && opt != OPT_TO && option_given(options, opt))
		return fail(EXIT_USAGE, "--%s is given twice: give this option once",
			    option_name(opt));
	if (optarg && !*optarg)
		return fail(EXIT_USAGE, "--%s has an empty value: give --%s %s (vgpuctl --help)",
			    option_name(opt), option_name(opt), options_words[opt].operand);
	options->given |= ALLOW(opt);
	if (opt == OPT_TO)
		return guests_add(options, optarg);
	options->values[opt] = optarg;
	return 0;
}

/* Return the argument in which getopt_long() found the last option. */
static const char *option_word(char **argv)
{
	return optarg && optarg == argv[optind - 1] ? argv[optind - 2] : argv[optind - 1];
}

/* Make the letters of all options a string for getopt_long(). */
static void put_letters(char letters[2 * NR_OPTIONS + 2])
{
	int i;

	*letters++ = ':';
	for (i = 1; i < NR_OPTIONS; i++) {
		if (!options_words[i].letter)
			continue;
		*letters++ = options_words[i].letter;
		if (options_words[i].operand)
			*letters++ = ':';
	}
	*letters = '\0';
}

/* Return the option that a letter stands for, or @opt if it is an option; 0: it is neither. */
static int option_of(int opt)
{
	int i;

	if (opt < NR_OPTIONS)
		return opt;
	for (i = 1; i < NR_OPTIONS && options_words[i].letter != opt; i++)
		;
	return i < NR_OPTIONS ? i : 0;
}

int options_take(int argc, char **argv, struct options *options)
{
	struct option table[NR_OPTIONS] = { { NULL, 0, NULL, 0 } };
	char letters[2 * NR_OPTIONS + 2];
	int opt, ret, index, needs;
	const char *word;
	size_t i;

	for (i = 1; i < NR_OPTIONS; i++)
		table[i - 1] = (struct option){ options_words[i].name,
			options_words[i].operand ? required_argument : no_argument, NULL, i };
	put_letters(letters);
	opterr = 0;
	for (;;) {
		index = -1;
		opt = getopt_long(argc, argv, letters, table, &index);
		if (opt < 0)
			return 0;
		word = option_word(argv);
		needs = opt == ':' ? option_of(optopt) : 0;
		if (needs)
			return fail(EXIT_USAGE, "--%s needs a value: --%s %s (vgpuctl --help)",
				    option_name(needs), option_name(needs),
				    options_words[needs].operand);
		if (opt == '?' && optopt > 0 && optopt < NR_OPTIONS)
			return fail(EXIT_USAGE,
				    "--%s takes no value: leave out what follows the = (vgpuctl --help)",
				    option_name(optopt));
		if (opt == '?' && optopt)
			return fail(EXIT_USAGE, "there is no option -%c (vgpuctl --help)", optopt);
		/* Refuse abbreviations, which getopt_long() takes and scripts should not use. */
		if (opt == '?' ||
		    (index >= 0 && strcspn(word + 2, "=") != strlen(table[index].name)))
			return no_option(word);
		ret = take_option(option_of(opt), options);
		if (ret)
			return ret;
	}
}
