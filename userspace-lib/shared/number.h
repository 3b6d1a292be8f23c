/* SPDX-License-Identifier: MIT */
/*
 * Numbers, sizes and IDs in files and on vgpuctl's command line: decimal, or hexadecimal with 0x.
 * A zero before other digits is not accepted, because some programs read such a number as octal.
 */
#ifndef VGPU_SHARED_NUMBER_H
#define VGPU_SHARED_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Parse a number. Return: true if all of @text is a number. */
bool number_parse(const char *text, unsigned long long *value);
/* Parse a number with an optional K, M, G or T (powers of 1024). */
bool number_parse_size(const char *text, unsigned long long *value);
/* Parse ID[:ID], each up to 2^32-2. *@has_second: true if @second is given. */
bool number_parse_ids(const char *text, uint32_t *first, uint32_t *second, bool *has_second);
/* Parse CID[:PORT], each from 1 to 2^32-2; *@port is 0 if none is given. */
bool number_parse_guest(const char *text, uint32_t *cid, uint32_t *port);

#endif /* VGPU_SHARED_NUMBER_H */
