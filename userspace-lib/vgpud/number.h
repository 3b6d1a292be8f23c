/* SPDX-License-Identifier: MIT */
/*
 * Numbers as people write them, in files and on the command line of vgpuctl: decimal, or
 * hexadecimal with 0x. A zero before other digits is neither: some read it as octal.
 */
#ifndef VGPUD_NUMBER_H
#define VGPUD_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Return: all of @text is a number, which is in @value. */
bool number_parse(const char *text, unsigned long long *value);
/* The same, perhaps with K, M, G or T (powers of 1024) behind it. */
bool number_parse_size(const char *text, unsigned long long *value);
/* CID[:PORT], each from 1 to 2^32-2; the port is 0 if not given. */
bool number_parse_guest(const char *text, uint32_t *cid, uint32_t *port);

#endif /* VGPUD_NUMBER_H */
