/* SPDX-License-Identifier: MIT */
/* Words that a person may have mistyped. */
#ifndef VGPU_SHARED_WORD_H
#define VGPU_SHARED_WORD_H

/*
 * Return the one of @words, an array that NULL ends, for which @word may have been meant; NULL if
 * none of them is like it.
 */
const char *word_near(const char *word, const char *const *words);

#endif /* VGPU_SHARED_WORD_H */
