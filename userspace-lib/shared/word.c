// SPDX-License-Identifier: MIT
/* Words that a person may have mistyped. */
#include <stddef.h>
#include <string.h>

#include "shared/word.h"

/* Length of the longest word that is compared with others. */
#define WORD_MAX	24

/* Count the letters that have to be inserted, removed, replaced or swapped to make b of a. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int cost[WORD_MAX + 1][WORD_MAX + 1], best;
	const size_t m = strlen(a), n = strlen(b);
	size_t i, j;

	if (m > WORD_MAX || n > WORD_MAX)
		return WORD_MAX;
	for (i = 0; i <= m; i++)
		cost[i][0] = i;
	for (j = 0; j <= n; j++)
		cost[0][j] = j;
	for (i = 1; i <= m; i++)
		for (j = 1; j <= n; j++) {
			best = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			if (cost[i - 1][j] + 1 < best)
				best = cost[i - 1][j] + 1;
			if (cost[i][j - 1] + 1 < best)
				best = cost[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    cost[i - 2][j - 2] + 1 < best)
				best = cost[i - 2][j - 2] + 1;
			cost[i][j] = best;
		}
	return cost[m][n];
}

const char *word_near(const char *word, const char *const *words)
{
	/* A third of the letters may be wrong, and a letter of a word of two. */
	unsigned int least = (strlen(word) + 1) / 3 + 1, now;
	const char *found = NULL;
	size_t len;

	for (; *words; words++) {
		/* A beginning of a word, which has no other letters, is near it. */
		len = strlen(word);
		now = len > 2 && !strncmp(*words, word, len) ? 0 : distance(word, *words);
		if (now < least) {
			least = now;
			found = *words;
		}
	}
	return found;
}
