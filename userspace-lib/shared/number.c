// SPDX-License-Identifier: MIT
/* Numbers, sizes and IDs as people write them. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "shared/number.h"

/* Read a number at the beginning of @text. Return: the rest of the text; NULL: no number. */
static const char *number_read(const char *text, unsigned long long *value)
{
	bool hex = text[0] == '0' && text[1] == 'x';
	char *end;

	if (hex ? !isxdigit((unsigned char)text[2]) : !isdigit((unsigned char)text[0]))
		return NULL;
	if (!hex && text[0] == '0' && isdigit((unsigned char)text[1]))
		return NULL;
	errno = 0;
	*value = strtoull(text, &end, hex ? 16 : 10);
	return errno ? NULL : end;
}

bool number_parse(const char *text, unsigned long long *value)
{
	const char *end = number_read(text, value);

	return end && !*end;
}

bool number_parse_size(const char *text, unsigned long long *value)
{
	static const char units[] = "KMGT";
	const char *end = number_read(text, value), *unit;
	unsigned int shift;

	if (!end || !*end)
		return end;
	unit = strchr(units, *end);
	if (!unit || end[1])
		return false;
	shift = 10 * (unit - units + 1);
	if (*value > ULLONG_MAX >> shift)
		return false;
	*value <<= shift;
	return true;
}

/* Parse an ID. UINT32_MAX is not accepted, as it means any or no ID elsewhere. */
static bool parse_id(const char *text, uint32_t *id)
{
	unsigned long long number;

	if (!number_parse(text, &number) || number >= UINT32_MAX)
		return false;
	*id = number;
	return true;
}

bool number_parse_ids(const char *text, uint32_t *first, uint32_t *second, bool *has_second)
{
	char copy[32];
	char *colon;

	if (strlen(text) >= sizeof(copy))
		return false;
	strcpy(copy, text);
	colon = strchr(copy, ':');
	*has_second = colon;
	if (colon)
		*colon = '\0';
	return parse_id(copy, first) && (!colon || parse_id(colon + 1, second));
}

bool number_parse_guest(const char *text, uint32_t *cid, uint32_t *port)
{
	bool has_port;

	*port = 0;
	/* CID 0 is the hypervisor's. */
	return number_parse_ids(text, cid, port, &has_port) && *cid && (!has_port || *port);
}
